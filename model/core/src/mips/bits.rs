// SPDX-License-Identifier: MIT OR Apache-2.0
//! A register of which some bits are known.

/// What is known of 64 bits. Unknown bits are 0 in the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    value: u64,
    known: u64,
}

impl Bits {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { value: 0, known: 0 };

    /// All bits are known.
    #[must_use]
    pub const fn of(value: u64) -> Self {
        Self { value, known: !0 }
    }

    /// The value, if all of it is known.
    #[must_use]
    pub fn all(self) -> Option<u64> {
        self.part(!0)
    }

    /// The bits of a mask, if all of them are known.
    #[must_use]
    pub fn part(self, mask: u64) -> Option<u64> {
        (self.known & mask == mask).then_some(self.value & mask)
    }

    /// Only the bits of a mask stay known.
    #[must_use]
    pub const fn only(self, mask: u64) -> Self {
        Self { value: self.value & mask, known: self.known & mask }
    }

    /// `and`: where one operand has a 0, the other need not be known.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let zero = (self.known & !self.value) | (other.known & !other.value);
        Self { value: self.value & other.value, known: self.known & other.known | zero }
    }

    /// `or`: where one operand has a 1, the other need not be known.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        let one = self.value | other.value;
        Self { value: one, known: self.known & other.known | one }
    }

    /// `xor`.
    #[must_use]
    pub const fn xor(self, other: Self) -> Self {
        let known = self.known & other.known;
        Self { value: (self.value ^ other.value) & known, known }
    }

    /// `not`.
    #[must_use]
    pub const fn not(self) -> Self {
        Self { value: !self.value & self.known, known: self.known }
    }

    /// The sum: its lowest bits, as far as both operands are known from the lowest bit on.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self::lowest(self.value.wrapping_add(other.value), self.known & other.known)
    }

    /// The difference, likewise.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self::lowest(self.value.wrapping_sub(other.value), self.known & other.known)
    }

    const fn lowest(value: u64, known: u64) -> Self {
        let count = known.trailing_ones();
        let known = if count == 64 { !0 } else { (1 << count) - 1 };
        Self { value: value & known, known }
    }

    /// Shifted to the left, by less than 64.
    #[must_use]
    pub const fn left(self, by: u32) -> Self {
        Self { value: self.value << by, known: self.known << by | ((1 << by) - 1) }
    }

    /// To the right, with zeros.
    #[must_use]
    pub const fn right(self, by: u32) -> Self {
        Self { value: self.value >> by, known: self.known >> by | !(!0 >> by) }
    }

    /// To the right, with the sign.
    #[must_use]
    pub const fn right_signed(self, by: u32) -> Self {
        let known = (self.known as i64 >> by) as u64;
        Self { value: (self.value as i64 >> by) as u64 & known, known }
    }

    /// The lower 32 bits, and their sign above them: what operations of 32 bits leave.
    #[must_use]
    pub const fn word(self) -> Self {
        let known = self.known as u32 as i32 as u64;
        Self { value: self.value as u32 as i32 as u64 & known, known }
    }

    /// The lower 32 bits, and zeros above them.
    #[must_use]
    pub const fn half(self) -> Self {
        Self { value: self.value as u32 as u64, known: self.known | !0 << 32 }
    }

    /// A condition as 1 or 0, if it is known.
    #[must_use]
    pub fn truth(known: Option<bool>) -> Self {
        known.map_or(Self { value: 0, known: !1 }, |is| Self::of(is.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;
    use proptest::prelude::*;

    /// Some bits of a number.
    fn some(value: u64, known: u64) -> Bits {
        Bits::of(value).only(known)
    }

    /// What is known of a result is so of the true one.
    fn agrees(found: Bits, truth: u64) -> bool {
        found.part(found.known) == Some(truth & found.known) && found.value & !found.known == 0
    }

    proptest! {
        #[test]
        fn what_is_known_is_true(a: u64, b: u64, know_a: u64, know_b: u64, by in 0u32..64) {
            // Long runs of known bits, as instructions have them.
            for (know_a, know_b) in [(know_a, know_b), (!0, know_b | 0xff), (know_a | 0x1fff, !0 >> by), (!0, !0)] {
                let (x, y) = (some(a, know_a), some(b, know_b));
                let word = |value: u64| value as u32 as i32 as u64;
                for (found, truth) in [
                    (x.and(y), a & b),
                    (x.or(y), a | b),
                    (x.xor(y), a ^ b),
                    (x.not(), !a),
                    (x.plus(y), a.wrapping_add(b)),
                    (x.minus(y), a.wrapping_sub(b)),
                    (x.left(by), a << by),
                    (x.right(by), a >> by),
                    (x.right_signed(by), (a as i64 >> by) as u64),
                    (x.word(), word(a)),
                    (x.half(), u64::from(a as u32)),
                ] {
                    prop_assert!(agrees(found, truth), "{found:x?} {truth:x}");
                }
            }
            let both = (some(a, !0), some(b, !0));
            prop_assert_eq!(both.0.plus(both.1).all(), Some(a.wrapping_add(b)));
            prop_assert_eq!(both.0.right_signed(by).all(), Some((a as i64 >> by) as u64));
        }
    }

    #[test]
    fn a_mask_makes_known_what_it_clears() {
        let asid = some(0x1234_5000, !0xfff).and(Bits::of(0xff));
        assert_eq!((asid.all(), asid.part(!0xff)), (None, Some(0)));
        assert_eq!(Bits::truth(None).part(!1), Some(0));
        assert_eq!(Bits::truth(Some(true)).all(), Some(1));
    }
}
