// SPDX-License-Identifier: MIT OR Apache-2.0
//! Homes, and the small spaces in them: which entries their tables have.

mod errors;
mod steps;

use crate::common::servers::{
    ALL_WINDOWS, AREA, READ_WRITE, RWX, check_moved, check_space, create, create_home, entry_of,
    fails, root, space_of,
};
use crate::common::{
    Found, Seen, check_flushes, derive, leaves_of, map, protect, record, seen, slot, slot_of,
    succeeds, unmap, used,
};
use abi::{Error, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, WINDOWS, boot, boot_with_windows};
use kcore::port::Area;
use kcore::{Kernel, Owner, Space};
use mmu::Format;
use pool::Ref;
use std::collections::{BTreeMap, HashMap};

/// Slots of the objects that most tests use. The small space is one of aliens.
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

/// Checks that all spaces are correct, and that each home has what its small spaces have below
/// their sizes.
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

/// The mappings between two addresses, relative to the first one.
fn part(kernel: &Kernel<Host>, space: Word, start: Word, end: Word) -> Seen {
    let within =
        seen(&found(kernel, space)).into_iter().filter(|(at, _)| (start..end).contains(&at.0));
    within.map(|(at, what)| (UserAddr(at.0 - start), what)).collect()
}

/// Checks that the home has the small space's mappings at its base. Returns how many pages these
/// are.
fn check_home(kernel: &Kernel<Host>, small: Word) -> usize {
    check_all(kernel);
    let own = part(kernel, small, 0, SIZE);
    assert_eq!(part(kernel, PLACE, AT, AT + SIZE), own);
    own.len()
}

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
    // The port knows the base, and flushes there itself.
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

/// UTCBs of a small native space are mapped and unmapped like any page.
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

/// UTCBs beyond the size of a small space are not mapped in its home.
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

/// A space that is large again still ends where the server's window begins.
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
