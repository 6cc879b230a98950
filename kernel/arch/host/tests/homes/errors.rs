// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be a home or a small space: the call fails, and nothing has changed.

use super::{
    AT, COPY, LARGEST, MEMORY, NATIVE, OTHER, PLACE, POOR, SEGMENT, SERVER, SIZE, SMALL, THREAD,
    attach, check_all, check_home, found, machine, move_in, part, refused,
};
use crate::common::servers::{
    ALL_WINDOWS, AREA, RWX, create, create_home, records, root, smallness, space_of,
};
use crate::common::{call, map, protect, record, seen, slot, succeeds, unmap, used};
use abi::{Error, HOME, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, Word};
use arch_host::{WINDOWS, boot};
use std::collections::BTreeSet;

#[test]
fn a_home_is_made_without_slots() {
    let mut kernel = boot();
    let before = used(&mut kernel);
    for place in [2, 3, PAGE_SIZE, TABLE_SPAN, TABLE_SPAN + 1, WINDOWS, Word::MAX] {
        refused(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, PLACE, place], Error::BadArgument);
    }
    for slots in [1, 4, 1000] {
        refused(&mut kernel, Op::CreateSpace, [slot::QUOTA, slots, PLACE, HOME], Error::BadAddress);
    }
    refused(&mut kernel, Op::CreateSpace, [0, 0, slot::RAM, HOME], Error::NoCapability);
    refused(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, slot::RAM, HOME], Error::BadSlot);
    refused(&mut kernel, Op::CreateSpace, [slot::QUOTA, 65_537, PLACE, HOME], Error::BadArgument);
    let [_, slots, ..] = succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, PLACE, HOME]);
    assert_eq!(slots, 0);
    assert!(kernel.pool[space_of(&kernel, PLACE)].is_home());
    create(&mut kernel, SMALL, None);
    assert!(!kernel.pool[space_of(&kernel, SMALL)].is_home());
    // It is no server either.
    refused(&mut kernel, Op::Serve, [PLACE, ALL_WINDOWS, 0, 0], Error::BadState);
    for slot in [PLACE, SMALL] {
        succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
    }
    assert_eq!(used(&mut kernel), before);
}

#[test]
fn a_home_has_no_threads() {
    let mut kernel = machine();
    let create = |runs_in, home| [slot::QUOTA, runs_in, THREAD, home];
    refused(&mut kernel, Op::CreateThread, create(PLACE, COPY), Error::NoCapability);
    for home in [0, PLACE, SMALL, NATIVE, SERVER] {
        refused(&mut kernel, Op::CreateThread, create(PLACE, home), Error::BadArgument);
    }
    // Nor UTCBs.
    for runs_in in [SMALL, NATIVE] {
        refused(&mut kernel, Op::CreateThread, create(runs_in, PLACE), Error::BadArgument);
    }
    succeeds(&mut kernel, Op::CreateThread, create(SMALL, NATIVE));
    let (small, thread) = (
        space_of(&kernel, SMALL),
        crate::common::named::<kcore::Thread>(&kernel, root(&kernel), THREAD),
    );
    for [runs_in, home] in [[PLACE, NATIVE], [PLACE, 0], [PLACE, PLACE], [SMALL, PLACE]] {
        refused(&mut kernel, Op::Reset, [THREAD, runs_in, home, 0], Error::BadArgument);
        assert!(kernel.pool[thread].space.is(small), "it stays where it is");
    }
}

