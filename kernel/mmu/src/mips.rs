// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS III: three levels of tables of this kernel's own, which no processor walks. The handler of
//! TLB misses reads them: it uses the upper half of an entry, and the kernel the lower half.
//!
//! | entry | upper half |
//! |---|---|
//! | of a leaf table | EntryLo as the TLB has it (*MIPS R4000 Microprocessor User's Manual*, figure 4-10) |
//! | that names a table | its address in kseg0, which is negative |
//! | that names a table whose pages must not be written, or is a large page | not negative: the handler leaves it to the kernel |
//!
//! Readable pages are executable: the processor has no bit that forbids it. A page without any
//! right is an entry without V, which keeps its address so that `protect` can give rights back.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Entry bits.
pub mod bits {
    /// V: the page can be used.
    pub const VALID: u64 = 1 << 33;
    /// D: it can be written.
    pub const WRITABLE: u64 = 1 << 34;
    /// C: not cached.
    pub const UNCACHED: u64 = 2 << 35;
    /// C: cached, without coherence with other processors' caches.
    pub const CACHED: u64 = 3 << 35;
    /// All bits of C.
    pub const CACHE: u64 = 7 << 35;
    /// A page's address is in an entry shifted to the left by this many bits.
    pub const ADDRESS_SHIFT: u32 = 26;
    /// The part that is a page's address: 36 bits of it.
    pub const ADDRESS: u64 = 0x3fff_ffc0_0000_0000;
    /// In an entry that names a table: the handler of misses may follow it, because the table's
    /// pages have the rights that their entries say.
    pub const FOLLOWED: u64 = 1 << 63;
    /// The part that is a table's physical address: what kseg0 reaches.
    pub const TABLE_ADDRESS: u64 = 0x1fff_f000_0000_0000;

    /// Software: the entry holds a page, even if nobody may use it.
    pub const HELD: u64 = 1;
    /// Software: the page was mapped writable.
    pub const MOST_WRITE: u64 = 1 << 1;
    /// Software: the page has registers of a device.
    pub const DEVICE: u64 = 1 << 2;
    /// Software, in a directory's entry: it is a copy of a Segment's.
    pub const SHARED: u64 = 1 << 3;
    /// Software, in a directory's entry: a page of [`SPAN`](crate::Format::SPAN) bytes.
    pub const LARGE: u64 = 1 << 4;
    /// Software: it names a table.
    pub const TABLE: u64 = 1 << 5;
}
use bits::*;

/// The format of the kernel's tables.
#[derive(Clone, Copy, Debug)]
pub struct Mips;

/// Rights to read and execute, and to write if the entry has that.
const fn with(write: bool) -> Rights {
    let readable = Rights::READ.union(Rights::EXECUTE);
    if write { readable.union(Rights::WRITE) } else { readable }
}

/// What the TLB gets for an even page and the odd one after it: EntryLo0 and EntryLo1. They follow
/// from the entry of the directory, the two entries of the leaf table, if there is one, and an
/// address in one of the pages.
#[must_use]
pub const fn pair(directory: u64, leaves: [u64; 2], address: u64) -> [u32; 2] {
    const SEEN: u64 = ADDRESS | CACHE | WRITABLE | VALID;
    let [mut even, mut odd] = leaves;
    if directory & LARGE != 0 {
        let offset = address & (Mips::SPAN as u64 - 1) & !(2 * PAGE_SIZE as u64 - 1);
        even = directory | offset << ADDRESS_SHIFT;
        odd = even | (PAGE_SIZE as u64) << ADDRESS_SHIFT;
    } else if directory & FOLLOWED == 0 {
        even &= !WRITABLE;
        odd &= !WRITABLE;
    }
    [((even & SEEN) >> 32) as u32, ((odd & SEEN) >> 32) as u32]
}

impl Format for Mips {
    type Entry = u64;
    const LEVELS: u32 = 3;

    fn leaf(leaf: Leaf) -> u64 {
        let mut entry = (leaf.physical.0 as u64) << ADDRESS_SHIFT & ADDRESS | HELD;
        if leaf.rights.intersection(Rights::RWX) != Rights::NONE {
            entry |= VALID;
        }
        for (has, bit) in [
            (leaf.rights.contains(Rights::WRITE), WRITABLE),
            (leaf.most.contains(Rights::WRITE), MOST_WRITE),
        ] {
            entry |= if has { bit } else { 0 };
        }
        entry
            | match leaf.attributes {
                Attributes::Cached => CACHED,
                Attributes::Uncached => UNCACHED,
                Attributes::Device => UNCACHED | DEVICE,
            }
    }

    fn next(entry: u64) -> u64 {
        entry.wrapping_add((PAGE_SIZE as u64) << ADDRESS_SHIFT)
    }

    fn decode(entry: u64) -> Option<Leaf> {
        if entry & HELD == 0 {
            return None;
        }
        let rights = if entry & VALID == 0 { Rights::NONE } else { with(entry & WRITABLE != 0) };
        let attributes = match entry & (CACHE | DEVICE) {
            CACHED => Attributes::Cached,
            UNCACHED => Attributes::Uncached,
            _ => Attributes::Device,
        };
        let physical = PhysAddr(((entry & ADDRESS) >> ADDRESS_SHIFT) as Word);
        // ASIDs are a space's own, so no translation is all spaces'.
        Some(Leaf {
            physical,
            rights,
            most: with(entry & MOST_WRITE != 0),
            attributes,
            global: false,
        })
    }

    fn table(physical: PhysAddr) -> u64 {
        (physical.0 as u64) << 32 & TABLE_ADDRESS | FOLLOWED | TABLE
    }

    fn decode_table(entry: u64) -> Option<(PhysAddr, bool)> {
        (entry & TABLE != 0)
            .then_some((PhysAddr(((entry & TABLE_ADDRESS) >> 32) as Word), entry & SHARED != 0))
    }

    fn table_rights(entry: u64) -> Rights {
        with(entry & FOLLOWED != 0)
    }

    fn large(leaf: Leaf) -> u64 {
        Self::leaf(Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf }) | LARGE
    }

    fn decode_large(entry: u64) -> Option<(Leaf, bool)> {
        let leaf = Self::decode(entry).filter(|_| entry & LARGE != 0)?;
        Some((leaf, entry & SHARED != 0))
    }

    // There are no servers.
    fn supervisor(entry: u64) -> u64 {
        entry
    }

    fn shared(entry: u64, rights: Rights) -> u64 {
        let lost = match (rights.contains(Rights::WRITE), entry & TABLE != 0) {
            (true, _) => 0,
            (false, true) => FOLLOWED,
            (false, false) => WRITABLE,
        };
        entry & !lost | SHARED
    }
}
