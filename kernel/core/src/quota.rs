// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas: who pays for kernel memory, for entries of the thread table, and for the processor's
//! slots and locked lines. Every block of the pool is charged to a Quota at its full size, and
//! every thread, slot and range of lines as one. A child's limits are charged to its parent at
//! once, so what a Quota has left is really available, whatever others do.

use crate::port::Port;
use crate::{Kernel, NOTHING, Progress, Result, Slot, Space, Thread};
use abi::{Error, Kind, Rights, Word, call};
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// What every object starts with; a Thread has it after its hot words.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Header {
    /// Who is charged for it.
    pub quota: Link<Quota>,
    /// Its original capability; deleting that deletes the object.
    pub original: Link<Slot>,
    /// Not 0 once its deletion has begun.
    pub dying: u32,
    /// Where an operation in steps goes on.
    pub cursor: u32,
}

impl Object for Header {}

impl Header {
    /// Whether deletion has begun: nothing new may refer to it.
    #[must_use]
    pub const fn is_dying(&self) -> bool {
        self.dying != 0
    }
}

/// What is charged.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable, Debug)]
pub struct Charge {
    /// Bytes of kernel memory.
    pub bytes: u32,
    /// Threads.
    pub threads: u32,
    /// Slots that spaces are relocated to, where the processor has such
    /// ([`Placement::wants_slot`](crate::port::Placement::wants_slot)).
    pub slots: u16,
    /// Ranges whose lines stay in a cache, where the processor can do that
    /// ([`Caches::lock_lines`](crate::port::Caches::lock_lines)).
    pub locks: u16,
}

impl Charge {
    /// Nothing.
    pub const NONE: Self = Self { bytes: 0, threads: 0, slots: 0, locks: 0 };
    /// A slot.
    pub const SLOT: Self = Self { slots: 1, ..Self::NONE };
    /// A range of locked lines.
    pub const LOCK: Self = Self { locks: 1, ..Self::NONE };

    /// So much memory.
    #[must_use]
    pub const fn bytes(bytes: u32) -> Self {
        Self { bytes, ..Self::NONE }
    }

    /// So many threads.
    #[must_use]
    pub const fn threads(threads: u32) -> Self {
        Self { threads, ..Self::NONE }
    }

    /// Both, if that can be counted.
    fn and(self, other: Self) -> Option<Self> {
        Some(Self {
            bytes: self.bytes.checked_add(other.bytes)?,
            threads: self.threads.checked_add(other.threads)?,
            slots: self.slots.checked_add(other.slots)?,
            locks: self.locks.checked_add(other.locks)?,
        })
    }

    /// What is left without a part of it.
    const fn without(self, part: Self) -> Self {
        Self {
            bytes: self.bytes - part.bytes,
            threads: self.threads - part.threads,
            slots: self.slots - part.slots,
            locks: self.locks - part.locks,
        }
    }

    const fn is_within(self, limit: Self) -> bool {
        self.bytes <= limit.bytes
            && self.threads <= limit.threads
            && self.slots <= limit.slots
            && self.locks <= limit.locks
    }
}

/// A count of what it pays for.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Quota {
    /// `header.quota` is the parent.
    pub header: Header,
    /// What may be charged.
    pub limit: Charge,
    /// What is.
    pub used: Charge,
    /// Quotas above it.
    pub depth: u32,
    /// Next of the emptied ones.
    pub next: Link<Quota>,
    /// Entries of the thread table that were worn out at its expense ([`Thread::handle`]): charged
    /// as long as it is there.
    pub worn: Link<Thread>,
    /// The last of them.
    pub worn_last: Link<Thread>,
    /// How many they are.
    pub worn_count: u32,
}
impl Object for Quota {}

/// Bytes of the block that a Quota takes.
pub const QUOTA_BYTES: u32 = pool::MIN_BYTES;

/// Most Quotas above one: as many end at most by the last charge that one gives back.
pub const MAX_DEPTH: u32 = 16;

/// What a block of at least `bytes` is charged at.
#[must_use]
pub const fn block(bytes: u32) -> u32 {
    match pool::order_of(bytes) {
        Some(order) => 1 << order,
        None => bytes,
    }
}

impl<P: Port> Kernel<P> {
    /// `create_quota`.
    pub(crate) fn create_quota(
        &mut self,
        space: Ref<Space>,
        call: call::CreateQuota,
    ) -> Result<[Word; 3]> {
        let call::CreateQuota { parent, bytes, destination, counts } = call;
        let parent: Ref<Quota> = self.object(space, parent, Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, destination)?;
        let depth = self.pool[parent].depth + 1;
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        let narrow = |limit: Word| u32::try_from(limit).map_err(|_| Error::QuotaExceeded);
        let bytes = narrow(bytes)?;
        narrow(counts.0)?;
        let limit = Charge {
            bytes,
            threads: counts.threads(),
            slots: counts.relocation_slots(),
            locks: counts.locked_ranges(),
        };
        let total = limit.and(Charge::bytes(QUOTA_BYTES)).ok_or(Error::QuotaExceeded)?;
        self.charge(parent, total)?;
        let Some(block) = self.pool.allocate(QUOTA_BYTES) else {
            self.uncharge(parent.link(), total);
            return Err(Error::PoolExhausted);
        };
        let header = Self::new_header(parent, slot);
        self.pool[Ref::new(block)] = Quota { header, limit, depth, ..Quota::zeroed() };
        self.put_original(slot, Kind::Quota, block);
        Ok(NOTHING)
    }