#[test]
fn what_cannot_be_small_is_not() {
    let mut kernel = machine();
    create_home(&mut kernel, OTHER);
    let odd = AT + TABLE_SPAN;
    // Each has all faults of those after it.
    refused(&mut kernel, Op::Attach, [COPY, odd, COPY, SIZE], Error::NoCapability);
    refused(&mut kernel, Op::Attach, [SEGMENT, odd, COPY, SIZE], Error::WrongKind);
    succeeds(&mut kernel, Op::Copy, [PLACE, 0, COPY, RWX]);
    refused(&mut kernel, Op::Attach, [COPY, odd, THREAD, SIZE], Error::NoRight);
    succeeds(&mut kernel, Op::Delete, [COPY, 0, 0, 0]);
    for rights in (0..RWX).chain([8, RWX + 8, RWX + PAGE_SIZE, RWX + TABLE_SPAN / 2]) {
        refused(
            &mut kernel,
            Op::Attach,
            [SMALL, odd, COPY, 3 * TABLE_SPAN + rights],
            Error::BadArgument,
        );
    }
    for rights in [0, 2, 4, 6, 8 + 1, 8 + RWX, PAGE_SIZE + 1] {
        refused(&mut kernel, Op::Attach, [SMALL, 0, SEGMENT, rights], Error::BadArgument);
    }
    refused(&mut kernel, Op::Attach, [SMALL, 0, SEGMENT, SIZE + RWX], Error::WrongKind);
    let bad = 3 * TABLE_SPAN;
    refused(&mut kernel, Op::Attach, attach(SMALL, odd, COPY, bad), Error::NoCapability);
    for what in [SEGMENT, MEMORY, slot::QUOTA] {
        refused(&mut kernel, Op::Attach, attach(SMALL, odd, what, bad), Error::WrongKind);
    }
    succeeds(&mut kernel, Op::Copy, [PLACE, 0, COPY, RWX]);
    refused(&mut kernel, Op::Attach, attach(SMALL, odd, COPY, bad), Error::NoRight);
    succeeds(&mut kernel, Op::Delete, [COPY, 0, 0, 0]);
    kernel.port.has_no_servers = true;
    let powers = (1..Word::BITS).map(|shift| Word::MAX << shift & !(TABLE_SPAN - 1));
    let sizes = [bad, LARGEST + TABLE_SPAN, 2 * LARGEST, LARGEST - TABLE_SPAN]
        .into_iter()
        .chain(powers)
        .filter(|size| *size != 0);
    for size in sizes.filter(|size| !size.is_power_of_two() || *size > LARGEST) {
        refused(&mut kernel, Op::Attach, attach(SMALL, odd, PLACE, size), Error::BadArgument);
    }
    for size in [TABLE_SPAN, SIZE, LARGEST] {
        refused(&mut kernel, Op::Attach, attach(SMALL, odd, PLACE, size), Error::Unsupported);
    }
    kernel.port.has_no_servers = false;
    for address in [
        1,
        PAGE_SIZE,
        SIZE - TABLE_SPAN,
        odd,
        AT + SIZE / 2,
        Word::MAX,
        Word::MAX & !(SIZE / 2 - 1),
    ] {
        refused(&mut kernel, Op::Attach, attach(SMALL, address, PLACE, SIZE), Error::BadAddress);
    }
    assert_eq!(map(&mut kernel, record(SMALL, SIZE, MEMORY, 1)), 0);
    for home in [SMALL, NATIVE, SERVER, slot::SPACE] {
        refused(&mut kernel, Op::Attach, attach(home, AT, SMALL, SIZE), Error::BadState);
    }
    for small in [PLACE, OTHER, SERVER] {
        refused(&mut kernel, Op::Attach, attach(PLACE, AT, small, SIZE), Error::BadState);
    }
    // Without a size it would be a server.
    refused(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, 0), Error::BadState);
    // Something is beyond its size: a page, the table that it leaves, a large page, a part of a
    // segment.
    let beyond = USER_END;
    assert_eq!(map(&mut kernel, unmap(SMALL, SIZE, TABLE_SPAN)), 0);
    for address in [SIZE, LARGEST, USER_END - TABLE_SPAN] {
        let table = address - address % TABLE_SPAN;
        for pages in [1, TABLE_SPAN / PAGE_SIZE] {
            assert_eq!(map(&mut kernel, record(SMALL, address, MEMORY, pages)), 0);
            refused(&mut kernel, Op::Attach, attach(PLACE, beyond, SMALL, SIZE), Error::Occupied);
        }
        assert_eq!(map(&mut kernel, unmap(SMALL, address, PAGE_SIZE)), 0);
        assert_eq!(map(&mut kernel, unmap(SMALL, address + PAGE_SIZE, TABLE_SPAN - PAGE_SIZE)), 0);
        refused(&mut kernel, Op::Attach, attach(PLACE, beyond, SMALL, SIZE), Error::Occupied);
        assert_eq!(map(&mut kernel, unmap(SMALL, table, TABLE_SPAN)), 0);
    }
    for place in [SIZE - TABLE_SPAN, SIZE, USER_END - 3 * TABLE_SPAN] {
        succeeds(&mut kernel, Op::Attach, [SMALL, place, SEGMENT, 1]);
        refused(&mut kernel, Op::Attach, attach(PLACE, beyond, SMALL, SIZE), Error::Occupied);
        succeeds(&mut kernel, Op::Detach, [SMALL, place, 0, 0]);
    }
    create(&mut kernel, POOR, Some(SIZE));
    refused(&mut kernel, Op::Attach, attach(PLACE, beyond, POOR, SIZE), Error::Occupied);
    // It would not lie in the home.
    for size in [TABLE_SPAN, SIZE, LARGEST] {
        for address in [USER_END - USER_END % size, Word::MAX - (size - 1)] {
            refused(
                &mut kernel,
                Op::Attach,
                attach(PLACE, address, SMALL, size),
                Error::BadAddress,
            );
        }
    }
    succeeds(&mut kernel, Op::Attach, [PLACE, WINDOWS, SERVER, RWX]);
    for address in [WINDOWS, USER_END - TABLE_SPAN] {
        refused(
            &mut kernel,
            Op::Attach,
            attach(PLACE, address, SMALL, TABLE_SPAN),
            Error::BadAddress,
        );
    }
    // Something is there: a page of the home's, a segment, another.
    for address in [AT, AT + SIZE - PAGE_SIZE] {
        assert_eq!(map(&mut kernel, record(PLACE, address, MEMORY, 1)), 0);
        refused(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE), Error::Occupied);
        assert_eq!(map(&mut kernel, unmap(PLACE, address - address % TABLE_SPAN, TABLE_SPAN)), 0);
    }
    for place in [AT - TABLE_SPAN, AT + SIZE - TABLE_SPAN] {
        succeeds(&mut kernel, Op::Attach, [PLACE, place, SEGMENT, 1]);
        refused(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE), Error::Occupied);
        succeeds(&mut kernel, Op::Detach, [PLACE, place, 0, 0]);
    }
    move_in(&mut kernel, NATIVE);
    for (address, size) in
        [(AT, SIZE), (AT, TABLE_SPAN), (AT + SIZE - TABLE_SPAN, TABLE_SPAN), (AT, 2 * SIZE)]
    {
        refused(&mut kernel, Op::Attach, attach(PLACE, address, SMALL, size), Error::Occupied);
    }
    // It is in one home at most, once.
    for (home, address) in [(PLACE, AT), (PLACE, 0), (OTHER, AT), (OTHER, USER_END)] {
        refused(&mut kernel, Op::Attach, attach(home, address, NATIVE, SIZE), Error::Occupied);
    }
    check_all(&kernel);
    // What is small becomes no server.
    create(&mut kernel, COPY, Some(TABLE_SPAN));
    succeeds(&mut kernel, Op::Attach, attach(OTHER, 0, COPY, SIZE));
    refused(&mut kernel, Op::Serve, [COPY, ALL_WINDOWS, 0, 0], Error::BadState);
}

