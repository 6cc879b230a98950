// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sweep against a naive model, which knows for each context the space that had it last, and
//! where translations with it are.
//!
//! Spaces take contexts, use pages, lose contexts in each way that there is, and the idle loop
//! steps. In whatever order, no context is given out while table or TLB have a translation of its
//! last owner, and entries that are removed belong to no space.

use abi::UserAddr;
use mmu::hash::{Group, LEAST, VALID, insert, look_up};
use mmu::sweep::{Counts, STEP, Sweep, least_contexts, words};
use mmu::vsid::{CONTEXTS, Contexts, Function, context, vsid};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SPACES: usize = 6;

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A space runs and uses pages, so many.
    Use(usize, u32),
    /// A space loses its context.
    Forget(usize),
    /// All do.
    ForgetAll,
    /// The processor idles for so many steps of the sweep, if it ever does.
    Idle(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        10 => (0..SPACES, 0u32..40).prop_map(|(space, pages)| Event::Use(space, pages)),
        10 => (0..SPACES).prop_map(Event::Forget),
        1 => Just(Event::ForgetAll),
        3 => (0..2 * LEAST / STEP).prop_map(Event::Idle),
    ]
}

/// What is true, as simple as can be.
#[derive(Default)]
struct Model {
    /// Who has which context.
    owners: BTreeMap<usize, u32>,
    /// Pages of contexts that the TLB has.
    tlb: BTreeSet<(u32, u32)>,
}

fn entries(table: &[Group]) -> impl Iterator<Item = u32> {
    table
        .iter()
        .flatten()
        .filter(|[first, _]| first & VALID != 0)
        .map(|[first, _]| context(first >> 7))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_context_is_given_out_while_anything_has_a_translation_of_it(
        count in 0u32..100,
        idles in any::<bool>(),
        events in proptest::collection::vec(event(), 1..1500),
    ) {
        let mut table = vec![[[0; 2]; 8]; LEAST];
        let count = count.max(least_contexts(LEAST));
        let mut live = vec![u32::MAX; words(count)];
        let (mut sweep, mut model, mut hand) = (Sweep::new(Contexts::new(count), Function::Scattered, &mut live, LEAST), Model::default(), 0);
        for event in events {
            let (before, mut is_clean): (Vec<u32>, bool) = (entries(&table).collect(), false);
            match event {
                Event::Use(space, pages) => {
                    if !model.owners.contains_key(&space) {
                        let taken = sweep.take(&mut table);
                        if taken.is_turn {
                            model.owners.clear();
                            model.tlb.clear();
                        }
                        prop_assert!(taken.context != 0 && taken.context < count);
                        prop_assert!(!model.owners.values().any(|owned| *owned == taken.context), "two spaces have it");
                        prop_assert!(!model.tlb.iter().any(|(owned, _)| *owned == taken.context), "the TLB has something of it");
                        prop_assert!(!entries(&table).any(|owned| owned == taken.context), "the table has something of it");
                        model.owners.insert(space, taken.context);
                    }
                    let context = model.owners[&space];
                    for page in 0..pages {
                        insert(&mut table, vsid(context, 0), UserAddr((page << 12).into()), page, &mut hand);
                        model.tlb.insert((context, page));
                        prop_assert_eq!(look_up(&table, vsid(context, 0), UserAddr((page << 12).into())), Some(page));
                    }
                    continue;
                }
                Event::Forget(space) => {
                    if let Some(context) = model.owners.remove(&space) {
                        sweep.forget(context, &table);
                    }
                }
                Event::ForgetAll => {
                    model.owners.clear();
                    sweep.forget_all(&table);
                }
                Event::Idle(steps) => is_clean = (0..steps).any(|_| idles && !sweep.step(&mut table, true)),
            }
            let alive = |contexts: &[u32]| contexts.iter().filter(|owned| model.owners.values().any(|context| context == *owned)).count();
            let after: Vec<u32> = entries(&table).collect();
            prop_assert_eq!(alive(&before), alive(&after), "what is somebody's stays");
            if is_clean {
                prop_assert_eq!(alive(&after), after.len(), "no zombie is left");
            }
        }
    }
}

#[test]
fn a_step_is_at_most_so_many_groups() {
    let mut table = vec![[[0; 2]; 8]; LEAST];
    let mut live = vec![0; words(CONTEXTS)];
    let mut sweep = Sweep::new(Contexts::new(CONTEXTS), Function::Scattered, &mut live, LEAST);
    assert!(!sweep.step(&mut table, true), "an empty table is swept");
    let taken = sweep.take(&mut table);
    for page in 0..100u32 {
        insert(&mut table, vsid(taken.context, 0), UserAddr((page << 12).into()), 1, &mut 0);
    }
    sweep.forget(taken.context, &table);
    assert_eq!((0..).take_while(|_| sweep.step(&mut table, false)).count(), LEAST / STEP);
    assert_eq!(sweep.counts(), Counts { zombies: 100, ..Counts::default() });
    sweep.forget_all(&table);
    assert_eq!((0..).take_while(|_| sweep.step(&mut table, true)).count(), LEAST / STEP);
    assert_eq!(sweep.counts(), Counts { swept: 100, ..Counts::default() });
}

#[test]
fn of_a_vsid_comes_its_context() {
    for number in (0..CONTEXTS).step_by(7) {
        assert!((0..16).all(|segment| context(vsid(number, segment)) == number));
    }
}

#[test]
fn who_only_counts_zombies_keeps_none_from_being_swept_before_a_turn() {
    let count = least_contexts(LEAST);
    let (mut table, mut live) = (vec![[[0; 2]; 8]; LEAST], vec![0; words(count)]);
    let mut sweep = Sweep::new(Contexts::new(count), Function::Scattered, &mut live, LEAST);
    let (mut hand, mut turns) = (0, 0);
    while turns < 3 {
        let taken = sweep.take(&mut table);
        turns += u32::from(taken.is_turn);
        assert!(!entries(&table).any(|owned| owned == taken.context), "there is something of it");
        // They lie in all parts of the table, and nothing is evicted.
        for page in (0..1024u32).step_by(37) {
            let address = UserAddr((page << 12).into());
            insert(&mut table, vsid(taken.context, 0), address, 1, &mut hand);
        }
        // Nobody runs, but right after a turn.
        while !taken.is_turn && sweep.step(&mut table, false) {}
    }
}
