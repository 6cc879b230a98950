// SPDX-License-Identifier: MIT OR Apache-2.0
//! Homes, and the small spaces in them.

use crate::common;

use abi::{Error, HOME, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, WINDOWS, boot, boot_with_windows};
use common::servers::{
    ALL_WINDOWS, AREA, READ_WRITE, RWX, check_moved, check_space, create, create_home, entry_of,
    fails, flush_homes, records, root, smallness, space_of,
};
use common::{
    Found, Seen, aside, begin, begin_map, call, check_flushes, derive, finish, leaves_of, low, map,
    protect, record, results, seen, slot, slot_of, stop, succeeds, unmap, used,
};
use kcore::port::Area;
use kcore::{Kernel, Owner, Space};
use mmu::Format;
use pool::Ref;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Slots of what has a name in most tests. The small space is of aliens.
const PLACE: Word = slot::FREE;
const SMALL: Word = slot::FREE + 1;
const NATIVE: Word = slot::FREE + 2;
const SERVER: Word = slot::FREE + 3;
const SEGMENT: Word = slot::FREE + 4;
const MEMORY: Word = slot::FREE + 5;
const OTHER: Word = slot::FREE + 6;
const COPY: Word = slot::FREE + 7;
const THREAD: Word = slot::FREE + 8;
const POOR: Word = slot::FREE + 9;

/// The slots of all spaces that a test may have made.
const SPACES: [Word; 6] = [PLACE, SMALL, NATIVE, SERVER, OTHER, POOR];

/// The size of small spaces in most tests: more entries than are copied in one step.
const SIZE: Word = 64 * TABLE_SPAN;
/// Where they are in their home.
const AT: Word = 2 * SIZE;
/// The sizes that there are.
const LARGEST: Word = 1 << 30;

/// A machine with a home, two spaces that can be small, a server, a segment, and RAM of which a
/// part can be a large page.
fn machine() -> Kernel<Host> {
    let mut kernel = boot();
    create_home(&mut kernel, PLACE);
    create(&mut kernel, SMALL, None);
    create(&mut kernel, NATIVE, Some(0));
    create(&mut kernel, SERVER, Some(WINDOWS));
    succeeds(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, 0, 0]);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 3 * TABLE_SPAN, SEGMENT, 0]);
    assert_eq!(derive(&mut kernel, slot::RAM, TABLE_SPAN, TABLE_SPAN, MEMORY), 0);
    kernel
}

fn attach(home: Word, address: Word, space: Word, size: Word) -> [Word; 4] {
    [home, address, space, size + RWX]
}

fn move_in(kernel: &mut Kernel<Host>, space: Word) {
    succeeds(kernel, Op::Attach, attach(PLACE, AT, space, SIZE));
}

/// All that an error must leave as it is.
#[derive(PartialEq, Debug)]
struct State {
    used: u32,
    ends: BTreeMap<Word, UserAddr>,
    entries: BTreeMap<(u32, usize), Word>,
    moved: HashMap<u32, (u32, std::ops::Range<UserAddr>)>,
    shown: HashMap<u32, u32>,
}

fn there(kernel: &Kernel<Host>) -> Vec<Word> {
    SPACES
        .into_iter()
        .filter(|slot| slot_of(kernel, root(kernel), *slot).kind() == abi::Kind::Space)
        .collect()
}

fn state(kernel: &mut Kernel<Host>) -> State {
    State {
        used: used(kernel),
        ends: there(kernel)
            .into_iter()
            .map(|slot| (slot, kernel.pool[space_of(kernel, slot)].region.end))
            .collect(),
        entries: kernel
            .port
            .tops
            .iter()
            .filter(|(_, entry)| **entry != 0)
            .map(|(at, entry)| (*at, *entry))
            .collect(),
        moved: kernel.port.moved.clone(),
        shown: kernel.port.shown.clone(),
    }
}

/// A call fails and changes nothing.
fn refused(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4], error: Error) {
    let before = state(kernel);
    fails(kernel, op, args, error);
    assert_eq!(state(kernel), before, "{op:?} {args:?}");
}

