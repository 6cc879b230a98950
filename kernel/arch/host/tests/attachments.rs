// SPDX-License-Identifier: MIT OR Apache-2.0
//! Attachments, and Segments that many spaces have.

use crate::common;

use abi::{MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Word};
use arch_host::{Host, HostFormat, boot_with};
use common::{
    begin, leaves_of, named, pages_of, protect, results, seed, set_words, slot, slot_of, succeeds,
    unmap,
};
use kcore::attach;
use kcore::port::Change;
use kcore::{Attachment, Kernel, Owner, Space};
use mmu::Format;
use pool::{Link, Ref};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

const SPACE: Word = slot::FREE;
const SEGMENT: Word = slot::FREE + 1;
const FIRST: Word = slot::FREE + 2;
const POOL: u32 = 16 << 20;
/// Where segments are attached.
const AT: Word = 0x1000_0000;
/// A page's rights.
const READ_WRITE: Rights = Rights::READ.union(Rights::WRITE);

fn root(kernel: &mut Kernel<Host>) -> Ref<Space> {
    let me = kernel.current().unwrap();
    kernel.pool[me].space.get().unwrap()
}

fn derive(kernel: &mut Kernel<Host>, offset: Word, bytes: Word, to: Word) {
    assert_eq!(common::derive(kernel, slot::RAM, offset, bytes, to), 0, "derive");
}

fn map(kernel: &mut Kernel<Host>, to: Word, address: Word, memory: Word, bytes: Word) {
    let record = MapRecord::new(MapRecord::MAP, to, address, memory, 0, bytes, READ_WRITE);
    assert_eq!(common::map(kernel, record), 0, "map");
}

fn sources(kernel: &Kernel<Host>, root: Link<Attachment>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    attach::for_each(&kernel.pool, root, &mut |at| {
        assert!(found.insert(kernel.pool[at].source), "twice in the tree")
    });
    found
}

fn depth(kernel: &Kernel<Host>, root: Link<Attachment>) -> u32 {
    root.get().map_or(0, |at| {
        1 + depth(kernel, kernel.pool[at].lower).max(depth(kernel, kernel.pool[at].upper))
    })
}

const MEMORIES: Word = 100;

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    /// A tree of records against a set, and no way longer than a key has bits.
    #[test]
    fn the_tree_has_what_was_mapped_and_not_revoked(steps in prop::collection::vec((0..MEMORIES, any::<bool>()), 1..400)) {
        let mut kernel = boot_with(POOL);
        let root = root(&mut kernel);
        succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
        let space: Ref<Space> = named(&kernel, root, SPACE);
        (0..MEMORIES).for_each(|i| derive(&mut kernel, i * PAGE_SIZE, PAGE_SIZE, FIRST + i));
        let mut expected = BTreeSet::new();
        for (i, maps) in steps {
            let memory = slot_of(&kernel, root, FIRST + i).address();
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
const SPACES: Word = 300;
const MEMORY: Word = FIRST + SPACES;

/// A machine with 4 MiB of RAM and a Segment that many spaces have.
fn shared() -> Kernel<Host> {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, 2 * TABLE_SPAN, SEGMENT, 0]);
    for i in 0..SPACES {
        succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, FIRST + i, 0]);
        succeeds(&mut kernel, Op::Attach, [FIRST + i, AT, SEGMENT, READ_WRITE.0 as Word]);
    }
    derive(&mut kernel, 4 << 20, 4 << 20, MEMORY);
    kernel
}

/// How many of the spaces see how many pages.
fn seen(kernel: &mut Kernel<Host>) -> BTreeSet<usize> {
    let root = root(kernel);
    let spaces: Vec<Ref<Space>> = (0..SPACES).map(|i| named(kernel, root, FIRST + i)).collect();
    spaces.into_iter().map(|space| pages_of(kernel, space).len()).collect()
}

/// Starts a `map` of one record with an interrupt pending at each check. Returns whether the call
/// has to be continued.
fn begin_map(kernel: &mut Kernel<Host>, record: MapRecord) -> bool {
    let me = kernel.current().unwrap();
    set_words(kernel, me, 0, &record.0);
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
    let record =
        MapRecord::new(MapRecord::MAP, SEGMENT, 0x1000, MEMORY, 0, 5 * PAGE_SIZE, READ_WRITE);
    assert!(begin_map(&mut kernel, record), "it checks for interrupts");
    assert_eq!(seen(&mut kernel), BTreeSet::from([0, 5]));
    finish(&mut kernel);
    assert_eq!(seen(&mut kernel), BTreeSet::from([5]));
}

