// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of an 8259A that does not end interrupts by itself: which lines are quiet, and why.
//!
//! A line is quiet while it is masked, and while it is in service. So if an interrupt is ended only
//! when its owner acknowledges it, this takes one access to a port; ending, masking and unmasking
//! it would take three. But an interrupt in service also keeps the lines after it quiet (those with
//! a higher number). So a line is *held* in service only while all lines after it are masked.

/// What is done to the controller.
pub trait Controller {
    /// Sets its mask: lines whose bits are set are quiet.
    fn set_mask(&mut self, mask: u8);
    /// Ends the interrupt of a line, which is in service.
    fn end(&mut self, line: u32);
}

/// What is known of the controller's eight lines: a bit each.
#[derive(Clone, Copy, Debug)]
pub struct Lines {
    /// Not let through.
    masked: u8,
    /// Of those, the ones that are in service, and not masked in the controller.
    held: u8,
}

impl Lines {
    /// All lines masked, none in service.
    pub const MASKED: Self = Self { masked: 0xff, held: 0 };

    /// From what [`Self::bits`] gave.
    pub const fn from_bits(bits: u16) -> Self {
        Self { masked: bits as u8, held: (bits >> 8) as u8 }
    }

    /// All of it in a number.
    pub const fn bits(self) -> u16 {
        (self.held as u16) << 8 | self.masked as u16
    }

    /// The controller's mask.
    pub const fn mask(self) -> u8 {
        self.masked & !self.held
    }

    /// Whether a line is in service until somebody lets it through again.
    pub const fn is_held(self, line: u32) -> bool {
        self.held & bit(line) != 0
    }

    /// The processor has taken a line, which is in service. It is quiet from then on, until it is
    /// [set](Self::set) to be let through.
    pub fn take(&mut self, line: u32, controller: &mut impl Controller) {
        let (mask, behind) = (self.mask(), !(bit(line) | before(line)));
        self.masked |= bit(line);
        let ends = behind & !self.masked != 0;
        if !ends {
            self.held |= bit(line);
        }
        self.tell(mask, if ends { bit(line) } else { 0 }, controller);
    }

    /// Lets a line through, or not. If so, its own interrupt ends, and those that would keep it
    /// quiet.
    pub fn set(&mut self, line: u32, enabled: bool, controller: &mut impl Controller) {
        let mask = self.mask();
        let ends = if enabled { self.held & (bit(line) | before(line)) } else { 0 };
        self.masked = if enabled { self.masked & !bit(line) } else { self.masked | bit(line) };
        self.held &= !ends;
        self.tell(mask, ends, controller);
    }

    /// Tells the controller, whose mask was another one, maybe, and which is to end these lines:
    /// those are masked before.
    fn tell(self, mask: u8, mut ends: u8, controller: &mut impl Controller) {
        if self.mask() != mask {
            controller.set_mask(self.mask());
        }
        while ends != 0 {
            controller.end(ends.trailing_zeros());
            ends &= ends - 1;
        }
    }
}

const fn bit(line: u32) -> u8 {
    1 << (line & 7)
}

/// The lines with lower numbers, which go first.
const fn before(line: u32) -> u8 {
    bit(line) - 1
}

#[cfg(test)]
mod tests {
    use super::{Controller, Lines};
    use proptest::prelude::*;

    /// An 8259A, as far as its manual says what the kernel uses of it.
    struct Naive {
        requested: u8,
        in_service: u8,
        mask: u8,
        /// To its ports.
        accesses: u32,
    }

    impl Naive {
        fn new() -> Self {
            Self { requested: 0, in_service: 0, mask: Lines::MASKED.mask(), accesses: 0 }
        }

        /// The line it would give the processor now.
        fn asks(&self) -> Option<u32> {
            let first = (self.requested & !self.mask).trailing_zeros();
            (first < self.in_service.trailing_zeros().min(8)).then_some(first)
        }

        fn acknowledge(&mut self, line: u32) {
            self.requested &= !(1 << line);
            self.in_service |= 1 << line;
        }
    }

    impl Controller for Naive {
        fn set_mask(&mut self, mask: u8) {
            self.mask = mask;
            self.accesses += 1;
        }

        fn end(&mut self, line: u32) {
            self.in_service &= !(1 << line);
            self.accesses += 1;
        }
    }

    #[test]
    fn one_access_for_an_interrupt_with_nobody_behind() {
        let (mut controller, mut lines) = (Naive::new(), Lines::MASKED);
        lines.set(3, true, &mut controller);
        lines.set(2, true, &mut controller);
        controller.accesses = 0;
        for _ in 0..10 {
            controller.requested |= 1 << 3;
            assert_eq!(controller.asks(), Some(3));
            controller.acknowledge(3);
            lines.take(3, &mut controller);
            lines.set(3, false, &mut controller);
            lines.set(3, true, &mut controller);
        }
        assert_eq!(controller.accesses, 10);
    }

    proptest! {
        /// The controller asks for exactly the lines that the kernel lets through, in their order.
        #[test]
        fn what_is_let_through_comes_and_nothing_else(events in prop::collection::vec((0u32..3, 0u32..8, any::<bool>()), 1..200)) {
            let (mut controller, mut lines, mut let_through) = (Naive::new(), Lines::MASKED, 0u8);
            for (kind, line, enabled) in events {
                match kind {
                    0 => controller.requested |= 1 << line,
                    1 => {
                        lines.set(line, enabled, &mut controller);
                        let_through = if enabled { let_through | 1 << line } else { let_through & !(1 << line) };
                    }
                    _ => if let Some(line) = controller.asks() {
                        controller.acknowledge(line);
                        lines.take(line, &mut controller);
                        let_through &= !(1 << line);
                    },
                }
                let due = controller.requested & let_through;
                prop_assert_eq!(controller.asks(), (due != 0).then(|| due.trailing_zeros()));
                prop_assert_eq!(Lines::from_bits(lines.bits()).bits(), lines.bits());
                prop_assert_eq!(lines.held & !controller.in_service, 0);
            }
        }
    }
}
