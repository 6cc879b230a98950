// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large pages against a naive model of single pages: whatever becomes of a part of one, a processor finds
//! what it would find without them, an owner pays the same, and no translation that is gone stays in a TLB.

mod common;

use abi::syscall::MapRecord;
use abi::{Error, Op, PAGE_SIZE, Rights, TABLE_SPAN};
use arch_host::{Host, RAM, boot, slot};
use common::{Found, call, call_with, check_lookup, pages_of, seed};
use kcore::attach::ATTACHMENT_BYTES;
use kcore::{Kernel, Segment, Space, Table};
use mmu::Format;
use mmu::ia32::Ia32;
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// Slots: two spaces, a segment, and the memories from here on.
const SPACES: [u32; 2] = [slot::FREE, slot::FREE + 1];
const SEGMENT: u32 = slot::FREE + 2;
const MEMORIES: u32 = slot::FREE + 3;
const MOST: u32 = 6;
/// Pages of a span, and spans of each owner: they begin here in a space, at 0 in the segment.
const SPAN: u32 = TABLE_SPAN / PAGE_SIZE;
const SPANS: u32 = 3;
const BASE: u32 = 0x1000_0000;
/// Where the segment may be attached.
const PLACES: [u32; 2] = [0x2000_0000, 0x3000_0000];

#[derive(Clone, Copy)]
struct Page {
    physical: u32,
    writable: bool,
    most: bool,
    usable: bool,
    uncached: bool,
}

/// Pages by address: physical address, whether they may be written, whether they are not cached.
type Seen = BTreeMap<u32, (u32, bool, bool)>;

#[derive(Clone)]
struct Part {
    parent: Option<u32>,
    base: u32,
    pages: u32,
}

/// Owners are numbered as their slots.
#[derive(Default)]
struct Model {
    memories: BTreeMap<u32, Part>,
    pages: BTreeMap<u32, Vec<Option<Page>>>,
    /// Spans that are large pages, and spans that have a table or one in reserve.
    large: BTreeSet<(u32, u32)>,
    tables: BTreeSet<(u32, u32)>,
    attached: BTreeSet<(u32, u32)>,
    places: BTreeMap<(u32, u32), bool>,
}

impl Model {
    /// The pages of an owner from `page` on become what `change` makes of them.
    fn change(&mut self, owner: u32, page: u32, count: u32, change: impl Fn(u32, Option<Page>) -> Option<Page>) {
        let pages = self.pages.get_mut(&owner).expect("an owner");
        for (i, page) in pages.iter_mut().skip(page as usize).take(count as usize).enumerate() {
            *page = change(i as u32, *page);
        }
    }

    /// Each span that a range of pages touches, and whether it covers it.
    fn spans(page: u32, count: u32) -> impl Iterator<Item = (u32, bool)> {
        let touched = page / SPAN..=(page + count - 1) / SPAN;
        touched.map(move |span| (span, page <= span * SPAN && (span + 1) * SPAN <= page + count))
    }

