// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLBs, caches, table walks and the checker against simple models of them, with random operations.

use model_core::ia32::{Access, Checker, Mapping, Tlb, Verdict, walk};
use model_core::{
    Address, Cache, CacheGeometry, LargePages, NoMapping, Outcome, Physical, Replacement,
    TlbGeometry, Trace, TraceGeometry,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Sets in which the entry used last is the last one: LRU as one would write it down.
struct Naive<T> {
    sets: Vec<Vec<T>>,
    ways: usize,
}

impl<T: PartialEq + Copy> Naive<T> {
    fn new(sets: usize, ways: usize) -> Self {
        Self { sets: (0..sets).map(|_| Vec::new()).collect(), ways }
    }

    /// Whether it was there; now it is.
    fn use_it(&mut self, set: usize, entry: T) -> bool {
        let count = self.sets.len();
        let set = &mut self.sets[set % count];
        let place = set.iter().position(|other| *other == entry);
        if let Some(place) = place {
            set.remove(place);
        } else if set.len() == self.ways {
            set.remove(0);
        }
        set.push(entry);
        place.is_some()
    }

    fn keep(&mut self, condition: impl Fn(&T) -> bool) {
        self.sets.iter_mut().for_each(|set| set.retain(&condition));
    }
}

fn small(page: u32, global: bool) -> Mapping {
    Mapping { frame: (page * 7) << 12, large: false, global, writable: true, user: true }
}

/// Pages from 24 on are global.
fn is_global(page: u32) -> bool {
    page >= 24
}

#[derive(Clone, Debug)]
enum Step {
    Use(u32),
    FlushPage(u32),
    FlushLocal,
    FlushAll,
    Switch(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0..40_u32).prop_map(Step::Use),
        2 => (0..40_u32).prop_map(Step::FlushPage),
        1 => Just(Step::FlushLocal),
        1 => Just(Step::FlushAll),
        2 => (0..3_u32).prop_map(Step::Switch),
    ];
    prop::collection::vec(step, 0..400)
}