/// All spaces are as they should be, and each home has what its small spaces have below their
/// sizes.
fn check_all(kernel: &Kernel<Host>) {
    let spaces: Vec<Ref<Space>> =
        there(kernel).into_iter().map(|slot| space_of(kernel, slot)).collect();
    spaces.iter().for_each(|space| check_space(kernel, *space));
    let homes: Vec<Ref<Space>> =
        spaces.into_iter().filter(|space| kernel.pool[*space].is_home()).collect();
    check_moved(kernel, &homes);
}

fn found(kernel: &Kernel<Host>, space: Word) -> Vec<Found> {
    leaves_of(kernel, Owner::Space(space_of(kernel, space)))
}

/// What there is between two addresses, as from the first one.
fn part(kernel: &Kernel<Host>, space: Word, start: Word, end: Word) -> Seen {
    let within =
        seen(&found(kernel, space)).into_iter().filter(|(at, _)| (start..end).contains(&at.0));
    within.map(|(at, what)| (UserAddr(at.0 - start), what)).collect()
}

/// The home has at its place what the small space has, and how many pages that are.
fn check_home(kernel: &Kernel<Host>, small: Word) -> usize {
    check_all(kernel);
    let own = part(kernel, small, 0, SIZE);
    assert_eq!(part(kernel, PLACE, AT, AT + SIZE), own);
    own.len()
}

// --- Errors --------------------------------------------------------------------------------------

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
    let (small, thread) =
        (space_of(&kernel, SMALL), common::named::<kcore::Thread>(&kernel, root(&kernel), THREAD));
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

// --- What is in a home ---------------------------------------------------------------------------

#[test]
fn a_small_space_has_each_size_and_place() {
    for size in [TABLE_SPAN, 2 * TABLE_SPAN, SIZE, LARGEST / 2, LARGEST] {
        let mut kernel = machine();
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 2)), 0);
        assert_eq!(map(&mut kernel, record(SMALL, size - PAGE_SIZE, MEMORY, 1)), 0);
        let own = seen(&found(&kernel, SMALL));
        let small = space_of(&kernel, SMALL);
        for address in [0, size, (USER_END / size - 1) * size] {
            succeeds(&mut kernel, Op::Attach, attach(PLACE, address, SMALL, size));
            assert_eq!(part(&kernel, PLACE, address, address + size), own);
            assert_eq!(kernel.pool[small].region.end.0, size);
            let place = UserAddr(address)..UserAddr(address + size);
            assert_eq!(
                kernel.port.moved,
                HashMap::from([(
                    small.address(),
                    (space_of(&kernel, PLACE).address(), place.clone())
                )])
            );
            check_all(&kernel);
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            let before = found(&kernel, PLACE);
            succeeds(&mut kernel, Op::Detach, [PLACE, address, 0, 0]);
            assert!(found(&kernel, PLACE).is_empty() && kernel.port.moved.is_empty());
            check_flushes(&kernel, space_of(&kernel, PLACE), &before, &[]);
            assert_eq!(
                (kernel.pool[small].region.end.0, &seen(&found(&kernel, SMALL))),
                (USER_END, &own)
            );
            check_all(&kernel);
        }
    }
}

