// SPDX-License-Identifier: MIT OR Apache-2.0
//! Windows of servers where a processor walks four levels: a window may have any size, and spaces
//! that show a large one share tables of a level above directories.
#![cfg(feature = "wide")]

use crate::common;

use abi::{Error, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, HostFormat, RAM, boot_with_windows};
use common::servers::{ALL_WINDOWS, AREA, RWX, create, fails, records, space_of};
use common::{
    Found, PAGE, Seen, begin_map, call, check_flushes_of, derive, finish, leaves_of, map, protect,
    record, seed, seen, slot, some_rights, succeeds, unmap, upper_tables, used,
};
use kcore::attach::ATTACHMENT_BYTES;
use kcore::{Kernel, Owner, Space, Table};
use mmu::Format;
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

const SERVER: Word = slot::FREE;
const PROCESS: Word = slot::FREE + 1;
const MEMORY: Word = slot::FREE + 2;
const PART: Word = slot::FREE + 3;
/// The first of several spaces.
const FIRST: Word = slot::FREE + 4;

const GIB: Word = 1 << 30;
/// What an entry of the highest table spans.
const HIGHEST: Word = 512 * GIB;

/// Bytes of windows, and the level of the entries that they are shown by.
const SIZES: [(Word, u32); 7] = [
    (7 * TABLE_SPAN, 1),
    (511 * TABLE_SPAN, 1),
    (GIB, 2),
    (3 * GIB, 2),
    (HIGHEST, 3),
    (3 * HIGHEST, 3),
    (200 * HIGHEST, 3),
];

/// A machine with a server that has a window of this size, a space of aliens and 16 pages of RAM.
fn machine(bytes: Word) -> Kernel<Host> {
    let mut kernel = boot_with_windows(USER_END - bytes);
    create(&mut kernel, SERVER, Some(USER_END - bytes));
    succeeds(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, 0, 0]);
    create(&mut kernel, PROCESS, None);
    assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
    kernel
}

fn show(kernel: &mut Kernel<Host>, space: Word, bytes: Word) {
    succeeds(kernel, Op::Attach, [space, USER_END - bytes, SERVER, RWX]);
}

/// A space's entry of this level for a leaf table, as a processor finds it.
fn entry_at(kernel: &Kernel<Host>, space: Ref<Space>, level: u32, index: usize) -> Word {
    let mut table: Ref<Table> = kernel.pool[space].region.top.get().expect("it has tables");
    for above in (level..HostFormat::LEVELS).rev() {
        let entry = kernel.port.walker[&table.address()].entries::<HostFormat>()
            [index / HostFormat::tables_of_entry(above) % HostFormat::ENTRIES];
        if above == level {
            return entry;
        }
        let Some((physical, _)) = HostFormat::decode_table(entry) else { return 0 };
        table = Ref::new(kcore::port::Translation::pool_address(&kernel.port, physical));
    }
    0
}

/// Entries by which a window is shown.
fn window_entries(kernel: &Kernel<Host>, space: Ref<Space>, start: Word, level: u32) -> Vec<Word> {
    let places = HostFormat::table_index(UserAddr(start))..HostFormat::USER_TABLES;
    places
        .step_by(HostFormat::tables_of_entry(level))
        .map(|index| entry_at(kernel, space, level, index))
        .collect()
}

/// What a processor finds of a space, from an address on.
fn from(kernel: &Kernel<Host>, space: Ref<Space>, start: Word) -> Vec<Found> {
    let mut found = leaves_of(kernel, Owner::Space(space));
    found.retain(|page| page.address.0 >= start);
    found
}

