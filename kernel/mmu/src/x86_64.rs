// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64's entries of four levels of tables (Intel SDM volume 3, section 4.5).
//!
//! Each page that has any right can be read. A page without any right is an entry with the present
//! bit clear, which keeps its address so that `protect` can give rights back; so does a directory's
//! entry of a 2 MiB page. Processors without the bit that forbids execution are refused at boot.
//!
//! Some processors read by speculation at the address of an entry whose present bit is clear (L1TF,
//! Intel's *Deep Dive: L1 Terminal Fault*). There the highest bits of the address are inverted, so
//! that no RAM is at it.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Entry bits.
pub mod bits {
    /// Translation is valid.
    pub const PRESENT: u64 = 1;
    /// Writes are allowed.
    pub const WRITABLE: u64 = 1 << 1;
    /// User mode may access.
    pub const USER: u64 = 1 << 2;
    /// Write-through.
    pub const WRITE_THROUGH: u64 = 1 << 3;
    /// Not cached.
    pub const CACHE_DISABLE: u64 = 1 << 4;
    /// In a directory entry: a 2 MiB page.
    pub const LARGE: u64 = 1 << 7;
    /// Stays in the TLB when the tables change, if the processor supports that.
    pub const GLOBAL: u64 = 1 << 8;
    /// Software: the page was mapped writable.
    pub const MOST_WRITE: u64 = 1 << 9;
    /// Software, in a directory entry: it is a copy of a Segment's.
    pub const SHARED: u64 = 1 << 10;
    /// Software: the entry holds a page even if not present.
    pub const HELD: u64 = 1 << 11;
    /// Software: the page was mapped executable.
    pub const MOST_EXECUTE: u64 = 1 << 52;
    /// Nothing is executed there.
    pub const NO_EXECUTE: u64 = 1 << 63;
    /// Address part.
    pub const ADDRESS: u64 = 0x000f_ffff_ffff_f000;
    /// The bits of it that are inverted where an entry is not present: no address of RAM has them
    /// set.
    pub const AWAY: u64 = 0x000f_ff00_0000_0000;
}
use bits::*;

/// The format of 4-level paging.
#[derive(Clone, Copy, Debug)]
pub struct X86_64;

/// The right to read, and those of the two other rights that an entry has by these bits.
const fn with(write: bool, execute: bool) -> Rights {
    let read = if write { Rights::READ.union(Rights::WRITE) } else { Rights::READ };
    if execute { read.union(Rights::EXECUTE) } else { read }
}

impl Format for X86_64 {
    type Entry = u64;
    const LEVELS: u32 = 4;

    fn leaf(leaf: Leaf) -> u64 {
        let mut entry = leaf.physical.0 as u64 & ADDRESS | HELD;
        if leaf.rights.intersection(Rights::RWX) != Rights::NONE {
            entry |= PRESENT | USER;
        } else {
            entry ^= AWAY;
        }
        for (has, bit) in [
            (leaf.rights.contains(Rights::WRITE), WRITABLE),
            (!leaf.rights.contains(Rights::EXECUTE), NO_EXECUTE),
            (leaf.most.contains(Rights::WRITE), MOST_WRITE),
            (leaf.most.contains(Rights::EXECUTE), MOST_EXECUTE),
            (leaf.global, GLOBAL),
        ] {
            entry |= if has { bit } else { 0 };
        }
        entry
            | match leaf.attributes {
                Attributes::Cached => 0,
                // As on IA-32: a memory type range register may say that writes are combined.
                Attributes::Uncached => CACHE_DISABLE,
                Attributes::Device => CACHE_DISABLE | WRITE_THROUGH,
            }
    }

    fn next(entry: u64) -> u64 {
        entry.wrapping_add(PAGE_SIZE as u64)
    }

    fn decode(entry: u64) -> Option<Leaf> {
        if entry & HELD == 0 {
            return None;
        }
        let (rights, address) = if entry & PRESENT == 0 {
            (Rights::NONE, entry ^ AWAY)
        } else {
            (with(entry & WRITABLE != 0, entry & NO_EXECUTE == 0), entry)
        };
        let attributes = match entry & (CACHE_DISABLE | WRITE_THROUGH) {
            0 => Attributes::Cached,
            CACHE_DISABLE => Attributes::Uncached,
            _ => Attributes::Device,
        };
        let most = with(entry & MOST_WRITE != 0, entry & MOST_EXECUTE != 0);
        let (physical, global) = (PhysAddr((address & ADDRESS) as Word), entry & GLOBAL != 0);
        Some(Leaf { physical, rights, most, attributes, global })
    }

    fn table(physical: PhysAddr) -> u64 {
        physical.0 as u64 & ADDRESS | PRESENT | USER | WRITABLE
    }

    fn decode_table(entry: u64) -> Option<(PhysAddr, bool)> {
        (entry & PRESENT != 0 && entry & LARGE == 0)
            .then_some((PhysAddr((entry & ADDRESS) as Word), entry & SHARED != 0))
    }

    fn table_rights(entry: u64) -> Rights {
        with(entry & WRITABLE != 0, entry & NO_EXECUTE == 0)
    }

    fn large(leaf: Leaf) -> u64 {
        Self::leaf(Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf }) | LARGE
    }

    fn decode_large(entry: u64) -> Option<(Leaf, bool)> {
        let leaf = Self::decode(entry).filter(|_| entry & LARGE != 0)?;
        Some((leaf, entry & SHARED != 0))
    }

    fn supervisor(entry: u64) -> u64 {
        entry & !USER
    }

    fn shared(entry: u64, rights: Rights) -> u64 {
        let writable = if rights.contains(Rights::WRITE) { entry } else { entry & !WRITABLE };
        let execute = if rights.contains(Rights::EXECUTE) { 0 } else { NO_EXECUTE };
        writable | execute | SHARED
    }
}
