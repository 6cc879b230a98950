// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of an 8259A that does not end interrupts by itself: which are quiet, and by what.
//!
//! A line is quiet as long as it is masked, and as long as it is in service. So an interrupt that is ended only when its owner
//! acknowledges it needs one access to a port, where ending, masking and unmasking it are three. But what is in service keeps the lines
//! behind it quiet, too (those with a higher number). So a line is *held* in service only while no line behind it is let through.

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

    /// What the controller's mask must be.
    pub const fn mask(self) -> u8 {
        self.masked & !self.held
    }

    /// Whether a line is in service until somebody lets it through again.
    pub const fn is_held(self, line: u32) -> bool {
        self.held & bit(line) != 0
    }

    /// The processor has taken a line, which is in service. It is quiet then, until it is [set](Self::set) to be let through.
    /// True: its interrupt must be ended, as soon as the controller has the [mask](Self::mask).
    pub fn take(&mut self, line: u32) -> bool {
        let behind = !(bit(line) | before(line));
        self.masked |= bit(line);
        let ends = behind & !self.masked != 0;
        if !ends {
            self.held |= bit(line);
        }
        ends
    }

    /// Lets a line through, or not. The interrupts to be ended, a bit for each line, as soon as the controller has the
    /// [mask](Self::mask): the line's own, and those that would keep it quiet.
    pub fn set(&mut self, line: u32, enabled: bool) -> u8 {
        if !enabled {
            self.masked |= bit(line);
            return 0;
        }
        self.masked &= !bit(line);
        let ends = self.held & (bit(line) | before(line));
        self.held &= !ends;
        ends
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
    use super::Lines;
    use proptest::prelude::*;

    /// An 8259A, as far as its manual says what the kernel uses of it.
    #[derive(Default)]
    struct Controller {
        requested: u8,
        in_service: u8,
        mask: u8,
    }

    impl Controller {
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

    /// The kernel's side, as `pic` has it; `accesses` counts those to ports.
    struct Kernel {
        controller: Controller,
        lines: Lines,
        accesses: u32,
    }

    impl Kernel {
        fn new() -> Self {
            let controller = Controller { mask: Lines::MASKED.mask(), ..Default::default() };
            Self { controller, lines: Lines::MASKED, accesses: 0 }
        }

        fn tell(&mut self, mut ends: u8) {
            if self.controller.mask != self.lines.mask() {
                self.controller.mask = self.lines.mask();
                self.accesses += 1;
            }
            while ends != 0 {
                self.accesses += 1;
                self.controller.in_service &= !(1 << ends.trailing_zeros());
                ends &= ends - 1;
            }
        }

        fn take(&mut self, line: u32) {
            self.controller.acknowledge(line);
            let ends = self.lines.take(line);
            self.tell(u8::from(ends) << line);
        }

        fn set(&mut self, line: u32, enabled: bool) {
            let ends = self.lines.set(line, enabled);
            self.tell(ends);
        }
    }

    #[test]
    fn one_access_for_an_interrupt_with_nobody_behind() {
        let mut kernel = Kernel::new();
        kernel.set(3, true);
        kernel.set(2, true);
        kernel.accesses = 0;
        for _ in 0..10 {
            kernel.controller.requested |= 1 << 3;
            assert_eq!(kernel.controller.asks(), Some(3));
            kernel.take(3);
            kernel.set(3, false);
            kernel.set(3, true);
        }
        assert_eq!(kernel.accesses, 10);
    }

    proptest! {
        /// The controller asks for exactly the lines that the kernel lets through, in their order.
        #[test]
        fn what_is_let_through_comes_and_nothing_else(events in prop::collection::vec((0u32..3, 0u32..8, any::<bool>()), 1..200)) {
            let (mut kernel, mut let_through) = (Kernel::new(), 0u8);
            for (kind, line, enabled) in events {
                match kind {
                    0 => kernel.controller.requested |= 1 << line,
                    1 => {
                        kernel.set(line, enabled);
                        let_through = if enabled { let_through | 1 << line } else { let_through & !(1 << line) };
                    }
                    _ => if let Some(line) = kernel.controller.asks() {
                        kernel.take(line);
                        let_through &= !(1 << line);
                    },
                }
                let due = kernel.controller.requested & let_through;
                prop_assert_eq!(kernel.controller.asks(), (due != 0).then(|| due.trailing_zeros()));
                prop_assert_eq!(Lines::from_bits(kernel.lines.bits()).bits(), kernel.lines.bits());
                prop_assert_eq!(kernel.lines.held & !kernel.controller.in_service, 0);
            }
        }
    }
}