/// A space has a server's window: by copies that are the supervisor's, and nothing else there.
fn check_shown(
    kernel: &Kernel<Host>,
    space: Ref<Space>,
    server: Ref<Space>,
    (start, level): (Word, u32),
) {
    let (copies, own) = (from(kernel, space, start), from(kernel, server, start));
    assert_eq!(seen(&copies), seen(&own));
    assert!(copies.iter().all(|page| page.shared) && own.iter().all(|page| !page.shared));
    let copies = window_entries(kernel, space, start, level);
    let own = window_entries(kernel, server, start, level);
    for (copy, own) in copies.into_iter().zip(own) {
        assert_eq!(copy, HostFormat::shared(own, Rights::RWX));
        assert_eq!(own, HostFormat::supervisor(own), "it is the users'");
    }
}

#[test]
fn a_window_of_any_size_is_shown() {
    for (bytes, level) in SIZES {
        let (mut kernel, start) = (machine(bytes), USER_END - bytes);
        let before = used(&mut boot_with_windows(start));
        let (server, process) = (space_of(&kernel, SERVER), space_of(&kernel, PROCESS));
        let check = |kernel: &Kernel<Host>| check_shown(kernel, process, server, (start, level));
        // Of what is the server's.
        let middle = start + AREA + (bytes - AREA) / 2 / TABLE_SPAN * TABLE_SPAN;
        let places = [start + AREA, middle + 3 * PAGE_SIZE, USER_END - PAGE_SIZE];
        // Some is there before it is shown, and the rest comes afterwards.
        assert_eq!(map(&mut kernel, record(SERVER, places[0], MEMORY, 1)), 0);
        let charged = used(&mut kernel);
        show(&mut kernel, PROCESS, bytes);
        let tables = HostFormat::LEVELS - 1 - level;
        assert_eq!(used(&mut kernel) - charged, ATTACHMENT_BYTES + tables * PAGE, "{bytes:#x}");
        check(&kernel);
        for address in places {
            assert_eq!(map(&mut kernel, record(SERVER, address, MEMORY, 1)), 0);
            check(&kernel);
            assert_eq!(map(&mut kernel, protect(SERVER, address, PAGE_SIZE, Rights::READ)), 0);
            check(&kernel);
        }
        assert_eq!(from(&kernel, process, start + AREA).len(), places.len());
        // Nothing of it is the space's own to change.
        for address in places {
            for change in [record(PROCESS, address, MEMORY, 1), unmap(PROCESS, address, PAGE_SIZE)]
            {
                assert_eq!(map(&mut kernel, change), Error::BadAddress as Word);
            }
            fails(&mut kernel, Op::Lookup, [PROCESS, address, 0, 0], Error::BadAddress);
        }
        // A table that goes is dropped from the TLB, in whatever space.
        for address in places {
            let span = UserAddr(address).align_down(TABLE_SPAN);
            kernel.port.shown_invalidated.clear();
            assert_eq!(map(&mut kernel, unmap(SERVER, span.0, TABLE_SPAN)), 0);
            assert!(
                kernel
                    .port
                    .shown_invalidated
                    .contains(&(server.address(), span..span + TABLE_SPAN))
            );
            check(&kernel);
        }
        assert!(from(&kernel, process, start + AREA).is_empty());
        succeeds(&mut kernel, Op::Detach, [PROCESS, start, 0, 0]);
        assert!(leaves_of(&kernel, Owner::Space(process)).is_empty());
        assert!(records(&kernel, process).is_empty() && kernel.port.shown.is_empty());
        for slot in [MEMORY, PROCESS, SERVER] {
            succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        assert_eq!(used(&mut kernel), before, "{bytes:#x}");
    }
}

/// To make a thread is not to change what others have copies of.
#[test]
fn the_kernels_pages_have_their_tables_before_others_show_them() {
    for (bytes, _) in SIZES {
        let (kernel, start) = (machine(bytes), USER_END - bytes);
        let server = space_of(&kernel, SERVER);
        for address in (start..start + AREA).step_by(TABLE_SPAN as usize) {
            let index = HostFormat::table_index(UserAddr(address));
            assert_ne!(entry_at(&kernel, server, 1, index), 0, "{bytes:#x} {address:#x}");
        }
    }
}

#[test]
fn a_window_has_no_more_entries_than_a_table() {
    for bytes in [513 * TABLE_SPAN, GIB + GIB / 2, 513 * GIB, HIGHEST + TABLE_SPAN] {
        let mut kernel = boot_with_windows(USER_END - bytes);
        create(&mut kernel, SERVER, Some(USER_END - bytes));
        fails(&mut kernel, Op::Serve, [SERVER, ALL_WINDOWS, 0, 0], Error::BadAddress);
    }
}

/// A large page is a window's as a small one is, and so are its parts.
#[test]
fn a_large_page_is_split_for_all() {
    let (bytes, level) = (HIGHEST, 3);
    let (mut kernel, start) = (machine(bytes), USER_END - HIGHEST);
    let (server, process) = (space_of(&kernel, SERVER), space_of(&kernel, PROCESS));
    show(&mut kernel, PROCESS, bytes);
    assert_eq!(derive(&mut kernel, slot::RAM, TABLE_SPAN, TABLE_SPAN, PART), 0);
    let address = start + GIB;
    let pages = TABLE_SPAN / PAGE_SIZE;
    assert_eq!(map(&mut kernel, record(SERVER, address, PART, pages)), 0);
    check_shown(&kernel, process, server, (start, level));
    assert!(from(&kernel, process, address).iter().all(|page| page.large));
    kernel.port.shown_invalidated.clear();
    assert_eq!(map(&mut kernel, unmap(SERVER, address + PAGE_SIZE, PAGE_SIZE)), 0);
    check_shown(&kernel, process, server, (start, level));
    let span = UserAddr(address)..UserAddr(address + TABLE_SPAN);
    assert!(kernel.port.shown_invalidated.contains(&(server.address(), span)));
    let found = from(&kernel, process, address);
    assert!(found.len() as Word == pages - 1 && found.iter().all(|page| !page.large));
}

/// A space that once had something there has tables there, though they are empty.
#[test]
fn a_window_takes_no_place_that_has_tables() {
    for (bytes, level) in SIZES {
        let mut kernel = machine(bytes);
        let address = USER_END - PAGE_SIZE;
        assert_eq!(map(&mut kernel, record(PROCESS, address, MEMORY, 1)), 0);
        let attach = [PROCESS, USER_END - bytes, SERVER, RWX];
        fails(&mut kernel, Op::Attach, attach, Error::Occupied);
        assert_eq!(map(&mut kernel, unmap(PROCESS, USER_END - TABLE_SPAN, TABLE_SPAN)), 0);
        if level == 1 {
            succeeds(&mut kernel, Op::Attach, attach);
        } else {
            fails(&mut kernel, Op::Attach, attach, Error::Occupied);
        }
    }
}

/// Tables of a server are in all spaces that show it at once, but for those of the level that these
/// have copies of: such a one reaches them in steps.
#[test]
fn what_a_server_gets_all_spaces_have() {
    const SPACES: Word = 20;
    let (bytes, level) = (3 * HIGHEST, 3);
    let (mut kernel, start) = (machine(bytes), USER_END - bytes);
    let server = space_of(&kernel, SERVER);
    for space in FIRST..FIRST + SPACES {
        create(&mut kernel, space, None);
        show(&mut kernel, space, bytes);
    }
    let spaces: Vec<Ref<Space>> =
        (FIRST..FIRST + SPACES).map(|space| space_of(&kernel, space)).collect();
    let counts = |kernel: &Kernel<Host>| -> BTreeSet<usize> {
        spaces.iter().map(|space| from(kernel, *space, start + AREA).len()).collect()
    };
    let is_left = begin_map(&mut kernel, record(SERVER, start + GIB, MEMORY, 1));
    assert!(!is_left && kernel.pool[server].region.changing == 0, "all is done");
    assert_eq!(counts(&kernel), BTreeSet::from([1]));
    let is_left = begin_map(&mut kernel, record(SERVER, start + HIGHEST, MEMORY, 1));
    assert!(is_left, "it checks for interrupts");
    assert_eq!(counts(&kernel), BTreeSet::from([1, 2]));
    finish(&mut kernel, |_| {});
    assert_eq!(counts(&kernel), BTreeSet::from([2]));
    spaces.iter().for_each(|space| check_shown(&kernel, *space, server, (start, level)));
}

/// Servers with windows of two sizes, and spaces that may show one.
const SERVERS: [(Word, Word, u32); 2] = [(SERVER, 2 * HIGHEST, 3), (slot::FREE + 10, 3 * GIB, 2)];
const PROCESSES: [Word; 3] = [FIRST, FIRST + 1, FIRST + 2];

/// Where something may be: near borders of tables of all levels.
fn place(start: Word, number: Word) -> Word {
    let border = match number % 5 {
        0 => start + AREA + TABLE_SPAN,
        1 => start + GIB,
        2 => USER_END - GIB,
        3 => start + (USER_END - start) / 2,
        _ => USER_END - TABLE_SPAN,
    };
    border + (number / 5 % 3) * PAGE_SIZE - PAGE_SIZE
}

#[derive(Default)]
struct Model {
    /// Physical page, rights, and the most that they can be, by owner and address.
    pages: BTreeMap<(Word, Word), (Word, Rights, Rights)>,
    /// Tables that lead to something that was there, by their level.
    upper: BTreeSet<(Word, (u32, Word))>,
    shows: BTreeMap<Word, usize>,
}

impl Model {
    fn seen(&self, owner: Word) -> Seen {
        let of = self.pages.range((owner, 0)..(owner + 1, 0));
        of.map(|((_, at), (page, rights, _))| {
            (UserAddr(*at), (RAM.base + page * PAGE_SIZE, *rights))
        })
        .collect()
    }

    /// Whether a space has never had anything in a window but what it showed.
    fn is_free(&self, owner: Word, start: Word, level: u32) -> bool {
        let first = start / TABLE_SPAN / (HostFormat::ENTRIES as Word).pow(level - 1);
        !self.upper.iter().any(|(o, (l, which))| *o == owner && *l == level - 1 && *which >= first)
    }
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 4]) {
    let [what, a, b, c] = numbers;
    let (server, bytes, level) = SERVERS[(a % 2) as usize];
    let process = PROCESSES[(b % 3) as usize];
    let shown = model.shows.get(&process).copied();
    let owner = if c % 3 == 0 { process } else { server };
    let start = USER_END - bytes;
    let address = place(start, a / 2);
    let fits = owner == server || shown.is_none_or(|shown| address < USER_END - SERVERS[shown].1);
    let expected = if fits { 0 } else { Error::BadAddress as Word };
    match what % 8 {
        0..=2 => {
            let rights = some_rights(b / 3);
            let page = c / 3 % 16;
            let record = MapRecord::new(
                MapRecord::MAP,
                owner,
                address,
                MEMORY,
                page * PAGE_SIZE,
                PAGE_SIZE,
                rights,
            );
            assert_eq!(map(kernel, record), expected);
            if fits {
                model.pages.insert((owner, address), (page, rights, rights));
                model.upper.extend(upper_tables(address).map(|table| (owner, table)));
            }
        }
        3 | 4 => {
            let span = if what % 8 == 3 { PAGE_SIZE } else { TABLE_SPAN };
            let from = address - address % span;
            assert_eq!(map(kernel, unmap(owner, from, span)), expected);
            if fits {
                model.pages.retain(|(o, at), _| *o != owner || !(from..from + span).contains(at));
            }
        }
        5 => {
            let rights = some_rights(b / 3);
            assert_eq!(map(kernel, protect(owner, address, PAGE_SIZE, rights)), expected);
            if let Some((_, now, most)) = model.pages.get_mut(&(owner, address)).filter(|_| fits) {
                *now = rights.intersection(*most);
            }
        }
        6 => {
            let answer = call(kernel, Op::Attach, [process, start, server, RWX])[0];
            let expected = match shown {
                Some(shown) if SERVERS[shown].1 == bytes => Error::Occupied,
                Some(_) => Error::BadAddress,
                None if !model.is_free(process, start, level) => Error::Occupied,
                None => {
                    model.shows.insert(process, (a % 2) as usize);
                    let tables = upper_tables(start).filter(|(table, _)| *table >= level);
                    model.upper.extend(tables.map(|table| (process, table)));
                    assert_eq!(answer, 0);
                    return;
                }
            };
            assert_eq!(answer, expected as Word);
        }
        _ => {
            let start = shown.map_or(start, |shown| USER_END - SERVERS[shown].1);
            let expected = if shown.is_some() { 0 } else { Error::NotThere as Word };
            assert_eq!(call(kernel, Op::Detach, [process, start, 0, 0])[0], expected);
            model.shows.remove(&process);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn windows_of_all_sizes_are_there_where_they_are_shown(steps in prop::collection::vec((any::<[Word; 4]>(), any::<bool>()), 1..80)) {
        let mut kernel = boot_with_windows(USER_END - SERVERS[0].1);
        let start = used(&mut kernel);
        let (other, bytes, _) = SERVERS[1];
        assert_eq!(derive(&mut kernel, ALL_WINDOWS, SERVERS[0].1 - bytes, bytes, PART), 0);
        for ((server, bytes, _), window) in SERVERS.into_iter().zip([ALL_WINDOWS, PART]) {
            create(&mut kernel, server, Some(USER_END - bytes));
            succeeds(&mut kernel, Op::Serve, [server, window, 0, 0]);
        }
        PROCESSES.into_iter().for_each(|process| create(&mut kernel, process, None));
        assert_eq!(derive(&mut kernel, slot::RAM, 0, 16 * PAGE_SIZE, MEMORY), 0);
        let mut model = Model::default();
        let servers = SERVERS.map(|(server, ..)| space_of(&kernel, server));
        let processes = PROCESSES.map(|process| space_of(&kernel, process));
        let all = |kernel: &Kernel<Host>| processes.map(|space| leaves_of(kernel, Owner::Space(space)));
        let mut before = all(&kernel);
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            kernel.port.pending = interrupted;
            let shown = PROCESSES.map(|process| model.shows.get(&process).copied());
            step(&mut kernel, &mut model, numbers);
            for (server, (selector, bytes, _)) in servers.into_iter().zip(SERVERS) {
                let own = from(&kernel, server, USER_END - bytes + AREA);
                prop_assert_eq!(seen(&own), model.seen(selector));
            }
            let after = all(&kernel);
            for (number, process) in processes.into_iter().enumerate() {
                let mut expected = model.seen(PROCESSES[number]);
                if let Some(shown) = model.shows.get(&PROCESSES[number]) {
                    let (_, bytes, level) = SERVERS[*shown];
                    check_shown(&kernel, process, servers[*shown], (USER_END - bytes, level));
                    expected.extend(seen(&from(&kernel, servers[*shown], USER_END - bytes)));
                }
                prop_assert_eq!(seen(&after[number]), expected);
                let of: Vec<u32> = [Some(process), shown[number].map(|shown| servers[shown])].into_iter().flatten().map(Ref::address).collect();
                check_flushes_of(&kernel, &of, &before[number], &after[number]);
            }
            before = after;
        }
        let objects = PROCESSES.into_iter().chain([SERVER, other, MEMORY, PART]);
        for slot in objects {
            succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        prop_assert_eq!(used(&mut kernel), start, "all comes back");
        prop_assert!(kernel.port.shown.is_empty());
    }
}
