// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attachments, and Segments that many spaces have.

mod common;

use abi::syscall::MapRecord;
use abi::{Op, PAGE_SIZE, Rights, TABLE_SPAN};
use arch_host::{Host, boot_with, results, slot};
use common::{begin, call_with, pages_of, seed, succeeds};
use kcore::attach;
use kcore::{Attachment, Kernel, space::Space};
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

const SPACE: u32 = slot::FREE;
const SEGMENT: u32 = slot::FREE + 1;
const FIRST: u32 = slot::FREE + 2;
const POOL: u32 = 16 << 20;
/// Where segments are attached.
const AT: u32 = 0x1000_0000;

fn root(kernel: &mut Kernel<Host>) -> Ref<Space> {
    let me = kernel.current().unwrap();
    kernel.pool[me].space.get().unwrap()
}

fn derive(kernel: &mut Kernel<Host>, offset: u32, bytes: u32, to: u32) {
    let answer = call_with(kernel, Op::DeriveMemory, [slot::RAM, offset, bytes, to], &[(3, slot::QUOTA)]);
    assert_eq!(answer[0], 0, "derive");
}

fn words(record: MapRecord) -> Vec<(u32, u32)> {
    (0..).zip(record.0).collect()
}

fn map(kernel: &mut Kernel<Host>, to: u32, address: u32, memory: u32, bytes: u32) {
    let record = MapRecord::new(MapRecord::MAP, to, address, memory, 0, bytes, Rights::READ.union(Rights::WRITE));
    assert_eq!(call_with(kernel, Op::Map, [1, 0, 0, 0], &words(record))[0], 0, "map");
}

fn sources(kernel: &Kernel<Host>, root: Link<Attachment>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    attach::for_each(&kernel.pool, root, &mut |at| assert!(found.insert(kernel.pool[at].source), "twice in the tree"));
    found
}

fn depth(kernel: &Kernel<Host>, root: Link<Attachment>) -> u32 {
    root.get().map_or(0, |at| 1 + depth(kernel, kernel.pool[at].lower).max(depth(kernel, kernel.pool[at].upper)))
}

const MEMORIES: u32 = 100;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    /// A tree of records against a set, and no way longer than a key has bits.
    #[test]
    fn the_tree_has_what_was_mapped_and_not_revoked(steps in prop::collection::vec((0..MEMORIES, any::<bool>()), 1..400)) {
        let mut kernel = boot_with(POOL);
        let root = root(&mut kernel);
        succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
        let space: Ref<Space> = kernel.pool[Space::slot(root, SPACE)].object();
        (0..MEMORIES).for_each(|i| derive(&mut kernel, i * PAGE_SIZE, PAGE_SIZE, FIRST + i));
        let mut expected = BTreeSet::new();
        for (i, maps) in steps {
            let memory = kernel.pool[Space::slot(root, FIRST + i)].address();
            if maps {
                map(&mut kernel, SPACE, AT + i * PAGE_SIZE, FIRST + i, PAGE_SIZE);
                expected.insert(memory);
            } else {
                succeeds(&mut kernel, Op::Revoke, [FIRST + i, 0, 0, 0]);
                expected.remove(&memory);
            }
            let tree = kernel.pool[space].region.attached;
            prop_assert_eq!(&sources(&kernel, tree), &expected);
            prop_assert!(depth(&kernel, tree) <= (POOL / pool::MIN_BYTES).ilog2() + 1);
        }
    }
}

/// Spaces that have the Segment; more than get a copy of an entry in one step.
const SPACES: u32 = 300;
const MEMORY: u32 = FIRST + SPACES;

/// A machine with a Segment that many spaces have, and 4 MiB of RAM of its own.
fn shared() -> Kernel<Host> {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 2 * TABLE_SPAN, SEGMENT, 0]);
    for i in 0..SPACES {
        succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, FIRST + i, 0]);
        succeeds(&mut kernel, Op::Attach, [FIRST + i, AT, SEGMENT, Rights::READ.union(Rights::WRITE).0]);
    }
    derive(&mut kernel, 4 << 20, 4 << 20, MEMORY);
    kernel
}

/// How many of the spaces see how many pages.
fn seen(kernel: &mut Kernel<Host>) -> BTreeSet<usize> {
    let root = root(kernel);
    let spaces: Vec<Ref<Space>> = (0..SPACES).map(|i| kernel.pool[Space::slot(root, FIRST + i)].object()).collect();
    spaces.into_iter().map(|space| pages_of(kernel, space).len()).collect()
}

/// Begins a `map` of one record in which an interrupt waits at each look; whether it is to be carried on.
fn begin_map(kernel: &mut Kernel<Host>, record: MapRecord) -> bool {
    let me = kernel.current().unwrap();
    let utcb = kernel.pool[me].utcb;
    for (index, word) in words(record) {
        kernel.pool.bytes_mut(utcb + index * 4, 4).copy_from_slice(&word.to_ne_bytes());
    }
    begin(kernel, Op::Map, [1, 0, 0, 0])
}

fn finish(kernel: &mut Kernel<Host>) {
    while kernel.carry_on() {}
    kernel.port.pending = false;
    let me = kernel.current().unwrap();
    assert_eq!(results(&kernel.pool[me])[0], 0);
}

