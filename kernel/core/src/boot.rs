// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first objects: everything that the machine has; the root server gets it.

use crate::alarm::{ALARM_BYTES, Alarms};
use crate::memory::class;
use crate::port::{Port, Registers};
use crate::quota::QUOTA_BYTES;
use crate::reap::Left;
use crate::thread::{BYTES, MAX_THREADS, TABLE, Table, flag};
use crate::{Charge, Header, Irq, Kernel, Memory, PAGE, Quota, Result, Scheduler, Space};
use abi::boot::{Info, MAX_IRQS, RAM_RANGES, ROOT_SLOTS, slot};
use abi::kip::Kip;
use abi::{Error, Kind, PAGE_SIZE, PhysAddr, Rights, UserAddr, Word};
use bytemuck::Zeroable;
use mmu::Format;
use pool::{Link, Pool, Ref};

/// A range of physical addresses, of user addresses, or of other numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First.
    pub base: PhysAddr,
    /// How many.
    pub bytes: Word,
}

impl Range {
    /// The address after the last.
    #[must_use]
    pub const fn end(&self) -> PhysAddr {
        PhysAddr(self.base.0 + self.bytes)
    }
}

/// What the port found out about the machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// Free RAM, page aligned.
    pub ram: &'a [Range],
    /// Device registers above RAM, and in the first MiB.
    pub devices: [Range; 2],
    /// What only this kind of processor has (IA-32: I/O ports), if there is any.
    pub special: Range,
    /// Addresses at which servers may have their windows, if there can be any (`server.rs`).
    pub windows: Range,
    /// The firmware's tables, if they are in RAM that is not free.
    pub tables: Range,
    /// Where the list of them is; 0: that is not known.
    pub list: PhysAddr,
    /// Where the boot image lies.
    pub image: PhysAddr,
    /// Its checked header.
    pub header: abi::boot::Header,
    /// Interrupt lines that components may have.
    pub irq_lines: &'a [u32],
}

/// Entries of the thread table for a pool of this size, and the bytes to reserve
/// for them at the pool's start: a power of two, at least one for each 8 KiB. The heap of alarms is
/// after it.
#[must_use]
pub const fn thread_table(pool_bytes: u32) -> (u32, u32) {
    let count = (pool_bytes / 8192).next_power_of_two();
    let count = if count > MAX_THREADS { MAX_THREADS } else { count };
    (count, (TABLE - pool::BASE + count * (BYTES + ALARM_BYTES)).next_multiple_of(PAGE))
}

impl<P: Port> Kernel<P> {
    /// A kernel over a pool whose first bytes are reserved for the thread table.
    #[must_use]
    pub fn new(pool: Pool, port: P) -> Self {
        const { assert!(size_of::<P::Irqs>() <= MAX_IRQS * size_of::<Link<Irq>>()) };
        const {
            assert!(P::Format::SPAN == abi::TABLE_SPAN, "a leaf table spans what the contract says")
        };
        let _: () = const {
            let highest = P::Format::SPAN * P::Format::ENTRIES.pow(P::Format::LEVELS - 2) as Word;
            assert!(
                abi::USER_END.is_multiple_of(highest),
                "users' addresses end with an entry of the highest table"
            )
        };
        let (count, _) = thread_table(pool.bytes());
        let threads = Table { start: TABLE, count, free: Link::NULL };
        let alarms = Alarms::new(TABLE + count * BYTES);
        let (sched, irqs) = (Scheduler::default(), P::Irqs::zeroed());
        let mut kernel = Self {
            pool,
            port,
            sched,
            threads,
            emptied: Link::NULL,
            alarms,
            irqs,
            servers: 0,
            global: Link::NULL,
            unlooked: 0,
            left: Left::default(),
            kip: 0,
        };
        for thread in (1..count).rev().filter_map(|i| threads.get(i)) {
            kernel.pool[thread].next = kernel.threads.free;
            kernel.pool[thread].handle = threads.index(thread);
            kernel.threads.free = thread.link();
        }
        // It has never ended.
        kernel.pool[threads.reaper()].flags = flag::AGAIN;
        kernel
    }

