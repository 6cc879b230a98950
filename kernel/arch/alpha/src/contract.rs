// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::layout::HOT;
use crate::shadow::Shadow;
use crate::{regs, space, time};
use abi::kip::Clock;
use abi::{PhysAddr, Rights, UserAddr};
use alpha_context::Alpha as Registers;
use arch_common::lock::Lock;
use core::ops::Range;
use kcore::port::{Board, Caches, FaultIn, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Space};
use mmu::alpha::Alpha as Format;
use plat_clipper::{interrupts, pic};
use pool::{Link, Pool, Ref};
use port_map::PortMap;

/// The kernel.
pub static KERNEL: Lock<Alpha> = Lock::new();

/// The processor and its board.
pub struct Alpha {
    clock: Clock,
    shadow: Shadow,
}

impl Alpha {
    /// The port, with the clock as it is now.
    pub const fn new(clock: Clock) -> Self {
        Self { clock, shadow: Shadow::new() }
    }

    /// Copies of tables.
    pub const fn shadow(&self) -> &Shadow {
        &self.shadow
    }
}

impl Processor for Alpha {
    type Registers = Registers;
    type Special = PortMap;

    fn cpu(&mut self) -> &mut Cpu {
        // SAFETY: the words are plain data; `&mut self` keeps it unique.
        unsafe { &mut (*HOT.get()).0 }
    }
}

impl Translation for Alpha {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(address.into())
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        physical.0 as u32
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        space::created(pool, space);
    }

    fn space_dropped(&mut self, _: &mut Pool, _: Ref<Space>) -> Charge {
        self.shadow.forget();
        regs::forget_table();
        Charge::NONE
    }

    fn invalidate(&mut self, _: &mut Pool, _: Ref<Space>, _: Range<UserAddr>) {
        self.invalidate_all();
    }

    fn invalidate_all(&mut self) {
        self.shadow.forget();
        regs::drop_all();
    }

    fn fault_in(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        access: Rights,
    ) -> FaultIn {
        if self.shadow.fill(pool, space, address, access) {
            FaultIn::Repaired
        } else {
            FaultIn::Report
        }
    }
}

// QEMU emulates no caches.
impl Caches for Alpha {}

// There are no slots, no servers and no homes.
impl Placement for Alpha {}

impl Board for Alpha {
    type Irqs = [Link<Irq>; pic::LINES];

    fn now(&self) -> u64 {
        self.clock.nanoseconds(time::ticks())
    }

    fn set_timer(&mut self, deadline: Option<u64>) {
        match deadline {
            // The clock counts nanoseconds.
            Some(deadline) => time::tick_at(self.clock.base.saturating_add(deadline)),
            None => time::tick_never(),
        }
    }

    fn set_irq(&mut self, line: u32, enabled: bool) {
        pic::set_enabled(line, enabled);
    }

    fn interrupt_pending(&mut self) -> bool {
        interrupts::timer_is_up() || interrupts::line_waits()
    }
}
