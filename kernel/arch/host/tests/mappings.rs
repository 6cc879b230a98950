// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping, protection, segments and revocation against a naive model: what a processor
//! would find in a space's tables is exactly what the model says, after every call.

mod common;

use abi::syscall::MapRecord;
use abi::{Delivery, Error, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag};
use arch_host::{Host, RAM, boot, slot};
use common::{Found, call, call_tag, call_with, check_lookup, pages_of, seed};
use kcore::{Kernel, Space};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// Slots: two spaces, a segment, and the memories from here on.
const SPACES: [u32; 2] = [slot::FREE, slot::FREE + 1];
const SEGMENT: u32 = slot::FREE + 2;
const MEMORIES: u32 = slot::FREE + 3;
/// Most memories at a time, and pages in the first of them.
const MOST: u32 = 8;
const PAGES: u32 = 16;
/// Pages go from here in spaces, over the border of a table; from 0 in the segment, which has two tables.
const BASE: u32 = 0x1040_0000 - 8 * PAGE_SIZE;
/// Where the segment may be attached.
const PLACES: [u32; 2] = [0x2000_0000, 0x2080_0000];

/// A page that is mapped: physical address, whether it may be written now and at most, whether it may be used at all.
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
    pages: BTreeMap<(u32, u32), Page>,
    /// Which memory was ever mapped by which owner.
    attached: BTreeSet<(u32, u32)>,
    /// Where the segment is attached, with the right to write or not.
    places: BTreeMap<(u32, u32), bool>,
}

