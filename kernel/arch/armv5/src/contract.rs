// SPDX-License-Identifier: MIT OR Apache-2.0
//! Implements the parts of the port contract, `kcore::Port`, for this processor and its board.
//!
//! It owns the kernel's only instance.

use crate::layout::CPU;
use crate::space::Directory;
use crate::tables::places;
use crate::{cache, paging, regs, time};
use abi::arch::armv5::layout::{LOCKED_RANGES, RELOCATION_SLOTS};
use abi::arch::armv5::place::RELOCATED;
use abi::kip::Clock;
use abi::{CacheOp, Error, PAGE_SIZE, PhysAddr, Rights, UserAddr};
use arch_common::lock::Lock;
use arch_common::place;
use armv5_context::Armv5 as Registers;
use core::ops::Range;
use kcore::port::{
    Area, Board, Caches, Change, FaultIn, Nothing, Placement, Processor, Translation,
};
use kcore::{Charge, Cpu, Irq, Segment, Space, Table};
use mmu::armv5::Armv5 as Format;
use plat_versatilepb::{timer, vic};
use pool::{Link, Pool, Ref};

/// Most bytes that a user's call cleans line by line.
const BY_LINE: u32 = 8 * PAGE_SIZE;

/// The processor and its board.
pub struct Armv5 {
    directory: &'static mut Directory,
    clock: Clock,
}

impl Armv5 {
    /// The port, with the clock as it is now.
    pub const fn new(directory: &'static mut Directory, clock: Clock) -> Self {
        Self { directory, clock }
    }
}

/// The kernel's only instance.
pub static KERNEL: Lock<Armv5> = Lock::new();

/// An ARM926EJ-S locks a whole way, which cannot belong to a range of one space.
fn can_lock() -> Result<(), Error> {
    if cache::is_arms_own() { Err(Error::Unsupported) } else { Ok(()) }
}

// There is no FPU. The thread pointer is written on each way out; nobody changes it but by the
// thread.
impl Processor for Armv5 {
    type Registers = Registers;
    type Special = Nothing;

    fn cpu(&mut self) -> &mut Cpu {
        // SAFETY: the words are plain data, and fast paths touch them only while no Rust runs;
        // `&mut self` keeps it unique.
        unsafe { &mut *CPU.get() }
    }
}

impl Translation for Armv5 {
    type Format = Format;

    fn physical(&self, address: u32) -> PhysAddr {
        PhysAddr(place::physical(address))
    }

    fn pool_address(&self, physical: PhysAddr) -> u32 {
        place::pool_address(physical.0)
    }

    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>) {
        Directory::space_created(pool, space);
    }

    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        self.directory.space_dropped(pool, space)
    }

    fn segment_created(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        pool[segment].hw[0] = 0;
    }

    fn segment_dropped(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        self.directory.segment_dropped(pool, segment);
    }

    fn entries_written(&mut self, _: &Pool, table: Ref<Table>, range: Range<usize>) {
        let entry = size_of::<u32>() as u32;
        cache::clean(
            table.address() + range.start as u32 * entry
                ..table.address() + range.end as u32 * entry,
        );
        self.directory.table_written(table);
    }

    fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        self.directory.written(pool, space, range);
    }

    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        Directory::invalidate(pool, space, &range);
    }

    fn invalidate_all(&mut self) {
        regs::flush_all(0);
    }

    fn fault_in(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        _: Rights,
    ) -> FaultIn {
        self.directory.fault_in(pool, space, address)
    }
}

impl Caches for Armv5 {
    const LOCKS: u16 = LOCKED_RANGES as u16;

    fn information_page(&mut self, physical: PhysAddr) {
        let page = self.pool_address(physical);
        cache::clean_and_drop(page..page + PAGE_SIZE);
        paging::show_information_page(physical.0);
        time::write_timer();
    }

    fn utcb_page(&mut self, page: u32, address: UserAddr) -> u32 {
        cache::clean_and_drop(page..page + PAGE_SIZE);
        address.0
    }

    fn before_change(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        change: Change,
    ) {
        match change {
            Change::Protect(rights) if rights.contains(Rights::WRITE) => {}
            Change::Protect(rights) => {
                self.directory.before_change(pool, space, range, rights == Rights::NONE)
            }
            Change::Remove | Change::Replace => {
                self.directory.before_change(pool, space, range, true)
            }
        }
    }

    fn before_change_anywhere(&mut self, _: Change) {
        self.directory.before_change_anywhere();
    }

    fn cache(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, what: CacheOp) {
        let on_lines = match what {
            CacheOp::Clean => cache::clean,
            CacheOp::CleanAndInvalidate => cache::clean_and_drop_data,
            CacheOp::SyncCode => cache::synchronise,
            // They have functions of their own.
            CacheOp::Lock | CacheOp::Unlock | CacheOp::Clear => return,
        };
        if range.end.0 - range.start.0 > BY_LINE {
            self.directory.before_change_anywhere();
        } else {
            places(pool, space, range).for_each(on_lines);
        }
    }

    fn lock_lines(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        is_paid: bool,
    ) -> Result<bool, Error> {
        can_lock().and_then(|()| self.directory.lock(pool, space, range, is_paid))
    }

    fn unlock_lines(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        range: &Range<UserAddr>,
    ) -> Result<Charge, Error> {
        can_lock().and_then(|()| self.directory.unlock(space, range))
    }
}

// There are no servers and no homes: domains tell user pages apart.
impl Placement for Armv5 {
    const SLOTS: u16 = RELOCATION_SLOTS as u16;

    fn area(&mut self, pool: &mut Pool, space: Ref<Space>, place: u32) -> Result<Area, Error> {
        Directory::place(pool, space, place)?;
        self.directory.take_area(pool, space)
    }

    fn place(&mut self, pool: &mut Pool, space: Ref<Space>, place: u32) -> Result<(), Error> {
        Directory::place(pool, space, place)
    }

    fn wants_slot(place: u32) -> bool {
        place & RELOCATED != 0
    }

    fn give_slot(&mut self, pool: &mut Pool, space: Ref<Space>, is_own: bool) {
        self.directory.give_slot(pool, space, is_own);
    }

    fn place_of(&self, pool: &Pool, space: Ref<Space>) -> u32 {
        Directory::slot_of(pool, space)
    }
}

impl Board for Armv5 {
    type Irqs = [Link<Irq>; vic::LINES];

    fn now(&self) -> u64 {
        self.clock.nanoseconds(time::ticks())
    }

    fn set_timer(&mut self, deadline: Option<u64>) {
        if let Some(deadline) = deadline {
            time::tick_in(deadline.saturating_sub(self.now()));
        }
    }

    fn set_irq(&mut self, line: u32, enabled: bool) {
        if line != timer::LINE && line != vic::CASCADE {
            vic::set_enabled(line, enabled);
        }
    }

    fn interrupt_pending(&mut self) -> bool {
        vic::pending() != 0
    }
}
