// SPDX-License-Identifier: MIT OR Apache-2.0
//! The range of a ratio of cycles over everything that sources allow of the CPU model, and what the
//! range rests on.

/// The part of the whole range that a doubt must cause by itself to be named.
const NAMED: f64 = 0.15;
/// How many doubts are named at most.
const MOST: usize = 3;

/// A quotient, where there is one.
pub(crate) fn quotient(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor != 0.0).then(|| dividend / divisor)
}

/// The range of a ratio, and its causes.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least that sources allow.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// The same ratio, of instructions.
    pub instructions: Option<f64>,
    /// The doubts, each with the range that only this doubt causes; the largest range comes first.
    pub rests_on: Vec<(String, f64, f64)>,
}

impl Range {
    /// The range of a ratio with the value `ratio`, from its values at corners, its value for
    /// instructions, and for each doubt its values when only this doubt is at its ends.
    pub(crate) fn of(
        ratio: f64,
        corners: impl Iterator<Item = f64>,
        instructions: Option<f64>,
        alone: Vec<(String, Vec<f64>)>,
    ) -> Self {
        let extremes = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((ratio, ratio), |(low, high), value| (low.min(value), high.max(value)))
        };
        let (low, high) =
            extremes(&mut corners.chain(alone.iter().flat_map(|(_, values)| values.clone())));
        let alone = alone.into_iter().map(|(what, values)| {
            let (low, high) = extremes(&mut values.into_iter());
            (what, low, high)
        });
        let mut rests_on: Vec<(String, f64, f64)> = alone.collect();
        rests_on.retain(|(_, least, most)| {
            !same(*least, *most) && most - least >= NAMED * (high - low)
        });
        rests_on.sort_by(|(_, least, most), (_, lower, higher)| {
            (higher - lower).total_cmp(&(most - least))
        });
        rests_on.truncate(MOST);
        Self { low, high, instructions, rests_on }
    }

    /// `LOW to HIGH`; empty if both are printed alike.
    pub(crate) fn text(&self) -> String {
        if same(self.low, self.high) {
            String::new()
        } else {
            format!("{:.2} to {:.2}", self.low, self.high)
        }
    }

    /// The causes, as text.
    pub(crate) fn reasons(&self) -> String {
        let reasons =
            self.rests_on.iter().map(|(what, low, high)| format!("{what} ({low:.2} to {high:.2})"));
        reasons.collect::<Vec<_>>().join(", ")
    }
}

/// Whether two ratios are printed alike.
fn same(a: f64, b: f64) -> bool {
    (a * 100.0).round() == (b * 100.0).round()
}

#[cfg(test)]
mod tests {
    use super::Range;

    fn range(alone: &[(&str, &[f64])]) -> Range {
        let alone =
            alone.iter().map(|(what, values)| ((*what).to_string(), values.to_vec())).collect();
        Range::of(1.0, [0.9, 1.5].into_iter(), Some(1.1), alone)
    }

    #[test]
    fn what_moves_it_most_comes_first() {
        let range = range(&[("little", &[1.01]), ("some", &[0.95, 1.1]), ("most", &[1.3])]);
        assert_eq!((range.low, range.high), (0.9, 1.5));
        assert_eq!(range.text(), "0.90 to 1.50");
        assert_eq!(range.reasons(), "most (1.00 to 1.30), some (0.95 to 1.10)");
    }

    #[test]
    fn what_is_alone_beyond_the_corners_belongs_to_it() {
        assert_eq!(range(&[("another geometry", &[1.7])]).high, 1.7);
    }

    #[test]
    fn what_reads_the_same_is_no_range() {
        let range =
            Range::of(1.0, [1.001].into_iter(), None, vec![("nothing".into(), vec![1.001])]);
        assert_eq!((range.text(), range.reasons()), (String::new(), String::new()));
    }
}