    /// Makes the root server out of the boot image and all it is given. It runs next.
    ///
    /// # Errors
    /// `PoolExhausted` or `QuotaExceeded`: the machine has too little memory.
    pub fn start_root(&mut self, machine: &Machine<'_>, kip: &Kip) -> Result<()> {
        let block = self.pool.allocate(QUOTA_BYTES).ok_or(Error::PoolExhausted)?;
        let quota: Ref<Quota> = Ref::new(block);
        self.pool[quota].limit = Charge {
            bytes: self.pool.free_bytes(),
            threads: self.threads.count - 1,
            slots: P::SLOTS,
            locks: P::LOCKS,
        };
        self.kip = self.allocate(quota, PAGE)?;
        self.pool
            .bytes_mut(self.kip, size_of::<Kip>() as u32)
            .copy_from_slice(bytemuck::bytes_of(kip));
        self.port.information_page(self.port.physical(self.kip));

        // The table has to exist before the slots in it are named.
        let nowhere = Ref::new(block);
        let space = self.build_space(quota, nowhere, ROOT_SLOTS, 0)?;
        while !self.has_all_slots(space) {
            self.grow_table(space);
        }
        self.pool[space].region.header.original = Space::slot(space, slot::SPACE).link();
        self.pool[quota].header.original = Space::slot(space, slot::QUOTA).link();
        self.put_original(Space::slot(space, slot::QUOTA), Kind::Quota, block);
        self.put_original(Space::slot(space, slot::SPACE), Kind::Space, space.address());

        let give = |kernel: &mut Self, selector: u32, kind: u32, range: Range, rights: Rights| {
            kernel.give_memory(quota, space, selector, (kind, range, rights))
        };
        let all = Rights::of(Kind::Memory);
        let image = Range { base: machine.image, bytes: machine.header.total as Word };
        give(self, slot::DEVICES, class::DEVICE, machine.devices[0], all)?;
        give(self, slot::LEGACY, class::DEVICE, machine.devices[1], all)?;
        give(self, slot::PORTS, class::SPECIAL, machine.special, all)?;
        give(self, slot::WINDOWS, class::WINDOW, machine.windows, all)?;
        let read = Rights::READ.union(Rights::CONTROL);
        give(self, slot::TABLES, class::DEVICE, machine.tables, read)?;
        give(
            self,
            slot::IMAGE,
            class::RAM,
            image,
            Rights::READ.union(Rights::EXECUTE).union(Rights::CONTROL),
        )?;
        let (mut ram, mut ram_count) = ([PhysAddr::default(); RAM_RANGES], 0);
        for (range, base) in machine.ram.iter().zip(&mut ram) {
            give(self, slot::RAM + ram_count, class::RAM, *range, all)?;
            *base = range.base;
            ram_count += 1;
        }
        for line in machine.irq_lines {
            self.give_irq(quota, space, *line)?;
        }
        self.map_root(space, machine)?;

        let thread_slot = Space::slot(space, slot::THREAD);
        let thread = self.new_thread(quota, thread_slot, abi::PRIORITIES - 1)?;
        self.put_original(thread_slot, Kind::Thread, thread.address());
        self.bind(thread, space, space)?;
        let info = Info {
            ram_count,
            irq_count: self.irqs.as_ref().len() as u32,
            system_offset: machine.header.system_offset,
            system_bytes: machine.header.system_bytes,
            slots: self.pool[space].slots,
            unused: Default::default(),
            ram,
            tables: machine.tables.base,
            list: machine.list,
        };
        let (utcb, address) = (self.pool[thread].utcb, self.pool[thread].utcb_address);
        self.pool
            .bytes_mut(utcb, size_of::<Info>() as u32)
            .copy_from_slice(bytemuck::bytes_of(&info));
        let [entry, stack] =
            [machine.header.root_entry, machine.header.root_stack].map(|at| UserAddr(at as Word));
        P::Registers::start(&mut self.pool[thread].context, entry, stack, address, address.0);
        self.wake(thread);
        self.schedule();
        Ok(())
    }

    fn give_memory(
        &mut self,
        quota: Ref<Quota>,
        space: Ref<Space>,
        selector: u32,
        what: (u32, Range, Rights),
    ) -> Result<()> {
        let (class, range, rights) = what;
        if range.bytes == 0 {
            return Ok(());
        }
        let at = Space::slot(space, selector);
        let block = self.allocate(quota, pool::MIN_BYTES)?;
        let header = Header { quota: quota.link(), original: at.link(), ..Header::zeroed() };
        self.pool[Ref::new(block)] =
            Memory { header, class, base: range.base, bytes: range.bytes, uses: Link::NULL };
        self.put_original(at, Kind::Memory, block);
        self.limit_rights(at, rights);
        Ok(())
    }

    fn give_irq(&mut self, quota: Ref<Quota>, space: Ref<Space>, line: u32) -> Result<()> {
        let at = Space::slot(space, slot::IRQ + line);
        let block: Ref<Irq> = Ref::new(self.allocate(quota, pool::MIN_BYTES)?);
        let header = Header { quota: quota.link(), original: at.link(), ..Header::zeroed() };
        self.pool[block] = Irq { header, line, ..Irq::zeroed() };
        self.set_irq_object(line, block.link());
        self.put_original(at, Kind::Irq, block.address());
        Ok(())
    }

    /// Maps the root server's image, every right, straight from the boot image.
    fn map_root(&mut self, space: Ref<Space>, machine: &Machine<'_>) -> Result<()> {
        let header = machine.header;
        for offset in (0..header.root_bytes).step_by(PAGE_SIZE as usize) {
            let physical = machine.image + (header.root_offset + offset) as Word;
            self.set_kernel_leaf(
                space,
                UserAddr((header.root_address + offset) as Word),
                physical,
                Rights::RWX,
            )?;
        }
        Ok(())
    }
}
