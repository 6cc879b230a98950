// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact distribution of a count over repetitions.

use crate::report::Spread;
use std::collections::BTreeMap;

/// How often each value occurred. Its size depends on the number of different values, not on the
/// number of repetitions.
#[derive(Default)]
pub struct Histogram {
    occurrences: BTreeMap<u64, u64>,
}

impl Histogram {
    /// Adds one repetition's value.
    pub fn add(&mut self, value: u64) {
        *self.occurrences.entry(value).or_insert(0) += 1;
    }

    /// Median, smallest and largest value; zeros if there is none. Of an even
    /// number of values the median is the lower of the two in the middle.
    pub fn spread(&self) -> Spread {
        let smallest = self.occurrences.keys().next().copied().unwrap_or(0);
        let largest = self.occurrences.keys().next_back().copied().unwrap_or(0);
        Spread { median: self.median(), min: smallest, max: largest }
    }

    /// The median as in [`spread`](Self::spread).
    pub fn median(&self) -> u64 {
        let total: u64 = self.occurrences.values().sum();
        let mut up_to = 0;
        for (&value, &count) in &self.occurrences {
            up_to += count;
            if up_to * 2 >= total {
                return value;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Spread};

    #[test]
    fn median_is_the_lower_middle() {
        let of = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            histogram.spread()
        };
        assert_eq!(of(&[]), Spread { median: 0, min: 0, max: 0 });
        assert_eq!(of(&[5]), Spread { median: 5, min: 5, max: 5 });
        assert_eq!(of(&[9, 1]), Spread { median: 1, min: 1, max: 9 });
        assert_eq!(of(&[9, 1, 4]), Spread { median: 4, min: 1, max: 9 });
        assert_eq!(of(&[7, 7, 7, 100]), Spread { median: 7, min: 7, max: 100 });
        assert_eq!(of(&[1, 2, 3, 4]), Spread { median: 2, min: 1, max: 4 });
    }
}
