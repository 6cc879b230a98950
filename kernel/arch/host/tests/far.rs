// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses that are far apart, against a naive model of single pages. Where a processor walks
//! more than two levels, such addresses need several tables of each level. These tables are paid
//! for, found again and given back; a long range in which nothing is mapped takes no time.

use crate::common;

use abi::utcb::AREA_END;
use abi::{
    Error, MapRecord, Op, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, USER_END, UserAddr, Word,
};
use arch_host::{Host, HostFormat, RAM, boot};
use common::{
    PAGE, Seen, begin, call, check_flushes, check_lookup, derive, map, named, pages_of, protect,
    results, seed, seen, set_words, slot, some_rights, succeeds, unmap, upper_tables, used,
};
use kcore::Kernel;
use kcore::attach::ATTACHMENT_BYTES;
use mmu::Format;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// Slots: a native space and one of aliens, a Segment, and the Memories from here on.
const SPACES: [Word; 2] = [slot::FREE, slot::FREE + 1];
const SEGMENT: Word = slot::FREE + 2;
const MEMORIES: Word = slot::FREE + 3;
const COUNT: Word = 3;
/// Pages of a memory. They begin a page after a multiple of a span, so that none of them becomes a
/// large one.
const PAGES: Word = 16;
/// Spans of the segment; half of them lie below one of the borders where it is attached.
const SPANS: Word = 4;

/// Where tables of many levels end: an eighth of all addresses, and a 256th (at least 512 GiB with
/// four levels), lie between two.
fn border(number: Word) -> Word {
    let highest = TABLE_SPAN * HostFormat::ENTRIES.pow(HostFormat::LEVELS - 2) as Word;
    let part = |parts: Word| (USER_END / parts).next_multiple_of(highest);
    let border = number % 8 * part(8) + number / 8 % 4 * part(256);
    // The segment's half below it is above the kernel's area.
    (border - border % TABLE_SPAN).max(SPANS * TABLE_SPAN).max(AREA_END + SPANS / 2 * TABLE_SPAN)
}

#[derive(Clone, Copy)]
struct Page {
    physical: PhysAddr,
    rights: Rights,
    most: Rights,
}

/// Owners are numbered as their slots.
#[derive(Default)]
struct Model {
    pages: BTreeMap<(Word, Word), Page>,
    tables: BTreeSet<(Word, Word)>,
    /// Tables above those that a space ever needed.
    upper: BTreeSet<(Word, (u32, Word))>,
    attached: BTreeSet<(Word, Word)>,
    places: BTreeMap<(Word, Word), Rights>,
}

impl Model {
    fn base(memory: Word) -> PhysAddr {
        RAM.base + (1 + (memory - MEMORIES) * PAGES) * PAGE_SIZE
    }

    /// A space as it is made: the tables to a native's information page are charged with it.
    fn create(&mut self, space: Word) {
        if space == SPACES[0] {
            self.upper.extend(upper_tables(0).map(|table| (space, table)));
        }
    }

    fn delete(&mut self, owner: Word) {
        self.pages.retain(|(o, _), _| *o != owner);
        self.tables.retain(|(o, _)| *o != owner);
        self.upper.retain(|(o, _)| *o != owner);
        self.attached.retain(|(o, _)| *o != owner);
        self.places.retain(|(space, _), _| *space != owner);
    }

    /// Whether a segment's place in a space has this address.
    fn is_shared(&self, space: Word, address: Word) -> bool {
        self.places.keys().any(|(s, place)| {
            *s == space && (*place..place + SPANS * TABLE_SPAN).contains(&address)
        })
    }

    /// A space needs what leads to an address.
    fn need_upper(&mut self, space: Word, address: Word) {
        self.upper.extend(upper_tables(address).map(|table| (space, table)));
    }

    /// Maps pages up to a segment's place; whether there is none.
    fn map(
        &mut self,
        (owner, address): (Word, Word),
        memory: Word,
        (first, count): (Word, Word),
        rights: Rights,
    ) -> bool {
        self.attached.insert((owner, memory));
        for i in 0..count {
            let at = address + i * PAGE_SIZE;
            if self.is_shared(owner, at) {
                return false;
            }
            let physical = Self::base(memory) + (first + i) * PAGE_SIZE;
            self.pages.insert((owner, at), Page { physical, rights, most: rights });
            self.tables.insert((owner, at / TABLE_SPAN));
            if owner != SEGMENT {
                self.need_upper(owner, at);
            }
        }
        true
    }

    /// Tables go whose whole span is unmapped at once.
    fn unmap(&mut self, owner: Word, start: Word, end: Word) {
        self.pages.retain(|(o, at), _| *o != owner || !(start..end).contains(at));
        self.tables.retain(|(o, span)| {
            *o != owner || span * TABLE_SPAN < start || (span + 1) * TABLE_SPAN > end
        });
    }

