// SPDX-License-Identifier: MIT OR Apache-2.0
//! A processor with Alpha's registers and translation tables, and a simulated board. Physical
//! addresses are those of the pool, so memory has the same words wherever it really is.

use abi::{PhysAddr, UserAddr};
use alpha_context::{Alpha as Registers, hw, tag};
use core::ops::Range;
use kcore::port::{Board, Caches, Nothing, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Space};
use mmu::alpha::Alpha as Format;
use pool::{Link, Pool, Ref};

/// Interrupt lines.
pub const LINES: usize = 16;

/// The processor and its board.
#[derive(Default)]
pub struct Simulated {
    cpu: Cpu,
    /// The time, in nanoseconds.
    pub now: u64,
    /// When the timer is to fire.
    pub timer: Option<u64>,
    /// Whether long operations are told that an interrupt is pending.
    pub pending: bool,
    /// Ranges and tables of which translations were dropped, as one number.
    pub dropped: u64,
    /// How many spaces have been made: their tags.
    spaces: u64,
}

impl Simulated {
    const fn note(&mut self, word: u64) {
        self.dropped = (self.dropped ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl Processor for Simulated {
    type Registers = Registers;
    type Special = Nothing;

    fn cpu(&mut self) -> &mut Cpu {
        &mut self.cpu
    }
}

impl Translation for Simulated {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(address.into())
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        physical.0 as u32
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        self.spaces += 1;
        let (top, tag) = (pool[space].region.top.value(), tag(self.spaces % 127 + 1));
        let words = &mut pool[space].hw;
        words[hw::TABLE] = top;
        (words[hw::TAG], words[hw::TAG + 1]) = (tag as u32, (tag >> 32) as u32);
    }

    fn space_dropped(&mut self, _: &mut Pool, space: Ref<Space>) -> Charge {
        self.note(space.address().into());
        Charge::NONE
    }

    fn invalidate(&mut self, _: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        [space.address().into(), range.start.0, range.end.0]
            .into_iter()
            .for_each(|word| self.note(word));
    }

    fn invalidate_all(&mut self) {
        self.note(1);
    }
}

impl Caches for Simulated {}
impl Placement for Simulated {}

impl Board for Simulated {
    type Irqs = [Link<Irq>; LINES];

    fn now(&self) -> u64 {
        self.now
    }

    fn set_timer(&mut self, deadline: Option<u64>) {
        self.timer = deadline;
    }

    fn set_irq(&mut self, line: u32, enabled: bool) {
        self.note(u64::from(line) << 1 | u64::from(enabled));
    }

    fn interrupt_pending(&mut self) -> bool {
        self.pending
    }
}
