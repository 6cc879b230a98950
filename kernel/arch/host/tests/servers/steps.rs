// SPDX-License-Identifier: MIT OR Apache-2.0
//! Showing a server takes steps: what happens between them, and what ends meanwhile.

use super::{FIRST, MEMORY, PROCESS, SERVER, THREAD, machine, serve, show};
use crate::common::servers::{
    AREA, RWX, check_shown, check_space, create, fails, records, root, space_of,
};
use crate::common::{
    Found, aside, begin, begin_map, call, derive, finish, leaves_of, map, protect, record, results,
    slot, slot_of, stop, succeeds, unmap, used,
};
use abi::{Error, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, RAM, WINDOWS, boot_with};
use kcore::{Kernel, Owner, Space};
use pool::Ref;
use std::collections::{BTreeSet, HashMap};

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

/// A thread that is stopped while it removes a table leaves copies; what comes next must not end
/// before they are gone.
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

/// An attach whose caller is stopped leaves a server that is not shown; a detach removes it.
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

/// A server ends while it is being attached: the caller gets an error, and nothing is left.
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
