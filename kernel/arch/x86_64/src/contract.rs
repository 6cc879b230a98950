// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::area::Areas;
use crate::layout::{CPU, wide};
use crate::lazy::Lazy;
use crate::space::Spaces;
use crate::{fpu, interrupts, paging, regs, space, time};
use abi::kip::Clock;
use abi::{Error, PhysAddr, Rights, UserAddr};
use arch_common::lock::Lock;
use arch_common::place;
use core::mem::offset_of;
use core::ops::Range;
use kcore::port::{Board, Caches, FaultIn, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Space, Thread};
use mmu::x86_64::X86_64 as Format;
use plat_pc::pic;
use pool::{Link, Pool, Ref};
use port_map::PortMap;
use x86_64_context::X86_64 as Registers;

/// The processor and its board.
#[repr(C)]
pub struct X86_64 {
    /// It is the first field: fast paths use this address.
    clock: Clock,
    lazy: Lazy,
    spaces: Spaces,
    areas: Areas,
    clears_buffers: bool,
}

impl X86_64 {
    /// The offset of the clock.
    pub const CLOCK: usize = offset_of!(Self, clock);

    /// The port, with the present clock, with PCIDs if the processor has them or they are to be
    /// shown, and with servers if there are to be some.
    pub const fn new(clock: Clock, has_pcids: bool, shows: bool, has_servers: bool) -> Self {
        Self {
            clock,
            lazy: Lazy::new(),
            spaces: Spaces::new(has_pcids, shows),
            areas: Areas::new(has_servers, has_pcids, shows),
            clears_buffers: false,
        }
    }

    /// What the processor has to forget from now on: its predictions of branches when another server
    /// runs, and what its buffers have when the kernel is left.
    pub const fn set_barriers(&mut self, drops_predictions: bool, clears_buffers: bool) {
        self.areas.set_barrier(drops_predictions);
        self.clears_buffers = clears_buffers;
        self.lazy.set_slow(clears_buffers);
    }

    /// From now on no thread is entered by tables that have more of the kernel than an entry area.
    pub fn isolate(&mut self) {
        self.areas.isolate();
    }

    /// To be called last before the kernel is left.
    pub fn clear_buffers(&self) {
        if self.clears_buffers {
            regs::clear_buffers();
        }
    }

    /// Whether nobody goes by a fast path, which does not drop what the buffers have.
    pub const fn is_slow(&self) -> bool {
        self.clears_buffers
    }

    /// The state that is loaded rarely.
    pub const fn lazy(&mut self) -> &mut Lazy {
        &mut self.lazy
    }

    /// Who has which PCID.
    pub const fn spaces(&mut self) -> &mut Spaces {
        &mut self.spaces
    }

    /// Servers.
    pub const fn areas(&mut self) -> &mut Areas {
        &mut self.areas
    }
}

/// The kernel.
pub static KERNEL: Lock<X86_64> = Lock::new();

impl Processor for X86_64 {
    type Registers = Registers;
    type Special = PortMap;

    fn cpu(&mut self) -> &mut Cpu {
        // SAFETY: boot mapped the processor's page, the words are plain data, and the entry reads
        // them only while no Rust runs; `&mut self` keeps it unique.
        unsafe { &mut *(wide(CPU) as *mut Cpu) }
    }

    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        self.lazy.unload(pool, thread, keep);
    }

    fn clear_fpu(area: &mut [u8]) {
        fpu::initial(area);
    }
}

impl Translation for X86_64 {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(place::physical(address).into())
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        place::pool_address(physical.0 as u32)
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let Some(top) = pool[space].region.top.get() else { return };
        paging::copy_kernel_entries(pool[top].entries_mut::<Format>());
        space::created(pool, space, top.address());
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        self.spaces.dropped(pool, space);
        self.areas.forget(pool, space);
        Charge::NONE
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        space::invalidate(pool, space, &range);
    }

    fn invalidate_all(&mut self) {
        regs::drop_all_translations();
    }

    fn fault_in(
        &mut self,
        pool: &mut Pool,
        _space: Ref<Space>,
        address: UserAddr,
        _access: Rights,
    ) -> FaultIn {
        if self.areas.repair(pool, address) { FaultIn::Repaired } else { FaultIn::Report }
    }
}

// Caches are physical, and coherent with the instruction side.
impl Caches for X86_64 {}

// There are no slots and no homes.
impl Placement for X86_64 {
    const SERVERS: bool = true;

    fn space_served(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<(), Error> {
        self.areas.serve(pool, space)
    }

    fn server_shown(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        self.areas.show(pool, space, server);
    }
}

impl Board for X86_64 {
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
        interrupts::set_enabled(line, enabled);
    }

    fn interrupt_pending(&mut self) -> bool {
        interrupts::open(false);
        interrupts::is_pending()
    }
}
