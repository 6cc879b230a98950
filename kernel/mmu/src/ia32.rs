// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32 page-directory and page-table entries (Intel SDM volume 3, section 4.3).
//!
//! Readable pages are executable: 32-bit paging cannot forbid execution. A page without any right
//! is an entry with the present bit clear, which keeps its address so that `protect` can give
//! rights back. So does a directory entry of a 4 MiB page.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Entry bits.
pub mod bits {
    /// Translation is valid.
    pub const PRESENT: u32 = 1;
    /// Writes are allowed.
    pub const WRITABLE: u32 = 1 << 1;
    /// User mode may access.
    pub const USER: u32 = 1 << 2;
    /// Write-through.
    pub const WRITE_THROUGH: u32 = 1 << 3;
    /// Not cached.
    pub const CACHE_DISABLE: u32 = 1 << 4;
    /// In a directory entry: a 4 MiB page.
    pub const LARGE: u32 = 1 << 7;
    /// Stays in the TLB when the directory changes, if the processor supports that.
    pub const GLOBAL: u32 = 1 << 8;
    /// Software: the page was mapped writable.
    pub const MOST_WRITE: u32 = 1 << 9;
    /// Software, in a directory entry: it is a copy of a Segment's.
    pub const SHARED: u32 = 1 << 10;
    /// Software: the entry holds a page even if not present.
    pub const HELD: u32 = 1 << 11;
    /// Address part.
    pub const ADDRESS: u32 = !0xfff;
}
use bits::*;

/// The format of 32-bit paging without PAE.
#[derive(Clone, Copy, Debug)]
pub struct Ia32;

impl Format for Ia32 {
    type Entry = u32;
    const LEVELS: u32 = 2;

    fn leaf(leaf: Leaf) -> u32 {
        let mut entry = leaf.physical.0 as u32 & ADDRESS | HELD;
        if leaf.rights.intersection(Rights::RWX) != Rights::NONE {
            entry |= PRESENT | USER;
        }
        if leaf.rights.contains(Rights::WRITE) {
            entry |= WRITABLE;
        }
        if leaf.most.contains(Rights::WRITE) {
            entry |= MOST_WRITE;
        }
        if leaf.global {
            entry |= GLOBAL;
        }
        entry
            | match leaf.attributes {
                Attributes::Cached => 0,
                // Type "uncached minus": a memory type range register may say that writes are
                // combined (Intel SDM volume 3, table 12-7).
                Attributes::Uncached => CACHE_DISABLE,
                Attributes::Device => CACHE_DISABLE | WRITE_THROUGH,
            }
    }

    fn next(entry: u32) -> u32 {
        entry.wrapping_add(PAGE_SIZE as u32)
    }

    fn decode(entry: u32) -> Option<Leaf> {
        if entry & HELD == 0 {
            return None;
        }
        let readable = Rights::READ.union(Rights::EXECUTE);
        let with_write = |base: Rights, bit: u32| {
            if entry & bit != 0 { base.union(Rights::WRITE) } else { base }
        };
        let rights =
            if entry & PRESENT == 0 { Rights::NONE } else { with_write(readable, WRITABLE) };
        let attributes = match entry & (CACHE_DISABLE | WRITE_THROUGH) {
            0 => Attributes::Cached,
            CACHE_DISABLE => Attributes::Uncached,
            _ => Attributes::Device,
        };
        let (physical, global) = (PhysAddr((entry & ADDRESS) as Word), entry & GLOBAL != 0);
        Some(Leaf { physical, rights, most: with_write(readable, MOST_WRITE), attributes, global })
    }

    fn table(physical: PhysAddr) -> u32 {
        physical.0 as u32 & ADDRESS | PRESENT | USER | WRITABLE
    }

    fn decode_table(entry: u32) -> Option<(PhysAddr, bool)> {
        (entry & PRESENT != 0 && entry & LARGE == 0)
            .then_some((PhysAddr((entry & ADDRESS) as Word), entry & SHARED != 0))
    }

    fn table_rights(entry: u32) -> Rights {
        if entry & WRITABLE != 0 { Rights::RWX } else { Rights::READ.union(Rights::EXECUTE) }
    }

    fn large(leaf: Leaf) -> u32 {
        Self::leaf(Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf }) | LARGE
    }

    fn decode_large(entry: u32) -> Option<(Leaf, bool)> {
        let leaf = Self::decode(entry).filter(|_| entry & LARGE != 0)?;
        Some((leaf, entry & SHARED != 0))
    }

    fn supervisor(entry: u32) -> u32 {
        entry & !USER
    }

    fn shared(entry: u32, rights: Rights) -> u32 {
        if rights.contains(Rights::WRITE) { entry | SHARED } else { entry & !WRITABLE | SHARED }
    }
}