#[test]
fn what_changes_is_brought_home() {
    let mut kernel = machine();
    let span = TABLE_SPAN / PAGE_SIZE;
    move_in(&mut kernel, SMALL);
    assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 5)), 0);
    assert_eq!(check_home(&kernel, SMALL), 5);
    assert_eq!(map(&mut kernel, record(SMALL, SIZE - TABLE_SPAN, MEMORY, span)), 0);
    assert!(found(&kernel, PLACE).iter().any(|found| found.large), "a large page");
    assert_eq!(check_home(&kernel, SMALL), 5 + span as usize);
    assert_eq!(map(&mut kernel, protect(SMALL, SIZE - TABLE_SPAN, TABLE_SPAN, Rights::READ)), 0);
    assert_eq!(check_home(&kernel, SMALL), 5 + span as usize);
    assert_eq!(map(&mut kernel, unmap(SMALL, SIZE - PAGE_SIZE, PAGE_SIZE)), 0);
    assert!(found(&kernel, PLACE).iter().all(|found| !found.large), "it is split");
    assert_eq!(check_home(&kernel, SMALL), 4 + span as usize);
    // The port knows the place: to flush there is its own business.
    let home = space_of(&kernel, PLACE).address();
    assert!(
        !kernel.port.invalidated.is_empty()
            && kernel.port.invalidated.iter().all(|(of, _)| *of != home)
    );
    assert_eq!(kernel.port.all_invalidated, 0);
    // A segment in it, and what changes there.
    assert_eq!(map(&mut kernel, record(SEGMENT, 0, MEMORY, 2)), 0);
    succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, 1]);
    assert_eq!(check_home(&kernel, SMALL), 6 + span as usize);
    assert!(
        found(&kernel, PLACE)
            .iter()
            .filter(|found| found.address.0 / TABLE_SPAN == AT / TABLE_SPAN + 4)
            .all(|f| f.rights == Rights::READ)
    );
    assert_eq!(map(&mut kernel, record(SEGMENT, TABLE_SPAN, MEMORY, span)), 0);
    assert_eq!(check_home(&kernel, SMALL), 6 + 2 * span as usize);
    assert_eq!(map(&mut kernel, unmap(SEGMENT, 0, TABLE_SPAN)), 0);
    assert_eq!(check_home(&kernel, SMALL), 4 + 2 * span as usize);
    succeeds(&mut kernel, Op::Detach, [SMALL, 4 * TABLE_SPAN, 0, 0]);
    assert_eq!(check_home(&kernel, SMALL), 4 + span as usize);
    succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, RWX]);
    succeeds(&mut kernel, Op::Delete, [SEGMENT, 0, 0, 0]);
    assert_eq!(check_home(&kernel, SMALL), 4 + span as usize);
    succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
    assert_eq!(check_home(&kernel, SMALL), 0);
    let tables = entry_of(
        &kernel,
        Owner::Space(space_of(&kernel, PLACE)),
        HostFormat::table_index(UserAddr(AT)),
    );
    assert!(HostFormat::decode_table(tables).is_some(), "the table stays, and the home has it");
}

/// UTCBs of a small native space come and go as any page.
#[test]
fn threads_of_a_small_space_have_their_utcbs_in_its_home() {
    let mut kernel = machine();
    move_in(&mut kernel, NATIVE);
    let native = space_of(&kernel, NATIVE);
    assert_eq!(check_home(&kernel, NATIVE), 1, "the information page");
    for runs_in in [NATIVE, SMALL] {
        let home = if runs_in == NATIVE { 0 } else { NATIVE };
        let [_, utcb, ..] =
            succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, runs_in, THREAD, home]);
        assert_eq!(check_home(&kernel, NATIVE), 2);
        assert_eq!(
            part(&kernel, PLACE, AT, AT + SIZE)[&UserAddr(utcb).align_down(PAGE_SIZE)].1,
            READ_WRITE
        );
        kernel.port.invalidated.clear();
        succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
        assert_eq!(check_home(&kernel, NATIVE), 1);
        assert!(
            kernel
                .port
                .invalidated
                .iter()
                .any(|(of, range)| *of == native.address() && range.contains(&UserAddr(utcb)))
        );
    }
}

/// UTCBs that lie beyond the size of a small space are nowhere in its home.
#[test]
fn utcbs_behind_a_size_are_not_brought_home() {
    let mut kernel = boot();
    create_home(&mut kernel, PLACE);
    let area = Area {
        start: UserAddr(0),
        end: UserAddr(8 * TABLE_SPAN),
        kip: Some(UserAddr(0)),
        first_slot: UserAddr(TABLE_SPAN),
    };
    kernel.port.area = Some(area);
    create(&mut kernel, NATIVE, Some(0));
    succeeds(&mut kernel, Op::Attach, attach(PLACE, 2 * TABLE_SPAN, NATIVE, TABLE_SPAN));
    let own = part(&kernel, NATIVE, 0, TABLE_SPAN);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, NATIVE, THREAD, 0]);
    assert_eq!(found(&kernel, NATIVE).len(), 2);
    assert_eq!(
        (part(&kernel, PLACE, 2 * TABLE_SPAN, 3 * TABLE_SPAN), found(&kernel, PLACE).len()),
        (own, 1)
    );
    check_space(&kernel, space_of(&kernel, PLACE));
    // They are in reach again when it is large.
    succeeds(&mut kernel, Op::Detach, [PLACE, 2 * TABLE_SPAN, 0, 0]);
    assert!(found(&kernel, PLACE).is_empty());
    check_all(&kernel);
}