#[test]
fn what_is_not_there_is_not_detached() {
    let mut kernel = machine();
    let detach = |space, address| [space, address, 0, 0];
    refused(&mut kernel, Op::Detach, detach(PLACE, AT), Error::NotThere);
    move_in(&mut kernel, SMALL);
    refused(&mut kernel, Op::Detach, detach(COPY, AT), Error::NoCapability);
    refused(&mut kernel, Op::Detach, detach(SEGMENT, AT), Error::WrongKind);
    succeeds(&mut kernel, Op::Copy, [PLACE, 0, COPY, RWX]);
    refused(&mut kernel, Op::Detach, detach(COPY, AT), Error::NoRight);
    let beyond = (0..Word::BITS).map(|bit| AT ^ (1 << bit));
    for address in
        beyond.chain([0, AT + SIZE, AT + TABLE_SPAN, USER_END, Word::MAX & !(TABLE_SPAN - 1)])
    {
        refused(&mut kernel, Op::Detach, detach(PLACE, address), Error::NotThere);
    }
    for address in [0, AT, SIZE, WINDOWS, USER_END - TABLE_SPAN, USER_END] {
        refused(&mut kernel, Op::Detach, detach(SMALL, address), Error::NotThere);
    }
    succeeds(&mut kernel, Op::Detach, detach(PLACE, AT));
    refused(&mut kernel, Op::Detach, detach(PLACE, AT), Error::NotThere);
    check_all(&kernel);
}