    fn protect(&mut self, owner: Word, start: Word, end: Word, rights: Rights) {
        for (_, page) in self.pages.range_mut((owner, start)..(owner, end)) {
            page.rights = rights.intersection(page.most);
        }
    }

    fn revoke(&mut self, memory: Word) {
        let gone = |page: &Page| page.physical.offset_from(Self::base(memory)) < PAGES * PAGE_SIZE;
        self.pages.retain(|_, page| !gone(page));
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// Attaches the segment, unless there is a table or a segment already.
    fn attach(&mut self, space: Word, place: Word, rights: Rights) -> bool {
        let spans = place / TABLE_SPAN..place / TABLE_SPAN + SPANS;
        if spans.clone().any(|span| {
            self.tables.contains(&(space, span)) || self.is_shared(space, span * TABLE_SPAN)
        }) {
            return false;
        }
        self.places.insert((space, place), rights);
        spans.for_each(|span| self.need_upper(space, span * TABLE_SPAN));
        true
    }

    /// What a processor finds in a space.
    fn seen(&self, space: Word) -> Seen {
        let of = |owner: Word, base: Word, most: Rights| {
            let pages = self.pages.range((owner, 0)..(owner + 1, 0));
            let pages = pages.map(move |((_, at), page)| {
                (base + at, page.physical, page.rights.intersection(most))
            });
            pages
                .filter(|(.., rights)| *rights != Rights::NONE)
                .map(|(at, physical, rights)| (UserAddr(at), (physical, rights)))
        };
        let segments = self
            .places
            .iter()
            .filter(|((s, _), _)| *s == space)
            .flat_map(|((_, place), most)| of(SEGMENT, *place, *most));
        of(space, 0, Rights::RWX).chain(segments).collect()
    }

    /// The kernel memory that it costs in bytes, in addition to what it always costs.
    fn charge(&self) -> u32 {
        let (tables, attachments) =
            (self.tables.len() + self.upper.len(), self.attached.len() + self.places.len());
        tables as u32 * PAGE + attachments as u32 * ATTACHMENT_BYTES
    }
}

fn create_space(kernel: &mut Kernel<Host>, model: &mut Model, space: Word) {
    let slots = if space == SPACES[0] { 4 } else { 0 };
    succeeds(kernel, Op::CreateSpace, [slot::QUOTA, slots, space, 0]);
    model.create(space);
}

fn set_up() -> (Kernel<Host>, Model) {
    let (mut kernel, mut model) = (boot(), Model::default());
    SPACES.into_iter().for_each(|space| create_space(&mut kernel, &mut model, space));
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SEGMENT, 0]);
    for memory in MEMORIES..MEMORIES + COUNT {
        assert_eq!(
            derive(
                &mut kernel,
                slot::RAM,
                Model::base(memory) - RAM.base,
                PAGES * PAGE_SIZE,
                memory
            ),
            0
        );
    }
    (kernel, model)
}