/// The window of a server that a small space shows itself is beyond its size, and nothing of the
/// home's.
#[test]
fn a_window_is_not_brought_home() {
    for ends in [false, true] {
        let mut kernel = machine();
        succeeds(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]);
        succeeds(&mut kernel, Op::Attach, [PLACE, WINDOWS, SERVER, RWX]);
        let small = space_of(&kernel, SMALL);
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 1)), 0);
        assert_eq!(map(&mut kernel, record(SERVER, WINDOWS + AREA, MEMORY, 1)), 0);
        let window = |kernel: &Kernel<Host>, space| part(kernel, space, WINDOWS, USER_END);
        for at in [0, (WINDOWS / SIZE - 1) * SIZE, AT] {
            succeeds(&mut kernel, Op::Attach, attach(PLACE, at, SMALL, SIZE));
            assert_eq!(map(&mut kernel, record(SERVER, USER_END - PAGE_SIZE, MEMORY, 1)), 0);
            check_all(&kernel);
            assert_eq!(window(&kernel, SMALL), window(&kernel, SERVER));
            assert_eq!(window(&kernel, PLACE), window(&kernel, SERVER));
            assert_eq!(map(&mut kernel, unmap(SERVER, USER_END - TABLE_SPAN, TABLE_SPAN)), 0);
            check_all(&kernel);
            succeeds(&mut kernel, Op::Detach, [PLACE, at, 0, 0]);
            assert!(part(&kernel, PLACE, 0, WINDOWS).is_empty());
        }
        move_in(&mut kernel, SMALL);
        assert_eq!(check_home(&kernel, SMALL), 1);
        assert_eq!(kernel.port.shown.len(), 2);
        if ends {
            succeeds(&mut kernel, Op::Delete, [SERVER, 0, 0, 0]);
            assert!(kernel.port.shown.is_empty() && window(&kernel, PLACE).is_empty());
        } else {
            succeeds(&mut kernel, Op::Detach, [SMALL, WINDOWS, 0, 0]);
            assert_eq!(kernel.port.shown.len(), 1, "the home's");
            assert_eq!(window(&kernel, PLACE), window(&kernel, SERVER));
        }
        assert!(window(&kernel, SMALL).is_empty());
        assert_eq!(kernel.pool[small].region.end.0, SIZE, "it stays small");
        assert_eq!(check_home(&kernel, SMALL), 1);
        succeeds(&mut kernel, Op::Detach, [PLACE, AT, 0, 0]);
        assert_eq!(kernel.pool[small].region.end.0, USER_END, "it has all again");
        assert_eq!(map(&mut kernel, record(SMALL, USER_END - PAGE_SIZE, MEMORY, 1)), 0);
        check_all(&kernel);
    }
}

/// A window is nothing of a small space's, whatever its size. (A wide machine's windows cannot
/// begin as low.)
#[test]
fn no_small_space_has_a_window() {
    const WINDOW: Word = LARGEST / 2;
    if Word::BITS > 32 {
        return;
    }
    let mut kernel = boot_with_windows(WINDOW);
    create_home(&mut kernel, PLACE);
    create(&mut kernel, SMALL, None);
    create(&mut kernel, SERVER, Some(WINDOW));
    succeeds(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, 0, 0]);
    assert_eq!(derive(&mut kernel, slot::RAM, TABLE_SPAN, TABLE_SPAN, MEMORY), 0);
    assert_eq!(map(&mut kernel, record(SERVER, WINDOW + AREA, MEMORY, 1)), 0);
    succeeds(&mut kernel, Op::Attach, [SMALL, WINDOW, SERVER, RWX]);
    refused(&mut kernel, Op::Attach, attach(PLACE, LARGEST, SMALL, LARGEST), Error::Occupied);
    // Just as large as it may be.
    succeeds(&mut kernel, Op::Attach, attach(PLACE, WINDOW, SMALL, WINDOW));
    assert!(part(&kernel, PLACE, 0, USER_END).is_empty(), "the home shows no server");
    assert_eq!(map(&mut kernel, record(SMALL, WINDOW, MEMORY, 1)), Error::BadAddress as Word);
    succeeds(&mut kernel, Op::Detach, [SMALL, WINDOW, 0, 0]);
    refused(&mut kernel, Op::Attach, [SMALL, WINDOW, SERVER, RWX], Error::BadAddress);
    succeeds(&mut kernel, Op::Detach, [PLACE, WINDOW, 0, 0]);
    succeeds(&mut kernel, Op::Attach, [SMALL, WINDOW, SERVER, RWX]);
    check_all(&kernel);
}

