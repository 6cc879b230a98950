// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cannot be a server, or show one: the call fails, and nothing has changed.

use super::{COPY, MEMORY, OTHER, PART, PROCESS, SEGMENT, SERVER, THREAD, machine, serve, show};
use crate::common::servers::{
    ALL_WINDOWS, AREA, RWX, STARTS, check_space, create, fails, records, space_of,
};
use crate::common::{
    call, delivery, derive, leaves_of, map, protect, record, slot, succeeds, unmap, used,
};
use abi::utcb::AREA_END;
use abi::{Error, MapRecord, MessageKind, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, Word};
use arch_host::{WINDOWS, boot};
use kcore::Owner;
use std::collections::{BTreeSet, HashMap};

#[test]
fn a_place_is_where_the_kernels_part_fits() {
    let mut kernel = boot();
    let before = used(&mut kernel);
    for place in [
        PAGE_SIZE,
        WINDOWS + PAGE_SIZE,
        USER_END,
        USER_END - AREA + TABLE_SPAN,
        Word::MAX & !(TABLE_SPAN - 1),
        Word::MAX,
    ] {
        fails(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, SERVER, place], Error::BadAddress);
    }
    for place in [TABLE_SPAN, WINDOWS, 2] {
        fails(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SERVER, place], Error::BadArgument);
    }
    assert_eq!(used(&mut kernel), before);
    for place in [0, TABLE_SPAN, WINDOWS, USER_END - AREA] {
        create(&mut kernel, SERVER, Some(place));
        assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
        for address in [place, place + AREA - PAGE_SIZE] {
            assert_eq!(
                map(&mut kernel, record(SERVER, address, MEMORY, 1)),
                Error::BadAddress as Word,
                "{address:#x}"
            );
        }
        let beside = [place.wrapping_sub(PAGE_SIZE), place + AREA];
        for address in beside.into_iter().filter(|address| *address < USER_END) {
            assert_eq!(map(&mut kernel, record(SERVER, address, MEMORY, 1)), 0, "{address:#x}");
        }
        for slot in [MEMORY, SERVER] {
            succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        assert_eq!(used(&mut kernel), before);
    }
}

#[test]
fn a_server_is_made_of_a_fresh_space_and_its_window() {
    let mut kernel = boot();
    create(&mut kernel, SERVER, Some(WINDOWS));
    create(&mut kernel, PROCESS, None);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, TABLE_SPAN, SEGMENT, 0]);
    assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
    let serve = |space, window, global| [space, window, global, 0];
    // Capabilities.
    fails(&mut kernel, Op::Serve, serve(0, ALL_WINDOWS, 0), Error::NoCapability);
    fails(&mut kernel, Op::Serve, serve(SERVER, OTHER, 0), Error::NoCapability);
    fails(&mut kernel, Op::Serve, serve(SEGMENT, ALL_WINDOWS, 0), Error::WrongKind);
    fails(&mut kernel, Op::Serve, serve(SERVER, PROCESS, 0), Error::WrongKind);
    for (of, args) in [(SERVER, serve(COPY, ALL_WINDOWS, 0)), (ALL_WINDOWS, serve(SERVER, COPY, 0))]
    {
        succeeds(&mut kernel, Op::Copy, [of, 0, COPY, RWX]);
        fails(&mut kernel, Op::Serve, args, Error::NoRight);
        succeeds(&mut kernel, Op::Delete, [COPY, 0, 0, 0]);
    }
    // The Memory.
    fails(&mut kernel, Op::Serve, serve(SERVER, MEMORY, 0), Error::BadArgument);
    fails(&mut kernel, Op::Serve, serve(SERVER, slot::PORTS, 0), Error::BadArgument);
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 2), Error::BadArgument);
    let bytes = USER_END - WINDOWS;
    for (offset, bytes) in
        [(0, bytes - TABLE_SPAN), (TABLE_SPAN, bytes - TABLE_SPAN), (PAGE_SIZE, bytes - PAGE_SIZE)]
    {
        assert_eq!(derive(&mut kernel, ALL_WINDOWS, offset, bytes, PART), 0);
        fails(&mut kernel, Op::Serve, serve(SERVER, PART, 0), Error::BadAddress);
        succeeds(&mut kernel, Op::Delete, [PART, 0, 0, 0]);
    }
    create(&mut kernel, OTHER, Some(0));
    fails(&mut kernel, Op::Serve, serve(OTHER, ALL_WINDOWS, 0), Error::BadAddress);
    // The Space.
    fails(&mut kernel, Op::Serve, serve(PROCESS, ALL_WINDOWS, 0), Error::BadState);
    fails(&mut kernel, Op::Serve, serve(slot::SPACE, ALL_WINDOWS, 0), Error::BadState);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, SERVER, THREAD, 0]);
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0), Error::BadState);
    succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, PROCESS, THREAD, SERVER]);
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0), Error::BadState);
    succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
    for memory in [MEMORY, slot::PORTS] {
        let ports = MapRecord::new(MapRecord::MAP, SERVER, 0, memory, 0, 1, Rights::WRITE);
        let mapped = if memory == MEMORY { record(SERVER, 0, memory, 1) } else { ports };
        assert_eq!(map(&mut kernel, mapped), 0);
        fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0), Error::BadState);
        succeeds(&mut kernel, Op::Revoke, [memory, 0, 0, 0]);
    }
    succeeds(&mut kernel, Op::Attach, [SERVER, 0x1000_0000, SEGMENT, RWX]);
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0), Error::BadState);
    succeeds(&mut kernel, Op::Detach, [SERVER, 0x1000_0000, 0, 0]);
    // A port without servers.
    kernel.port.has_no_servers = true;
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 1), Error::Unsupported);
    kernel.port.has_no_servers = false;
    // None of these has changed it.
    fails(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, RWX], Error::BadState);
    assert_eq!(map(&mut kernel, record(SERVER, 0, MEMORY, 1)), 0);
    assert_eq!(map(&mut kernel, unmap(SERVER, 0, TABLE_SPAN)), 0);
    succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
    succeeds(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0));
    fails(&mut kernel, Op::Serve, serve(SERVER, ALL_WINDOWS, 0), Error::BadState);
    // Who shows one is none, either.
    assert_eq!(derive(&mut kernel, ALL_WINDOWS, 0, bytes, PART), 0);
    show(&mut kernel, OTHER, SERVER);
    fails(&mut kernel, Op::Serve, serve(OTHER, PART, 0), Error::BadState);
    // Its window may go.
    succeeds(&mut kernel, Op::Revoke, [ALL_WINDOWS, 0, 0, 0]);
    show(&mut kernel, PROCESS, SERVER);
}

