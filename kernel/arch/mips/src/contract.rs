// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::layout::{HOT, physical, reached};
use crate::regs;
use crate::space::Spaces;
use crate::time;
use abi::kip::Clock;
use abi::{PhysAddr, Rights, UserAddr};
use arch_common::lock::Lock;
use core::ops::Range;
use kcore::port::{Board, Caches, FaultIn, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Space};
use mips_context::{Mips as Registers, cause};
use mmu::mips::Mips as Format;
use plat_malta::pic;
use pool::{Link, Pool, Ref};
use port_map::PortMap;

/// The kernel.
pub static KERNEL: Lock<Mips> = Lock::new();

/// The processor and its board.
pub struct Mips {
    clock: Clock,
    spaces: Spaces,
}

impl Mips {
    /// The port, with the clock as it is now.
    pub const fn new(clock: Clock) -> Self {
        Self { clock, spaces: Spaces::new() }
    }

    /// What the processor has of spaces.
    pub const fn spaces(&mut self) -> &mut Spaces {
        &mut self.spaces
    }
}

impl Processor for Mips {
    type Registers = Registers;
    type Special = PortMap;

    fn cpu(&mut self) -> &mut Cpu {
        // SAFETY: the words are plain data, and assembly touches them only while no Rust runs;
        // `&mut self` keeps it unique.
        unsafe { &mut (*HOT.get()).0.cpu }
    }
}

impl Translation for Mips {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(physical(address).into())
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        reached(physical.0 as u32)
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        Spaces::created(pool, space);
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        self.spaces.dropped(pool, space);
        Charge::NONE
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        self.spaces.invalidate(pool, space, &range);
    }

    fn invalidate_all(&mut self) {
        self.spaces.forget_all();
    }

    fn fault_in(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        access: Rights,
    ) -> FaultIn {
        if self.spaces.fill(pool, space, address, access.contains(Rights::WRITE)) {
            FaultIn::Repaired
        } else {
            FaultIn::Report
        }
    }
}

// QEMU emulates no caches, and this is the first stage (docs/mips.md, *What is not there yet*).
impl Caches for Mips {}

// There are no slots, no servers and no homes.
impl Placement for Mips {}

impl Board for Mips {
    type Irqs = [Link<Irq>; pic::LINES];

    fn now(&self) -> u64 {
        self.clock.nanoseconds(time::ticks())
    }

    fn set_timer(&mut self, deadline: Option<u64>) {
        if let Some(deadline) = deadline {
            time::tick_in(deadline.saturating_sub(self.now()));
        }
    }

    fn set_irq(&mut self, line: u32, enabled: bool) {
        pic::set_enabled(line, enabled);
    }

    fn interrupt_pending(&mut self) -> bool {
        regs::cause() & (cause::TIMER | cause::LINES) != 0
    }
}
