// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the pool is in physical memory: at a constant distance from its addresses.

use abi::PhysAddr;
use core::sync::atomic::{AtomicU32, Ordering};

/// What boot finds out about the pool. Fast paths read both words, which are in one cache line.
#[repr(C, align(8))]
pub struct PoolPlace {
    /// Physical minus virtual address.
    pub offset: AtomicU32,
    /// Bits of a reply handle that are the index of a thread.
    pub index_mask: AtomicU32,
}

/// See [`PoolPlace`].
pub static POOL_PLACE: PoolPlace =
    PoolPlace { offset: AtomicU32::new(0), index_mask: AtomicU32::new(0) };

/// Records where the pool begins.
pub fn set(physical: PhysAddr) {
    POOL_PLACE.offset.store((physical.0 as u32).wrapping_sub(pool::BASE), Ordering::Relaxed);
}

/// Physical address of something in the pool.
pub fn physical(address: u32) -> u32 {
    address.wrapping_add(POOL_PLACE.offset.load(Ordering::Relaxed))
}

/// Address in the pool of a physical address in it.
pub fn pool_address(physical: u32) -> u32 {
    physical.wrapping_sub(POOL_PLACE.offset.load(Ordering::Relaxed))
}