/// Who is large again still ends where the server's window begins.
#[test]
fn a_space_that_shows_a_server_is_as_before() {
    let mut kernel = machine();
    succeeds(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]);
    move_in(&mut kernel, SMALL);
    succeeds(&mut kernel, Op::Delete, [PLACE, 0, 0, 0]);
    let small = space_of(&kernel, SMALL);
    assert_eq!(kernel.pool[small].region.end.0, WINDOWS);
    assert!(kernel.port.moved.is_empty());
    assert_eq!(
        map(&mut kernel, record(SMALL, WINDOWS - PAGE_SIZE, MEMORY, 2)),
        Error::BadAddress as Word
    );
    assert_eq!(map(&mut kernel, record(SMALL, WINDOWS - PAGE_SIZE, MEMORY, 1)), 0);
    check_all(&kernel);
}

// --- Steps ---------------------------------------------------------------------------------------

/// A machine in which the small space has a page in its first table and its last one, a large page,
/// and a segment, and is in its home up to some entry.
fn in_part(steps: usize) -> Kernel<Host> {
    let mut kernel = machine();
    assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 4)), 0);
    assert_eq!(map(&mut kernel, record(SMALL, TABLE_SPAN, MEMORY, TABLE_SPAN / PAGE_SIZE)), 0);
    assert_eq!(map(&mut kernel, record(SMALL, SIZE - TABLE_SPAN, MEMORY, 4)), 0);
    assert_eq!(map(&mut kernel, record(SEGMENT, 0, MEMORY, 4)), 0);
    succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, RWX]);
    assert!(
        begin(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE)),
        "it checks for interrupts"
    );
    for _ in 0..steps {
        assert!(kernel.carry_on(), "it has not ended");
    }
    kernel
}

/// Steps after which the first half of the small space is in its home.
const HALF: usize = 1;

/// What becomes of an attach that is carried on.
fn outcome(kernel: &mut Kernel<Host>) -> Word {
    while kernel.carry_on() {
        check_all(kernel);
    }
    kernel.port.pending = false;
    let me = kernel.current().expect("the root server runs");
    results(&kernel.pool[me])[0]
}

#[test]
fn a_space_moves_in_in_steps() {
    for steps in 0..=HALF {
        let mut kernel = in_part(steps);
        let small = space_of(&kernel, SMALL);
        assert!(kernel.port.moved.is_empty(), "not yet");
        assert_eq!(kernel.pool[small].region.end.0, SIZE);
        assert_eq!(found(&kernel, PLACE).is_empty(), steps == 0);
        check_all(&kernel);
        // Nobody attaches it once more, nor anything there.
        let refused_aside = |kernel: &mut Kernel<Host>, args| {
            aside(kernel, |kernel| refused(kernel, Op::Attach, args, Error::Occupied))
        };
        refused_aside(&mut kernel, attach(PLACE, AT, SMALL, SIZE));
        refused_aside(&mut kernel, attach(PLACE, AT, NATIVE, SIZE));
        // What changes meanwhile is there, too.
        aside(&mut kernel, |kernel| {
            assert_eq!(map(kernel, record(SMALL, 3 * TABLE_SPAN, MEMORY, 2)), 0);
            assert_eq!(map(kernel, record(SMALL, SIZE - 2 * TABLE_SPAN, MEMORY, 2)), 0);
            assert_eq!(map(kernel, unmap(SMALL, 0, TABLE_SPAN)), 0);
            assert_eq!(map(kernel, unmap(SEGMENT, 0, TABLE_SPAN)), 0);
            assert_eq!(map(kernel, record(SEGMENT, TABLE_SPAN, MEMORY, 1)), 0);
            assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), Error::BadAddress as Word);
        });
        check_all(&kernel);
        assert_eq!(outcome(&mut kernel), 0);
        assert_eq!(check_home(&kernel, SMALL), 9 + (TABLE_SPAN / PAGE_SIZE) as usize);
        assert_eq!(kernel.port.moved.len(), 1);
    }
}

