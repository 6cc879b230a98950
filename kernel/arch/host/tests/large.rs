// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large pages against a naive model of single pages. Whatever happens to a part of a large page, a
//! processor finds what it would find without large pages, an owner pays the same, and no
//! translation that is gone stays in a TLB.

use crate::common;

use abi::{
    Error, MapRecord, Op, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, USER_END, UserAddr, Word,
};
use arch_host::{Host, RAM, boot};
use common::{
    Found, PAGE, Seen, call, check_flushes, check_lookup, derive, leaves_of, map, named, pages_of,
    protect, seed, seen, slot, some_rights, unmap, upper_tables, used,
};
use kcore::attach::ATTACHMENT_BYTES;
use kcore::{Kernel, Owner, Segment, Space, Table};
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// Slots: two spaces, a segment, and the memories from here on.
const SPACES: [Word; 2] = [slot::FREE, slot::FREE + 1];
const SEGMENT: Word = slot::FREE + 2;
const MEMORIES: Word = slot::FREE + 3;
const MOST: Word = 6;
/// Pages of a span, and spans of each owner: they begin here in a space, at 0 in the segment.
/// Tables of each level end after the first.
const SPAN: Word = TABLE_SPAN / PAGE_SIZE;
const SPANS: Word = 3;
const BASE: Word = USER_END / 2 - TABLE_SPAN;
/// Where the segment may be attached.
const PLACES: [Word; 2] = [0x2000_0000, USER_END - 0x4000_0000 - TABLE_SPAN];

#[derive(Clone, Copy)]
struct Page {
    physical: PhysAddr,
    rights: Rights,
    most: Rights,
}

#[derive(Clone)]
struct Part {
    parent: Option<Word>,
    base: PhysAddr,
    pages: Word,
}

/// Owners are numbered as their slots.
#[derive(Default)]
struct Model {
    memories: BTreeMap<Word, Part>,
    pages: BTreeMap<Word, Vec<Option<Page>>>,
    /// Spans that are large pages, and spans that have a table or one in reserve.
    large: BTreeSet<(Word, Word)>,
    tables: BTreeSet<(Word, Word)>,
    /// Tables above those that a space ever needed.
    upper: BTreeSet<(Word, (u32, Word))>,
    attached: BTreeSet<(Word, Word)>,
    places: BTreeMap<(Word, Word), Rights>,
}

impl Model {
    /// Changes the pages of an owner from `page` on by `change`.
    fn change(
        &mut self,
        owner: Word,
        page: Word,
        count: Word,
        change: impl Fn(Word, Option<Page>) -> Option<Page>,
    ) {
        let pages = self.pages.get_mut(&owner).expect("an owner");
        for (i, page) in (0..count).zip(pages.iter_mut().skip(page as usize)) {
            *page = change(i, *page);
        }
    }

    /// Each span that a range of pages touches, and whether it covers it.
    fn spans(page: Word, count: Word) -> impl Iterator<Item = (Word, bool)> {
        let touched = page / SPAN..=(page + count - 1) / SPAN;
        touched.map(move |span| (span, page <= span * SPAN && (span + 1) * SPAN <= page + count))
    }

    /// A space needs the tables above this span of its own, or of the segment at a place.
    fn need_upper(&mut self, owner: Word, base: Word, span: Word) {
        if owner != SEGMENT {
            self.upper.extend(upper_tables(base + span * TABLE_SPAN).map(|table| (owner, table)));
        }
    }

