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
/// The bodies here are right if caches are physical and coherent with instruction fetches, and no
/// lines can be locked: then caches do not depend on users' addresses.
pub trait Caches {
    /// How many ranges of lines can be locked in a cache ([`lock_lines`](Self::lock_lines)).
    const LOCKS: u16 = 0;

    /// The information page was written, at its address in the pool.
    ///
    /// It is called once, before there is any space. A port may show the page in every space
    /// itself: then [`area`](crate::port::Placement::area) names no place for it.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: each native space maps it | cleans it, and shows it in all spaces | writes the processor's version there, and how the hashed table does | as it is | as it is | as it is |
    fn information_page(&mut self, _physical: PhysAddr) {}
    /// A UTCB slot was taken in the page at `page` of the pool, which is mapped at `address` of a
    /// space, and was cleared. Returns the address at which the kernel accesses that page from now
    /// on. This address is in the pool, or in what [`Pool::add_window`] names. Afterwards no cache
    /// has anything of the page at another address. The page is unmapped like any other: with
    /// [`before_change`](Self::before_change).
    ///
    /// The kernel and a UTCB's thread both read and write the UTCB. Where caches are virtual, both
    /// have to use the same address, so no two spaces have UTCBs at the same address
    /// ([`area`](crate::port::Placement::area)).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: caches are physical | `address`; the lines of `page` are written back | as it is | as it is | as it is | as it is |
    fn utcb_page(&mut self, page: u32, _address: UserAddr) -> u32 {
        page
    }
    /// Mappings in this range of a space are about to change. The old ones can still be used.
    /// Afterwards no cache has anything that only the old mappings can reach.
    ///
    /// It is called once for each space in which they are visible.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: caches are physical | cleans the data cache, and invalidates it unless the mappings stay | as it is | as it is | as it is | as it is |
    fn before_change(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: Range<UserAddr>,
        _change: Change,
    ) {
    }
    /// As [`before_change`](Self::before_change), for any mapping of any space.
    ///
    /// It is called instead of that if a Segment is attached to more than 16 spaces.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | cleans and invalidates the data cache | as it is | as it is | as it is | as it is |
    fn before_change_anywhere(&mut self, _change: Change) {}
    /// Cache maintenance that a user asks for, on a range of a space: for code that was written,
    /// for memory at several addresses, and for a driver's DMA, of which the kernel knows nothing.
    /// It never drops a dirty line: the memory below may still have what it had before it was
    /// cleared for its owner.
    ///
    /// It is called by `Cache`, and by records of `Map`.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is: caches are coherent with the instruction side | by line, or all of it | `dcbst`, `dcbf`, `icbi`, or all of it | as it is | as it is: QEMU has no caches, and no others are driven yet | as it is: QEMU has no caches |
    fn cache(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: Range<UserAddr>,
        _what: CacheOp,
    ) {
    }
    /// The lines of a range of a space are to stay in the cache. `is_paid` says that the space's
    /// Quota was charged for one more range; there are few such ranges, so they are divided among
    /// Quotas. Returns whether the Quota stays charged, because the range was not locked before.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | on an XScale core | as it is | as it is | as it is | as it is |
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
    /// The lines of a range of a space need not stay in the cache any more. Returns what the
    /// space's Quota gets back.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | on an XScale core | as it is | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `Unsupported`: as above. `NotThere`: no lines are locked there.
    fn unlock_lines(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _range: &Range<UserAddr>,
    ) -> Result<Charge, Error> {
        Err(Error::Unsupported)
    }
    /// Whole pages of a range of a space are to be cleared while no thread runs, as
    /// [`CacheOp::Clear`] says. Returns how many pages were cleared of the range that the space
    /// named last.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |
    /// |---|---|---|---|---|---|
    /// | as it is | as it is | the idle loop does so | as it is | as it is | as it is |
    ///
    /// # Errors
    /// `Unsupported`: no pages are cleared on this machine.
    fn clear_later(
        &mut self,
        _pool: &mut Pool,
        _space: Ref<Space>,
        _pages: Range<UserAddr>,
    ) -> Result<u32, Error> {
        Err(Error::Unsupported)
    }
}