#[test]
fn the_only_server_is_the_only_one() {
    let mut kernel = boot();
    for space in [SERVER, OTHER] {
        create(&mut kernel, space, Some(WINDOWS));
    }
    for global in [0, 1] {
        succeeds(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, global, 0]);
        fails(&mut kernel, Op::Serve, [OTHER, ALL_WINDOWS, 1, 0], Error::Occupied);
        if global == 1 {
            fails(&mut kernel, Op::Serve, [OTHER, ALL_WINDOWS, 0, 0], Error::Occupied);
        }
        succeeds(&mut kernel, Op::Delete, [SERVER, 0, 0, 0]);
        create(&mut kernel, SERVER, Some(WINDOWS));
    }
    succeeds(&mut kernel, Op::Serve, [OTHER, ALL_WINDOWS, 0, 0]);
    succeeds(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, 0, 0]);
}

#[test]
fn what_cannot_be_shown_is_not() {
    let mut kernel = machine();
    assert_eq!(
        derive(&mut kernel, ALL_WINDOWS, STARTS[1] - WINDOWS, USER_END - STARTS[1], PART),
        0
    );
    create(&mut kernel, OTHER, Some(STARTS[1]));
    let attach = |to, server| [to, WINDOWS, server, RWX];
    fails(&mut kernel, Op::Attach, attach(PROCESS, OTHER), Error::BadState);
    succeeds(&mut kernel, Op::Serve, [OTHER, PART, 0, 0]);
    fails(&mut kernel, Op::Attach, attach(PROCESS, COPY), Error::NoCapability);
    fails(&mut kernel, Op::Attach, attach(COPY, SERVER), Error::NoCapability);
    fails(&mut kernel, Op::Attach, attach(PROCESS, MEMORY), Error::WrongKind);
    fails(&mut kernel, Op::Attach, attach(SEGMENT, SERVER), Error::WrongKind);
    for (of, args) in [(SERVER, attach(PROCESS, COPY)), (PROCESS, attach(COPY, SERVER))] {
        succeeds(&mut kernel, Op::Copy, [of, 0, COPY, RWX]);
        fails(&mut kernel, Op::Attach, args, Error::NoRight);
        succeeds(&mut kernel, Op::Delete, [COPY, 0, 0, 0]);
    }
    for rights in (0..RWX).chain([RWX + 8]) {
        fails(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, rights], Error::BadArgument);
    }
    let beyond = (0..Word::BITS)
        .map(|bit| WINDOWS.wrapping_add(1 << bit))
        .filter(|address| *address >= USER_END);
    for address in beyond.chain([
        0,
        WINDOWS - TABLE_SPAN,
        WINDOWS + PAGE_SIZE,
        WINDOWS + TABLE_SPAN,
        STARTS[1],
        USER_END,
    ]) {
        fails(&mut kernel, Op::Attach, [PROCESS, address, SERVER, RWX], Error::BadAddress);
    }
    // The kernel's part of the space is in the window.
    create(&mut kernel, COPY, Some(STARTS[1]));
    fails(&mut kernel, Op::Attach, attach(COPY, SERVER), Error::BadAddress);
    // Servers.
    fails(&mut kernel, Op::Attach, attach(SERVER, SERVER), Error::BadState);
    fails(&mut kernel, Op::Attach, attach(OTHER, SERVER), Error::BadState);
    fails(&mut kernel, Op::Attach, [OTHER, 0x1000_0000, SEGMENT, 1], Error::BadState);
    fails(&mut kernel, Op::Attach, [OTHER, STARTS[1] + AREA, SEGMENT, 1], Error::BadState);
    // Something is there: a page, the table that it leaves, a segment over the border or the end.
    for address in [WINDOWS, USER_END - PAGE_SIZE] {
        assert_eq!(map(&mut kernel, record(PROCESS, address, MEMORY, 1)), 0);
        fails(&mut kernel, Op::Attach, attach(PROCESS, SERVER), Error::Occupied);
        assert_eq!(map(&mut kernel, unmap(PROCESS, address, PAGE_SIZE)), 0);
        fails(&mut kernel, Op::Attach, attach(PROCESS, SERVER), Error::Occupied);
        let span = address - address % TABLE_SPAN;
        assert_eq!(map(&mut kernel, unmap(PROCESS, span, TABLE_SPAN)), 0);
    }
    for place in [WINDOWS - 2 * TABLE_SPAN, USER_END - 3 * TABLE_SPAN] {
        succeeds(&mut kernel, Op::Attach, [PROCESS, place, SEGMENT, 1]);
        fails(&mut kernel, Op::Attach, attach(PROCESS, SERVER), Error::Occupied);
        succeeds(&mut kernel, Op::Detach, [PROCESS, place, 0, 0]);
    }
    let process = space_of(&kernel, PROCESS);
    assert!(records(&kernel, process).is_empty() && kernel.port.shown.is_empty());
    // One server is.
    succeeds(&mut kernel, Op::Attach, [PROCESS, WINDOWS - 3 * TABLE_SPAN, SEGMENT, 1]);
    show(&mut kernel, PROCESS, SERVER);
    fails(&mut kernel, Op::Attach, attach(PROCESS, SERVER), Error::Occupied);
    serve(&mut kernel, THREAD);
    fails(&mut kernel, Op::Attach, attach(PROCESS, THREAD), Error::Occupied);
    // Nothing of another's window is the space's.
    fails(&mut kernel, Op::Attach, [PROCESS, STARTS[1], OTHER, RWX], Error::BadAddress);
    fails(
        &mut kernel,
        Op::Attach,
        [PROCESS, WINDOWS - 2 * TABLE_SPAN, SEGMENT, 1],
        Error::BadAddress,
    );
    fails(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SEGMENT, 1], Error::BadAddress);
    assert_eq!(
        kernel.port.shown,
        HashMap::from([(process.address(), space_of(&kernel, SERVER).address())])
    );
    check_space(&kernel, process);
}

