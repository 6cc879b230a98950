// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::cache::{self, Lines};
use crate::fpu;
use crate::idle::Idle;
use crate::layout::CPU;
use crate::space::{self, Spaces};
use crate::{regs, time, window};
#[cfg(feature = "kdb")]
use abi::arch::powerpc::kip::Counts;
use abi::kip::Clock;
use abi::{CacheOp, Error, PAGE_SIZE, PhysAddr, Rights, UserAddr};
use arch_common::lock::Lock;
use core::mem::offset_of;
use core::ops::Range;
use kcore::port::{Board, Caches, FaultIn, Placement, Processor, Translation};
use kcore::segment::SEGMENT_WORDS;
use kcore::{Charge, Cpu, Irq, Owner, Segment, Space, Table, Thread};
use mmu::powerpc::PowerPc as Format;
use plat_amigaone::pic;
use pool::{Link, Pool, Ref};
use port_map::PortMap;
use powerpc_context::PowerPc as Registers;

/// Most bytes that a user's call cleans line by line.
const BY_LINE: u32 = 8 * PAGE_SIZE;

/// The kernel.
pub static KERNEL: Lock<PowerPc> = Lock::new();

/// The processor and its board.
#[repr(C)]
pub struct PowerPc {
    /// It is the first field: fast paths use this address.
    clock: Clock,
    /// VSIDs, and the segment registers.
    spaces: Spaces,
    /// What is to be done while no thread runs.
    idle: Idle,
}

impl PowerPc {
    /// The offset of the clock.
    pub const CLOCK: usize = offset_of!(Self, clock);

    /// The port, with the clock as it is now.
    pub const fn new(spaces: Spaces, idle: Idle, clock: Clock) -> Self {
        Self { clock, spaces, idle }
    }

    /// What is to be done while no thread runs, and the spaces, both borrowed at the same time.
    pub const fn idle(&mut self) -> (&mut Idle, &mut Spaces) {
        (&mut self.idle, &mut self.spaces)
    }

    /// What was counted since boot.
    #[cfg(feature = "kdb")]
    pub fn counts(&self) -> Counts {
        self.spaces.counts(self.idle.cleared())
    }

    /// The hot words and the spaces, both borrowed at the same time.
    pub fn parts(&mut self) -> (&mut Cpu, &mut Spaces) {
        // SAFETY: the words are plain data, and assembly touches them only while no Rust runs;
        // `&mut self` keeps it unique.
        (unsafe { &mut *CPU.get() }, &mut self.spaces)
    }
}

impl Processor for PowerPc {
    type Registers = Registers;
    type Special = PortMap;

    fn cpu(&mut self) -> &mut Cpu {
        self.parts().0
    }

    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool) {
        fpu::give_up(self.cpu(), pool, thread, keep);
    }

    // The registers of an FPU that was just turned on are zero here.
    fn clear_fpu(area: &mut [u8]) {
        area.fill(0);
    }
}

impl Translation for PowerPc {
    type Format = Format;

    // The kernel lies at its physical addresses.
    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(address)
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        physical.0
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        Spaces::created(pool, space);
    }

    fn segment_created(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        pool[segment].hw = [0; SEGMENT_WORDS];
    }

    fn segment_dropped(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        self.spaces.forget(pool, Owner::Segment(segment));
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        self.spaces.dropped(pool, space);
        self.idle.dropped(space);
        Charge::NONE
    }

    fn entries_written(&mut self, _: &Pool, table: Ref<Table>, range: Range<usize>) {
        self.spaces.entries_written(table, &range);
    }

    fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        self.spaces.directory_written(pool, space, range);
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        self.spaces.invalidate(pool, space, &range);
    }

    fn invalidate_all(&mut self) {
        self.spaces.forget_all();
    }

    fn invalidate_shown(&mut self, pool: &mut Pool, server: Ref<Space>, range: Range<UserAddr>) {
        self.spaces.invalidate(pool, server, &range);
    }

    fn fault_in(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        access: Rights,
    ) -> FaultIn {
        self.spaces.fault_in(pool, space, address, access)
    }
}

// Caches are physical. What was written as code comes to the instruction cache by memory.
impl Caches for PowerPc {
    fn information_page(&mut self, physical: PhysAddr) {
        self.spaces.show_at(physical);
    }

    fn cache(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, what: CacheOp) {
        let what = match what {
            CacheOp::Clean => Lines::Clean,
            CacheOp::CleanAndInvalidate => Lines::Drop,
            CacheOp::SyncCode => Lines::Code,
            // They have functions of their own.
            CacheOp::Lock | CacheOp::Unlock | CacheOp::Clear => return,
        };
        if range.end.0 - range.start.0 > BY_LINE {
            cache::clean_all();
            return;
        }
        let mut at = range.start.0;
        while at < range.end.0 {
            let end = (at - at % PAGE_SIZE + PAGE_SIZE).min(range.end.0);
            if let Some(place) = space::place(pool, space, UserAddr(at)) {
                regs::untranslated(|| cache::on_lines(place, end - at, what));
            }
            at = end;
        }
    }

    fn clear_later(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        pages: Range<UserAddr>,
    ) -> Result<u32, Error> {
        self.idle.want(space, pages)
    }
}

// There are no slots and no homes: VSIDs tell spaces apart.
impl Placement for PowerPc {
    const SERVERS: bool = true;

    fn space_served(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<(), Error> {
        if window::fits(pool[space].area_start) { Ok(()) } else { Err(Error::BadAddress) }
    }

    fn server_shown(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        self.spaces.server_shown(pool, space, server);
    }
}

impl Board for PowerPc {
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
        self.spaces.looked();
        time::is_up() || pic::is_pending()
    }
}
