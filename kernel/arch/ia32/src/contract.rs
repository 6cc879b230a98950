// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::features::{self, Features};
use crate::layout::CPU;
use crate::lazy::Lazy;
use crate::space::Ways;
use crate::{fpu, interrupts, paging, space, time};
use abi::kip::Clock;
use abi::{Error, PhysAddr, TABLE_SPAN, UserAddr};
use arch_common::lock::Lock;
use arch_common::place;
use core::mem::offset_of;
use core::ops::Range;
use ia32_context::Ia32 as Registers;
use ia32_context::hw;
use kcore::port::{Area, Board, Caches, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Space, Thread};
use mmu::ia32::Ia32 as Format;
use plat_pc::pic;
use pool::{Link, Pool, Ref};
use port_map::PortMap;

/// The processor and its board.
#[repr(C)]
pub struct Ia32 {
    /// It is the first field: fast paths use this address.
    clock: Clock,
    lazy: Lazy,
    ways: Ways,
    /// Whether there can be servers and small spaces: the machine checks segment limits, or that is
    /// assumed.
    limits: bool,
}

impl Ia32 {
    /// The offset of its clock, which fast paths read.
    pub const CLOCK: usize = offset_of!(Self, clock);

    /// The port on a processor with these features.
    pub const fn new(features: Features, clock: Clock, ways: Ways, limits: bool) -> Self {
        Self { clock, lazy: Lazy::new(features), ways, limits }
    }

    /// The hot words and the lazily switched state, both borrowed at the same time.
    pub fn parts(&mut self) -> (&mut Cpu, &mut Lazy) {
        // SAFETY: boot mapped the processor's page, the words are plain data, and the fast path
        // touches them only while no Rust runs; `&mut self` keeps it unique.
        (unsafe { &mut *(CPU as *mut Cpu) }, &mut self.lazy)
    }
}

/// Fast paths read and write its scheduler and read its clock, while no Rust runs.
pub static KERNEL: Lock<Ia32> = Lock::new();

impl Processor for Ia32 {
    type Registers = Registers;
    type Special = PortMap;

    fn cpu(&mut self) -> &mut Cpu {
        self.parts().0
    }

    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        let (cpu, lazy) = self.parts();
        lazy.unload(cpu, pool, thread, keep);
    }

    fn clear_fpu(area: &mut [u8]) {
        fpu::initial(features::get(), area);
    }
}

impl Translation for Ia32 {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(place::physical(address))
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        place::pool_address(physical.0)
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let Some(top) = pool[space].region.top.get() else { return };
        paging::copy_kernel_entries(pool[top].entries_mut::<Format>());
        space::set_up(pool, space, place::physical(top.address()), self.ways);
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        space::leave(space);
        if space::is_server(pool, space) {
            paging::flush_global();
        }
        Charge::NONE
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        // The TLB has only translations of the processor's tables, and a server's, which may be
        // global: a write of CR3 drops all that are not.
        if space::is_entered(pool, space) || space::is_server(pool, space) {
            let base = space::base(pool, space);
            // A small space has nothing of what lies beyond its size: the window of a server that
            // it shows when it is large.
            paging::flush(
                base.wrapping_add(range.start.0)..base.wrapping_add(range.end.0),
                space::is_server(pool, space),
            );
        }
    }

    fn invalidate_all(&mut self) {
        paging::flush_global();
    }
}

// Caches are physical, and coherent with the instruction side.
impl Caches for Ia32 {}

impl Placement for Ia32 {
    const SERVERS: bool = true;
    const HOMES: bool = true;

    fn area(&mut self, pool: &mut Pool, space: Ref<Space>, place: u32) -> Result<Area, Error> {
        let area = Area::at(place)?;
        pool[space].hw[hw::AREA] = area.start.0 / TABLE_SPAN;
        Ok(area)
    }

    fn space_served(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<(), Error> {
        if !self.limits {
            return Err(Error::Unsupported);
        }
        space::serve(pool, space, self.ways);
        Ok(())
    }

    fn server_shown(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        space::show(pool, space, server);
    }

    fn has_small_spaces(&self) -> bool {
        self.limits
    }

    fn space_moved(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        home: Link<Space>,
        place: Range<UserAddr>,
    ) {
        let (cpu, lazy) = self.parts();
        lazy.unload_of(cpu, pool, space);
        match (home.get(), pool[space].region.top.get()) {
            (Some(home), _) => space::move_in(pool, space, home, place, self.ways),
            (None, Some(top)) => {
                space::move_out(pool, space, place::physical(top.address()), self.ways)
            }
            (None, None) => {}
        }
    }
}

impl Board for Ia32 {
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
        interrupts::open(false);
        interrupts::is_pending()
    }
}
