// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tags against a naive model, with a TLB that keeps whatever is not flushed.

use mmu::tags::{First, LOOKS, Tags};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// As a processor with 40 tags: 0 to 2 are the kernel's, 3 is in no group either.
const COUNT: usize = 40;
const GROUPS: [(u16, u16); 3] = [(4, 9), (9, 10), (10, 40)];

fn tags_of(group: usize) -> Range<u16> {
    GROUPS[group].0..GROUPS[group].1
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Clean,
    Returned,
    Taken(u32),
}

/// What the allocator should know, and what a TLB has: owners by tag.
#[derive(Default)]
struct Model {
    states: HashMap<u16, State>,
    tlb: HashSet<(u16, u32)>,
    next_owner: u32,
}

impl Model {
    fn new() -> Self {
        Self {
            states: GROUPS
                .into_iter()
                .flat_map(|(first, end)| first..end)
                .map(|tag| (tag, State::Clean))
                .collect(),
            ..Self::default()
        }
    }

    fn any(&self, group: usize, wanted: State) -> bool {
        tags_of(group).any(|tag| self.states[&tag] == wanted)
    }

    fn flush(&mut self) {
        self.tlb.clear();
        self.states
            .values_mut()
            .filter(|state| **state == State::Returned)
            .for_each(|state| *state = State::Clean);
    }

    fn owner(&self, tag: u16) -> Option<u32> {
        if let Some(State::Taken(owner)) = self.states.get(&tag) { Some(*owner) } else { None }
    }

    /// A tag that somebody has, by a random number.
    fn taken(&self, number: usize) -> Option<(u16, u32)> {
        let all: Vec<_> = GROUPS
            .into_iter()
            .flat_map(|(first, end)| first..end)
            .filter_map(|tag| Some((tag, self.owner(tag)?)))
            .collect();
        (!all.is_empty()).then(|| all[number % all.len()])
    }
}