/// Carries out one random step. Returns the space that has changed.
fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) -> Option<Word> {
    let [what, a, b, c, d] = numbers;
    let space = SPACES[a as usize % 2];
    let owner = [SPACES[0], SPACES[1], SEGMENT][a as usize % 3];
    let (first, memory, rights) = (c % 8, MEMORIES + c / 8 % COUNT, some_rights(c / 32));
    // Up to four pages around a border.
    let (count, near) = (1 + d % 4, b / 32 % 5 * PAGE_SIZE);
    let address =
        if owner == SEGMENT { SPANS / 2 * TABLE_SPAN } else { border(b) } - 2 * PAGE_SIZE + near;
    // From one border to another, or to the end of all addresses.
    let (from, to) = (border(b).min(border(c)), border(b).max(border(c)) + near);
    let (start, end) = match owner {
        SEGMENT => (b % SPANS * TABLE_SPAN, SPANS * TABLE_SPAN),
        _ => (from, if d % 4 == 0 { USER_END } else { to.max(from + PAGE_SIZE) }),
    };
    match what % 12 {
        0..=4 => {
            let record = MapRecord::new(
                MapRecord::MAP,
                owner,
                address,
                memory,
                first * PAGE_SIZE,
                count * PAGE_SIZE,
                rights,
            );
            let expected = if model.map((owner, address), memory, (first, count), rights) {
                0
            } else {
                Error::Occupied as Word
            };
            assert_eq!(map(kernel, record), expected);
        }
        5 => {
            assert_eq!(map(kernel, unmap(owner, start, end - start)), 0);
            model.unmap(owner, start, end);
        }
        6 => {
            let rights = if d % 8 < 4 { Rights::NONE } else { rights };
            assert_eq!(map(kernel, protect(owner, start, end - start, rights)), 0);
            model.protect(owner, start, end, rights);
        }
        7 => {
            succeeds(kernel, Op::Revoke, [memory, 0, 0, 0]);
            model.revoke(memory);
        }
        8 if d % 4 == 0 => {
            succeeds(kernel, Op::Delete, [space, 0, 0, 0]);
            model.delete(space);
            create_space(kernel, model, space);
            return Some(space);
        }
        9 if !model.places.is_empty() => {
            let (space, place) =
                *model.places.keys().nth(b as usize % model.places.len()).expect("one of them");
            succeeds(kernel, Op::Detach, [space, place, 0, 0]);
            model.places.remove(&(space, place));
        }
        // Across the border. If it were at more places, all translations would be dropped.
        _ if model.places.len() < 8 => {
            let (place, rights) = (border(b) - SPANS / 2 * TABLE_SPAN, rights.union(Rights::READ));
            let expected =
                if model.attach(space, place, rights) { 0 } else { Error::Occupied as Word };
            assert_eq!(
                call(kernel, Op::Attach, [space, place, SEGMENT, rights.0 as Word])[0],
                expected
            );
        }
        _ => {}
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_far_apart_is_found_and_comes_back(steps in prop::collection::vec((any::<[Word; 5]>(), any::<bool>()), 1..80)) {
        let (mut kernel, mut model) = set_up();
        let start = used(&mut kernel) - model.charge();
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let spaces = |kernel: &Kernel<Host>| SPACES.map(|space| named(kernel, root, space));
        let mut before = spaces(&kernel).map(|space| pages_of(&kernel, space));
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            kernel.port.pending = interrupted;
            let remade = step(&mut kernel, &mut model, numbers);
            for (i, space) in spaces(&kernel).into_iter().enumerate() {
                let after = pages_of(&kernel, space);
                prop_assert_eq!(seen(&after), model.seen(SPACES[i]), "space {}", i);
                if remade != Some(SPACES[i]) {
                    check_flushes(&kernel, space, &before[i], &after);
                }
                for number in numbers {
                    let address = UserAddr(border(number) + number / 32 % 4 * PAGE_SIZE - 2 * PAGE_SIZE);
                    check_lookup(&mut kernel, SPACES[i], &after, (slot::RAM, RAM.base), address);
                }
                before[i] = after;
            }
            prop_assert_eq!(used(&mut kernel) - start, model.charge());
        }
        for slot in SPACES.into_iter().chain([SEGMENT]).chain(MEMORIES..MEMORIES + COUNT) {
            succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        prop_assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        prop_assert!(kernel.port.segments.is_empty(), "what a Segment had of the port may be another's");
    }
}

/// With too little memory, the call fails at each possible point.
#[test]
fn what_cannot_be_made_leaves_nothing() {
    const POOR: Word = MEMORIES + COUNT;
    const POOR_SPACE: Word = POOR + 1;
    let mut made = 0;
    for pages in 0..16 {
        let (mut kernel, _) = set_up();
        let used = |kernel: &mut Kernel<Host>| succeeds(kernel, Op::QuotaInfo, [POOR, 0, 0, 0])[1];
        // For what is smaller than a page, too.
        succeeds(
            &mut kernel,
            Op::CreateQuota,
            [slot::QUOTA, pages * PAGE_SIZE + PAGE_SIZE / 2, POOR, 0],
        );
        let [status, ..] = call(&mut kernel, Op::CreateSpace, [POOR, 4, POOR_SPACE, 0]);
        if status != 0 {
            assert_eq!(
                (status, used(&mut kernel)),
                (Error::QuotaExceeded as Word, 0),
                "{pages} pages"
            );
            continue;
        }
        for number in [1, 8, 4] {
            let record = MapRecord::new(
                MapRecord::MAP,
                POOR_SPACE,
                border(number),
                MEMORIES,
                0,
                PAGE_SIZE,
                Rights::READ,
            );
            made += Word::from(map(&mut kernel, record) == 0);
        }
        let place = border(2) - SPANS / 2 * TABLE_SPAN;
        call(&mut kernel, Op::Attach, [POOR_SPACE, place, SEGMENT, Rights::READ.0 as Word]);
        succeeds(&mut kernel, Op::Delete, [POOR_SPACE, 0, 0, 0]);
        assert_eq!(used(&mut kernel), 0, "{pages} pages");
    }
    assert!(made > 3, "{made} pages were mapped");
}

/// The steps of a system call with an interrupt pending at each check; it must succeed.
fn steps(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4]) -> u32 {
    let mut steps = 0;
    begin(kernel, op, args);
    while kernel.carry_on() {
        steps += 1;
    }
    kernel.port.pending = false;
    let me = kernel.current().expect("the root server runs");
    assert_eq!(results(&kernel.pool[me])[0], 0);
    steps
}

