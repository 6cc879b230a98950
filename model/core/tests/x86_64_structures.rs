// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLBs with tags, walks of four levels and the checker of x86-64 against simple models of them,
//! with random operations.

use model_core::x86_64::{
    Access, Checker, Machine, Mapping, Memory, Size, Tables, Tlb, Verdict, walk,
};
use model_core::{
    Chunk, Cpu, Events, LargePages, NoMapping, PerLine, Privilege, Replacement, TlbGeometry,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The page's number from which pages are global, and from which those are that large pages map.
const GLOBAL: u64 = 24;
const LARGE: u64 = 32;
/// Small pages of a large one.
const SPAN: u64 = 512;

/// Where a page of these tests is: a large one for each number from [`LARGE`] on.
fn address(page: u64) -> u64 {
    const UPPER_HALF: u64 = 0xffff_8000_0000_0000;
    if page < LARGE { UPPER_HALF | page << 12 } else { UPPER_HALF | (page * SPAN) << 12 }
}

fn mapping(page: u64, tag: u32) -> Mapping {
    let (size, shift) = if page < LARGE { (Size::Small, 12) } else { (Size::Large, 21) };
    let global = (GLOBAL..LARGE).contains(&page);
    let frame = (page * 7 + u64::from(if global { 0 } else { tag }) * 1000) << shift;
    Mapping { frame, size, global, writable: true, user: true, executable: false }
}

/// Entries in the order of their last use: LRU as one would write it down.
struct Naive {
    held: Vec<(u32, u64)>,
    sets: u64,
    ways: usize,
}

impl Naive {
    fn use_it(&mut self, tag: u32, page: u64) -> bool {
        let place = self.held.iter().position(|other| *other == (tag, page));
        if let Some(place) = place {
            self.held.remove(place);
        }
        let (set, sets) = (page % self.sets, self.sets);
        let same = |(_, other): &(u32, u64)| *other % sets == set;
        if self.held.iter().filter(|entry| same(entry)).count() == self.ways {
            let first = self.held.iter().position(same).expect("a set has entries");
            self.held.remove(first);
        }
        self.held.push((tag, page));
        place.is_some()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Use(u64),
    FlushPage(u64),
    FlushTag(u32),
    FlushLocal,
    FlushAll,
    Switch(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..48_u64).prop_map(Step::Use),
        2 => (0..48_u64).prop_map(Step::FlushPage),
        1 => (0..3_u32).prop_map(Step::FlushTag),
        1 => Just(Step::FlushLocal),
        1 => Just(Step::FlushAll),
        2 => (0..3_u32).prop_map(Step::Switch),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #[test]
    fn a_tlb_with_tags_holds_what_the_naive_one_holds(steps in steps(), ways in prop_oneof![Just(16_u32), Just(4), Just(1)]) {
        let mut tlb = Tlb::new(&TlbGeometry { entries: 16, ways: Some(ways), replacement: Replacement::Lru, large: LargePages::Shared });
        let mut naive = Naive { held: Vec::new(), sets: u64::from(16 / ways), ways: ways as usize };
        let mut space = 0;
        for step in steps {
            match step {
                Step::Use(page) => {
                    let found = tlb.lookup(address(page) | 0x123, space);
                    match found {
                        None => tlb.insert(address(page), space, mapping(page, space)),
                        found => prop_assert_eq!(found, Some(mapping(page, space))),
                    }
                    let owner = if mapping(page, space).global { u32::MAX } else { space };
                    prop_assert_eq!(naive.use_it(owner, page), found.is_some());
                }
                Step::FlushPage(page) => {
                    tlb.flush_page(address(page) | 0x456, space);
                    naive.held.retain(|(owner, other)| *other != page || ![space, u32::MAX].contains(owner));
                }
                Step::FlushTag(tag) => {
                    tlb.flush_tag(tag);
                    naive.held.retain(|(owner, _)| *owner != tag);
                }
                Step::FlushLocal => {
                    tlb.flush_local();
                    naive.held.retain(|(owner, _)| *owner == u32::MAX);
                }
                Step::FlushAll => {
                    tlb.flush_all();
                    naive.held.clear();
                }
                Step::Switch(other) => space = other,
            }
        }
    }

    #[test]
    fn the_checker_finds_what_a_list_of_all_uses_finds(operations in prop::collection::vec(operation(), 1..300)) {
        let mut guest = Guest::new();
        let mut checker = Checker::default();
        // Every translation used and not flushed: by page.
        let mut held: BTreeMap<u64, Mapping> = BTreeMap::new();
        for operation in operations {
            match operation {
                Operation::Set(entry, value) => {
                    guest.0.insert(entry, value);
                    checker.stored(entry, 0x77);
                }
                Operation::FlushPage(page) => {
                    checker.flush_page(at(page));
                    held.retain(|other, mapping| *other != page && mapping.size == Size::Small);
                }
                Operation::FlushLocal => {
                    checker.flush_local(0);
                    held.clear();
                }
                Operation::Access(page, write) => {
                    let now = walk(&mut guest, ROOT, at(page), |_, _| ()).ok();
                    let before = held.get(&page).copied();
                    let allows = |mapping: &Mapping| mapping.writable || !write;
                    // An emulator lets an access succeed if the tables permit it, or what it holds
                    // does.
                    if !now.as_ref().is_some_and(allows) && !before.as_ref().is_some_and(allows) {
                        continue;
                    }
                    let moved = |now: Mapping| before.is_some_and(|before| before.physical(at(page)) != now.physical(at(page)));
                    let stale = before.as_ref().is_some_and(allows) && now.is_none_or(|now| !allows(&now) || moved(now));
                    let access = Access { address: at(page), write, user: true, fetch: false };
                    let verdict = checker.access(access, ROOT, &mut guest);
                    if stale {
                        prop_assert_eq!(verdict, Verdict::Stale(0x77));
                        // Reported: from now on as if flushed.
                        held.remove(&page);
                        held.extend(now.map(|now| (page, now)));
                    } else {
                        prop_assert!(matches!(verdict, Verdict::Good(_)), "{:?}", verdict);
                        // A processor may have dropped what it held and loaded what is there now;
                        // what permits more than the tables do stays until it is flushed.
                        let permits_more = before.as_ref().is_some_and(allows) && before.is_some_and(|before| before.writable);
                        held.extend(now.filter(|now| now.writable || !permits_more).map(|now| (page, now)));
                    }
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    /// A table's entry gets a value.
    Set(u64, u64),
    FlushPage(u64),
    FlushLocal,
    Access(u64, bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    let leaf = prop_oneof![
        Just(0_u64),
        (0x100..0x103_u64, any::<bool>())
            .prop_map(|(frame, writable)| frame << 12 | if writable { 7 } else { 5 }),
    ];
    let directory =
        prop_oneof![Just(LEAVES | 7), Just(0x87_u64), Just(0x85), Just(0x0080_0087), Just(0)];
    let upper = prop_oneof![Just(DIRECTORY | 7), Just(DIRECTORY | 5), Just(0)];
    prop_oneof![
        4 => (0..4_u64, leaf).prop_map(|(page, value)| Operation::Set(LEAVES + page * 8, value)),
        1 => directory.prop_map(|value| Operation::Set(DIRECTORY + INDICES[2] * 8, value)),
        1 => upper.prop_map(|value| Operation::Set(UPPER + INDICES[1] * 8, value)),
        2 => (0..4_u64).prop_map(Operation::FlushPage),
        1 => Just(Operation::FlushLocal),
        8 => (0..4_u64, any::<bool>()).prop_map(|(page, write)| Operation::Access(page, write)),
    ]
}

const ROOT: u64 = 0x1000;
const UPPER: u64 = 0x2000;
const DIRECTORY: u64 = 0x3000;
const LEAVES: u64 = 0x4000;
/// By which entries of the upper three tables the pages are reached.
const INDICES: [u64; 3] = [300, 5, 7];

/// Where pages of [`Guest`] are.
fn at(page: u64) -> u64 {
    let [top, upper, directory] = INDICES;
    0xffff << 48 | top << 39 | upper << 30 | directory << 21 | page << 12
}

/// Physical memory, as words.
struct Guest(BTreeMap<u64, u64>);

impl Guest {
    /// A table of each level, with nothing in the lowest.
    fn new() -> Self {
        let tables = [ROOT, UPPER, DIRECTORY].into_iter().zip(INDICES);
        Self(tables.map(|(table, index)| (table + index * 8, (table + 0x1000) | 7)).collect())
    }
}

impl Memory for Guest {
    fn entry(&mut self, address: u64) -> Option<u64> {
        (address < 0x10_0000).then(|| self.0.get(&address).copied().unwrap_or(0))
    }
}

#[test]
fn walks_find_what_the_tables_say() {
    const NO_EXECUTE: u64 = 1 << 63;
    let mut guest = Guest::new();
    guest.0.extend([
        (ROOT, UPPER | 5),                                // read-only
        (ROOT + 8, 0x20_0007),                            // a table that cannot be read
        (UPPER, 0x1_4000_0183),                           // 1 GiB, global, kernel
        (UPPER + 8, DIRECTORY | 3 | NO_EXECUTE),          // kernel, data
        (DIRECTORY, 0x0060_0083 | NO_EXECUTE),            // 2 MiB
        (LEAVES, 0x1_0030_0107),                          // global
        (LEAVES + 8, 0x0030_1005 | NO_EXECUTE | 1 << 52), // another bit of software
    ]);
    let mut at_address = |address| walk(&mut guest, ROOT, address, |_, _| ());
    let page = |frame, size, flags: &str| {
        let has = |flag: char| flags.contains(flag);
        let [global, writable, user, executable] = ['g', 'w', 'u', 'x'].map(has);
        Ok(Mapping { frame, size, global, writable, user, executable })
    };
    assert_eq!(at_address(at(0) | 0x123), page(0x1_0030_0000, Size::Small, "gwux"));
    assert_eq!(at_address(at(1)), page(0x30_1000, Size::Small, "u"));
    assert_eq!(at_address(at(2)), Err(NoMapping::Absent));
    assert_eq!(at_address(0x1234_5678), page(0x1_4000_0000, Size::Huge, "gx"), "read-only above");
    assert_eq!(at_address(1 << 30 | 0x1_2345), page(0x60_0000, Size::Large, ""), "rights of all");
    assert_eq!(at_address(1 << 39), Err(NoMapping::Unreachable));
    assert_eq!(at_address(2 << 39), Err(NoMapping::Absent));
    assert_eq!(at_address(at(0) & !(0xffff << 48)), Err(NoMapping::Absent), "no such address");
    let huge = at_address(0x1234_5678).expect("a page");
    assert_eq!(huge.physical(0x1234_5678), 0x1_5234_5678);
    assert_eq!(huge.piece(0x1234_5678).physical(0x1234_5678), 0x1_5234_5678);
    let mut read = Vec::new();
    walk(&mut guest, ROOT, at(0), |table, shift| read.push((table, shift))).expect("a page");
    assert_eq!(read, [(ROOT, 39), (UPPER, 30), (DIRECTORY, 21), (LEAVES, 12)]);
}

#[test]
fn the_checker_knows_rights_of_users_and_of_fetches_and_global_pages() {
    let mut guest = Guest::new();
    guest.0.extend([(LEAVES, 0x10_0107), (LEAVES + 8, 0x10_1007), (LEAVES + 16, 0x10_2007)]);
    let mut checker = Checker::default();
    let access = |page, user, fetch| Access { address: at(page), write: false, user, fetch };
    let good = |verdict| matches!(verdict, Verdict::Good(_));
    for page in 0..3 {
        assert!(good(checker.access(access(page, true, true), ROOT, &mut guest)));
    }
    for (page, entry) in [(1, 0x10_1003), (2, 0x10_2007 | 1 << 63)] {
        guest.0.insert(LEAVES + page * 8, entry);
        checker.stored(LEAVES + page * 8, 0x50 + page as u32);
    }
    assert!(good(checker.access(access(1, false, false), ROOT, &mut guest)), "not by a user");
    assert!(good(checker.access(access(2, true, false), ROOT, &mut guest)), "no fetch");
    assert_eq!(checker.access(access(1, true, false), ROOT, &mut guest), Verdict::Stale(0x51));
    assert_eq!(checker.access(access(2, false, true), ROOT, &mut guest), Verdict::Stale(0x52));
    // Other tables have another page there, and the global one is still in the TLB.
    guest.0.extend([(0x5000 + INDICES[0] * 8, UPPER | 7), (LEAVES, 0x20_0107)]);
    checker.flush_local(0x99);
    assert_eq!(checker.access(access(0, true, false), 0x5000, &mut guest), Verdict::Stale(0x99));
    guest.0.insert(LEAVES, 0x30_0107);
    checker.stored(LEAVES, 1);
    checker.flush_page(at(0));
    assert!(good(checker.access(access(0, true, false), 0x5000, &mut guest)), "flushed by hand");
    guest.0.insert(LEAVES, 0x20_0007);
    checker.stored(LEAVES, 2);
    checker.flush_all();
    assert!(good(checker.access(access(0, true, false), 0x5000, &mut guest)), "all is flushed");
    // Of unknown memory nothing is said.
    guest.0.insert(ROOT, 0x20_0007);
    let unknown = Access { address: 0, write: false, user: false, fetch: false };
    assert_eq!(checker.access(unknown, ROOT, &mut guest), Verdict::Unknown);
    checker.stored(0x1_2345_6780, 3);
}

/// Pages whose frames have the same number.
struct Same;

impl Tables for Same {
    fn translate(&mut self, address: u64) -> Option<Mapping> {
        let mapping = Mapping { executable: true, user: true, ..Mapping::default() };
        Some(Mapping { frame: address & 0x3fff_f000, ..mapping })
    }
}

/// The file's numbers: pages in turn, more than a level has, miss each time.
#[test]
fn both_levels_of_a_modern_core_hold_as_many_pages_as_its_file_says() {
    let text = std::fs::read_to_string("../cpus/skylake-3400.toml").expect("a text");
    let cpu = Cpu::parse(&text).expect("a CPU model");
    let mut machine = Machine::new(&cpu.geometry);
    let pass = |machine: &mut Machine, pages: u64| {
        let mut events = Events::default();
        for page in 0..pages {
            machine.access(page << 12, 8, &mut Same, &mut events);
        }
        [events.dtlb_misses, events.walks, events.walk_loads]
    };
    // Three tables for the first page, then a leaf each, and one entry for each of three
    // directories' entries more.
    assert_eq!(pass(&mut machine, 1536), [1536, 1536, 1536 + 3 + 2]);
    assert_eq!(pass(&mut machine, 1536), [1536, 0, 0], "the second level has all");
    assert_eq!(pass(&mut machine, 64), [64, 0, 0]);
    assert_eq!(pass(&mut machine, 64), [0, 0, 0], "and so has the first");
    // One page more in each set: the one that was used longest ago goes. The first still has 64.
    assert_eq!(pass(&mut machine, 1536 + 128), [1536 + 64, 128, 128 + 1]);
    // Two spaces, each with its tag: nobody loses anything by a switch.
    let mut events = Events::default();
    for round in 0..2 {
        for root in [0x1000, 0x2000] {
            machine.switch(root);
            let chunk = Chunk::new(Privilege::User, &[4], PerLine::default());
            machine.fetch(&chunk, 0x40_0000, &mut Same, &mut events);
        }
        assert_eq!((round, events.itlb_misses, events.l1i_misses), (round, 2, 1));
    }
    machine.flush_tag();
    machine.switch(0x1000);
    let chunk = Chunk::new(Privilege::User, &[4], PerLine::default());
    machine.fetch(&chunk, 0x40_0000, &mut Same, &mut events);
    assert_eq!(events.itlb_misses, 2, "only the other one's was flushed");
    machine.flush_page(0x40_0000);
    machine.fetch(&chunk, 0x40_0000, &mut Same, &mut events);
    assert_eq!((events.itlb_misses, events.walks), (3, 2));
}