impl Model {
    /// Every mapping of a memory, and all that derives from it, goes.
    fn revoke(&mut self, memory: u32) {
        let children: Vec<u32> = self.memories.iter().filter(|(_, part)| part.parent == Some(memory)).map(|(id, _)| *id).collect();
        for child in children {
            self.revoke(child);
            self.memories.remove(&child);
        }
        let part = self.memories[&memory].clone();
        let owners: Vec<u32> = self.attached.iter().filter(|(_, m)| *m == memory).map(|(owner, _)| *owner).collect();
        self.pages.retain(|(owner, _), page| !owners.contains(owner) || page.physical.wrapping_sub(part.base) >= part.pages * PAGE_SIZE);
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space.
    fn seen(&self, space: u32) -> Seen {
        let of = |owner: u32, base: u32, may_write: bool| {
            let pages = self.pages.iter().filter(move |((o, _), page)| *o == owner && page.usable);
            pages.map(move |((_, at), page)| (base + at * PAGE_SIZE, (page.physical, page.writable && may_write, page.uncached)))
        };
        let segments = self.places.iter().filter(|((s, _), _)| *s == space).flat_map(|((_, place), writes)| of(SEGMENT, *place, *writes));
        of(space, BASE, true).chain(segments).collect()
    }
}

fn seen(pages: &[Found]) -> Seen {
    pages.iter().map(|found| (found.address, (found.physical, found.writable, found.uncached))).collect()
}

/// One record; whether the kernel took it. `alone`: one of one page by the system call that replies, too.
fn record(kernel: &mut Kernel<Host>, record: MapRecord, alone: bool) -> bool {
    if alone && record.length() == PAGE_SIZE {
        // Nobody is replied to, and nobody sends.
        let tag = Tag::new(Op::MapReplyWait, 0, 0).0 | Tag::POLL;
        let [delivery, ..] = call_tag(kernel, tag, [0, record.0[0], record.0[1], record.0[2]]);
        return Delivery(delivery).error() == Some(Error::WouldBlock);
    }
    let words: Vec<(u32, u32)> = (0..).zip(record.0).collect();
    call_with(kernel, Op::Map, [1, 0, 0, 0], &words)[0] == 0
}

fn owner_and_address(number: u32, page: u32) -> (u32, u32) {
    let owner = [SPACES[0], SPACES[1], SEGMENT][number as usize % 3];
    (owner, if owner == SEGMENT { page * PAGE_SIZE } else { BASE + page * PAGE_SIZE })
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [u32; 5]) {
    let [what, a, b, c, d] = numbers;
    let page = b % PAGES;
    let count = 1 + c % 5;
    let (owner, address) = owner_and_address(a, page);
    let memory = *model.memories.keys().nth(d as usize % model.memories.len()).expect("one stays");
    let part = model.memories[&memory].clone();
    let (writes, alone, uncached) = (c & 64 != 0, c & 128 != 0, c & 256 != 0);
    let rights = if writes { Rights(3) } else { Rights::READ };
    match what % 12 {
        0..=4 => {
            let offset = d / 16 % part.pages;
            let fits = count <= part.pages - offset;
            let cached = MapRecord::new(MapRecord::MAP, owner, address, memory, offset * PAGE_SIZE, count * PAGE_SIZE, rights);
            let taken = record(kernel, if uncached { cached.uncached() } else { cached }, alone);
            assert_eq!(taken, fits, "map of {count} pages at {offset} of {}", part.pages);
            for i in (0..count).filter(|_| fits) {
                let physical = part.base + (offset + i) * PAGE_SIZE;
                model.pages.insert((owner, page + i), Page { physical, writable: writes, most: writes, usable: true, uncached });
                model.attached.insert((owner, memory));
            }
        }
        5 => {
            assert!(record(kernel, MapRecord::new(MapRecord::UNMAP, owner, address, 0, 0, count * PAGE_SIZE, Rights::NONE), alone));
            model.pages.retain(|(o, at), _| *o != owner || !(page..page + count).contains(at));
        }
        6 => {
            let rights = [Rights::NONE, Rights::READ, Rights(3)][d as usize % 3];
            assert!(record(kernel, MapRecord::new(MapRecord::PROTECT, owner, address, 0, 0, count * PAGE_SIZE, rights), alone));
            for i in 0..count {
                if let Some(page) = model.pages.get_mut(&(owner, page + i)) {
                    page.usable = rights != Rights::NONE;
                    page.writable = page.most && rights.contains(Rights::WRITE);
                }
            }
        }
        7 => {
            let to = MEMORIES + b % MOST;
            let (offset, pages) = (c % part.pages, 1 + d / 16 % (part.pages - c % part.pages));
            let arguments = [memory, offset * PAGE_SIZE, pages * PAGE_SIZE, to];
            let made = call_with(kernel, Op::DeriveMemory, arguments, &[(3, slot::QUOTA)])[0] == 0;
            assert_eq!(made, !model.memories.contains_key(&to));
            if made {
                model.memories.insert(to, Part { parent: Some(memory), base: part.base + offset * PAGE_SIZE, pages });
            }
        }
        8 => {
            assert_eq!(call(kernel, Op::Revoke, [memory, 0, 0, 0])[0], 0);
            model.revoke(memory);
        }
        9 if memory != MEMORIES => {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_processor_finds_what_the_model_says(steps in prop::collection::vec(any::<[u32; 5]>(), 1..150)) {
        let mut kernel = boot();
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        for space in SPACES {
            prop_assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, space, 0])[0], 0);
        }
        prop_assert_eq!(call(&mut kernel, Op::CreateSegment, [slot::QUOTA, 2 * TABLE_SPAN, SEGMENT, 0])[0], 0);
        prop_assert_eq!(call_with(&mut kernel, Op::DeriveMemory, [slot::RAM, 0, PAGES * PAGE_SIZE, MEMORIES], &[(3, slot::QUOTA)])[0], 0);
        let mut model = Model::default();
        model.memories.insert(MEMORIES, Part { parent: None, base: RAM.base, pages: PAGES });
        let spaces = SPACES.map(|space| kernel.pool[Space::slot(root, space)].object::<Space>());
        for numbers in steps {
            step(&mut kernel, &mut model, numbers);
            for (number, space) in SPACES.into_iter().zip(spaces) {
                let pages = pages_of(&kernel, space);
                prop_assert_eq!(seen(&pages), model.seen(number), "space {}", number);
                let page = numbers[1] % PAGES * PAGE_SIZE;
                for address in [BASE + page, PLACES[0] + page, PLACES[1] + page] {
                    check_lookup(&mut kernel, number, &pages, (MEMORIES, RAM.base), address);
                }
            }
        }
    }
}
