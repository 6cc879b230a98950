// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quotas: who pays for kernel memory. Every block of the pool is charged to a
//! Quota at its full size; a child's limit is charged to its parent at once.

use crate::cap::Slot;
use crate::port::Port;
use crate::{Kernel, Result};
use abi::Error;
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// What every object starts with (a Thread has it behind its hot words).
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

impl Header {
    /// Whether deletion has begun: nothing new may refer to it.
    #[must_use]
    pub const fn is_dying(&self) -> bool {
        self.dying != 0
    }
}

/// A count of kernel memory.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Quota {
    /// `header.quota` is the parent.
    pub header: Header,
    /// Bytes that may be charged.
    pub limit: u32,
    /// Bytes charged.
    pub used: u32,
}
impl Object for Quota {}

/// Bytes of the block that a Quota takes.
pub const QUOTA_BYTES: u32 = pool::MIN_BYTES;

/// What a block of at least `bytes` is charged at.
#[must_use]
pub const fn block(bytes: u32) -> u32 {
    match pool::order_of(bytes) {
        Some(order) => 1 << order,
        None => bytes,
    }
}

impl<P: Port> Kernel<P> {
    /// Charges bytes.
    pub(crate) fn charge(&mut self, quota: Ref<Quota>, bytes: u32) -> Result<()> {
        let q = &mut self.pool[quota];
        if q.header.is_dying() {
            return Err(Error::BadState);
        }
        if bytes > q.limit - q.used {
            return Err(Error::QuotaExceeded);
        }
        q.used += bytes;
        Ok(())
    }

    /// Gives a charge back. The last one of a dying Quota ends it.
    pub(crate) fn uncharge(&mut self, quota: Link<Quota>, bytes: u32) {
        let mut next = quota.get().map(|q| (q, bytes));
        while let Some((quota, bytes)) = next.take() {
            let q = &mut self.pool[quota];
            q.used -= bytes;
            if q.header.is_dying() && q.used == 0 {
                let (parent, limit) = (q.header.quota, q.limit);
                self.pool.free(quota.address(), QUOTA_BYTES);
                next = parent.get().map(|p| (p, limit + QUOTA_BYTES));
            }
        }
    }

    /// A zeroed block of the pool, charged.
    pub(crate) fn allocate(&mut self, quota: Ref<Quota>, bytes: u32) -> Result<u32> {
        let size = block(bytes);
        self.charge(quota, size)?;
        match self.pool.allocate(size) {
            Some(address) => Ok(address),
            None => {
                self.uncharge(quota.link(), size);
                Err(Error::PoolExhausted)
            }
        }
    }

    /// Frees a block and gives its charge back.
    pub(crate) fn release(&mut self, quota: Link<Quota>, address: u32, bytes: u32) {
        self.pool.free(address, block(bytes));
        self.uncharge(quota, block(bytes));
    }
}
