// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers, and the spaces that show them.

use crate::common;

use abi::utcb::AREA_END;
use abi::{
    Error, MapRecord, MessageKind, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word,
};
use arch_host::{Host, HostFormat, RAM, WINDOWS, boot, boot_with};
use common::servers::{
    ALL_WINDOWS, AREA, READ_WRITE, RWX, STARTS, check_shown, check_space, create, fails, records,
    root, space_of,
};
use common::{
    Found, aside, begin, begin_map, call, delivery, derive, finish, leaves_of, low, map, protect,
    record, results, seen, slot, slot_of, stop, succeeds, unmap, used,
};
use kcore::{Kernel, Owner, Space};
use mmu::Format;
use pool::Ref;
use std::collections::{BTreeSet, HashMap};

/// Slots of what has a name in most tests.
const SERVER: Word = slot::FREE;
const PROCESS: Word = slot::FREE + 1;
const SEGMENT: Word = slot::FREE + 2;
const MEMORY: Word = slot::FREE + 3;
const OTHER: Word = slot::FREE + 4;
const COPY: Word = slot::FREE + 5;
const THREAD: Word = slot::FREE + 6;
const PART: Word = slot::FREE + 7;
/// The first of many spaces.
const FIRST: Word = slot::FREE + 8;

/// Makes a server with all of the window.
fn serve(kernel: &mut Kernel<Host>, space: Word) {
    create(kernel, space, Some(WINDOWS));
    succeeds(kernel, Op::Serve, [space, ALL_WINDOWS, 0, 0]);
}

fn show(kernel: &mut Kernel<Host>, space: Word, server: Word) {
    succeeds(kernel, Op::Attach, [space, WINDOWS, server, RWX]);
}

/// A machine with a server, a space of aliens, a segment and 16 pages of RAM.
fn machine() -> Kernel<Host> {
    let mut kernel = boot();
    serve(&mut kernel, SERVER);
    create(&mut kernel, PROCESS, None);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 3 * TABLE_SPAN, SEGMENT, 0]);
    assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
    kernel
}

// --- Errors --------------------------------------------------------------------------------------

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

// --- What is shown -------------------------------------------------------------------------------

#[test]
fn threads_of_a_server_have_their_utcbs_where_it_is_shown() {
    let mut kernel = machine();
    show(&mut kernel, PROCESS, SERVER);
    let (server, process) = (space_of(&kernel, SERVER), space_of(&kernel, PROCESS));
    let both = |kernel: &Kernel<Host>| {
        [server, process].map(|space| seen(&leaves_of(kernel, Owner::Space(space))))
    };
    let [before, shown] = both(&kernel);
    assert_eq!((&before, before.len()), (&shown, 1), "the information page");
    for home in [0, SERVER] {
        let runs_in = if home == 0 { SERVER } else { PROCESS };
        let [_, utcb, ..] =
            succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, runs_in, THREAD, home]);
        let [made, shown] = both(&kernel);
        assert_eq!(made, shown);
        assert_eq!(made[&UserAddr(utcb).align_down(PAGE_SIZE)].1, READ_WRITE);
        check_space(&kernel, process);
        kernel.port.invalidated.clear();
        succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
        let [left, shown] = both(&kernel);
        assert_eq!((&left, &shown), (&before, &before));
        assert!(
            kernel
                .port
                .invalidated
                .iter()
                .any(|(of, range)| *of == server.address() && range.contains(&UserAddr(utcb)))
        );
    }
}

/// Tables that somebody has emptied before are the supervisor's, too.
#[test]
fn a_server_has_no_table_that_users_reach() {
    let mut kernel = machine();
    create(&mut kernel, OTHER, Some(WINDOWS));
    let address = USER_END - PAGE_SIZE;
    for address in [0x1000_0000, WINDOWS - PAGE_SIZE, WINDOWS + AREA, address] {
        assert_eq!(map(&mut kernel, record(OTHER, address, MEMORY, 1)), 0);
    }
    succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
    succeeds(&mut kernel, Op::Serve, [OTHER, ALL_WINDOWS, 0, 0]);
    let server = space_of(&kernel, OTHER);
    check_space(&kernel, server);
    show(&mut kernel, PROCESS, OTHER);
    assert_eq!(map(&mut kernel, record(OTHER, address, MEMORY, 1)), 0);
    check_space(&kernel, server);
    check_space(&kernel, space_of(&kernel, PROCESS));
}