    fn revoke(&mut self, memory: Word) {
        let children: Vec<Word> = self
            .memories
            .iter()
            .filter(|(_, part)| part.parent == Some(memory))
            .map(|(id, _)| *id)
            .collect();
        for child in children {
            self.revoke(child);
            self.memories.remove(&child);
        }
        let part = self.memories[&memory].clone();
        let gone = |physical: PhysAddr| physical.offset_from(part.base) < part.pages * PAGE_SIZE;
        let owners: Vec<Word> =
            self.attached.iter().filter(|(_, m)| *m == memory).map(|(owner, _)| *owner).collect();
        for owner in owners {
            for span in 0..SPANS {
                let pages = &self.pages[&owner][(span * SPAN) as usize..][..SPAN as usize];
                let hit = pages
                    .iter()
                    .filter(|page| page.is_some_and(|page| gone(page.physical)))
                    .count();
                if hit > 0 && self.large.remove(&(owner, span)) && hit == SPAN as usize {
                    self.tables.remove(&(owner, span));
                }
            }
            self.change(owner, 0, SPANS * SPAN, |_, page| page.filter(|page| !gone(page.physical)));
        }
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space.
    fn seen(&self, space: Word) -> Seen {
        let of = |owner: Word, base: Word, most: Rights| {
            let pages = (0..).zip(&self.pages[&owner]).filter_map(|(i, page)| Some((i, (*page)?)));
            let pages = pages.map(move |(i, page)| {
                (base + i * PAGE_SIZE, page.physical, page.rights.intersection(most))
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
        of(space, BASE, Rights::RWX).chain(segments).collect()
    }

    /// Spans of an owner that are large pages.
    fn large_spans(&self, owner: Word) -> BTreeSet<Word> {
        self.large.iter().filter(|(o, _)| *o == owner).map(|(_, span)| *span).collect()
    }

    /// Bytes of kernel memory that all of it costs.
    fn charge(&self) -> u32 {
        let tables = self.tables.len() + self.upper.len();
        let attachments = self.attached.len() + self.places.len();
        tables as u32 * PAGE
            + attachments as u32 * ATTACHMENT_BYTES
            + self.memories.len() as u32 * pool::MIN_BYTES
    }
}

/// A page and a number of pages of an owner: spans as often as not.
fn range(a: Word, b: Word) -> (Word, Word) {
    let all = SPANS * SPAN;
    let page = match a % 4 {
        0 | 1 => a / 4 % SPANS * SPAN,
        2 => (a / 4 % (SPANS - 1) + 1) * SPAN - 1,
        _ => a / 4 % all,
    };
    let count = match b % 4 {
        0 | 1 => (1 + b / 4 % SPANS) * SPAN,
        2 => 1 + b / 4 % 3,
        _ => 1 + b / 4 % all,
    };
    (page, count.min(all - page))
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) {
    let [what, a, b, c, d] = numbers;
    let (page, count) = range(b, c);
    let owner = [SPACES[0], SPACES[1], SEGMENT][a as usize % 3];
    let address = if owner == SEGMENT { page * PAGE_SIZE } else { BASE + page * PAGE_SIZE };
    let memory = *model.memories.keys().nth(d as usize % model.memories.len()).expect("one stays");
    let part = model.memories[&memory].clone();
    let rights = some_rights(what / 64);
    match what % 12 {
        0..=3 => {
            // Aligned as the address is, more often than not.
            let first = part.base.0 / PAGE_SIZE;
            let aligned = (page % SPAN + 2 * SPAN - first % SPAN) % SPAN;
            let offset = if d & 48 == 0 {
                d / 64 % part.pages
            } else {
                (aligned + d / 64 % 3 * SPAN) % part.pages
            };
            let count = count.min(part.pages - offset);
            let record = MapRecord::new(
                MapRecord::MAP,
                owner,
                address,
                memory,
                offset * PAGE_SIZE,
                count * PAGE_SIZE,
                rights,
            );
            assert_eq!(map(kernel, record), 0);
            let base = part.base + offset * PAGE_SIZE;
            model.change(owner, page, count, |i, _| {
                Some(Page { physical: base + i * PAGE_SIZE, rights, most: rights })
            });
            for (span, whole) in Model::spans(page, count) {
                model.tables.insert((owner, span));
                model.need_upper(owner, BASE, span);
                model.large.remove(&(owner, span));
                if whole && (base.0 / PAGE_SIZE + span * SPAN - page).is_multiple_of(SPAN) {
                    model.large.insert((owner, span));
                }
            }
            model.attached.insert((owner, memory));
        }
        4 | 5 => {
            assert_eq!(map(kernel, unmap(owner, address, count * PAGE_SIZE)), 0);
            model.change(owner, page, count, |_, _| None);
            for (span, whole) in Model::spans(page, count) {
                model.large.remove(&(owner, span));
                if whole {
                    model.tables.remove(&(owner, span));
                }
            }
        }
        6 | 7 => {
            let rights = if d % 4 == 0 { Rights::NONE } else { rights };
            assert_eq!(map(kernel, protect(owner, address, count * PAGE_SIZE, rights)), 0);
            let change = |page: Page| Page { rights: rights.intersection(page.most), ..page };
            model.change(owner, page, count, |_, page| page.map(change));
            Model::spans(page, count).filter(|(_, whole)| !whole).for_each(|(span, _)| {
                model.large.remove(&(owner, span));
            });
        }
        8 => {
            let to = MEMORIES + a % MOST;
            let offset =
                if b & 1 == 0 { b / 2 % part.pages } else { b / 2 % 4 * SPAN % part.pages };
            let pages = [1 + c / 4 % SPAN, SPAN, 2 * SPAN, 1 + c / 4 % 4096][c as usize % 4]
                .min(part.pages - offset);
            let made = derive(kernel, memory, offset * PAGE_SIZE, pages * PAGE_SIZE, to) == 0;
            assert_eq!(made, !model.memories.contains_key(&to));
            if made {
                model.memories.insert(
                    to,
                    Part { parent: Some(memory), base: part.base + offset * PAGE_SIZE, pages },
                );
            }
        }
        9 => {
            assert_eq!(call(kernel, Op::Revoke, [memory, 0, 0, 0])[0], 0);
            model.revoke(memory);
        }
        10 if memory != MEMORIES => {
            assert_eq!(call(kernel, Op::Delete, [memory, 0, 0, 0])[0], 0);
            model.revoke(memory);
            model.memories.remove(&memory);
        }
        _ => {
            let key = (SPACES[a as usize % 2], PLACES[b as usize % 2]);
            if model.places.remove(&key).is_some() {
                assert_eq!(call(kernel, Op::Detach, [key.0, key.1, 0, 0])[0], 0);
            } else {
                let rights = rights.union(Rights::READ);
                assert_eq!(
                    call(kernel, Op::Attach, [key.0, key.1, SEGMENT, rights.0 as Word])[0],
                    0
                );
                model.places.insert(key, rights);
                (0..SPANS).for_each(|span| model.need_upper(key.0, key.1, span));
            }
        }
    }
}

/// How many tables an owner has in reserve: each begins with the link to the next.
fn reserve(kernel: &Kernel<Host>, mut next: Link<Table>) -> usize {
    let mut count = 0;
    while let Some(table) = next.get() {
        count += 1;
        next = Link::from_value(bytemuck::pod_read_unaligned(
            kernel.pool.bytes_at(table.address(), 4),
        ));
    }
    count
}

/// Which spans an owner maps by an entry of a directory of its own, from `base` on.
fn large_spans(kernel: &Kernel<Host>, owner: Owner, base: Word) -> BTreeSet<Word> {
    let large = leaves_of(kernel, owner).into_iter().filter(|found| found.large && !found.shared);
    large.map(|found| (found.address.0 - base) / TABLE_SPAN).collect()
}

/// A root server with two spaces, a segment and all of the RAM as one memory.
fn set_up() -> (Kernel<Host>, Model, [Ref<Space>; 2], Ref<Segment>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    for space in SPACES {
        assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, space, 0])[0], 0);
    }
    assert_eq!(
        call(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SEGMENT, 0])[0],
        0
    );
    assert_eq!(derive(&mut kernel, slot::RAM, 0, RAM.bytes, MEMORIES), 0);
    let mut model = Model::default();
    model
        .memories
        .insert(MEMORIES, Part { parent: None, base: RAM.base, pages: RAM.bytes / PAGE_SIZE });
    for owner in [SPACES[0], SPACES[1], SEGMENT] {
        model.pages.insert(owner, vec![None; (SPANS * SPAN) as usize]);
    }
    // What leads to their information page.
    SPACES.into_iter().for_each(|space| model.need_upper(space, 0, 0));
    let spaces = SPACES.map(|space| named(&kernel, root, space));
    let segment = named(&kernel, root, SEGMENT);
    (kernel, model, spaces, segment)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn large_pages_are_noticed_by_nobody(steps in prop::collection::vec((any::<[Word; 5]>(), any::<bool>()), 1..80)) {
        let (mut kernel, mut model, spaces, segment) = set_up();
        let start = used(&mut kernel) - model.charge();
        let mut before = spaces.map(|space| pages_of(&kernel, space));
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.announced.clear();
            kernel.port.pending = interrupted;
            step(&mut kernel, &mut model, numbers);
            for ((number, space), before) in SPACES.into_iter().zip(spaces).zip(&mut before) {
                let after = pages_of(&kernel, space);
                prop_assert!(seen(&after) == model.seen(number), "space {}", number);
                check_flushes(&kernel, space, before, &after);
                let page = numbers[2] % (SPANS * SPAN) * PAGE_SIZE;
                for address in [BASE + page, PLACES[0] + page, PLACES[1] + page] {
                    check_lookup(&mut kernel, number, &after, (MEMORIES, RAM.base), UserAddr(address));
                }
                *before = after;
                let large = large_spans(&kernel, Owner::Space(space), BASE);
                prop_assert_eq!(reserve(&kernel, kernel.pool[space].region.spares), large.len());
                prop_assert_eq!(large, model.large_spans(number));
            }
            let large = large_spans(&kernel, Owner::Segment(segment), 0);
            prop_assert_eq!(reserve(&kernel, kernel.pool[segment].region.spares), large.len());
            prop_assert_eq!(large, model.large_spans(SEGMENT));
            prop_assert_eq!(used(&mut kernel) - start, model.charge());
        }
        for slot in SPACES.into_iter().chain([SEGMENT]).chain(MEMORIES..MEMORIES + MOST) {
            call(&mut kernel, Op::Delete, [slot, 0, 0, 0]);
        }
        let (mut again, model, ..) = set_up();
        let objects = used(&mut again) - model.charge() - used(&mut boot());
        prop_assert_eq!(used(&mut kernel), start - objects, "all comes back");
    }
}

