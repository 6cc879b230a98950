// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random operations on servers and the spaces that show them, against a naive model.

mod common;

use abi::utcb::AREA_END;
use abi::{Error, MapRecord, Op, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, RAM, WINDOWS, boot};
use common::servers::{ALL_WINDOWS, AREA, RWX, STARTS, check_space, create, root, space_of};
use common::{
    Found, PAGE, Seen, call, check_flushes_of, check_lookup, derive, leaves_of, map, protect, seed, seen, slot, slot_of, some_rights,
    succeeds, unmap, upper_tables, used,
};
use kcore::attach::ATTACHMENT_BYTES;
use kcore::{Kernel, Owner, SlotMap, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Slots of the spaces: the first two are servers at the beginning, then come two of aliens and a native one.
const OWNERS: [Word; 5] = [slot::FREE, slot::FREE + 1, slot::FREE + 2, slot::FREE + 3, slot::FREE + 4];
const SHARED: Word = slot::FREE + 5;
const PARTS: [Word; 3] = [slot::FREE + 6, slot::FREE + 7, slot::FREE + 8];
/// The last one begins as a large page does, and is as long.
const MEMORIES: [Word; 3] = [slot::FREE + 9, slot::FREE + 10, slot::FREE + 11];
/// Threads, one for each space.
const THREADS: Word = slot::FREE + 12;
const SPAN: Word = TABLE_SPAN / PAGE_SIZE;
/// Spans of the segment.
const SPANS: Word = 3;

#[derive(Clone, Copy)]
struct Page {
    physical: PhysAddr,
    rights: Rights,
    most: Rights,
}

#[derive(Clone, Copy, Default)]
struct Kind {
    /// Where the kernel's part is; of a space of aliens nowhere.
    place: Option<Word>,
    /// It is a server; the only one.
    serves: bool,
    alone: bool,
    shows: Option<Word>,
    has_thread: bool,
}

/// Owners are numbered as their slots.
#[derive(Default)]
struct Model {
    spaces: BTreeMap<Word, Kind>,
    pages: BTreeMap<(Word, Word), Page>,
    /// Spans that have a table or one in reserve, and those of large pages.
    tables: BTreeSet<(Word, Word)>,
    large: BTreeSet<(Word, Word)>,
    /// Tables above those that a space ever needed.
    upper: BTreeSet<(Word, (u32, Word))>,
    attached: BTreeSet<(Word, Word)>,
    /// Where the segment is.
    places: BTreeMap<(Word, Word), Rights>,
}

impl Model {
    fn base(memory: Word) -> PhysAddr {
        match memory - MEMORIES[0] {
            2 => RAM.base + 2 * TABLE_SPAN,
            number => RAM.base + (1 + 16 * number) * PAGE_SIZE,
        }
    }

    fn pages_of(memory: Word) -> Word {
        if memory == MEMORIES[2] { SPAN } else { 16 }
    }

    fn kind(&self, owner: Word) -> Kind {
        self.spaces.get(&owner).copied().unwrap_or_default()
    }

    /// Where a space's own part ends.
    fn end(&self, owner: Word) -> Word {
        match self.kind(owner).shows {
            _ if owner == SHARED => SPANS * TABLE_SPAN,
            Some(server) => self.kind(server).place.expect("a server is native"),
            None => USER_END,
        }
    }

    fn is_users(&self, owner: Word, start: Word, end: Word) -> bool {
        let Kind { place, serves, .. } = self.kind(owner);
        let beside = place.is_none_or(|place| start >= place + AREA || !serves && end <= place);
        start < end && end <= self.end(owner) && beside
    }

    fn is_shared(&self, space: Word, address: Word) -> bool {
        self.places.keys().any(|(s, place)| *s == space && (*place..place + SPANS * TABLE_SPAN).contains(&address))
    }

    fn need_upper(&mut self, owner: Word, address: Word) {
        if owner != SHARED {
            self.upper.extend(upper_tables(address).map(|table| (owner, table)));
        }
    }

    fn create(&mut self, space: Word, place: Option<Word>) {
        self.spaces.insert(space, Kind { place, ..Kind::default() });
        if let Some(place) = place {
            self.need_upper(space, place);
            self.tables.insert((space, place / TABLE_SPAN));
        }
    }

    fn delete(&mut self, owner: Word) {
        self.spaces.remove(&owner);
        self.spaces.values_mut().filter(|kind| kind.shows == Some(owner)).for_each(|kind| kind.shows = None);
        self.pages.retain(|(o, _), _| *o != owner);
        self.tables.retain(|(o, _)| *o != owner);
        self.large.retain(|(o, _)| *o != owner);
        self.upper.retain(|(o, _)| *o != owner);
        self.attached.retain(|(o, _)| *o != owner);
        self.places.retain(|(space, _), _| *space != owner);
    }

    fn serve(&mut self, space: Word, start: Word, global: Word) -> Word {
        let kind = self.kind(space);
        let has = |owner: &Word| *owner == space;
        let is_used = self.attached.iter().any(|(o, _)| has(o)) || self.places.keys().any(|(o, _)| has(o)) || kind.shows.is_some();
        let servers = self.spaces.values().filter(|kind| kind.serves);
        if kind.place.is_none() || kind.serves || kind.has_thread || is_used {
            Error::BadState as Word
        } else if kind.place != Some(start) {
            Error::BadAddress as Word
        } else if servers.clone().any(|kind| kind.alone) || global == 1 && servers.count() > 0 {
            Error::Occupied as Word
        } else {
            let kind = self.spaces.get_mut(&space).expect("it is there");
            (kind.serves, kind.alone) = (true, global == 1);
            0
        }
    }

    /// Whether nothing is in spans of a space.
    fn is_free(&self, space: Word, start: Word, end: Word) -> bool {
        (start / TABLE_SPAN..end / TABLE_SPAN)
            .all(|span| !self.tables.contains(&(space, span)) && !self.is_shared(space, span * TABLE_SPAN))
    }

    fn show(&mut self, space: Word, server: Word, address: Word) -> Word {
        let Kind { place, serves, .. } = self.kind(server);
        let start = place.filter(|_| serves);
        let is_shown = self.kind(space).shows.is_some() && start == Some(self.end(space));
        match start {
            None => Error::BadState as Word,
            Some(start) if start != address => Error::BadAddress as Word,
            Some(_) if self.kind(space).serves => Error::BadState as Word,
            Some(_) if is_shown => Error::Occupied as Word,
            Some(start) if !self.is_users(space, start, USER_END) => Error::BadAddress as Word,
            Some(start) if !self.is_free(space, start, USER_END) => Error::Occupied as Word,
            Some(start) => {
                self.need_upper(space, start);
                self.spaces.get_mut(&space).expect("it is there").shows = Some(server);
                0
            }
        }
    }

    fn attach(&mut self, space: Word, place: Word, rights: Rights) -> Word {
        let end = place + SPANS * TABLE_SPAN;
        if self.kind(space).serves {
            return Error::BadState as Word;
        }
        if !self.is_users(space, place, end) {
            return Error::BadAddress as Word;
        }
        if !self.is_free(space, place, end) {
            return Error::Occupied as Word;
        }
        self.places.insert((space, place), rights);
        for span in 0..SPANS {
            self.need_upper(space, place + span * TABLE_SPAN);
        }
        0
    }

    fn detach(&mut self, space: Word, address: Word) -> Word {
        let kind = self.kind(space);
        if self.places.remove(&(space, address)).is_some() {
            return 0;
        }
        if kind.shows.is_none() || self.end(space) != address {
            return Error::NotThere as Word;
        }
        self.spaces.get_mut(&space).expect("it is there").shows = None;
        0
    }

    fn map(&mut self, owner: Word, start: Word, (memory, first, count): (Word, Word, Word), rights: Rights) -> Word {
        if !self.is_users(owner, start, start + count * PAGE_SIZE) {
            return Error::BadAddress as Word;
        }
        self.attached.insert((owner, memory));
        for i in 0..count {
            let at = start + i * PAGE_SIZE;
            if self.is_shared(owner, at) {
                return Error::Occupied as Word;
            }
            let physical = Self::base(memory) + (first + i) * PAGE_SIZE;
            self.pages.insert((owner, at), Page { physical, rights, most: rights });
            self.tables.insert((owner, at / TABLE_SPAN));
            self.need_upper(owner, at);
            self.large.remove(&(owner, at / TABLE_SPAN));
        }
        if count == SPAN && start.is_multiple_of(TABLE_SPAN) {
            self.large.insert((owner, start / TABLE_SPAN));
        }
        0
    }

    fn unmap(&mut self, owner: Word, start: Word, end: Word) -> Word {
        if !self.is_users(owner, start, end) {
            return Error::BadAddress as Word;
        }
        self.pages.retain(|(o, at), _| *o != owner || !(start..end).contains(at));
        let is_touched = |owns: Word, span: Word| owns == owner && span * TABLE_SPAN < end && (span + 1) * TABLE_SPAN > start;
        let is_covered = |owns: Word, span: Word| owns == owner && span * TABLE_SPAN >= start && (span + 1) * TABLE_SPAN <= end;
        self.large.retain(|(owns, span)| !is_touched(*owns, *span));
        self.tables.retain(|(owns, span)| !is_covered(*owns, *span));
        0
    }

    fn protect(&mut self, owner: Word, start: Word, end: Word, rights: Rights) -> Word {
        if !self.is_users(owner, start, end) {
            return Error::BadAddress as Word;
        }
        for (_, page) in self.pages.range_mut((owner, start)..(owner, end)) {
            page.rights = rights.intersection(page.most);
        }
        // A part of a large page has a table.
        let is_touched = |owns: Word, span: Word| owns == owner && span * TABLE_SPAN < end && (span + 1) * TABLE_SPAN > start;
        let is_covered = |span: Word| span * TABLE_SPAN >= start && (span + 1) * TABLE_SPAN <= end;
        self.large.retain(|(owns, span)| !is_touched(*owns, *span) || is_covered(*span));
        0
    }

    fn revoke(&mut self, memory: Word) {
        let gone = |page: &Page| page.physical.offset_from(Self::base(memory)) < Self::pages_of(memory) * PAGE_SIZE;
        if memory == MEMORIES[2] {
            for span in std::mem::take(&mut self.large) {
                self.tables.remove(&span);
            }
        }
        self.pages.retain(|_, page| !gone(page));
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space of the memories.
    fn seen(&self, space: Word) -> Seen {
        let of = |owner: Word, base: Word, most: Rights| {
            let pages = self.pages.range((owner, 0)..(owner + 1, 0));
            let pages = pages.map(move |((_, at), page)| (base + at, page.physical, page.rights.intersection(most)));
            pages.map(|(at, physical, rights)| (UserAddr(at), (physical, rights)))
        };
        let segments = self.places.iter().filter(|((s, _), _)| *s == space).flat_map(|((_, place), most)| of(SHARED, *place, *most));
        let server = self.kind(space).shows.into_iter().flat_map(|server| of(server, 0, Rights::RWX));
        let all = of(space, 0, Rights::RWX).chain(segments).chain(server);
        all.filter(|(_, (_, rights))| *rights != Rights::NONE).collect()
    }

    /// Bytes of kernel memory that it costs, beside what is always there.
    fn charge(&self) -> u32 {
        let natives = self.spaces.values().filter(|kind| kind.place.is_some()).count() as u32;
        let aliens = self.spaces.len() as u32 - natives;
        let threads = self.spaces.values().filter(|kind| kind.has_thread).count() as u32;
        let shown = self.spaces.values().filter(|kind| kind.shows.is_some()).count();
        let native = Space::bytes(4) + pool::MIN_BYTES.max((size_of::<SlotMap>() as u32).next_power_of_two());
        let pages = (self.tables.len() + self.upper.len()) as u32 + natives + aliens + threads;
        let attachments = self.attached.len() + self.places.len() + shown;
        natives * native + aliens * Space::bytes(0) + pages * PAGE + attachments as u32 * ATTACHMENT_BYTES
    }
}

/// Where something may begin or end: borders of windows and what is near.
fn border(number: Word) -> Word {
    let start = STARTS[(number / 4 % 3) as usize];
    match number % 8 {
        0 => 0x1000_0000,
        1 => USER_END,
        2 => AREA_END,
        3 => start + AREA + TABLE_SPAN,
        4 | 5 => start + AREA,
        _ => start,
    }
}

/// What is mapped of the memories, as a processor finds it.
fn found_in(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Found> {
    let mut found = leaves_of(kernel, Owner::Space(space));
    found.retain(|page| page.physical.offset_from(RAM.base) < RAM.bytes && page.rights != Rights::NONE);
    found
}

fn is_there(kernel: &Kernel<Host>, slot: Word) -> bool {
    !slot_of(kernel, root(kernel), slot).is_empty()
}

/// What one step's random numbers mean; the space that is another one afterwards.
fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) -> Option<Word> {
    let [what, a, b, c, d] = numbers;
    let space = OWNERS[(a % 5) as usize];
    let owner = if a % 8 == 7 { SHARED } else { space };
    let rights = some_rights(d / 64);
    if !model.spaces.contains_key(&space) {
        let place = [None, Some(0), Some(STARTS[0]), Some(STARTS[1]), Some(STARTS[2]), Some(STARTS[1])][(b % 6) as usize];
        create(kernel, space, place);
        model.create(space, place);
        return Some(space);
    }
    let thread = THREADS + (a % 5);
    // A range from one border to another, a few pages around one, or a span; in the segment likewise.
    let near = c / 8 % 5 * PAGE_SIZE;
    let limit = if owner == SHARED { SPANS * TABLE_SPAN } else { Word::MAX };
    let at = if owner == SHARED { b % SPANS * TABLE_SPAN + 2 * PAGE_SIZE } else { border(b) };
    let other = if owner == SHARED { SPANS * TABLE_SPAN } else { border(d) + near };
    let (start, end) = match c % 8 {
        0..=2 => (at - 2 * PAGE_SIZE + near, at + (d % 4 + near / PAGE_SIZE) * PAGE_SIZE - PAGE_SIZE),
        3 | 4 => (at - at % TABLE_SPAN, (at - at % TABLE_SPAN + TABLE_SPAN).min(limit)),
        _ => (at.min(other), at.max(other)),
    };
    let end = end.max(start + PAGE_SIZE);
    let (answer, expected) = match what % 16 {
        0 => {
            let global = Word::from(d % 4 == 0);
            (call(kernel, Op::Serve, [space, PARTS[(b % 3) as usize], global, 0])[0], model.serve(space, STARTS[(b % 3) as usize], global))
        }
        1 if model.kind(space).place.is_some() => {
            let has_thread = &mut model.spaces.get_mut(&space).expect("it is there").has_thread;
            *has_thread = !*has_thread;
            let answer = if *has_thread {
                call(kernel, Op::CreateThread, [slot::QUOTA, space, thread, 0])
            } else {
                call(kernel, Op::Delete, [thread, 0, 0, 0])
            };
            (answer[0], 0)
        }
        2..=4 => {
            let server = OWNERS[(b % 5) as usize];
            let address = model.kind(server).place.filter(|_| d % 8 != 0).unwrap_or(STARTS[(d / 8 % 3) as usize]);
            if !model.spaces.contains_key(&server) {
                return None;
            }
            (call(kernel, Op::Attach, [space, address, server, RWX])[0], model.show(space, server, address))
        }
        5 => {
            let place = border(b).max(SPANS * TABLE_SPAN) - [0, 1, 3][(c % 3) as usize] * TABLE_SPAN;
            let rights = rights.union(Rights::READ);
            (call(kernel, Op::Attach, [space, place, SHARED, rights.0 as Word])[0], model.attach(space, place, rights))
        }
        6 => {
            let place = model.places.keys().filter(|(s, _)| *s == space).map(|(_, place)| *place).nth((c % 4) as usize);
            let address = place.unwrap_or(if b % 4 == 0 { border(b / 4) } else { model.end(space) });
            (call(kernel, Op::Detach, [space, address, 0, 0])[0], model.detach(space, address))
        }
        7..=11 => {
            let is_large = c % 8 == 3;
            let memory = MEMORIES[if is_large { 2 } else { (d / 4 % 3) as usize }];
            let (first, count) = if is_large { (0, SPAN) } else { (d / 16 % 8, 1 + d % 4) };
            let start = if is_large { at - at % TABLE_SPAN } else { at - 2 * PAGE_SIZE + near };
            let record = MapRecord::new(MapRecord::MAP, owner, start, memory, first * PAGE_SIZE, count * PAGE_SIZE, rights);
            (map(kernel, record), model.map(owner, start, (memory, first, count), rights))
        }
        12 => (map(kernel, unmap(owner, start, end - start)), model.unmap(owner, start, end)),
        13 => {
            let rights = if d % 8 < 3 { Rights::NONE } else { rights };
            (map(kernel, protect(owner, start, end - start, rights)), model.protect(owner, start, end, rights))
        }
        14 => {
            let memory = MEMORIES[(d % 3) as usize];
            model.revoke(memory);
            (call(kernel, Op::Revoke, [memory, 0, 0, 0])[0], 0)
        }
        15 if d % 3 == 0 => {
            if model.kind(space).has_thread {
                succeeds(kernel, Op::Delete, [thread, 0, 0, 0]);
            }
            model.delete(space);
            (call(kernel, Op::Delete, [space, 0, 0, 0])[0], 0)
        }
        _ => return None,
    };
    assert_eq!(answer, expected, "{numbers:?}");
    None
}

/// Two servers, spaces for both kinds of threads, a segment, and the memories.
fn set_up() -> (Kernel<Host>, Model) {
    let (mut kernel, mut model) = (boot(), Model::default());
    for (number, place) in [Some(STARTS[0]), Some(STARTS[1]), None, None, Some(0)].into_iter().enumerate() {
        create(&mut kernel, OWNERS[number], place);
        model.create(OWNERS[number], place);
    }
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SHARED, 0]);
    for (part, start) in PARTS.into_iter().zip(STARTS) {
        assert_eq!(derive(&mut kernel, ALL_WINDOWS, start - WINDOWS, USER_END - start, part), 0);
    }
    for server in 0..2 {
        succeeds(&mut kernel, Op::Serve, [OWNERS[server], PARTS[server], 0, 0]);
        assert_eq!(model.serve(OWNERS[server], STARTS[server], 0), 0);
    }
    for memory in MEMORIES {
        let bytes = Model::pages_of(memory) * PAGE_SIZE;
        assert_eq!(derive(&mut kernel, slot::RAM, Model::base(memory) - RAM.base, bytes, memory), 0);
    }
    (kernel, model)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_server_is_there_where_it_is_shown(steps in prop::collection::vec((any::<[Word; 5]>(), any::<bool>()), 1..80)) {
        let (mut kernel, mut model) = set_up();
        let start = used(&mut kernel) - model.charge();
        let addresses = |kernel: &Kernel<Host>, model: &Model| -> BTreeMap<Word, Ref<Space>> {
            model.spaces.keys().map(|space| (*space, space_of(kernel, *space))).collect()
        };
        let mut spaces = addresses(&kernel, &model);
        let mut before: BTreeMap<Word, Vec<Found>> = spaces.iter().map(|(slot, space)| (*slot, found_in(&kernel, *space))).collect();
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            kernel.port.pending = interrupted;
            let shown = kernel.port.shown.clone();
            let anew = step(&mut kernel, &mut model, numbers);
            spaces = addresses(&kernel, &model);
            before.retain(|slot, _| spaces.contains_key(slot));
            for (slot, space) in &spaces {
                check_space(&kernel, *space);
                let after = found_in(&kernel, *space);
                prop_assert!(seen(&after) == model.seen(*slot), "space {}", slot);
                if anew != Some(*slot) {
                    let of: Vec<u32> = [Some(space.address()), shown.get(&space.address()).copied()].into_iter().flatten().collect();
                    check_flushes_of(&kernel, &of, &before[slot], &after);
                }
                let end = model.end(*slot);
                for number in numbers {
                    let address = UserAddr(border(number) + number / 32 % 4 * PAGE_SIZE - 2 * PAGE_SIZE);
                    let is_kernels = model.kind(*slot).place.is_some_and(|place| (place..place + AREA).contains(&address.0));
                    if address.0 < end && !is_kernels {
                        check_lookup(&mut kernel, *slot, &after, (slot::RAM, RAM.base), address);
                    }
                }
                before.insert(*slot, after);
            }
            let expected = model.spaces.iter().filter_map(|(slot, kind)| Some((spaces[slot].address(), spaces[&kind.shows?].address())));
            prop_assert_eq!(&kernel.port.shown, &expected.collect::<HashMap<_, _>>());
            prop_assert_eq!(used(&mut kernel) - start, model.charge());
        }
        let objects = OWNERS.into_iter().chain([SHARED]).chain(PARTS).chain(MEMORIES).chain(THREADS..THREADS + 5);
        for slot in objects {
            if is_there(&kernel, slot) {
                succeeds(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
            }
        }
        prop_assert_eq!(used(&mut kernel), used(&mut boot()), "all comes back");
        prop_assert!(kernel.port.shown.is_empty() && kernel.port.segments.is_empty());
    }
}