/// Unmapped ranges are skipped by the empty entries of all tables, one entry at a time.
#[test]
fn what_is_empty_takes_no_time() {
    const MOST: u32 = 100;
    let (mut kernel, _) = set_up();
    for (owner, address) in [(SPACES[0], border(4)), (SPACES[0], border(7)), (SEGMENT, 0)] {
        assert_eq!(
            map(
                &mut kernel,
                MapRecord::new(
                    MapRecord::MAP,
                    owner,
                    address,
                    MEMORIES,
                    0,
                    PAGE_SIZE,
                    Rights::READ
                )
            ),
            0
        );
    }
    let me = kernel.current().expect("the root server runs");
    set_words(&mut kernel, me, 0, &unmap(SPACES[0], border(0), border(7) - border(0)).0);
    let unmapped = steps(&mut kernel, Op::Map, [1, 0, 0, 0]);
    assert!(unmapped < MOST, "unmap: {unmapped} steps");
    let revoked = steps(&mut kernel, Op::Revoke, [MEMORIES, 0, 0, 0]);
    assert!(revoked < MOST, "revoke: {revoked} steps");
    for owner in [SPACES[1], SPACES[0], SEGMENT] {
        let deleted = steps(&mut kernel, Op::Delete, [owner, 0, 0, 0]);
        assert!(deleted < MOST, "delete: {deleted} steps");
    }
}

/// A hole is as large as the empty entry, of any level.
#[test]
fn a_hole_is_told_as_a_whole() {
    let (mut kernel, _) = set_up();
    let bytes = |level: u32| TABLE_SPAN * HostFormat::ENTRIES.pow(level) as Word;
    let highest = HostFormat::LEVELS - 2;
    let place = bytes(highest);
    let hole = |kernel: &mut Kernel<Host>, address: Word| {
        let [_, rights, bytes, ..] =
            succeeds(kernel, Op::Lookup, [SPACES[1], address, slot::RAM, 0]);
        assert_eq!(rights, 0, "{address:#x}");
        bytes
    };
    assert_eq!(hole(&mut kernel, place), bytes(highest), "without any table");
    let record =
        MapRecord::new(MapRecord::MAP, SPACES[1], place, MEMORIES, 0, PAGE_SIZE, Rights::READ);
    assert_eq!(map(&mut kernel, record), 0);
    assert_eq!(hole(&mut kernel, place + PAGE_SIZE), PAGE_SIZE, "in a table");
    for level in 0..=highest {
        let beside = hole(&mut kernel, place + bytes(level));
        assert_eq!(beside, bytes(level), "beside what entries of level {level} have");
    }
}

/// An address above all others is not taken for one of them.
#[test]
fn nothing_is_above_the_end() {
    let (mut kernel, _) = set_up();
    let place = border(1);
    succeeds(&mut kernel, Op::Attach, [SPACES[0], place, SEGMENT, Rights::READ.0 as Word]);
    let beyond = (0..Word::BITS)
        .map(|bit| place.wrapping_add(1 << bit))
        .filter(|address| *address >= USER_END);
    for address in beyond.chain([USER_END, Word::MAX & !(TABLE_SPAN - 1)]) {
        assert_eq!(
            call(&mut kernel, Op::Detach, [SPACES[0], address, 0, 0])[0],
            Error::NotThere as Word,
            "{address:#x}"
        );
        assert_eq!(
            call(&mut kernel, Op::Lookup, [SPACES[0], address, 0, 0])[0],
            Error::BadAddress as Word,
            "{address:#x}"
        );
        let attach =
            call(&mut kernel, Op::Attach, [SPACES[0], address, SEGMENT, Rights::READ.0 as Word])[0];
        assert_eq!(attach, Error::BadAddress as Word, "{address:#x}");
        let record = MapRecord::new(
            MapRecord::MAP,
            SPACES[0],
            address,
            MEMORIES,
            0,
            PAGE_SIZE,
            Rights::READ,
        );
        assert_eq!(map(&mut kernel, record), Error::BadAddress as Word, "{address:#x}");
    }
    succeeds(&mut kernel, Op::Detach, [SPACES[0], place, 0, 0]);
}

#[test]
fn a_segment_has_a_directory_at_most() {
    let mut kernel = boot();
    let tables = HostFormat::ENTRIES.min(HostFormat::USER_TABLES) as Word;
    let mut create = |tables: Word| {
        call(
            &mut kernel,
            Op::CreateSegment,
            [slot::QUOTA, tables.wrapping_mul(TABLE_SPAN), SEGMENT, 0],
        )[0]
    };
    assert_eq!(create(tables + 1), Error::BadArgument as Word);
    assert_eq!(create(tables), 0);
}