    /// A dying Quota loses its name. What is still charged to it ends it later (`uncharge`).
    pub(crate) fn end_quota(&mut self, quota: Ref<Quota>) {
        self.uncharge(quota.link(), Charge::NONE);
    }

    /// Charges all of it, or nothing.
    pub(crate) fn charge(&mut self, quota: Ref<Quota>, charge: Charge) -> Result<()> {
        let q = &mut self.pool[quota];
        if q.header.is_dying() {
            return Err(Error::BadState);
        }
        q.used = q
            .used
            .and(charge)
            .filter(|used| used.is_within(q.limit))
            .ok_or(Error::QuotaExceeded)?;
        Ok(())
    }

    /// Gives a charge back. A dying Quota without charges is *emptied*. It ends, which may empty
    /// its parent, but one does here: freeing its block takes up to 1,300 instructions.
    pub(crate) fn uncharge(&mut self, quota: Link<Quota>, charge: Charge) {
        if let Some(quota) = quota.get() {
            self.give_back(quota, charge);
        }
        self.end_emptied();
    }

    /// Keeps a worn out entry of the thread table from everybody until its Quota ends.
    pub(crate) fn keep_worn(&mut self, quota: Ref<Quota>, thread: Ref<Thread>) {
        let q = &mut self.pool[quota];
        let next = core::mem::replace(&mut q.worn, thread.link());
        if next.is_null() {
            q.worn_last = thread.link();
        }
        q.worn_count += 1;
        self.pool[thread].next = next;
        self.uncharge(quota.link(), Charge::NONE);
    }

    fn give_back(&mut self, quota: Ref<Quota>, charge: Charge) {
        let q = &mut self.pool[quota];
        q.used = q.used.without(charge);
        if q.header.is_dying() && q.used == Charge::threads(q.worn_count) {
            q.next = self.emptied;
            self.emptied = quota.link();
        }
    }

    /// Whether there is an emptied Quota.
    pub(crate) const fn has_emptied(&self) -> bool {
        !self.emptied.is_null()
    }

    /// Ends an emptied Quota. False if there is none.
    fn end_emptied(&mut self) -> bool {
        let Some(quota) = self.emptied.get() else { return false };
        let Quota { header, limit, next, worn, worn_last, .. } = self.pool[quota];
        self.emptied = next;
        if let Some(last) = worn_last.get() {
            self.pool[last].next = core::mem::replace(&mut self.threads.free, worn);
        }
        self.pool.free(quota.address(), QUOTA_BYTES);
        if let Some(parent) = header.quota.get() {
            self.give_back(parent, Charge { bytes: limit.bytes + QUOTA_BYTES, ..limit });
        }
        true
    }

    /// What comes before an operation that charges, or tells what is charged (`all`): ends emptied
    /// Quotas, as many as may lie in each other or all.
    pub(crate) fn end_some_emptied(&mut self, all: bool) -> Progress {
        let mut ended = 0;
        while (all || ended < MAX_DEPTH) && self.end_emptied() {
            if self.port.interrupt_pending() {
                return Progress::Interrupted;
            }
            ended += 1;
        }
        Progress::Done
    }

    /// A zeroed block of the pool, charged.
    pub(crate) fn allocate(&mut self, quota: Ref<Quota>, bytes: u32) -> Result<u32> {
        let address = self.allocate_uncleared(quota, bytes)?;
        self.pool.bytes_mut(address, block(bytes)).fill(0);
        Ok(address)
    }

    /// A block of the pool, charged, with what was there before.
    pub(crate) fn allocate_uncleared(&mut self, quota: Ref<Quota>, bytes: u32) -> Result<u32> {
        let size = block(bytes);
        self.charge(quota, Charge::bytes(size))?;
        match self.pool.allocate_uncleared(size) {
            Some(address) => Ok(address),
            None => {
                self.uncharge(quota.link(), Charge::bytes(size));
                Err(Error::PoolExhausted)
            }
        }
    }

    /// Frees a block and gives its charge back.
    pub(crate) fn release(&mut self, quota: Link<Quota>, address: u32, bytes: u32) {
        self.pool.free(address, block(bytes));
        self.uncharge(quota, Charge::bytes(block(bytes)));
    }

    pub(crate) fn new_header(quota: Ref<Quota>, original: Ref<Slot>) -> Header {
        Header { quota: quota.link(), original: original.link(), ..Header::zeroed() }
    }

    /// `quota_info`.
    pub(crate) fn quota_info(&self, space: Ref<Space>, call: call::QuotaInfo) -> Result<[Word; 3]> {
        let quota: Ref<Quota> = self.object(space, call.quota, Kind::Quota, Rights::CONTROL)?;
        let Quota { used, limit, .. } = self.pool[quota];
        let results = match call.part {
            call::QuotaInfo::MEMORY_AND_THREADS => {
                [used.bytes, limit.bytes, used.threads | limit.threads << 16]
            }
            call::QuotaInfo::RELOCATION_SLOTS => [used.slots.into(), limit.slots.into(), 0],
            call::QuotaInfo::LOCKED_RANGES => [used.locks.into(), limit.locks.into(), 0],
            _ => return Err(Error::BadArgument),
        };
        Ok(results.map(|count| count as Word))
    }
}