/// A thread that is stopped while it removes a table leaves copies; a revoke must not end before
/// they are gone.
#[test]
fn a_revoke_finishes_what_somebody_left() {
    for large in [false, true] {
        let mut kernel = shared();
        let bytes = if large { TABLE_SPAN } else { TABLE_SPAN - PAGE_SIZE };
        map(&mut kernel, SEGMENT, 0, MEMORY, bytes);
        let pages = (bytes / PAGE_SIZE) as usize;
        assert_eq!(seen(&mut kernel), BTreeSet::from([pages]));
        assert!(begin_map(&mut kernel, unmap(SEGMENT, 0, TABLE_SPAN)), "it checks for interrupts");
        assert_eq!(seen(&mut kernel), BTreeSet::from([0, pages]), "the table cannot be free yet");
        // As `stop` leaves it.
        let me = kernel.current().unwrap();
        kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
        kernel.pool[me].progress = 0;
        kernel.port.pending = false;
        succeeds(&mut kernel, Op::Revoke, [MEMORY, 0, 0, 0]);
        assert_eq!(seen(&mut kernel), BTreeSet::from([0]));
        assert!(kernel.port.all_invalidated > 0, "no translation is left");
        assert!(
            kernel.port.announced.contains(&(None, Change::Remove)),
            "nothing is left in a cache"
        );
    }
}

/// Threads write through a removed table while their spaces' copies of its entry still have to be
/// removed: their cache lines are dropped after the last copy.
#[test]
fn what_is_written_by_old_copies_does_not_stay_in_caches() {
    let mut kernel = shared();
    map(&mut kernel, SEGMENT, 0, MEMORY, PAGE_SIZE);
    assert!(begin_map(&mut kernel, unmap(SEGMENT, 0, TABLE_SPAN)), "it checks for interrupts");
    assert_eq!(seen(&mut kernel), BTreeSet::from([0, 1]), "some have it still");
    kernel.port.announced.clear();
    while seen(&mut kernel).contains(&1) {
        assert_eq!(kernel.port.announced, [], "not before");
        kernel.carry_on();
    }
    assert_eq!(kernel.port.announced, [(None, Change::Remove)], "once, in all spaces");
    finish(&mut kernel);
}

#[test]
fn a_space_that_gets_or_loses_a_segment_meanwhile_is_right() {
    let mut kernel = shared();
    let record =
        MapRecord::new(MapRecord::MAP, SEGMENT, 0x1000, MEMORY, 0, 5 * PAGE_SIZE, READ_WRITE);
    assert!(begin_map(&mut kernel, record), "it checks for interrupts");
    // Another thread would do so in between: the oldest attachments are visited last.
    let me = kernel.current().unwrap();
    let (context, flags, progress) =
        (kernel.pool[me].context, kernel.pool[me].flags, kernel.pool[me].progress);
    kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
    kernel.port.pending = false;
    for i in (0..SPACES).step_by(2) {
        succeeds(&mut kernel, Op::Detach, [FIRST + i, AT, 0, 0]);
        succeeds(
            &mut kernel,
            Op::Attach,
            [FIRST + i, AT + 2 * TABLE_SPAN, SEGMENT, Rights::READ.0 as Word],
        );
    }
    let t = &mut kernel.pool[me];
    (t.context, t.flags, t.progress) = (context, flags, progress);
    kernel.carry_on();
    finish(&mut kernel);
    assert_eq!(seen(&mut kernel), BTreeSet::from([5]));
}

/// Tables of a Segment that gets its copies in many steps.
const ENTRIES: Word = HostFormat::ENTRIES as Word * 2 / 3;

#[test]
fn a_segment_is_attached_in_steps() {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, ENTRIES * TABLE_SPAN, SEGMENT, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    derive(&mut kernel, 0, PAGE_SIZE, MEMORY);
    for index in [0, 300, ENTRIES - 1] {
        map(&mut kernel, SEGMENT, index * TABLE_SPAN, MEMORY, PAGE_SIZE);
    }
    assert!(
        begin(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, Rights::READ.0 as Word]),
        "it checks for interrupts"
    );
    finish(&mut kernel);
    let root = root(&mut kernel);
    let space: Ref<Space> = named(&kernel, root, SPACE);
    assert_eq!(leaves_of(&kernel, Owner::Space(space)).len(), 3);
    succeeds(&mut kernel, Op::Detach, [SPACE, 0, 0, 0]);
    assert!(leaves_of(&kernel, Owner::Space(space)).is_empty());
    succeeds(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, Rights::READ.0 as Word]);
}