/// With any memory that is too little, something is missing at each point on the way.
#[test]
fn what_cannot_be_paid_is_not_shown() {
    let mut ends = BTreeSet::new();
    for bytes in (0..8 * PAGE_SIZE).step_by(PAGE_SIZE as usize / 4) {
        let mut kernel = machine();
        succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, bytes, OTHER, 0]);
        if call(&mut kernel, Op::CreateSpace, [OTHER, 0, COPY, 0])[0] != 0 {
            continue;
        }
        let [status, ..] = call(&mut kernel, Op::Attach, [COPY, WINDOWS, SERVER, RWX]);
        let (space, shown) = (space_of(&kernel, COPY), kernel.port.shown.len());
        assert_eq!(shown, usize::from(status == 0), "{bytes} bytes");
        assert!(status == 0 || status == Error::QuotaExceeded as Word, "{bytes} bytes: {status}");
        check_space(&kernel, space);
        ends.insert(status);
        succeeds(&mut kernel, Op::Delete, [COPY, 0, 0, 0]);
        assert_eq!(succeeds(&mut kernel, Op::QuotaInfo, [OTHER, 0, 0, 0])[1], 0, "{bytes} bytes");
    }
    assert!(ends.contains(&0), "it is enough in the end");
    let mut kernel = machine();
    succeeds(&mut kernel, Op::CreateQuota, [slot::QUOTA, 16 * PAGE_SIZE, OTHER, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [OTHER, 0, COPY, 0]);
    succeeds(&mut kernel, Op::Delete, [OTHER, 0, 0, 0]);
    fails(&mut kernel, Op::Attach, [COPY, WINDOWS, SERVER, RWX], Error::BadState);
    assert!(kernel.port.shown.is_empty());
}

