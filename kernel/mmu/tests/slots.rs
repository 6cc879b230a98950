// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots against a naive model.

use mmu::slots::Slots;
use proptest::prelude::*;

const COUNT: usize = 5;
const HOLDERS: u8 = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Take(u8, bool),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let take = (0..HOLDERS, any::<bool>()).prop_map(|(holder, is_own)| Step::Take(holder, is_own));
    prop::collection::vec(prop_oneof![3 => take, 2 => any::<usize>().prop_map(Step::Leave)], 0..120)
}

proptest! {
    #[test]
    fn a_slot_has_one_holder_and_is_shared_evenly(steps in steps()) {
        let mut slots = Slots::<u8, COUNT>::new();
        // Spaces: holder and slot. And the slot that was given last.
        let mut spaces: Vec<(u8, usize)> = Vec::new();
        let mut last = COUNT - 1;
        for step in steps {
            let users = |spaces: &[(u8, usize)], slot| spaces.iter().filter(|(_, at)| *at == slot).count();
            match step {
                Step::Take(holder, is_own) => {
                    let free: Vec<usize> = (0..COUNT).filter(|slot| users(&spaces, *slot) == 0).collect();
                    let his: Vec<usize> = spaces.iter().filter(|(by, _)| *by == holder).map(|(_, slot)| *slot).collect();
                    let slot = slots.take(holder, is_own);
                    let Some(slot) = slot else {
                        let there = if is_own { &free } else { &his };
                        prop_assert!(there.is_empty());
                        continue;
                    };
                    if is_own {
                        let next = (1..=COUNT).map(|step| (last + step) % COUNT).find(|slot| free.contains(slot));
                        prop_assert_eq!(Some(slot), next);
                    } else {
                        prop_assert!(his.contains(&slot));
                        prop_assert!(his.iter().all(|other| users(&spaces, slot) <= users(&spaces, *other)));
                    }
                    last = slot;
                    spaces.push((holder, slot));
                }
                Step::Leave(number) if !spaces.is_empty() => {
                    let (_, slot) = spaces.swap_remove(number % spaces.len());
                    prop_assert_eq!(slots.leave(slot), users(&spaces, slot) == 0);
                }
                Step::Leave(_) => {}
            }
        }
    }
}