/// With any memory that is too little, something is missing at each point on the way.
#[test]
fn what_cannot_be_paid_is_not_small() {
    let mut ends = BTreeSet::new();
    for bytes in (0..8 * PAGE_SIZE).step_by(PAGE_SIZE as usize / 4) {
        let mut kernel = machine();
        succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, bytes, OTHER, 0]);
        if call(&mut kernel, Op::CreateSpace, [OTHER, 0, POOR, HOME])[0] != 0 {
            continue;
        }
        let [status, ..] = call(&mut kernel, Op::Attach, attach(POOR, AT, SMALL, SIZE));
        assert!(status == 0 || status == Error::QuotaExceeded as Word, "{bytes} bytes: {status}");
        let (small, home) = (space_of(&kernel, SMALL), space_of(&kernel, POOR));
        assert_eq!(kernel.port.moved.len(), usize::from(status == 0), "{bytes} bytes");
        assert_eq!(
            kernel.pool[small].region.end.0,
            if status == 0 { SIZE } else { USER_END },
            "{bytes} bytes"
        );
        assert_eq!(
            (smallness(&kernel, small).is_some(), records(&kernel, home).len()),
            (status == 0, usize::from(status == 0))
        );
        ends.insert(status);
        succeeds(&mut kernel, Op::Delete, [POOR, 0, 0, 0]);
        assert_eq!(kernel.pool[small].region.end.0, USER_END, "{bytes} bytes");
        assert_eq!(succeeds(&mut kernel, Op::QuotaInfo, [OTHER, 0, 0, 0])[1], 0, "{bytes} bytes");
    }
    assert!(ends.contains(&0), "it is enough in the end");
    // Nobody pays any more; what was there before stays, and goes.
    let mut kernel = machine();
    let start = used(&mut kernel);
    succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, 16 * PAGE_SIZE, OTHER, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [OTHER, 0, POOR, HOME]);
    succeeds(&mut kernel, Op::Attach, attach(POOR, AT, NATIVE, SIZE));
    succeeds(&mut kernel, Op::Delete, [OTHER, 0, 0, 0]);
    refused(&mut kernel, Op::Attach, attach(POOR, AT + SIZE, SMALL, SIZE), Error::BadState);
    assert_eq!(map(&mut kernel, record(NATIVE, AREA, MEMORY, 1)), 0);
    assert_eq!(part(&kernel, POOR, AT, AT + SIZE), part(&kernel, NATIVE, 0, SIZE));
    check_all(&kernel);
    for slot in [POOR, NATIVE] {
        succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
    }
    create(&mut kernel, NATIVE, Some(0));
    succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
    assert_eq!(used(&mut kernel), start, "all comes back");
    // A small space whose own Quota was deleted.
    succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, 16 * PAGE_SIZE, OTHER, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [OTHER, 0, POOR, 0]);
    assert_eq!(map(&mut kernel, record(POOR, 0, MEMORY, 1)), 0);
    succeeds(&mut kernel, Op::Delete, [OTHER, 0, 0, 0]);
    move_in(&mut kernel, POOR);
    assert_eq!(map(&mut kernel, record(POOR, TABLE_SPAN, MEMORY, 1)), Error::BadState as Word);
    assert_eq!(check_home(&kernel, POOR), 1);
    assert_eq!(map(&mut kernel, unmap(POOR, 0, TABLE_SPAN)), 0);
    assert_eq!(check_home(&kernel, POOR), 0);
}