/// A revoke that has looked at the window's addresses ends, though they are not the space's any
/// more.
#[test]
fn a_revoke_ends_in_a_space_that_shows_a_server_meanwhile() {
    let mut kernel = machine();
    assert_eq!(map(&mut kernel, record(PROCESS, 0, MEMORY, 1)), 0);
    assert!(begin(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]), "it checks for interrupts");
    let process = space_of(&kernel, PROCESS);
    for _ in 0..10_000 {
        let at =
            kernel.pool[process].region.attached.get().expect("not before it has looked at all");
        if kernel.pool[at].cursor >= attach_cursor(USER_END) {
            break;
        }
        kernel.carry_on();
    }
    aside(&mut kernel, |kernel| show(kernel, PROCESS, SERVER));
    for _ in 0..10_000 {
        kernel.carry_on();
    }
    assert!(kernel.pool[process].region.attached.is_null(), "it has found all");
    assert!(!kernel.carry_on(), "it has ended");
}

/// What a revoke notes when it goes on at an address: it looks at a table in parts of 128 entries.
fn attach_cursor(address: Word) -> u32 {
    low(address / TABLE_SPAN) * (HostFormat::ENTRIES as u32 / 128)
}

// --- Steps ---------------------------------------------------------------------------------------

/// Spaces that show the server; more than get a copy of an entry in one step.
const SPACES: Word = 100;
const INSIDE: Word = WINDOWS + AREA;

/// A machine with a server that many spaces show.
fn shared() -> (Kernel<Host>, Vec<Ref<Space>>) {
    let mut kernel = boot_with(16 << 20);
    serve(&mut kernel, SERVER);
    for space in FIRST..FIRST + SPACES {
        create(&mut kernel, space, None);
        show(&mut kernel, space, SERVER);
    }
    create(&mut kernel, PROCESS, None);
    assert_eq!(derive(&mut kernel, slot::RAM, 4 << 20, 4 << 20, MEMORY), 0);
    let spaces = (FIRST..FIRST + SPACES).map(|space| space_of(&kernel, space)).collect();
    (kernel, spaces)
}

/// How many of the memory's pages the spaces find.
fn counts(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) -> BTreeSet<usize> {
    let in_ram = |found: &Found| found.physical.offset_from(RAM.base) < RAM.bytes;
    spaces
        .iter()
        .map(|space| {
            leaves_of(kernel, Owner::Space(*space)).iter().filter(|found| in_ram(found)).count()
        })
        .collect()
}

fn check_all(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    spaces.iter().for_each(|space| check_space(kernel, *space));
    check_shown(kernel, spaces);
}