#[test]
fn a_new_table_of_a_segment_reaches_all_spaces_in_steps() {
    let mut kernel = shared();
    let record = MapRecord::new(MapRecord::MAP, SEGMENT, 0x1000, MEMORY, 0, 5 * PAGE_SIZE, Rights::READ.union(Rights::WRITE));
    assert!(begin_map(&mut kernel, record), "it looks at interrupts");
    assert_eq!(seen(&mut kernel), BTreeSet::from([0, 5]));
    finish(&mut kernel);
    assert_eq!(seen(&mut kernel), BTreeSet::from([5]));
}

/// Who is stopped while a table goes leaves copies behind; a revoke must not end before they are gone.
#[test]
fn a_revoke_finishes_what_somebody_left() {
    for large in [false, true] {
        let mut kernel = shared();
        let bytes = if large { TABLE_SPAN } else { TABLE_SPAN - PAGE_SIZE };
        map(&mut kernel, SEGMENT, 0, MEMORY, bytes);
        let pages = (bytes / PAGE_SIZE) as usize;
        assert_eq!(seen(&mut kernel), BTreeSet::from([pages]));
        let record = MapRecord::new(MapRecord::UNMAP, SEGMENT, 0, 0, 0, TABLE_SPAN, Rights::NONE);
        assert!(begin_map(&mut kernel, record), "it looks at interrupts");
        assert_eq!(seen(&mut kernel), BTreeSet::from([0, pages]), "the table cannot be free yet");
        // As `stop` leaves it.
        let me = kernel.current().unwrap();
        kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
        kernel.pool[me].progress = 0;
        kernel.port.pending = false;
        succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
        assert_eq!(seen(&mut kernel), BTreeSet::from([0]));
        assert!(kernel.port.all_invalidated > 0, "no translation is left");
    }
}

#[test]
fn a_space_that_gets_or_loses_a_segment_meanwhile_is_right() {
    let mut kernel = shared();
    let record = MapRecord::new(MapRecord::MAP, SEGMENT, 0x1000, MEMORY, 0, 5 * PAGE_SIZE, Rights::READ.union(Rights::WRITE));
    assert!(begin_map(&mut kernel, record), "it looks at interrupts");
    // Another thread would do so in between: the oldest attachments are visited last.
    let me = kernel.current().unwrap();
    let (context, flags, progress) = (kernel.pool[me].context, kernel.pool[me].flags, kernel.pool[me].progress);
    kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
    kernel.port.pending = false;
    for i in (0..SPACES).step_by(2) {
        succeeds(&mut kernel, Op::Detach, [FIRST + i, AT, 0, 0]);
        succeeds(&mut kernel, Op::Attach, [FIRST + i, AT + 2 * TABLE_SPAN, SEGMENT, Rights::READ.0]);
    }
    let t = &mut kernel.pool[me];
    (t.context, t.flags, t.progress) = (context, flags, progress);
    kernel.carry_on();
    finish(&mut kernel);
    assert_eq!(seen(&mut kernel), BTreeSet::from([5]));
}

#[test]
fn a_segment_is_attached_in_steps() {
    let mut kernel = boot_with(POOL);
    let entries = 700;
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, entries * TABLE_SPAN, SEGMENT, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    derive(&mut kernel, 0, PAGE_SIZE, MEMORY);
    for index in [0, 300, entries - 1] {
        map(&mut kernel, SEGMENT, index * TABLE_SPAN, MEMORY, PAGE_SIZE);
    }
    assert!(begin(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, Rights::READ.0]), "it looks at interrupts");
    finish(&mut kernel);
    let root = root(&mut kernel);
    let space: Ref<Space> = kernel.pool[Space::slot(root, SPACE)].object();
    // The first table is passed over by `pages_of`.
    assert_eq!(pages_of(&kernel, space).len(), 2);
    succeeds(&mut kernel, Op::Detach, [SPACE, 0, 0, 0]);
    let top = kernel.pool[space].region.top.get().unwrap();
    assert!(kernel.pool[top].0.iter().all(|entry| *entry == 0));
}

#[test]
fn an_attach_that_fails_when_it_is_carried_on_leaves_no_trace() {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 700 * TABLE_SPAN, SEGMENT, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    assert!(begin(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, Rights::READ.0]), "it looks at interrupts");
    kernel.port.pending = false;
    // Another thread would delete it in between.
    let me = kernel.current().unwrap();
    let (context, flags, progress) = (kernel.pool[me].context, kernel.pool[me].flags, kernel.pool[me].progress);
    kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
    kernel.pool[me].progress = 0;
    succeeds(&mut kernel, Op::Delete, [SEGMENT, 0, 0, 0]);
    let t = &mut kernel.pool[me];
    (t.context, t.flags, t.progress) = (context, flags, progress);
    while kernel.carry_on() {}
    assert_eq!(results(&kernel.pool[me])[0], abi::Error::NoCapability as u32);
    succeeds(&mut kernel, Op::Delete, [SPACE, 0, 0, 0]);
    let root = root(&mut kernel);
    assert!(kernel.pool[Space::slot(root, SPACE)].is_empty(), "the next call is done, not carried on");
}

#[test]
fn rights_of_a_large_page_change_in_all_spaces_whatever_interrupts_come() {
    let mut kernel = shared();
    map(&mut kernel, SEGMENT, 0, MEMORY, TABLE_SPAN);
    let record = MapRecord::new(MapRecord::PROTECT, SEGMENT, 0, 0, 0, TABLE_SPAN, Rights::NONE);
    assert!(begin_map(&mut kernel, record), "it looks at interrupts");
    for _ in 0..1000 {
        kernel.carry_on();
    }
    kernel.port.pending = false;
    assert!(!kernel.carry_on(), "it has ended");
    assert_eq!(seen(&mut kernel), BTreeSet::from([0]));
}
