// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mapping, protection, segments and revocation against a naive model: what a processor
//! would find in a space's tables is exactly what the model says, after every call.

use crate::common;

use abi::{
    Error, MapRecord, Op, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, Tag, USER_END, UserAddr, Word,
};
use arch_host::{Host, RAM, boot};
use common::{
    Seen, call, call_tag, check_lookup, delivery, derive, map, named, pages_of, protect, seed,
    seen, slot, some_rights, unmap,
};
use kcore::{Kernel, Space};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::{BTreeMap, BTreeSet};

/// Slots: two spaces, a segment, and the memories from here on.
const SPACES: [Word; 2] = [slot::FREE, slot::FREE + 1];
const SEGMENT: Word = slot::FREE + 2;
const MEMORIES: Word = slot::FREE + 3;
/// Most memories at a time, and pages in the first of them.
const MOST: Word = 8;
const PAGES: Word = 16;
/// Pages go from here in spaces, over the border of tables of each level; from 0 in the segment,
/// which has two tables.
const BASE: Word = USER_END / 2 - 8 * PAGE_SIZE;
/// Where the segment may be attached.
const PLACES: [Word; 2] = [0x2000_0000, 0x2000_0000 + 2 * TABLE_SPAN];

/// A page that is mapped: physical address, rights now and at most.
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
    pages: BTreeMap<(Word, Word), Page>,
    /// Which memory was ever mapped by which owner.
    attached: BTreeSet<(Word, Word)>,
    /// Where the segment is attached, with which rights.
    places: BTreeMap<(Word, Word), Rights>,
}

impl Model {
    /// Every mapping of a memory, and all that derives from it, goes.
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
        let owners: Vec<Word> =
            self.attached.iter().filter(|(_, m)| *m == memory).map(|(owner, _)| *owner).collect();
        self.pages.retain(|(owner, _), page| {
            !owners.contains(owner)
                || page.physical.offset_from(part.base) >= part.pages * PAGE_SIZE
        });
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space.
    fn seen(&self, space: Word) -> Seen {
        let of = |owner: Word, base: Word, most: Rights| {
            let pages = self.pages.iter().filter(move |((o, _), _)| *o == owner);
            let pages = pages.map(move |((_, at), page)| {
                (base + at * PAGE_SIZE, page.physical, page.rights.intersection(most))
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
}

/// One record; whether the kernel took it. `alone`: one of one page by the system call that
/// replies, too.
fn takes(kernel: &mut Kernel<Host>, record: MapRecord, alone: bool) -> bool {
    if alone && record.length() == PAGE_SIZE {
        // Nobody is replied to, and nobody sends.
        call_tag(
            kernel,
            common::tag(Op::MapReplyWait, 0, 0) | Tag::POLL as Word,
            [0, record.0[0], record.0[1], record.0[2]],
        );
        let me = kernel.current().expect("the root server runs");
        return delivery(&kernel.pool[me]).error() == Some(Error::WouldBlock);
    }
    map(kernel, record) == 0
}

fn owner_and_address(number: Word, page: Word) -> (Word, Word) {
    let owner = [SPACES[0], SPACES[1], SEGMENT][number as usize % 3];
    (owner, if owner == SEGMENT { page * PAGE_SIZE } else { BASE + page * PAGE_SIZE })
}

fn step(kernel: &mut Kernel<Host>, model: &mut Model, numbers: [Word; 5]) {
    let [what, a, b, c, d] = numbers;
    let page = b % PAGES;
    let count = 1 + c % 5;
    let (owner, address) = owner_and_address(a, page);
    let memory = *model.memories.keys().nth(d as usize % model.memories.len()).expect("one stays");
    let part = model.memories[&memory].clone();
    let (rights, alone) = (some_rights(c / 256), c & 128 != 0);
    match what % 12 {
        0..=4 => {
            let offset = d / 16 % part.pages;
            let fits = count <= part.pages - offset;
            let record = MapRecord::new(
                MapRecord::MAP,
                owner,
                address,
                memory,
                offset * PAGE_SIZE,
                count * PAGE_SIZE,
                rights,
            );
            assert_eq!(
                takes(kernel, record, alone),
                fits,
                "map of {count} pages at {offset} of {}",
                part.pages
            );
            for i in (0..count).filter(|_| fits) {
                let physical = part.base + (offset + i) * PAGE_SIZE;
                model.pages.insert((owner, page + i), Page { physical, rights, most: rights });
                model.attached.insert((owner, memory));
            }
        }
        5 => {
            assert!(takes(kernel, unmap(owner, address, count * PAGE_SIZE), alone));
            model.pages.retain(|(o, at), _| *o != owner || !(page..page + count).contains(at));
        }
        6 => {
            let rights = if d % 4 == 0 { Rights::NONE } else { rights };
            assert!(takes(kernel, protect(owner, address, count * PAGE_SIZE, rights), alone));
            for i in 0..count {
                if let Some(page) = model.pages.get_mut(&(owner, page + i)) {
                    page.rights = rights.intersection(page.most);
                }
            }
        }
        7 => {
            let to = MEMORIES + b % MOST;
            let (offset, pages) = (c % part.pages, 1 + d / 16 % (part.pages - c % part.pages));
            let made = derive(kernel, memory, offset * PAGE_SIZE, pages * PAGE_SIZE, to) == 0;
            assert_eq!(made, !model.memories.contains_key(&to));
            if made {
                model.memories.insert(
                    to,
                    Part { parent: Some(memory), base: part.base + offset * PAGE_SIZE, pages },
                );
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
                let rights = rights.union(Rights::READ);
                assert_eq!(
                    call(kernel, Op::Attach, [key.0, key.1, SEGMENT, rights.0 as Word])[0],
                    0
                );
                model.places.insert(key, rights);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_processor_finds_what_the_model_says(steps in prop::collection::vec(any::<[Word; 5]>(), 1..150)) {
        let mut kernel = boot();
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        for space in SPACES {
            prop_assert_eq!(call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 4, space, 0])[0], 0);
        }
        prop_assert_eq!(call(&mut kernel, Op::CreateSegment, [slot::QUOTA, 2 * TABLE_SPAN, SEGMENT, 0])[0], 0);
        prop_assert_eq!(derive(&mut kernel, slot::RAM, 0, PAGES * PAGE_SIZE, MEMORIES), 0);
        let mut model = Model::default();
        model.memories.insert(MEMORIES, Part { parent: None, base: RAM.base, pages: PAGES });
        let spaces: [Ref<Space>; 2] = SPACES.map(|space| named(&kernel, root, space));
        for numbers in steps {
            step(&mut kernel, &mut model, numbers);
            for (number, space) in SPACES.into_iter().zip(spaces) {
                let pages = pages_of(&kernel, space);
                prop_assert_eq!(seen(&pages), model.seen(number), "space {}", number);
                let page = numbers[1] % PAGES * PAGE_SIZE;
                for address in [BASE + page, PLACES[0] + page, PLACES[1] + page] {
                    check_lookup(&mut kernel, number, &pages, (MEMORIES, RAM.base), UserAddr(address));
                }
            }
        }
    }
}