/// Nothing may rely on a space to which a Segment is still being attached: its tables are not
/// complete yet.
#[test]
fn the_first_use_of_an_entry_is_one_that_has_it() {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, ENTRIES * TABLE_SPAN, SEGMENT, 0]);
    for space in [SPACE, FIRST] {
        succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, space, 0]);
    }
    derive(&mut kernel, 0, PAGE_SIZE, MEMORY);
    map(&mut kernel, SEGMENT, (ENTRIES - 1) * TABLE_SPAN, MEMORY, PAGE_SIZE);
    succeeds(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, READ_WRITE.0 as Word]);
    let root = root(&mut kernel);
    let (segment, [old, new]) = (
        named(&kernel, root, SEGMENT),
        [SPACE, FIRST].map(|at| named::<Space>(&kernel, root, at).address()),
    );
    let first = |kernel: &Kernel<Host>, end: Word| {
        attach::first_with(&kernel.pool, segment, common::low(end)).map(|at| kernel.pool[at].owner)
    };
    assert!(
        begin(&mut kernel, Op::Attach, [FIRST, 0, SEGMENT, READ_WRITE.0 as Word]),
        "it checks for interrupts"
    );
    let mut steps = 0;
    loop {
        let (mut has, space) = (0, Ref::<Space>::new(new));
        while has < common::low(ENTRIES)
            && kernel.pool[attach::attached_at(&kernel.pool, space, 0).unwrap()].cursor > has
        {
            has += 1;
        }
        for end in [1, 32, 64, ENTRIES] {
            let expected = if common::low(end) <= has { new } else { old };
            assert_eq!(first(&kernel, end), Some(expected), "up to {end}, of which it has {has}");
        }
        if leaves_of(&kernel, Owner::Space(space)).len() == 1 {
            break;
        }
        steps += 1;
        kernel.carry_on();
    }
    assert!(steps > 2, "it was looked at in between");
    finish(&mut kernel);
    succeeds(&mut kernel, Op::Detach, [SPACE, 0, 0, 0]);
    succeeds(&mut kernel, Op::Detach, [FIRST, 0, 0, 0]);
    assert_eq!(first(&kernel, 1), None, "nobody has it");
}

#[test]
fn an_attach_that_fails_when_it_is_carried_on_leaves_no_trace() {
    let mut kernel = boot_with(POOL);
    succeeds(&mut kernel, Op::CreateSegment, [slot::QUOTA, ENTRIES * TABLE_SPAN, SEGMENT, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    assert!(
        begin(&mut kernel, Op::Attach, [SPACE, 0, SEGMENT, Rights::READ.0 as Word]),
        "it checks for interrupts"
    );
    kernel.port.pending = false;
    // Another thread would delete it in between.
    let me = kernel.current().unwrap();
    let (context, flags, progress) =
        (kernel.pool[me].context, kernel.pool[me].flags, kernel.pool[me].progress);
    kernel.pool[me].flags &= !kcore::thread::flag::AGAIN;
    kernel.pool[me].progress = 0;
    succeeds(&mut kernel, Op::Delete, [SEGMENT, 0, 0, 0]);
    let t = &mut kernel.pool[me];
    (t.context, t.flags, t.progress) = (context, flags, progress);
    while kernel.carry_on() {}
    assert_eq!(results(&kernel.pool[me])[0], abi::Error::NoCapability as Word);
    succeeds(&mut kernel, Op::Delete, [SPACE, 0, 0, 0]);
    let root = root(&mut kernel);
    assert!(slot_of(&kernel, root, SPACE).is_empty(), "the next call is done, not carried on");
}

#[test]
fn rights_of_a_large_page_change_in_all_spaces_whatever_interrupts_come() {
    let mut kernel = shared();
    map(&mut kernel, SEGMENT, 0, MEMORY, TABLE_SPAN);
    assert!(
        begin_map(&mut kernel, protect(SEGMENT, 0, TABLE_SPAN, Rights::NONE)),
        "it checks for interrupts"
    );
    for _ in 0..1000 {
        kernel.carry_on();
    }
    kernel.port.pending = false;
    assert!(!kernel.carry_on(), "it has ended");
    assert_eq!(seen(&mut kernel), BTreeSet::from([0]));
}