/// While the port does not know that a space is in a home, a processor may still find its pages
/// there.
#[test]
fn what_changes_while_a_space_moves_in_is_flushed_in_its_home() {
    let changes: [fn(&mut Kernel<Host>); 9] = [
        |kernel| assert_eq!(map(kernel, unmap(SMALL, 0, PAGE_SIZE)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, 0, TABLE_SPAN)), 0),
        |kernel| assert_eq!(map(kernel, protect(SMALL, 0, 2 * PAGE_SIZE, Rights::READ)), 0),
        |kernel| assert_eq!(map(kernel, record(SMALL, PAGE_SIZE, MEMORY, 2)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, TABLE_SPAN, PAGE_SIZE)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SMALL, TABLE_SPAN, TABLE_SPAN)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SEGMENT, 0, PAGE_SIZE)), 0),
        |kernel| {
            succeeds(kernel, Op::Detach, [SMALL, 4 * TABLE_SPAN, 0, 0]);
        },
        |kernel| {
            succeeds(kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut kernel = in_part(HALF);
        let home = space_of(&kernel, PLACE);
        let before = found(&kernel, PLACE);
        stop(&mut kernel);
        kernel.port.invalidated.clear();
        kernel.port.announced.clear();
        change(&mut kernel);
        let after = found(&kernel, PLACE);
        assert_ne!(seen(&before), seen(&after), "{number}");
        check_flushes(&kernel, home, &before, &after);
        check_all(&kernel);
    }
    // A window is nowhere in the home, and no range of it is flushed there.
    let mut kernel = machine();
    succeeds(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]);
    assert!(
        begin(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE)),
        "it checks for interrupts"
    );
    stop(&mut kernel);
    kernel.port.invalidated.clear();
    succeeds(&mut kernel, Op::Detach, [SMALL, WINDOWS, 0, 0]);
    let home = space_of(&kernel, PLACE).address();
    assert!(kernel.port.invalidated.iter().all(|(of, _)| *of != home));
}

/// An attach whose caller is stopped leaves a part; to detach it takes it away.
#[test]
fn what_is_there_in_part_is_taken_away() {
    for steps in 0..=HALF {
        for detach in [false, true] {
            let mut kernel = in_part(steps);
            let (small, home) = (space_of(&kernel, SMALL), space_of(&kernel, PLACE));
            let own = seen(&found(&kernel, SMALL));
            stop(&mut kernel);
            refused(&mut kernel, Op::Attach, attach(PLACE, AT, SMALL, SIZE), Error::Occupied);
            kernel.port.invalidated.clear();
            if detach {
                succeeds(&mut kernel, Op::Detach, [PLACE, AT, 0, 0]);
            } else {
                succeeds(&mut kernel, Op::Delete, [PLACE, 0, 0, 0]);
                create_home(&mut kernel, PLACE);
            }
            assert!(
                kernel
                    .port
                    .invalidated
                    .contains(&(home.address(), UserAddr(AT)..UserAddr(AT + SIZE)))
            );
            assert!(found(&kernel, PLACE).is_empty() && kernel.port.moved.is_empty());
            assert_eq!(
                (kernel.pool[small].region.end.0, seen(&found(&kernel, SMALL))),
                (USER_END, own)
            );
            check_all(&kernel);
            move_in(&mut kernel, SMALL);
            check_home(&kernel, SMALL);
        }
    }
}

/// What somebody else does while a space moves in decides what becomes of it.
#[test]
fn an_attach_goes_on_with_what_it_finds() {
    let detach = |kernel: &mut Kernel<Host>| {
        succeeds(kernel, Op::Detach, [PLACE, AT, 0, 0]);
    };
    let again = |kernel: &mut Kernel<Host>, home, at| {
        succeeds(kernel, Op::Attach, attach(home, at, SMALL, SIZE));
    };
    for steps in 0..=HALF {
        for number in 0..9 {
            let mut kernel = in_part(steps);
            aside(&mut kernel, |kernel| {
                if (1..7).contains(&number) {
                    detach(kernel);
                }
                match number {
                    2 => again(kernel, PLACE, AT),
                    3 => again(kernel, PLACE, AT + SIZE),
                    4 => {
                        create_home(kernel, OTHER);
                        again(kernel, OTHER, AT);
                    }
                    5 => assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), 0),
                    6 => move_in(kernel, NATIVE),
                    7 => {
                        succeeds(kernel, Op::Delete, [SMALL, 0, 0, 0]);
                    }
                    8 => {
                        succeeds(kernel, Op::Delete, [PLACE, 0, 0, 0]);
                    }
                    _ => {}
                }
            });
            let expected = match number {
                0..=2 => 0,
                7 | 8 => Error::NoCapability as Word,
                _ => Error::Occupied as Word,
            };
            assert_eq!(outcome(&mut kernel), expected, "{number}");
            check_all(&kernel);
            assert_eq!(
                kernel.port.moved.len(),
                usize::from(![5, 7, 8].contains(&number)),
                "{number}"
            );
            if expected == 0 {
                check_home(&kernel, SMALL);
            }
        }
    }
}

