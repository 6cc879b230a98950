// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of units against a map of who has which.

use proptest::prelude::*;
use ranges::Units;

const COUNT: usize = 24;

proptest! {
    #[test]
    fn runs_never_overlap_and_are_given_if_there_are_any(steps in proptest::collection::vec((0..3_u8, 0..10_usize), 1..80)) {
        let mut units = Units::new(COUNT);
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (what, number) in steps {
            if what == 0 && !runs.is_empty() {
                let (first, count) = runs.swap_remove(number % runs.len());
                units.give(first, count);
                continue;
            }
            let is_free = |unit: usize| runs.iter().all(|(first, count)| unit < *first || unit >= first + count);
            let fits = |first: &usize| number > 0 && (*first..first + number).all(is_free);
            let expected = (0..=COUNT.saturating_sub(number)).find(fits);
            prop_assert_eq!(units.take(number), expected);
            runs.extend(expected.map(|first| (first, number)));
        }
    }
}
