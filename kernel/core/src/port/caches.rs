// SPDX-License-Identifier: MIT OR Apache-2.0
//! Caches of memory.

use crate::{Charge, Space};
use abi::{CacheOp, Error, PhysAddr, Rights, UserAddr};
use core::ops::Range;
use pool::{Pool, Ref};

/// What is about to happen to mappings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// They go.
    Remove,
    /// They go, and others take their place.
    Replace,
    /// They stay, with these rights at most. Some may gain a right, others lose one.
    Protect(Rights),
}

/// Caches of memory.
///
/// The bodies here are right if caches are physical and coherent with the instruction side, and no
/// lines can be locked: no address of a user's is in them.
pub trait Caches {
    /// How many ranges of lines can be locked in a cache ([`lock_lines`](Self::lock_lines)).
    const LOCKS: u16 = 0;

    /// The information page was written, by its address in the pool. It is called once, before
    /// there is any space.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | nothing: each native space maps it | cleans it, and shows it in all spaces | nothing |
    fn information_page(&mut self, _physical: PhysAddr) {}
    /// A UTCB slot was taken in the page at `page` of the pool, which is mapped at `address` of a
    /// space. Returns the address by which the kernel reaches that page from now on. It is in the
    /// pool, or in what [`Pool::add_window`] names. No cache has anything of the page by another
    /// address afterwards. The page goes as any mapping does: by
    /// [`before_change`](Self::before_change).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | `page`: caches are physical | `address`: the cache would have two copies otherwise; the lines of `page` are written back | `page` | `page` |
    fn utcb_page(&mut self, page: u32, _address: UserAddr) -> u32 {
        page
    }
    /// Mappings in this range of a space are about to change. The old ones can still be used.
    /// Afterwards no cache has anything that only the old ones reach.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: caches are physical | cleans the data cache, and invalidates it unless the mappings stay | nothing | nothing |
    fn before_change(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: Range<UserAddr>,
        _change: Change,
    ) {
    }
    /// As [`before_change`](Self::before_change), for any mapping of any space.
    fn before_change_anywhere(&mut self, _change: Change) {}
    /// Cache maintenance on a range of a space, asked for by a user: for code that was written, for
    /// memory at several addresses, and by drivers for DMA, which the kernel has no part in.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: caches are physical, and coherent with the instruction side | by line, or all of it | `dcbst`, `icbi` | nothing |
    fn cache(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: Range<UserAddr>,
        _what: CacheOp,
    ) {
    }
    /// The lines of a range of a space are to stay in the cache. `is_paid`: its Quota is charged
    /// for one range more. Returns whether it is to stay charged: the range was not locked before.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | `Unsupported` | on an XScale core | `Unsupported` |
    ///
    /// # Errors
    /// `Unsupported`: lines cannot be locked on this machine. If they can, what
    /// [`Op::Cache`](abi::Op::Cache) says of that; `QuotaExceeded` if it is not paid.
    fn lock_lines(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: Range<UserAddr>,
        _is_paid: bool,
    ) -> Result<bool, Error> {
        Err(Error::Unsupported)
    }
    /// Lines of a range of a space are to stay no more. Returns what its Quota gets back.
    ///
    /// # Errors
    /// `Unsupported`: as above. `NotThere`: none are locked.
    fn unlock_lines(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: &Range<UserAddr>,
    ) -> Result<Charge, Error> {
        Err(Error::Unsupported)
    }
}