#[test]
fn each_maps_in_its_part_alone() {
    let mut kernel = machine();
    create(&mut kernel, OTHER, None);
    succeeds(&mut kernel, Op::Attach, attach(PLACE, AT + SIZE, OTHER, SIZE));
    for space in [SMALL, OTHER] {
        assert_eq!(map(&mut kernel, record(space, 0, MEMORY, 3)), 0);
        assert_eq!(
            map(&mut kernel, record(space, SIZE - TABLE_SPAN, MEMORY, TABLE_SPAN / PAGE_SIZE)),
            0
        );
    }
    move_in(&mut kernel, SMALL);
    assert_eq!(check_home(&kernel, SMALL), (3 + TABLE_SPAN / PAGE_SIZE) as usize);
    let all = seen(&found(&kernel, PLACE));
    let changes: [fn(Word, Word, Word) -> MapRecord; 3] = [
        |owner, address, pages| record(owner, address, MEMORY, pages),
        |owner, address, pages| unmap(owner, address, pages * PAGE_SIZE),
        |owner, address, pages| protect(owner, address, pages * PAGE_SIZE, Rights::READ),
    ];
    for change in changes {
        for (address, pages) in [
            (SIZE, 1),
            (SIZE - PAGE_SIZE, 2),
            (AT, 1),
            (USER_END - PAGE_SIZE, 1),
            (0, SIZE / PAGE_SIZE + 1),
        ] {
            assert_eq!(
                map(&mut kernel, change(SMALL, address, pages)),
                Error::BadAddress as Word,
                "{address:#x} {pages}"
            );
        }
        // To take away what is another's is no error, and has no effect.
        for (address, pages) in
            [(AT, 1), (AT + SIZE, 3), (AT + SIZE - TABLE_SPAN, TABLE_SPAN / PAGE_SIZE), (AT, 16)]
        {
            let is_map = change(PLACE, address, pages).op() == MapRecord::MAP;
            let expected = if is_map { Error::Occupied as Word } else { 0 };
            assert_eq!(
                map(&mut kernel, change(PLACE, address, pages)),
                expected,
                "{address:#x} {pages}"
            );
        }
        assert_eq!(seen(&found(&kernel, PLACE)), all);
        check_all(&kernel);
    }
    for (space, address) in [
        (SMALL, SIZE),
        (SMALL, SIZE - 2 * TABLE_SPAN),
        (SMALL, AT),
        (PLACE, AT + SIZE - TABLE_SPAN),
    ] {
        let error = if space == PLACE { Error::Occupied } else { Error::BadAddress };
        refused(&mut kernel, Op::Attach, [space, address, SEGMENT, RWX], error);
    }
    refused(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX], Error::BadAddress);
    refused(&mut kernel, Op::Lookup, [SMALL, SIZE, 0, 0], Error::BadAddress);
    // Beside them the home can have pages of its own; they belong to no space.
    assert_eq!(map(&mut kernel, record(PLACE, 0, MEMORY, 2)), 0);
    check_all(&kernel);
    assert_eq!(map(&mut kernel, unmap(PLACE, 0, USER_END)), 0);
    assert_eq!(seen(&found(&kernel, PLACE)), all);
    // All is the space's again, to its end.
    succeeds(&mut kernel, Op::Detach, [PLACE, AT, 0, 0]);
    assert_eq!(map(&mut kernel, record(SMALL, USER_END - PAGE_SIZE, MEMORY, 1)), 0);
    assert!(part(&kernel, PLACE, AT, AT + SIZE).is_empty());
    check_all(&kernel);
}
