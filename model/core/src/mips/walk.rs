// SPDX-License-Identifier: MIT OR Apache-2.0
//! The walk through the kernel's tables (docs/mips.md, *The TLB*): three levels of 512 entries of
//! 64 bits. The upper half of an entry is the value for the TLB, or the address of the next table.

use crate::memory::{NoMapping, Physical};

/// The lower half of an entry: it holds a page; it is a large one; it names a table.
const HELD: u32 = 1;
const LARGE: u32 = 1 << 4;
const TABLE: u32 = 1 << 5;
/// Bits of the upper half of an entry that names a table: the table's pages have the rights that
/// their entries say; the table's physical address.
const FOLLOWED: u32 = 1 << 31;
const TABLE_ADDRESS: u32 = 0x1fff_f000;

/// Bits of EntryLo: the page is valid; it may be written; how it is cached; its physical address,
/// shifted to the right by 6 bits.
const VALID: u32 = 1 << 1;
const WRITABLE: u32 = 1 << 2;
const CACHE: u32 = 7 << 3;
const UNCACHED: u32 = 2 << 3;
const FRAME: u32 = 0x3fff_ffc0;
const SEEN: u32 = FRAME | CACHE | WRITABLE | VALID;
/// Of a frame one bit more is this many pages more.
const PAGE: u32 = 1 << 6;

/// The lower half of the address at which kseg0 shows physical memory, and how much of it.
pub(super) const UNMAPPED: u32 = 0x1fff_ffff;
/// Bytes of a page, as a shift.
pub(super) const PAGE_SHIFT: u32 = 12;

/// EntryLo of an even page and of the odd one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pair(pub [u32; 2]);

/// One page of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page(u32);

impl Pair {
    /// That of an address.
    #[must_use]
    pub const fn page(self, address: u64) -> Page {
        Page(self.0[(address >> PAGE_SHIFT & 1) as usize])
    }
}

impl Page {
    /// Whether it may be read or, if so, written.
    #[must_use]
    pub const fn permits(self, write: bool) -> bool {
        self.0 & VALID != 0 && (!write || self.0 & WRITABLE != 0)
    }

    /// The physical address of one of its addresses; of 36 bits 32, which is all that a Malta has.
    #[must_use]
    pub const fn physical(self, address: u64) -> u32 {
        (self.0 & FRAME) << 6 | address as u32 & ((1 << PAGE_SHIFT) - 1)
    }

    /// Whether it may be in a cache.
    #[must_use]
    pub const fn is_cached(self) -> bool {
        self.0 & CACHE != UNCACHED
    }

    /// Whether another one is the same place, in the same way.
    #[must_use]
    pub const fn is_at(self, other: Self) -> bool {
        (self.0 ^ other.0) & (FRAME | CACHE) == 0
    }
}

/// The pair of pages of an address below the table at `top`, in kseg0. `read` gets the physical
/// address of each entry that is read.
///
/// # Errors
/// There is no leaf table, and no large page; or tables cannot be read.
pub fn walk(
    memory: &mut impl Physical,
    top: u32,
    address: u64,
    mut read: impl FnMut(u32),
) -> Result<Pair, NoMapping> {
    const INDEX: u64 = 511;
    if address >> 39 != 0 {
        return Err(NoMapping::Absent);
    }
    let mut table = top & UNMAPPED;
    let mut entry = |table: u32, index: u64| {
        let at = table + index as u32 * 8;
        read(at);
        let halves = memory.read(at).zip(memory.read(at + 4));
        halves.ok_or(NoMapping::Unreachable)
    };
    let mut is_followed = true;
    for shift in [30, 21] {
        let (upper, lower) = entry(table, address >> shift & INDEX)?;
        if shift == 21 && lower & (LARGE | HELD) == LARGE | HELD {
            let pages = (address >> PAGE_SHIFT & INDEX & !1) as u32;
            let even = (upper & SEEN) + pages * PAGE;
            return Ok(Pair([even, even + PAGE]));
        }
        if lower & TABLE == 0 {
            return Err(NoMapping::Absent);
        }
        (table, is_followed) = (upper & TABLE_ADDRESS, upper & FOLLOWED != 0);
    }
    let even = address >> PAGE_SHIFT & INDEX & !1;
    let mut pair = [entry(table, even)?.0, entry(table, even + 1)?.0].map(|upper| upper & SEEN);
    if !is_followed {
        pair = pair.map(|entry| entry & !WRITABLE);
    }
    Ok(Pair(pair))
}

/// The physical address of an address in kseg0 or kseg1, which are not translated, and whether it
/// is cached. Of the address only the lower half is given.
pub(super) const fn unmapped(address: u32) -> Option<(u32, bool)> {
    match address >> 29 {
        4 => Some((address & UNMAPPED, true)),
        5 => Some((address & UNMAPPED, false)),
        _ => None,
    }
}