proptest! {
    #[test]
    fn a_tlb_holds_what_the_naive_one_holds(steps in steps(), shape in prop_oneof![Just((8_u32, None)), Just((16, Some(4_u32))), Just((16, Some(1)))]) {
        let (entries, ways) = shape;
        let mut tlb = Tlb::new(&TlbGeometry { entries, ways, replacement: Replacement::Lru, large: LargePages::Shared });
        let ways = ways.unwrap_or(entries);
        let mut naive: Naive<(u32, u32)> = Naive::new((entries / ways) as usize, ways as usize);
        let mut space = 0;
        for step in steps {
            match step {
                Step::Use(page) => {
                    let found = tlb.lookup(page << 12 | 0x123, space);
                    if found.is_none() {
                        tlb.insert(page << 12, space, small(page, is_global(page)));
                    } else {
                        prop_assert_eq!(found, Some(small(page, is_global(page))));
                    }
                    let owner = if is_global(page) { u32::MAX } else { space };
                    prop_assert_eq!(naive.use_it(page as usize, (owner, page)), found.is_some());
                }
                Step::FlushPage(page) => {
                    tlb.flush_page(page << 12, space);
                    naive.keep(|(owner, other)| *other != page || (*owner != space && *owner != u32::MAX));
                }
                Step::FlushLocal => {
                    tlb.flush_local();
                    naive.keep(|(owner, _)| *owner == u32::MAX);
                }
                Step::FlushAll => {
                    tlb.flush_all();
                    naive.keep(|_| false);
                }
                Step::Switch(other) => space = other,
            }
        }
    }

    #[test]
    fn a_cache_holds_what_the_naive_one_holds(
        accesses in prop::collection::vec((0..64_u32, 0..4_u32, any::<bool>()), 0..400),
        index in prop_oneof![Just(Address::Physical), Just(Address::Virtual)],
        tag in prop_oneof![Just(Address::Physical), Just(Address::Virtual)],
        write_allocate in any::<bool>(),
    ) {
        // 4 sets of 2 lines of 32 bytes. A space's memory is elsewhere in the physical addresses
        // and in another set.
        let geometry = CacheGeometry { bytes: 256, line: 32, ways: 2, replacement: Replacement::Lru, index, tag, write_allocate };
        let mut cache = Cache::new(&geometry);
        let mut naive: Naive<u32> = Naive::new(4, 2);
        // Whose memory a virtual line holds.
        let mut owners: BTreeMap<u32, u32> = BTreeMap::new();
        for (line, space, write) in accesses {
            let physical = line + space * 65;
            let set = if index == Address::Virtual { line } else { physical } as usize % 4;
            let key = if tag == Address::Virtual { line } else { physical };
            let there = naive.sets[set].contains(&key);
            if there || !write || write_allocate {
                naive.use_it(set, key);
            }
            let alias = there && tag == Address::Virtual && index == Address::Virtual && owners[&key] != physical;
            if there || !write || write_allocate {
                owners.insert(key, physical);
            }
            let expected = if alias { Outcome::Alias } else if there { Outcome::Hit } else { Outcome::Miss };
            let found = cache.access(line << 5 | 4, physical << 5 | 4, write);
            // With a virtual tag and a physical index a line may be in two sets: whose memory it is
            // depends on the set.
            if tag == Address::Virtual && index == Address::Physical {
                prop_assert_eq!(found == Outcome::Miss, expected == Outcome::Miss);
            } else {
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn the_checker_finds_what_a_list_of_all_uses_finds(operations in prop::collection::vec(operation(), 1..300)) {
        let mut guest = Guest::new();
        let mut checker = Checker::default();
        // Every translation used and not flushed: by page.
        let mut held: BTreeMap<u32, Mapping> = BTreeMap::new();
        for operation in operations {
            match operation {
                Operation::Map(page, frame, writable) => {
                    let entry = guest.table_entry(page);
                    guest.0.insert(entry, frame << 12 | if writable { 7 } else { 5 });
                    checker.stored(entry, 0x77);
                }
                Operation::Unmap(page) => {
                    let entry = guest.table_entry(page);
                    guest.0.insert(entry, 0);
                    checker.stored(entry, 0x77);
                }
                Operation::Directory(entry) => {
                    guest.0.insert(ROOT, entry);
                    checker.stored(ROOT, 0x77);
                }
                Operation::FlushPage(page) => {
                    checker.flush_page(page << 12);
                    held.retain(|other, mapping| *other != page && !mapping.large);
                }
                Operation::FlushLocal => {
                    checker.flush_local(0);
                    held.clear();
                }
                Operation::Access(page, write) => {
                    let now = walk(&mut guest, ROOT, page << 12, |_| ()).ok();
                    let before = held.get(&page).copied();
                    let allows = |mapping: &Mapping| mapping.writable || !write;
                    // An emulator lets an access succeed if the tables permit it, or what it holds
                    // does.
                    if !now.as_ref().is_some_and(allows) && !before.as_ref().is_some_and(allows) {
                        continue;
                    }
                    let stale = before.as_ref().is_some_and(allows)
                        && now.is_none_or(|now| !allows(&now) || before.is_some_and(|before| before.physical(page << 12) != now.physical(page << 12)));
                    let verdict = checker.access(Access { address: page << 12, write, user: true }, ROOT, &mut guest);
                    if stale {
                        prop_assert_eq!(verdict, Verdict::Stale(0x77));
                        // Reported: from now on as if flushed.
                        held.remove(&page);
                        if let Some(now) = now {
                            held.insert(page, now);
                        }
                    } else {
                        prop_assert!(matches!(verdict, Verdict::Good(_)), "{:?}", verdict);
                        // A processor may have dropped what it held and loaded what is there now;
                        // what permits more than the tables do stays until it is flushed.
                        let permits_more = before.as_ref().is_some_and(allows) && before.is_some_and(|before| before.writable);
                        if let Some(now) = now.filter(|now| now.writable || !permits_more) {
                            held.insert(page, now);
                        }
                    }
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Map(u32, u32, bool),
    Unmap(u32),
    /// Another entry of the directory: the table's, or a large page's.
    Directory(u32),
    FlushPage(u32),
    FlushLocal,
    Access(u32, bool),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..4_u32, 0x100..0x103_u32, any::<bool>()).prop_map(|(page, frame, writable)| Operation::Map(page, frame, writable)),
        1 => (0..4_u32).prop_map(Operation::Unmap),
        1 => prop_oneof![Just(TABLE), Just(0x0000_0087), Just(0x0000_0085), Just(0x0080_0087), Just(0)].prop_map(Operation::Directory),
        2 => (0..4_u32).prop_map(Operation::FlushPage),
        1 => Just(Operation::FlushLocal),
        8 => (0..4_u32, any::<bool>()).prop_map(|(page, write)| Operation::Access(page, write)),
    ]
}

const ROOT: u32 = 0x1000;
/// The directory's entry for the table.
const TABLE: u32 = 0x2007;

/// Physical memory, as words.
struct Guest(BTreeMap<u32, u32>);

impl Guest {
    /// One table for the first 4 MiB, with nothing in it.
    fn new() -> Self {
        Self([(ROOT, TABLE)].into())
    }
    fn table_entry(&self, page: u32) -> u32 {
        0x2000 + page * 4
    }
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        (address < 0x10_0000).then(|| self.0.get(&address).copied().unwrap_or(0))
    }
}

#[test]
fn walks_find_what_the_tables_say() {
    let mut guest = Guest::new();
    guest.0.extend([
        (ROOT + 4, 0x0040_0183), // large, global, kernel
        (ROOT + 8, 0x0020_0007), // a table that cannot be read
        (ROOT + 12, 0x2005),     // the first table, read-only
        (0x2000, 0x0030_0107),   // global
        (0x2004, 0x0030_1005),
        (0x2008, 0x0030_2003),
    ]);
    let mut at = |address| walk(&mut guest, ROOT, address, |_| ());
    let page =
        |frame, global, writable, user| Ok(Mapping { frame, large: false, global, writable, user });
    assert_eq!(at(0x123), page(0x30_0000, true, true, true));
    assert_eq!(at(0x1000), page(0x30_1000, false, false, true));
    assert_eq!(at(0x2000), page(0x30_2000, false, true, false));
    assert_eq!(at(0x3000), Err(NoMapping::Absent));
    assert_eq!(at(0x0080_0000), Err(NoMapping::Unreachable));
    assert_eq!(at(0x00c0_0000), page(0x30_0000, true, false, true), "rights of both levels");
    assert_eq!(at(0x0100_0000), Err(NoMapping::Absent));
    let large =
        Mapping { frame: 0x40_0000, large: true, global: true, writable: true, user: false };
    assert_eq!(at(0x0040_1234), Ok(large));
    assert_eq!(large.physical(0x0041_2345), 0x0041_2345);
}

#[test]
fn large_pages_take_one_entry() {
    for large in [LargePages::Shared, LargePages::Own { entries: 2, ways: 2 }] {
        let mut tlb =
            Tlb::new(&TlbGeometry { entries: 4, ways: None, replacement: Replacement::Lru, large });
        let mapping =
            Mapping { frame: 0x80_0000, large: true, global: true, writable: true, user: false };
        tlb.insert(0x40_5000, 0, mapping);
        assert_eq!(tlb.lookup(0x7f_ffff, 3), Some(mapping), "all of it, in every space");
        assert_eq!(tlb.lookup(0x80_0000, 0), None);
        (10..14).for_each(|page| tlb.insert(page << 12, 0, small(page, false)));
        assert_eq!(
            tlb.lookup(0x40_0000, 0).is_some(),
            large != LargePages::Shared,
            "small pages displace it if they share entries"
        );
        tlb.flush_page(0x7f_0000, 0);
        assert_eq!(tlb.lookup(0x40_0000, 0), None);
    }
}

/// Spans whose numbers differ by the number of sets displace each other, and no others.
#[test]
fn large_pages_of_their_own_have_sets() {
    let large = LargePages::Own { entries: 4, ways: 2 };
    let mut tlb =
        Tlb::new(&TlbGeometry { entries: 4, ways: None, replacement: Replacement::Lru, large });
    let span = |n: u32| n << 22;
    for n in [0, 2, 4, 1] {
        tlb.insert(
            span(n),
            0,
            Mapping { frame: span(n), large: true, global: false, writable: true, user: true },
        );
    }
    assert_eq!([0, 2, 4, 1].map(|n| tlb.lookup(span(n), 0).is_some()), [false, true, true, true]);
}

#[test]
fn large_pages_in_pieces_take_an_entry_for_each_page_used() {
    let mut tlb = Tlb::new(&TlbGeometry {
        entries: 4,
        ways: None,
        replacement: Replacement::Lru,
        large: LargePages::Pieces,
    });
    let mapping =
        Mapping { frame: 0x80_0000, large: true, global: false, writable: false, user: true };
    tlb.insert(0x40_5123, 7, mapping);
    let piece = Mapping { frame: 0x80_5000, large: false, ..mapping };
    assert_eq!(tlb.lookup(0x40_5fff, 7), Some(piece));
    assert_eq!(piece.physical(0x40_5fff), mapping.physical(0x40_5fff));
    assert_eq!(tlb.lookup(0x40_6000, 7), None, "only what was used");
    (0..4).for_each(|page| tlb.insert(0x40_6000 + (page << 12), 7, mapping));
    assert_eq!(tlb.lookup(0x40_5000, 7), None, "displaced by its neighbours");
}

#[test]
fn other_policies_displace_others() {
    let filled = |replacement| {
        let mut tlb = Tlb::new(&TlbGeometry {
            entries: 4,
            ways: None,
            replacement,
            large: LargePages::Shared,
        });
        (0..4).for_each(|page| tlb.insert(page << 12, 0, small(page, false)));
        assert!(tlb.lookup(0, 0).is_some());
        tlb.insert(4 << 12, 0, small(4, false));
        let held: Vec<u32> = (0..5).filter(|page| tlb.lookup(page << 12, 0).is_some()).collect();
        assert_eq!(held.len(), 4);
        held
    };
    assert_eq!(filled(Replacement::Lru), [0, 2, 3, 4], "not the one just used");
    assert_eq!(filled(Replacement::RoundRobin), [1, 2, 3, 4], "the first one");
    assert_eq!(filled(Replacement::Random), filled(Replacement::Random), "the same in every run");
}

#[test]
fn a_trace_cache_holds_as_much_as_it_has_lines() {
    let geometry = TraceGeometry { lines: 2048, ways: 8, instructions: Some(4), bytes: None };
    let pass = |trace: &mut Trace, nops: u32| {
        (0..nops).step_by(4).filter(|at| !trace.fetch(0x40_0000 + at)).count()
    };
    let mut trace = Trace::new(&geometry);
    assert_eq!(pass(&mut trace, 8192), 2048);
    assert_eq!(pass(&mut trace, 8192), 0, "8K nops: figure 4 of the Pentium 4's paper");
    pass(&mut trace, 16384);
    assert_eq!(pass(&mut trace, 16384), 4096, "twice as many displace each other");
    trace.flush();
    assert_eq!(pass(&mut trace, 8192), 2048);
}

#[test]
fn the_checker_knows_large_pages_global_pages_and_directories() {
    let mut guest = Guest::new();
    guest.0.extend([(ROOT + 4, 0x0040_0187), (0x2000, 0x10_0107), (0x2004, 0x10_1007)]);
    let mut checker = Checker::default();
    let access = |checker: &mut Checker, guest: &mut Guest, address| {
        checker.access(Access { address, write: true, user: false }, ROOT, guest)
    };
    let good = |verdict: Verdict| matches!(verdict, Verdict::Good(_));
    for address in [0x40_0000, 0x7f_f000, 0, 0x1000] {
        assert!(good(access(&mut checker, &mut guest, address)));
    }
    // The directory's entry is changed: all 4 MiB are suspect, in it and through the table.
    guest.0.extend([
        (ROOT, 0x3007),
        (ROOT + 4, 0x0080_0187),
        (0x3000, 0x10_2107),
        (0x3004, 0x10_3007),
    ]);
    checker.stored(ROOT, 1);
    checker.stored(ROOT + 4, 2);
    checker.flush_local(0);
    assert!(good(access(&mut checker, &mut guest, 0x1000)), "flushed: it is not global");
    assert_eq!(access(&mut checker, &mut guest, 0), Verdict::Stale(1), "global: still there");
    assert_eq!(access(&mut checker, &mut guest, 0x40_0000), Verdict::Stale(2));
    checker.flush_page(0x55_5000);
    assert!(
        good(access(&mut checker, &mut guest, 0x7f_f000)),
        "the large page is flushed as a whole"
    );
    // Of unknown memory nothing is said.
    guest.0.insert(ROOT + 8, 0x0020_0007);
    assert_eq!(access(&mut checker, &mut guest, 0x0080_0000), Verdict::Unknown);
    checker.stored(0x1234_5678, 3);
}

/// A global entry outlives its directory: it must be what the next one has at this place.
#[test]
fn the_checker_compares_global_pages_below_each_directory() {
    const OTHER: u32 = 0x8000;
    let mut guest = Guest::new();
    // Page 1 is the same below both, page 2 another, page 3 is not there, page 4 is another, but
    // not global.
    guest.0.extend([
        (0x2004, 0x10_1107),
        (0x2008, 0x10_2107),
        (0x200c, 0x10_3107),
        (0x2010, 0x10_4007),
    ]);
    guest.0.extend([
        (OTHER, 0x9007),
        (0x9004, 0x10_1107),
        (0x9008, 0x20_2107),
        (0x9010, 0x20_4007),
    ]);
    let mut checker = Checker::default();
    let access = |checker: &mut Checker, guest: &mut Guest, page: u32, root| {
        checker.access(Access { address: page << 12, write: true, user: false }, root, guest)
    };
    let good = |verdict: Verdict| matches!(verdict, Verdict::Good(_));
    for page in 1..=4 {
        assert!(good(access(&mut checker, &mut guest, page, ROOT)));
    }
    checker.flush_local(0x99);
    assert!(good(access(&mut checker, &mut guest, 1, OTHER)), "the same below both");
    assert_eq!(access(&mut checker, &mut guest, 2, OTHER), Verdict::Stale(0x99), "another frame");
    assert!(good(access(&mut checker, &mut guest, 2, OTHER)), "reported once");
    assert_eq!(
        access(&mut checker, &mut guest, 3, OTHER),
        Verdict::Stale(0x99),
        "nothing is there"
    );
    assert!(good(access(&mut checker, &mut guest, 4, OTHER)), "not global");
    checker.flush_local(0xaa);
    assert_eq!(access(&mut checker, &mut guest, 2, ROOT), Verdict::Stale(0xaa), "and back");
    checker.flush_page(0x2000);
    checker.flush_local(0xbb);
    assert!(good(access(&mut checker, &mut guest, 2, OTHER)), "flushed by hand");
}