    fn revoke(&mut self, memory: u32) {
        let children: Vec<u32> = self.memories.iter().filter(|(_, part)| part.parent == Some(memory)).map(|(id, _)| *id).collect();
        for child in children {
            self.revoke(child);
            self.memories.remove(&child);
        }
        let part = self.memories[&memory].clone();
        let gone = |physical: u32| physical.wrapping_sub(part.base) < part.pages * PAGE_SIZE;
        let owners: Vec<u32> = self.attached.iter().filter(|(_, m)| *m == memory).map(|(owner, _)| *owner).collect();
        for owner in owners {
            for span in 0..SPANS {
                let pages = &self.pages[&owner][(span * SPAN) as usize..][..SPAN as usize];
                let hit = pages.iter().filter(|page| page.is_some_and(|page| gone(page.physical))).count() as u32;
                if hit > 0 && self.large.remove(&(owner, span)) && hit == SPAN {
                    self.tables.remove(&(owner, span));
                }
            }
            self.change(owner, 0, SPANS * SPAN, |_, page| page.filter(|page| !gone(page.physical)));
        }
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space.
    fn seen(&self, space: u32) -> Seen {
        let of = |owner: u32, base: u32, may_write: bool| {
            let pages = (0..).zip(&self.pages[&owner]).filter_map(|(i, page)| Some((i, page.filter(|page| page.usable)?)));
            pages.map(move |(i, page)| (base + i * PAGE_SIZE, (page.physical, page.writable && may_write, page.uncached)))
        };
        let segments = self.places.iter().filter(|((s, _), _)| *s == space).flat_map(|((_, place), writes)| of(SEGMENT, *place, *writes));
        of(space, BASE, true).chain(segments).collect()
    }

    /// Bytes of kernel memory that all of it costs.
    fn charge(&self) -> u32 {
        let attachments = self.attached.len() + self.places.len();
        self.tables.len() as u32 * PAGE_SIZE + attachments as u32 * ATTACHMENT_BYTES + self.memories.len() as u32 * pool::MIN_BYTES
    }
}

/// One record; whether the kernel took it.
fn record(kernel: &mut Kernel<Host>, record: MapRecord) -> bool {
    let words: Vec<(u32, u32)> = (0..).zip(record.0).collect();
    call_with(kernel, Op::Map, [1, 0, 0, 0], &words)[0] == 0
}

/// A page and a number of pages of an owner: spans as often as not.
fn range(a: u32, b: u32) -> (u32, u32) {
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

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [u32; 5]) {
    let [what, a, b, c, d] = numbers;
    let (page, count) = range(b, c);
    let owner = [SPACES[0], SPACES[1], SEGMENT][a as usize % 3];
    let address = if owner == SEGMENT { page * PAGE_SIZE } else { BASE + page * PAGE_SIZE };
    let memory = *model.memories.keys().nth(d as usize % model.memories.len()).expect("one stays");
    let part = model.memories[&memory].clone();
    let (writes, uncached) = (what & 64 != 0, what & 128 != 0);
    let rights = if writes { Rights(3) } else { Rights::READ };
    match what % 12 {
        0..=3 => {
            // Aligned as the address is, more often than not.
            let first = part.base / PAGE_SIZE;
            let aligned = (page % SPAN + 2 * SPAN - first % SPAN) % SPAN;
            let offset = if d & 48 == 0 { d / 64 % part.pages } else { (aligned + d / 64 % 3 * SPAN) % part.pages };
            let count = count.min(part.pages - offset);
            let given = [memory, offset * PAGE_SIZE, count * PAGE_SIZE];
            let cached = MapRecord::new(MapRecord::MAP, owner, address, given[0], given[1], given[2], rights);
            assert!(record(kernel, if uncached { cached.uncached() } else { cached }));
            let base = part.base + offset * PAGE_SIZE;
            model.change(owner, page, count, |i, _| {
                Some(Page { physical: base + i * PAGE_SIZE, writable: writes, most: writes, usable: true, uncached })
            });
            for (span, whole) in Model::spans(page, count) {
                model.tables.insert((owner, span));
                model.large.remove(&(owner, span));
                if whole && (base / PAGE_SIZE + span * SPAN - page).is_multiple_of(SPAN) {
                    model.large.insert((owner, span));
                }
            }
            model.attached.insert((owner, memory));
        }
        4 | 5 => {
            assert!(record(kernel, MapRecord::new(MapRecord::UNMAP, owner, address, 0, 0, count * PAGE_SIZE, Rights::NONE)));
            model.change(owner, page, count, |_, _| None);
            for (span, whole) in Model::spans(page, count) {
                model.large.remove(&(owner, span));
                if whole {
                    model.tables.remove(&(owner, span));
                }
            }
        }
        6 | 7 => {
            let rights = [Rights::NONE, Rights::READ, Rights(3)][d as usize % 3];
            assert!(record(kernel, MapRecord::new(MapRecord::PROTECT, owner, address, 0, 0, count * PAGE_SIZE, rights)));
            let protect = |page: Page| {
                let writable = page.most && rights.contains(Rights::WRITE);
                Page { usable: rights != Rights::NONE, writable, ..page }
            };
            model.change(owner, page, count, |_, page| page.map(protect));
            Model::spans(page, count).filter(|(_, whole)| !whole).for_each(|(span, _)| {
                model.large.remove(&(owner, span));
            });
        }
        8 => {
            let to = MEMORIES + a % MOST;
            let offset = if b & 1 == 0 { b / 2 % part.pages } else { b / 2 % 4 * SPAN % part.pages };
            let pages = [1 + c / 4 % SPAN, SPAN, 2 * SPAN, 1 + c / 4 % 4096][c as usize % 4].min(part.pages - offset);
            let arguments = [memory, offset * PAGE_SIZE, pages * PAGE_SIZE, to];
            let made = call_with(kernel, Op::DeriveMemory, arguments, &[(3, slot::QUOTA)])[0] == 0;
            assert_eq!(made, !model.memories.contains_key(&to));
            if made {
                model.memories.insert(to, Part { parent: Some(memory), base: part.base + offset * PAGE_SIZE, pages });
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
                assert_eq!(call(kernel, Op::Attach, [key.0, key.1, SEGMENT, rights.0])[0], 0);
                model.places.insert(key, writes);
            }
        }
    }
}

/// How many tables an owner has in reserve.
fn reserve(kernel: &Kernel<Host>, mut next: Link<Table>) -> usize {
    let mut count = 0;
    while let Some(table) = next.get() {
        count += 1;
        next = Link::from_value(kernel.pool[table].0[0]);
    }
    count
}

/// Which spans an owner maps by an entry of the upper level, from `base` on.
fn large_spans(kernel: &Kernel<Host>, top: Link<Table>, base: u32) -> BTreeSet<u32> {
    let top = top.get().expect("an upper level");
    let large = |span: &u32| Ia32::decode_large(kernel.pool[top].0[mmu::top_index(base + span * TABLE_SPAN)]).is_some();
    (0..SPANS).filter(large).collect()
}

/// What was in a space's tables and is not there any more, or gives less, has been flushed: all of a span
/// whose form has changed.
fn check_flushes(kernel: &Kernel<Host>, space: Ref<Space>, before: &[Found], after: &[Found]) {
    let flushed = |start: u32, bytes: u32| {
        let covers = |(s, from, to): &(u32, u32, u32)| *s == space.address() && *from <= start && start + bytes <= *to;
        kernel.port.invalidated.iter().any(covers)
    };
    let now: BTreeMap<u32, &Found> = after.iter().map(|found| (found.address, found)).collect();
    for old in before {
        let kept = now
            .get(&old.address)
            .is_some_and(|new| new.physical == old.physical && new.uncached == old.uncached && (new.writable || !old.writable));
        assert!(kept || flushed(old.address, PAGE_SIZE), "{:#x} may be in a TLB", old.address);
        let same_form = now.get(&old.address).is_none_or(|new| new.large == old.large);
        assert!(same_form || flushed(old.address & !(TABLE_SPAN - 1), TABLE_SPAN), "{:#x} changed its form", old.address);
    }
}

fn seen(found: &[Found]) -> Seen {
    found.iter().map(|found| (found.address, (found.physical, found.writable, found.uncached))).collect()
}

/// A root server with two spaces, a segment and all of the RAM as one memory.
fn set_up() -> (Kernel<Host>, Model, [Ref<Space>; 2], Ref<Segment>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    for space in SPACES {
        assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, space, 0])[0], 0);
    }
    assert_eq!(call(&mut kernel, Op::CreateSegment, [slot::QUOTA, SPANS * TABLE_SPAN, SEGMENT, 0])[0], 0);
    assert_eq!(call_with(&mut kernel, Op::DeriveMemory, [slot::RAM, 0, RAM.bytes, MEMORIES], &[(3, slot::QUOTA)])[0], 0);
    let mut model = Model::default();
    model.memories.insert(MEMORIES, Part { parent: None, base: RAM.base, pages: RAM.bytes / PAGE_SIZE });
    for owner in [SPACES[0], SPACES[1], SEGMENT] {
        model.pages.insert(owner, vec![None; (SPANS * SPAN) as usize]);
    }
    let spaces = SPACES.map(|space| kernel.pool[Space::slot(root, space)].object::<Space>());
    let segment = kernel.pool[Space::slot(root, SEGMENT)].object::<Segment>();
    (kernel, model, spaces, segment)
}

