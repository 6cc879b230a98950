// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas: who pays for kernel memory and for entries of the thread table. Every
//! block of the pool is charged to a Quota at its full size, every thread as one;
//! a child's limits are charged to its parent at once, so that what a Quota has
//! left is there, whatever others do.

use crate::port::Port;
use crate::{Kernel, NOTHING, Result, Slot, Space, Thread};
use abi::{Error, Kind, Rights, Word};
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// What every object starts with; a Thread has it behind its hot words.
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

/// A count of kernel memory and of threads.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Quota {
    /// `header.quota` is the parent.
    pub header: Header,
    /// Bytes that may be charged.
    pub limit: u32,
    /// Bytes charged.
    pub used: u32,
    /// Threads that may be charged.
    pub thread_limit: u32,
    /// Threads charged.
    pub threads: u32,
    /// Quotas above it.
    pub depth: u32,
    /// Next of the emptied ones.
    pub next: Link<Quota>,
    /// Entries of the thread table that were worn out at its expense ([`Thread::handle`]): charged as long as it is there.
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
    pub(crate) fn create_quota(&mut self, space: Ref<Space>, args: [Word; 4]) -> Result<[Word; 3]> {
        let [parent, limit, slot, thread_limit] = args;
        let parent: Ref<Quota> = self.object(space, parent, Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, slot)?;
        let depth = self.pool[parent].depth + 1;
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        let [limit, thread_limit] = [limit, thread_limit].map(|limit| u32::try_from(limit).map_err(|_| Error::QuotaExceeded));
        let (limit, thread_limit) = (limit?, thread_limit?);
        let total = limit.checked_add(QUOTA_BYTES).ok_or(Error::QuotaExceeded)?;
        self.charge(parent, total, thread_limit)?;
        let Some(block) = self.pool.allocate(QUOTA_BYTES) else {
            self.uncharge(parent.link(), total, thread_limit);
            return Err(Error::PoolExhausted);
        };
        let header = Self::new_header(parent, slot);
        self.pool[Ref::new(block)] = Quota { header, limit, used: 0, thread_limit, threads: 0, depth, ..Quota::zeroed() };
        self.put_original(slot, Kind::Quota, block);
        Ok(NOTHING)
    }

    /// A dying Quota loses its name. What is still charged to it ends it later (`uncharge`).
    pub(crate) fn end_quota(&mut self, quota: Ref<Quota>) {
        self.uncharge(quota.link(), 0, 0);
    }

    /// Charges bytes and threads.
    pub(crate) fn charge(&mut self, quota: Ref<Quota>, bytes: u32, threads: u32) -> Result<()> {
        let q = &mut self.pool[quota];
        if q.header.is_dying() {
            return Err(Error::BadState);
        }
        if bytes > q.limit - q.used || threads > q.thread_limit - q.threads {
            return Err(Error::QuotaExceeded);
        }
        q.used += bytes;
        q.threads += threads;
        Ok(())
    }

    /// Gives a charge back. A dying Quota without charges is *emptied*. It ends, which may empty its
    /// parent, but one does here: freeing its block takes up to 1,300 instructions.
    pub(crate) fn uncharge(&mut self, quota: Link<Quota>, bytes: u32, threads: u32) {
        if let Some(quota) = quota.get() {
            self.give_back(quota, bytes, threads);
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
        self.uncharge(quota.link(), 0, 0);
    }

    fn give_back(&mut self, quota: Ref<Quota>, bytes: u32, threads: u32) {
        let q = &mut self.pool[quota];
        q.used -= bytes;
        q.threads -= threads;
        if q.header.is_dying() && q.used == 0 && q.threads == q.worn_count {
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
        let Quota { header, limit, thread_limit, next, worn, worn_last, .. } = self.pool[quota];
        self.emptied = next;
        if let Some(last) = worn_last.get() {
            self.pool[last].next = core::mem::replace(&mut self.threads.free, worn);
        }
        self.pool.free(quota.address(), QUOTA_BYTES);
        if let Some(parent) = header.quota.get() {
            self.give_back(parent, limit + QUOTA_BYTES, thread_limit);
        }
        true
    }

    /// What comes before an operation that charges, or tells what is charged (`all`): ends emptied
    /// Quotas, as many as may lie in each other or all. True if an interrupt is pending.
    pub(crate) fn end_some_emptied(&mut self, all: bool) -> bool {
        let mut ended = 0;
        while (all || ended < MAX_DEPTH) && self.end_emptied() {
            if self.port.interrupt_pending() {
                return true;
            }
            ended += 1;
        }
        false
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
        self.charge(quota, size, 0)?;
        match self.pool.allocate_uncleared(size) {
            Some(address) => Ok(address),
            None => {
                self.uncharge(quota.link(), size, 0);
                Err(Error::PoolExhausted)
            }
        }
    }

    /// Frees a block and gives its charge back.
    pub(crate) fn release(&mut self, quota: Link<Quota>, address: u32, bytes: u32) {
        self.pool.free(address, block(bytes));
        self.uncharge(quota, block(bytes), 0);
    }

    pub(crate) fn new_header(quota: Ref<Quota>, original: Ref<Slot>) -> Header {
        Header { quota: quota.link(), original: original.link(), ..Header::zeroed() }
    }

    /// `quota_info`.
    pub(crate) fn quota_info(&self, space: Ref<Space>, args: [Word; 4]) -> Result<[Word; 3]> {
        let quota: Ref<Quota> = self.object(space, args[0], Kind::Quota, Rights::CONTROL)?;
        let Quota { used, limit, threads, thread_limit, .. } = self.pool[quota];
        Ok([used, limit, threads | thread_limit << 16].map(|count| count as Word))
    }
}