/// A part of a large page is lost if there is no memory for a table, and nothing else is.
#[test]
fn a_part_goes_without_memory() {
    const POOR: Word = MEMORIES + MOST;
    const POOR_SPACE: Word = POOR + 1;
    const CHILD: Word = POOR + 2;
    const OFFSET: Word = 5 * PAGE_SIZE;
    const PART: Word = BASE + OFFSET;
    let ways: [fn(&mut Kernel<Host>) -> Word; 4] = [
        |kernel| map(kernel, unmap(POOR_SPACE, PART, PAGE_SIZE)),
        |kernel| map(kernel, protect(POOR_SPACE, PART, PAGE_SIZE, Rights::NONE)),
        |kernel| call(kernel, Op::Revoke, [CHILD, 0, 0, 0])[0],
        |kernel| call(kernel, Op::Delete, [CHILD, 0, 0, 0])[0],
    ];
    for take in ways {
        let (mut kernel, ..) = set_up();
        // For the space, its highest table, two attachments, and one table with those above it.
        let tables = 2 + upper_tables(BASE).count() as u32;
        let limit = (Space::bytes(0) + 2 * ATTACHMENT_BYTES + tables * PAGE) as Word;
        assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, limit, POOR, 0])[0], 0);
        assert_eq!(call(&mut kernel, Op::CreateSpace, [POOR, 0, POOR_SPACE, 0])[0], 0);
        assert_eq!(derive(&mut kernel, MEMORIES, OFFSET, PAGE_SIZE, CHILD), 0);
        let of = |at: Word, memory: Word, bytes: Word| {
            MapRecord::new(MapRecord::MAP, POOR_SPACE, at, memory, 0, bytes, Rights::READ)
        };
        assert_eq!(map(&mut kernel, of(PART, CHILD, PAGE_SIZE)), 0);
        assert_eq!(map(&mut kernel, of(BASE, MEMORIES, TABLE_SPAN)), 0);
        assert_eq!(call(&mut kernel, Op::QuotaInfo, [POOR, 0, 0, 0])[1], limit, "nothing is left");
        assert_eq!(
            map(&mut kernel, of(BASE + TABLE_SPAN, MEMORIES, TABLE_SPAN)),
            Error::QuotaExceeded as Word
        );
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let space: Ref<Space> = named(&kernel, root, POOR_SPACE);
        assert!(pages_of(&kernel, space).iter().all(|found| found.large));
        assert_eq!(take(&mut kernel), 0);
        let left = pages_of(&kernel, space);
        assert_eq!(left.len() as Word, SPAN - 1);
        let kept = |found: &Found| {
            found.address.0 != PART && found.physical - RAM.base == found.address.0 - BASE
        };
        assert!(left.iter().all(|found| !found.large && kept(found)));
    }
}