fn used(kernel: &mut Kernel<Host>) -> u32 {
    call(kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0])[1]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn large_pages_are_noticed_by_nobody(steps in prop::collection::vec((any::<[u32; 5]>(), any::<bool>()), 1..80)) {
        let (mut kernel, mut model, spaces, segment) = set_up();
        let start = used(&mut kernel) - model.charge();
        let mut before = spaces.map(|space| pages_of(&kernel, space));
        for (numbers, interrupted) in steps {
            kernel.port.invalidated.clear();
            kernel.port.pending = interrupted;
            step(&mut kernel, &mut model, numbers);
            for ((number, space), before) in SPACES.into_iter().zip(spaces).zip(&mut before) {
                let after = pages_of(&kernel, space);
                prop_assert!(seen(&after) == model.seen(number), "space {}", number);
                check_flushes(&kernel, space, before, &after);
                let page = numbers[2] % (SPANS * SPAN) * PAGE_SIZE;
                for address in [BASE + page, PLACES[0] + page, PLACES[1] + page] {
                    check_lookup(&mut kernel, number, &after, (MEMORIES, RAM.base), address);
                }
                *before = after;
                let large = large_spans(&kernel, kernel.pool[space].region.top, BASE);
                prop_assert_eq!(reserve(&kernel, kernel.pool[space].region.spares), large.len());
                prop_assert_eq!(large, model.large.iter().filter(|(o, _)| *o == number).map(|(_, span)| *span).collect());
            }
            let large = large_spans(&kernel, kernel.pool[segment].region.top, 0);
            prop_assert_eq!(reserve(&kernel, kernel.pool[segment].region.spares), large.len());
            prop_assert_eq!(large, model.large.iter().filter(|(o, _)| *o == SEGMENT).map(|(_, span)| *span).collect());
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

/// A part of a large page goes when there is no memory for a table, and nothing else does.
#[test]
fn a_part_goes_without_memory() {
    const POOR: u32 = MEMORIES + MOST;
    const POOR_SPACE: u32 = POOR + 1;
    const CHILD: u32 = POOR + 2;
    let (offset, page) = (5 * PAGE_SIZE, BASE + 5 * PAGE_SIZE);
    for (op, argument) in [(Op::Map, MapRecord::UNMAP), (Op::Map, MapRecord::PROTECT), (Op::Revoke, CHILD), (Op::Delete, CHILD)] {
        let (mut kernel, ..) = set_up();
        // For the space, its upper level, two attachments, and one table.
        let limit = Space::bytes(0) + 2 * ATTACHMENT_BYTES + 2 * PAGE_SIZE;
        assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, limit, POOR, 0])[0], 0);
        assert_eq!(call(&mut kernel, Op::CreateSpace, [POOR, 0, POOR_SPACE, 0])[0], 0);
        assert_eq!(call_with(&mut kernel, Op::DeriveMemory, [MEMORIES, offset, PAGE_SIZE, CHILD], &[(3, slot::QUOTA)])[0], 0);
        let map = |at: u32, memory: u32, bytes: u32| MapRecord::new(MapRecord::MAP, POOR_SPACE, at, memory, 0, bytes, Rights::READ);
        assert!(record(&mut kernel, map(page, CHILD, PAGE_SIZE)));
        assert!(record(&mut kernel, map(BASE, MEMORIES, TABLE_SPAN)));
        assert_eq!(call(&mut kernel, Op::QuotaInfo, [POOR, 0, 0, 0])[1], limit, "nothing is left");
        let words: Vec<(u32, u32)> = (0..).zip(map(BASE + TABLE_SPAN, MEMORIES, TABLE_SPAN).0).collect();
        assert_eq!(call_with(&mut kernel, Op::Map, [1, 0, 0, 0], &words)[0], Error::QuotaExceeded as u32);
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let space: Ref<Space> = kernel.pool[Space::slot(root, POOR_SPACE)].object();
        assert!(pages_of(&kernel, space).iter().all(|found| found.large));
        if op == Op::Map {
            assert!(record(&mut kernel, MapRecord::new(argument, POOR_SPACE, page, 0, 0, PAGE_SIZE, Rights::NONE)));
        } else {
            assert_eq!(call(&mut kernel, op, [argument, 0, 0, 0])[0], 0);
        }
        let left = pages_of(&kernel, space);
        assert_eq!(left.len() as u32, SPAN - 1);
        assert!(left.iter().all(|found| found.address != page && !found.large && found.physical - RAM.base == found.address - BASE));
    }
}