/// One step of the allocator and its model.
fn step(
    tags: &mut Tags<u32, COUNT, 3>,
    model: &mut Model,
    what: u8,
    number: usize,
) -> Result<(), TestCaseError> {
    match what % 8 {
        0..4 => {
            let group = number % 3;
            // About half, all or none of the owners keep theirs.
            let keeps = |owner: u32| [owner.is_multiple_of(2), true, false, false][number / 3 % 4];
            let (clean, returned) =
                (model.any(group, State::Clean), model.any(group, State::Returned));
            let all_keep = tags_of(group)
                .all(|tag| matches!(model.states[&tag], State::Taken(owner) if keeps(owner)));
            let owner = model.next_owner;
            model.next_owner += 1;
            let Some(grant) = tags.take(group, owner, keeps) else {
                prop_assert!(all_keep, "no tag, though not all keep theirs");
                return Ok(());
            };
            prop_assert!(tags_of(group).contains(&grant.tag));
            match grant.first {
                First::Nothing => prop_assert_eq!(model.states[&grant.tag], State::Clean),
                First::FlushAll => {
                    prop_assert!(!clean && returned, "a flush that was not needed");
                    model.flush();
                    prop_assert_eq!(model.states[&grant.tag], State::Clean);
                }
                First::Evict(loser) => {
                    prop_assert!(!clean && !returned, "a victim, though there were free tags");
                    prop_assert_eq!(model.states[&grant.tag], State::Taken(loser));
                    prop_assert!(!keeps(loser));
                    prop_assert!(!tags.has(grant.tag, loser));
                    model.tlb.retain(|(tag, _)| *tag != grant.tag);
                    // What it gives back is not its own any more.
                    tags.give_back(grant.tag, loser);
                }
            }
            prop_assert!(
                !model.tlb.iter().any(|(tag, _)| *tag == grant.tag),
                "somebody else's translations"
            );
            model.states.insert(grant.tag, State::Taken(owner));
            model.tlb.insert((grant.tag, owner));
        }
        4 | 5 => {
            let Some((tag, owner)) = model.taken(number) else { return Ok(()) };
            tags.give_back(tag, owner);
            tags.give_back(tag, owner);
            model.states.insert(tag, State::Returned);
        }
        6 => {
            let Some((tag, owner)) = model.taken(number) else { return Ok(()) };
            tags.used(tag);
            model.tlb.insert((tag, owner));
        }
        _ => {
            tags.flushed();
            model.flush();
        }
    }
    for tag in 0..COUNT as u16 + 2 {
        prop_assert_eq!(tags.owner(tag), model.owner(tag));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn no_tag_reaches_what_another_owner_left(steps in prop::collection::vec((any::<u8>(), 0usize..1000), 1..400)) {
        let (mut tags, mut model) = (Tags::new(GROUPS), Model::new());
        for (what, number) in steps {
            // Flushes are rare, so that groups run out.
            let what = if what % 8 == 7 && what % 5 != 0 { 0 } else { what };
            step(&mut tags, &mut model, what, number)?;
        }
    }
}

/// Nobody keeps its tag.
const fn nobody(_: u32) -> bool {
    false
}

#[test]
fn one_flush_serves_many_ends() {
    let mut tags: Tags<u32, 16, 1> = Tags::new([(1, 16)]);
    let mut flushes = 0;
    for owner in 0..150 {
        let grant = tags.take(0, owner, nobody).expect("nobody keeps its tag");
        assert_ne!(grant.tag, 0, "the kernel's");
        flushes += u32::from(grant.first == First::FlushAll);
        tags.give_back(grant.tag, owner);
    }
    assert_eq!(flushes, 9, "150 owners of 15 tags");
}

#[test]
fn who_uses_its_tag_keeps_it_longest() {
    let mut tags: Tags<u32, 13, 1> = Tags::new([(0, 13)]);
    let granted: Vec<u16> =
        (0..13).map(|owner| tags.take(0, owner, nobody).expect("there are 13").tag).collect();
    // All count as used at first: the hand passes all of them, and takes the first.
    assert_eq!(tags.take(0, 100, nobody).map(|grant| grant.first), Some(First::Evict(0)));
    tags.used(granted[1]);
    tags.used(granted[3]);
    let losers: Vec<_> = (101..106)
        .filter_map(|owner| tags.take(0, owner, nobody))
        .map(|grant| grant.first)
        .collect();
    assert_eq!(losers, [2, 4, 5, 6, 7].map(First::Evict));
    // Of two only one is left if the other runs.
    let mut tags: Tags<u32, 2, 1> = Tags::new([(0, 2)]);
    assert!(tags.take(0, 1, nobody).is_some() && tags.take(0, 2, nobody).is_some());
    assert_eq!(tags.take(0, 3, |owner| owner == 1).map(|grant| grant.first), Some(First::Evict(2)));
    assert_eq!(tags.take(0, 4, |_| true), None);
    assert_eq!(tags.take(1, 4, nobody), None, "there is one group");
}

#[test]
fn a_victim_is_found_in_bounded_time() {
    const MANY: u16 = 4096;
    let mut tags: Tags<u32, { MANY as usize }, 1> = Tags::new([(1, MANY)]);
    for owner in 1..u32::from(MANY) {
        assert_eq!(tags.take(0, owner, nobody).map(|grant| grant.first), Some(First::Nothing));
    }
    let looks = std::cell::Cell::new(0);
    let found = tags.take(0, 0, |owner| {
        looks.set(looks.get() + 1);
        owner == 1
    });
    assert_eq!((found.map(|grant| grant.first), looks.get()), (Some(First::Evict(2)), LOOKS));
}

/// How many of these owners, who run in this order, had lost their tag of twelve.
fn misses(tags: &mut Tags<u32, 12, 1>, owners: impl IntoIterator<Item = u32>) -> usize {
    let mut run = |owner| {
        let tag = (0..12).find(|tag| tags.has(*tag, owner));
        match tag {
            Some(tag) => tags.used(tag),
            None => _ = tags.take(0, owner, nobody),
        }
        tag.is_none()
    };
    owners.into_iter().map(&mut run).filter(|missed| *missed).count()
}

#[test]
fn a_ring_that_is_too_large_does_not_lose_all() {
    let mut tags = Tags::new([(0, 12)]);
    let lost = misses(&mut tags, (0..100).flat_map(|_| 0..16));
    assert!(lost < 100 * 16 * 2 / 5, "{lost} of {}", 100 * 16);
}

#[test]
fn who_does_not_run_any_more_loses_its_tag() {
    let mut tags = Tags::new([(0, 12)]);
    misses(&mut tags, 0..20);
    // Any two of them take turns, and soon have theirs.
    for two in [[0, 1], [5, 19], [11, 12]] {
        misses(&mut tags, (0..100).flat_map(|_| two));
        assert_eq!(misses(&mut tags, (0..100).flat_map(|_| two)), 0, "{two:?}");
    }
}