#[test]
fn a_new_table_of_a_server_reaches_all_spaces_in_steps() {
    let (mut kernel, spaces) = shared();
    assert!(begin_map(&mut kernel, record(SERVER, INSIDE, MEMORY, 5)), "it checks for interrupts");
    assert_eq!(counts(&kernel, &spaces), BTreeSet::from([0, 5]));
    // In between a space begins to show it, and others do so no more: the first and the next to be
    // visited.
    let late = space_of(&kernel, PROCESS);
    let server = space_of(&kernel, SERVER);
    let next = kernel.pool[kernel.pool[server].region.visit.get().expect("it is not ready")].owner;
    let next = (FIRST..FIRST + SPACES)
        .find(|space| space_of(&kernel, *space).address() == next)
        .expect("one of them");
    aside(&mut kernel, |kernel| {
        show(kernel, PROCESS, SERVER);
        for space in [next, FIRST] {
            succeeds(kernel, Op::Detach, [space, WINDOWS, 0, 0]);
        }
        succeeds(kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
    });
    let gone = [next, FIRST, FIRST + 1].map(|space| spaces[(space - FIRST) as usize]);
    let mut left: Vec<Ref<Space>> =
        spaces.into_iter().filter(|space| !gone.contains(space)).collect();
    left.push(late);
    finish(&mut kernel, |kernel| check_all(kernel, &left));
    assert_eq!(counts(&kernel, &left), BTreeSet::from([5]));
    assert_eq!(counts(&kernel, &gone[..2]), BTreeSet::from([0]));
    check_all(&kernel, &left);
}

/// Who is stopped while a table goes leaves copies; what comes next must not end before they
/// are gone.
#[test]
fn what_somebody_left_is_finished() {
    let next: [fn(&mut Kernel<Host>); 5] = [
        |kernel| assert_eq!(call(kernel, Op::Revoke, [MEMORY, 0, 0, 0])[0], 0),
        |kernel| assert_eq!(map(kernel, record(SERVER, INSIDE + 2 * TABLE_SPAN, MEMORY, 1)), 0),
        |kernel| assert_eq!(map(kernel, unmap(SERVER, USER_END - PAGE_SIZE, PAGE_SIZE)), 0),
        |kernel| assert_eq!(map(kernel, protect(SERVER, INSIDE, PAGE_SIZE, Rights::READ)), 0),
        |kernel| assert_eq!(call(kernel, Op::Delete, [SERVER, 0, 0, 0])[0], 0),
    ];
    for (number, next) in next.into_iter().enumerate() {
        for large in [false, true] {
            let (mut kernel, spaces) = shared();
            let address = INSIDE + if large { 0 } else { PAGE_SIZE };
            assert_eq!(
                map(
                    &mut kernel,
                    record(SERVER, address, MEMORY, if large { TABLE_SPAN / PAGE_SIZE } else { 7 })
                ),
                0
            );
            let pages = if large { (TABLE_SPAN / PAGE_SIZE) as usize } else { 7 };
            assert_eq!(counts(&kernel, &spaces), BTreeSet::from([pages]));
            let charged = used(&mut kernel);
            assert!(
                begin_map(&mut kernel, unmap(SERVER, INSIDE, TABLE_SPAN)),
                "it checks for interrupts"
            );
            assert_eq!(counts(&kernel, &spaces), BTreeSet::from([0, pages]));
            stop(&mut kernel);
            assert_eq!(used(&mut kernel), charged, "the table cannot be free yet");
            let server = space_of(&kernel, SERVER).address();
            (kernel.port.all_invalidated, kernel.port.shown_invalidated) = (0, Vec::new());
            next(&mut kernel);
            assert_eq!(
                counts(&kernel, &spaces),
                BTreeSet::from([usize::from(number == 1)]),
                "{number}"
            );
            let gone = (server, UserAddr(INSIDE)..UserAddr(INSIDE + TABLE_SPAN));
            assert!(kernel.port.shown_invalidated.contains(&gone), "no translation is left");
            assert_eq!(kernel.port.all_invalidated, 0, "other spaces keep theirs");
            check_all(&kernel, &spaces);
        }
    }
}

#[test]
fn what_is_revoked_is_nowhere() {
    for pages in [5, TABLE_SPAN / PAGE_SIZE] {
        let (mut kernel, spaces) = shared();
        assert_eq!(map(&mut kernel, record(SERVER, INSIDE, MEMORY, pages)), 0);
        assert_eq!(map(&mut kernel, record(SERVER, USER_END - TABLE_SPAN, MEMORY, pages)), 0);
        assert!(begin(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]), "it checks for interrupts");
        finish(&mut kernel, |kernel| check_all(kernel, &spaces));
        assert_eq!(counts(&kernel, &spaces), BTreeSet::from([0]));
        let server = space_of(&kernel, SERVER);
        assert!(
            kernel.pool[server].region.changing == 0
                && kernel.pool[server].region.attached.is_null()
        );
    }
}

/// As a server ends, spaces lose it one by one. It does not end before all have.
#[test]
fn a_server_that_ends_is_shown_nowhere() {
    let (mut kernel, spaces) = shared();
    let before = used(&mut kernel);
    assert_eq!(map(&mut kernel, record(SERVER, INSIDE, MEMORY, 5)), 0);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, SERVER, THREAD, 0]);
    // A change that is left in the middle.
    assert!(begin_map(&mut kernel, unmap(SERVER, INSIDE, TABLE_SPAN)), "it checks for interrupts");
    stop(&mut kernel);
    assert!(begin(&mut kernel, Op::Delete, [SERVER, 0, 0, 0]), "it checks for interrupts");
    let mut shown = BTreeSet::new();
    finish(&mut kernel, |kernel| {
        check_all(kernel, &spaces);
        shown.insert(kernel.port.shown.len());
    });
    assert_eq!(shown, (0..=SPACES as usize).collect(), "one by one");
    succeeds(&mut kernel, Op::Delete, [THREAD, 0, 0, 0]);
    assert!(used(&mut kernel) < before);
    // All is as if there had been none.
    serve(&mut kernel, SERVER);
    for space in FIRST..FIRST + SPACES {
        assert_eq!(map(&mut kernel, record(space, USER_END - PAGE_SIZE, MEMORY, 1)), 0);
        fails(&mut kernel, Op::Attach, [space, WINDOWS, SERVER, RWX], Error::Occupied);
    }
}