/// A server may be shown in part before the space is small, and in whole afterwards.
#[test]
fn a_server_is_shown_to_the_end_in_a_space_that_is_small_by_then() {
    let mut kernel = machine();
    for address in [WINDOWS + AREA, USER_END - PAGE_SIZE] {
        assert_eq!(map(&mut kernel, record(SERVER, address, MEMORY, 1)), 0);
    }
    assert!(
        begin(&mut kernel, Op::Attach, [SMALL, WINDOWS, SERVER, RWX]),
        "it checks for interrupts"
    );
    aside(&mut kernel, |kernel| move_in(kernel, SMALL));
    check_all(&kernel);
    finish(&mut kernel, check_all);
    assert_eq!(part(&kernel, SMALL, WINDOWS, USER_END), part(&kernel, SERVER, WINDOWS, USER_END));
    assert_eq!(kernel.port.shown.len(), 1);
    assert_eq!(check_home(&kernel, SMALL), 0);
    assert!(found(&kernel, PLACE).is_empty());
}

/// A revoke that has looked at addresses beyond the size ends, though they are not the space's any
/// more; and one that began while they were not finds what is mapped there.
#[test]
fn a_revoke_ends_in_a_space_that_moves_meanwhile() {
    for early in [false, true] {
        let mut kernel = machine();
        let small = space_of(&kernel, SMALL);
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 1)), 0);
        if !early {
            move_in(&mut kernel, SMALL);
        }
        assert!(begin(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]), "it checks for interrupts");
        let parts = HostFormat::ENTRIES as u32 / 128;
        let until = low(if early { WINDOWS } else { SIZE } / TABLE_SPAN) * parts;
        for _ in 0..10_000 {
            let at =
                kernel.pool[small].region.attached.get().expect("not before it has looked at all");
            if kernel.pool[at].cursor >= until {
                break;
            }
            kernel.carry_on();
        }
        aside(&mut kernel, |kernel| {
            if early {
                move_in(kernel, SMALL);
            } else {
                succeeds(kernel, Op::Detach, [PLACE, AT, 0, 0]);
                assert_eq!(map(kernel, record(SMALL, SIZE, MEMORY, 1)), 0);
            }
        });
        let mut steps = 0;
        while kernel.carry_on() {
            check_all(&kernel);
            steps += 1;
            assert!(steps < 10_000, "it does not end");
        }
        assert!(kernel.pool[small].region.attached.is_null() && found(&kernel, SMALL).is_empty());
    }
}