#[test]
fn what_is_not_there_is_not_detached() {
    let mut kernel = machine();
    let detach = |space, address| [space, address, 0, 0];
    fails(&mut kernel, Op::Detach, detach(PROCESS, WINDOWS), Error::NotThere);
    show(&mut kernel, PROCESS, SERVER);
    fails(&mut kernel, Op::Detach, detach(COPY, WINDOWS), Error::NoCapability);
    fails(&mut kernel, Op::Detach, detach(SEGMENT, WINDOWS), Error::WrongKind);
    succeeds(&mut kernel, Op::Copy, [PROCESS, 0, COPY, RWX]);
    fails(&mut kernel, Op::Detach, detach(COPY, WINDOWS), Error::NoRight);
    let beyond = (0..Word::BITS)
        .map(|bit| WINDOWS.wrapping_add(1 << bit))
        .filter(|address| *address != WINDOWS);
    for address in beyond.chain([0, USER_END, Word::MAX & !(TABLE_SPAN - 1)]) {
        fails(&mut kernel, Op::Detach, detach(PROCESS, address), Error::NotThere);
    }
    fails(&mut kernel, Op::Detach, detach(SERVER, WINDOWS), Error::NotThere);
    let process = space_of(&kernel, PROCESS);
    assert_eq!(kernel.port.shown.len(), 1);
    succeeds(&mut kernel, Op::Detach, detach(PROCESS, WINDOWS));
    assert!(kernel.port.shown.is_empty() && leaves_of(&kernel, Owner::Space(process)).is_empty());
    fails(&mut kernel, Op::Detach, detach(PROCESS, WINDOWS), Error::NotThere);
    // All is the space's again, to its end.
    assert_eq!(map(&mut kernel, record(PROCESS, USER_END - PAGE_SIZE, MEMORY, 1)), 0);
}

#[test]
fn each_maps_in_its_part_alone() {
    let mut kernel = machine();
    assert_eq!(derive(&mut kernel, ALL_WINDOWS, 0, PAGE_SIZE, PART), 0);
    create(&mut kernel, OTHER, Some(0));
    for space in [PROCESS, OTHER] {
        show(&mut kernel, space, SERVER);
    }
    for window in [ALL_WINDOWS, PART] {
        for owner in [SERVER, PROCESS, SEGMENT] {
            assert_eq!(map(&mut kernel, record(owner, 0, window, 1)), Error::BadArgument as Word);
        }
        let [words, address, offset, _] = record(PROCESS, AREA_END, window, 1).0;
        let me = kernel.current().expect("the root server runs");
        call(&mut kernel, Op::MapReplyWait, [0, words, address, offset]);
        let answer = delivery(&kernel.pool[me]);
        assert_eq!(
            (answer.kind(), answer.badge()),
            (MessageKind::Failed, Error::BadArgument as u32)
        );
        fails(&mut kernel, Op::Lookup, [PROCESS, AREA_END, window, 0], Error::BadArgument);
    }
    let changes: [fn(Word, Word, Word) -> MapRecord; 3] = [
        |owner, address, pages| record(owner, address, MEMORY, pages),
        |owner, address, pages| unmap(owner, address, pages * PAGE_SIZE),
        |owner, address, pages| protect(owner, address, pages * PAGE_SIZE, Rights::READ),
    ];
    let (inside, end) = (WINDOWS + AREA, USER_END - PAGE_SIZE);
    for change in changes {
        for (owner, address, pages, fits) in [
            (SERVER, inside, 2, true),
            (SERVER, end, 1, true),
            (SERVER, end, 2, false),
            (SERVER, inside - PAGE_SIZE, 2, false),
            (SERVER, WINDOWS, 1, false),
            (SERVER, WINDOWS - PAGE_SIZE, 1, false),
            (SERVER, WINDOWS - PAGE_SIZE, 2, false),
            (SERVER, 0, 1, false),
            (SERVER, AREA_END, 1, false),
            (PROCESS, 0, 2, true),
            (PROCESS, WINDOWS - PAGE_SIZE, 1, true),
            (PROCESS, WINDOWS - PAGE_SIZE, 2, false),
            (PROCESS, WINDOWS, 1, false),
            (PROCESS, inside, 1, false),
            (PROCESS, end, 1, false),
            (OTHER, AREA_END, 1, true),
            (OTHER, WINDOWS - PAGE_SIZE, 1, true),
            (OTHER, 0, 1, false),
            (OTHER, WINDOWS, 1, false),
        ] {
            let expected = if fits { 0 } else { Error::BadAddress as Word };
            assert_eq!(
                map(&mut kernel, change(owner, address, pages)),
                expected,
                "{owner} {address:#x} {pages}"
            );
            for space in [SERVER, PROCESS, OTHER] {
                check_space(&kernel, space_of(&kernel, space));
            }
        }
    }
}