#[test]
fn a_space_that_ends_shows_nothing() {
    let (mut kernel, mut spaces) = shared();
    assert_eq!(map(&mut kernel, record(SERVER, INSIDE, MEMORY, 5)), 0);
    assert_eq!(map(&mut kernel, record(FIRST, 0, MEMORY, 5)), 0);
    let start = used(&mut kernel);
    assert!(begin_map(&mut kernel, unmap(SERVER, INSIDE, TABLE_SPAN)), "it checks for interrupts");
    let ends = spaces.remove(0);
    aside(&mut kernel, |kernel| {
        assert!(begin(kernel, Op::Delete, [FIRST, 0, 0, 0]), "it checks for interrupts");
        finish(kernel, |kernel| {
            let is_shown = kernel.port.shown.contains_key(&ends.address());
            assert_eq!(is_shown, !kernel.pool[ends].segments.is_null());
            spaces.iter().for_each(|space| check_space(kernel, *space));
        });
        check_shown(kernel, &spaces);
    });
    finish(&mut kernel, |kernel| check_all(kernel, &spaces));
    assert_eq!(counts(&kernel, &spaces), BTreeSet::from([0]));
    assert!(used(&mut kernel) < start);
}

/// An attach whose caller is stopped leaves a server that is not shown; to detach it takes it away.
#[test]
fn what_is_shown_in_part_is_taken_away() {
    let mut kernel = machine();
    for address in [INSIDE, WINDOWS + 40 * TABLE_SPAN, USER_END - PAGE_SIZE] {
        assert_eq!(map(&mut kernel, record(SERVER, address, MEMORY, 1)), 0);
    }
    let (server, process) = (space_of(&kernel, SERVER), space_of(&kernel, PROCESS));
    assert!(
        begin(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, RWX]),
        "it checks for interrupts"
    );
    assert!(kernel.port.shown.is_empty(), "not yet");
    check_all(&kernel, &[process]);
    kernel.carry_on();
    assert!(kernel.port.shown.is_empty(), "not yet");
    assert_eq!(counts(&kernel, &[process]), BTreeSet::from([1]), "a part of it");
    stop(&mut kernel);
    check_all(&kernel, &[process]);
    // It has the place.
    fails(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, RWX], Error::Occupied);
    assert_eq!(
        map(&mut kernel, record(PROCESS, USER_END - PAGE_SIZE, MEMORY, 1)),
        Error::BadAddress as Word
    );
    // What changes is right in what is there.
    assert_eq!(map(&mut kernel, record(SERVER, INSIDE + 2 * TABLE_SPAN, MEMORY, 1)), 0);
    assert_eq!(map(&mut kernel, unmap(SERVER, INSIDE - INSIDE % TABLE_SPAN, TABLE_SPAN)), 0);
    check_all(&kernel, &[process]);
    kernel.port.invalidated.clear();
    succeeds(&mut kernel, Op::Detach, [PROCESS, WINDOWS, 0, 0]);
    assert!(
        kernel
            .port
            .invalidated
            .contains(&(process.address(), UserAddr(WINDOWS)..UserAddr(USER_END)))
    );
    assert!(
        leaves_of(&kernel, Owner::Space(process)).is_empty()
            && records(&kernel, process).is_empty()
    );
    check_all(&kernel, &[process]);
    // It is shown once more, and this time to the end, whatever comes between.
    assert!(
        begin(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, RWX]),
        "it checks for interrupts"
    );
    aside(&mut kernel, |kernel| {
        assert_eq!(map(kernel, record(SERVER, WINDOWS + 50 * TABLE_SPAN, MEMORY, 1)), 0)
    });
    finish(&mut kernel, |kernel| check_all(kernel, &[process]));
    assert_eq!(kernel.port.shown, HashMap::from([(process.address(), server.address())]));
    assert_eq!(counts(&kernel, &[process]), counts(&kernel, &[server]));
    check_all(&kernel, &[process]);
}

/// Who was to be shown ends while it is attached: the caller hears of it, and nothing is left.
#[test]
fn a_server_that_ends_while_it_is_attached_leaves_no_trace() {
    for (ends, stays) in [(SERVER, PROCESS), (PROCESS, SERVER)] {
        let mut kernel = machine();
        let start = used(&mut kernel);
        let left = space_of(&kernel, stays);
        assert!(
            begin(&mut kernel, Op::Attach, [PROCESS, WINDOWS, SERVER, RWX]),
            "it checks for interrupts"
        );
        aside(&mut kernel, |kernel| succeeds(kernel, Op::Delete, [ends, 0, 0, 0]));
        check_all(&kernel, &[left]);
        kernel.port.pending = false;
        while kernel.carry_on() {}
        let me = kernel.current().expect("the root server runs");
        assert_eq!(results(&kernel.pool[me])[0], Error::NoCapability as Word);
        assert!(slot_of(&kernel, root(&kernel), ends).is_empty() && kernel.port.shown.is_empty());
        assert!(kernel.pool[left].region.uses.is_null() && records(&kernel, left).is_empty());
        check_all(&kernel, &[left]);
        assert!(used(&mut kernel) < start);
    }
}