/// A space that ends takes away what is its own, in steps, and nothing else.
#[test]
fn what_ends_leaves_no_trace() {
    for ends in [SMALL, PLACE, SEGMENT, SERVER, NATIVE] {
        let mut kernel = machine();
        let start = used(&mut kernel);
        for space in [SMALL, PLACE] {
            succeeds(&mut kernel, Op::Attach, [space, WINDOWS, SERVER, RWX]);
        }
        assert_eq!(map(&mut kernel, record(SEGMENT, 0, MEMORY, 4)), 0);
        succeeds(&mut kernel, Op::Attach, [SMALL, 4 * TABLE_SPAN, SEGMENT, RWX]);
        assert_eq!(map(&mut kernel, record(SMALL, 0, MEMORY, 4)), 0);
        assert_eq!(map(&mut kernel, record(NATIVE, AREA, MEMORY, TABLE_SPAN / PAGE_SIZE)), 0);
        assert_eq!(map(&mut kernel, record(SERVER, WINDOWS + AREA, MEMORY, 4)), 0);
        move_in(&mut kernel, SMALL);
        succeeds(&mut kernel, Op::Attach, attach(PLACE, AT + SIZE, NATIVE, SIZE));
        succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, SMALL, THREAD, NATIVE]);
        check_all(&kernel);
        let before: BTreeMap<Word, Vec<Found>> =
            there(&kernel).into_iter().map(|space| (space, found(&kernel, space))).collect();
        kernel.port.invalidated.clear();
        kernel.port.announced.clear();
        let moved = kernel.port.moved.clone();
        assert!(begin(&mut kernel, Op::Delete, [ends, 0, 0, 0]), "it checks for interrupts");
        finish(&mut kernel, |kernel| {
            there(kernel).into_iter().for_each(|slot| check_space(kernel, space_of(kernel, slot)))
        });
        check_all(&kernel);
        if ends != PLACE {
            flush_homes(&mut kernel, &moved);
            check_flushes(
                &kernel,
                space_of(&kernel, PLACE),
                &before[&PLACE],
                &found(&kernel, PLACE),
            );
            assert_eq!(part(&kernel, PLACE, AT, AT + SIZE).is_empty(), ends == SMALL);
            assert_eq!(part(&kernel, PLACE, AT + SIZE, AT + 2 * SIZE).is_empty(), ends == NATIVE);
            assert_eq!(part(&kernel, PLACE, WINDOWS, USER_END).is_empty(), ends == SERVER);
        }
        let moved =
            if ends == PLACE { 0 } else { 2 - usize::from(ends == SMALL || ends == NATIVE) };
        assert_eq!(kernel.port.moved.len(), moved);
        for slot in [THREAD, SMALL, PLACE, SEGMENT, SERVER, NATIVE, MEMORY] {
            if !slot_of(&kernel, root(&kernel), slot).is_empty() {
                succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
            }
        }
        assert!(kernel.port.moved.is_empty() && kernel.port.shown.is_empty());
        assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        assert!(used(&mut kernel) < start);
    }
}

/// What is about to end is attached nowhere any more.
#[test]
fn a_segment_that_ends_is_not_attached() {
    let mut kernel = machine();
    move_in(&mut kernel, SMALL);
    for place in [0, 4 * TABLE_SPAN, 8 * TABLE_SPAN] {
        succeeds(&mut kernel, Op::Attach, [SMALL, place, SEGMENT, RWX]);
    }
    assert!(begin(&mut kernel, Op::Delete, [SEGMENT, 0, 0, 0]), "it checks for interrupts");
    aside(&mut kernel, |kernel| {
        refused(kernel, Op::Attach, [SMALL, 16 * TABLE_SPAN, SEGMENT, RWX], Error::BadState)
    });
    finish(&mut kernel, check_all);
    assert_eq!(check_home(&kernel, SMALL), 0);
}

/// A segment that many small spaces of one home have: a change reaches the home at each place.
#[test]
fn a_segment_changes_in_many_small_spaces_in_steps() {
    let mut kernel = machine();
    let first = slot::FREE + 16;
    let (size, count) = (4 * TABLE_SPAN, 80);
    for number in 0..count {
        create(&mut kernel, first + number, None);
        succeeds(&mut kernel, Op::Attach, [first + number, 0, SEGMENT, RWX]);
        succeeds(&mut kernel, Op::Attach, attach(PLACE, number * size, first + number, size));
    }
    let counts = |kernel: &Kernel<Host>| {
        let all = seen(&found(kernel, PLACE));
        let of = |number: Word| {
            all.range(UserAddr(number * size)..UserAddr((number + 1) * size)).count()
        };
        (0..count).map(of).collect::<BTreeSet<_>>()
    };
    assert!(
        begin_map(&mut kernel, record(SEGMENT, TABLE_SPAN, MEMORY, 3)),
        "it checks for interrupts"
    );
    assert_eq!(counts(&kernel), BTreeSet::from([0, 3]));
    finish(&mut kernel, check_all);
    assert_eq!(counts(&kernel), BTreeSet::from([3]));
    let (walker, all) = (kernel.port.walker.len(), kernel.port.all_invalidated);
    assert!(
        begin_map(&mut kernel, unmap(SEGMENT, TABLE_SPAN, TABLE_SPAN)),
        "it checks for interrupts"
    );
    assert_eq!(counts(&kernel), BTreeSet::from([0, 3]));
    finish(&mut kernel, check_all);
    assert_eq!((counts(&kernel), kernel.port.walker.len()), (BTreeSet::from([0]), walker));
    assert!(kernel.port.all_invalidated > all, "no translation is left");
}
