// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5 translation-table entries (ARM Architecture Reference Manual, DDI 0100I, chapter B4).
//!
//! The entry of a page is the processor's own, a small page of 4 KiB. A leaf table is a page: four
//! of the processor's coarse tables of 256 entries each. Only the kernel knows what names a
//! leaf table, as the processor has one first-level table for all spaces: [`section`] and
//! [`coarse`] make the entries of that.
//!
//! Readable pages are executable: ARMv5 cannot forbid execution. A page without any right is an
//! entry of a type that faults, which keeps its address, so that `protect` can give rights back.
//! The entry of RAM that is not cached is the same as that of a device's registers.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Bits of a leaf table's entry.
pub mod bits {
    /// The type of an entry: fault, if both are clear.
    pub const TYPE: u32 = 3;
    /// Type: a small page.
    pub const SMALL: u32 = 2;
    /// Buffered: with [`CACHED`] a write goes only to the cache.
    pub const BUFFERED: u32 = 1 << 2;
    /// Cached.
    pub const CACHED: u32 = 1 << 3;
    /// Access permission of the four quarters of a page: only the kernel.
    pub const KERNEL_ONLY: u32 = 0x550;
    /// Users may read.
    pub const READ_ONLY: u32 = 0xaa0;
    /// Users may read and write.
    pub const READ_WRITE: u32 = 0xff0;
    /// In an entry of the faulting type: it holds a page, which was mapped cached if [`CACHED`],
    /// and writable if [`BUFFERED`].
    pub const HELD: u32 = 1 << 4;
    /// Address part.
    pub const ADDRESS: u32 = !0xfff;
}
use bits::*;

/// Bits of a directory's entry, which the processor does not read.
pub mod directory {
    /// It names a leaf table.
    pub const TABLE: u32 = 1;
    /// It maps 4 MiB itself.
    pub const LARGE: u32 = 1 << 1;
    /// It is a copy of a Segment's.
    pub const SHARED: u32 = 1 << 2;
    /// Nobody may write by it.
    pub const NO_WRITE: u32 = 1 << 3;
    /// It maps 4 MiB that may be read; written; that were mapped writable; and that are cached.
    pub const READ: u32 = 1 << 12;
    /// See [`READ`].
    pub const WRITE: u32 = 1 << 13;
    /// See [`READ`].
    pub const MOST_WRITE: u32 = 1 << 14;
    /// See [`READ`].
    pub const CACHED: u32 = 1 << 15;
}

/// First-level entries of the processor: bits beside the address.
pub mod first {
    /// Type: a coarse table.
    pub const COARSE: u32 = 1;
    /// Type: a section of 1 MiB.
    pub const SECTION: u32 = 2;
    /// Set in every entry (B4.7.2).
    pub const ONE: u32 = 1 << 4;
    /// Number of the lowest bit of the domain.
    pub const DOMAIN_SHIFT: u32 = 5;
    /// Number of the lowest bit of a section's access permission.
    pub const ACCESS_SHIFT: u32 = 10;
    /// Access permission: only the kernel.
    pub const KERNEL_ONLY: u32 = 1;
}

/// Bytes that an entry of the first level spans.
pub const SECTION_BYTES: u32 = 1 << 20;
/// Bytes of a coarse table.
pub const COARSE_BYTES: u32 = 1024;
/// Sections that a leaf table spans.
pub const SECTIONS: u32 = PAGE_SIZE as u32 / COARSE_BYTES;

/// A first-level entry for a coarse table.
#[must_use]
pub const fn coarse(physical: u32, domain: u32) -> u32 {
    physical | first::ONE | first::COARSE | domain << first::DOMAIN_SHIFT
}

/// A first-level entry for a section that only the kernel accesses.
#[must_use]
pub const fn kernel_section(physical: u32, domain: u32, cached: bool) -> u32 {
    let memory = if cached { CACHED | BUFFERED } else { 0 };
    physical
        | first::ONE
        | first::SECTION
        | first::KERNEL_ONLY << first::ACCESS_SHIFT
        | memory
        | domain << first::DOMAIN_SHIFT
}

/// The first-level entry for one of the sections that a directory's entry spans: the one with
/// number `part`. `None` if the entry is empty, or gives no right at all.
#[must_use]
pub fn section(entry: u32, part: u32, domain: u32) -> Option<u32> {
    if let Some((table, _)) = Armv5::decode_table(entry) {
        return Some(coarse(table.0 as u32 + part * COARSE_BYTES, domain));
    }
    let (leaf, _) = Armv5::decode_large(entry)?;
    let access = match (leaf.rights.contains(Rights::WRITE), leaf.rights == Rights::NONE) {
        (_, true) => return None,
        (true, _) => 3,
        (false, _) => 2,
    };
    let memory = if leaf.attributes == Attributes::Cached { CACHED | BUFFERED } else { 0 };
    let physical = leaf.physical.0 as u32 + part * SECTION_BYTES;
    Some(
        physical
            | first::ONE
            | first::SECTION
            | access << first::ACCESS_SHIFT
            | memory
            | domain << first::DOMAIN_SHIFT,
    )
}

/// A leaf table's entry, changed so that users may only read the page.
#[must_use]
pub const fn read_only(entry: u32) -> u32 {
    // Bits of the access permission that are 11 become 10.
    if entry & TYPE == SMALL { entry & !(READ_WRITE & !READ_ONLY) } else { entry }
}

const READABLE: Rights = Rights(Rights::READ.0 | Rights::EXECUTE.0);

/// The rights of a page that can be read, or also written.
const fn readable(writes: bool) -> Rights {
    if writes { Rights::RWX } else { READABLE }
}

/// `bit`, or nothing.
const fn flag(bit: u32, is_set: bool) -> u32 {
    if is_set { bit } else { 0 }
}

/// The format of ARMv5 translation tables.
#[derive(Clone, Copy, Debug)]
pub struct Armv5;

impl Format for Armv5 {
    type Entry = u32;
    const LEVELS: u32 = 2;

    fn leaf(leaf: Leaf) -> u32 {
        let is_cached = leaf.attributes == Attributes::Cached;
        let most = flag(BUFFERED, leaf.most.contains(Rights::WRITE));
        let page = leaf.physical.0 as u32 & ADDRESS | flag(CACHED, is_cached);
        if leaf.rights.intersection(Rights::RWX) == Rights::NONE {
            page | HELD | most
        } else if leaf.rights.contains(Rights::WRITE) {
            // A cache is written back. A device's registers get each write at once.
            page | SMALL | READ_WRITE | flag(BUFFERED, is_cached)
        } else {
            // Whether writes are buffered makes no difference where there are none: the bit says
            // that the page was mapped writable.
            page | SMALL | READ_ONLY | most
        }
    }

    fn next(entry: u32) -> u32 {
        entry.wrapping_add(PAGE_SIZE as u32)
    }

    fn decode(entry: u32) -> Option<Leaf> {
        let most = readable(entry & BUFFERED != 0);
        let (rights, most) = match entry & TYPE {
            SMALL if entry & READ_WRITE == READ_WRITE => (Rights::RWX, Rights::RWX),
            SMALL => (READABLE, most),
            _ if entry & HELD != 0 => (Rights::NONE, most),
            _ => return None,
        };
        let attributes = if entry & CACHED != 0 { Attributes::Cached } else { Attributes::Device };
        Some(Leaf {
            physical: PhysAddr((entry & ADDRESS) as Word),
            rights,
            most,
            attributes,
            global: false,
        })
    }

    fn table(physical: PhysAddr) -> u32 {
        physical.0 as u32 & ADDRESS | directory::TABLE
    }

    fn decode_table(entry: u32) -> Option<(PhysAddr, bool)> {
        let physical = PhysAddr((entry & ADDRESS) as Word);
        (entry & directory::TABLE != 0).then_some((physical, entry & directory::SHARED != 0))
    }

    fn table_rights(entry: u32) -> Rights {
        readable(entry & directory::NO_WRITE == 0)
    }

    fn large(leaf: Leaf) -> u32 {
        leaf.physical.align_down(Self::SPAN).0 as u32
            | directory::LARGE
            | flag(directory::READ, leaf.rights.intersection(Rights::RWX) != Rights::NONE)
            | flag(directory::WRITE, leaf.rights.contains(Rights::WRITE))
            | flag(directory::MOST_WRITE, leaf.most.contains(Rights::WRITE))
            | flag(directory::CACHED, leaf.attributes == Attributes::Cached)
    }

    fn decode_large(entry: u32) -> Option<(Leaf, bool)> {
        if entry & directory::LARGE == 0 {
            return None;
        }
        let writes = entry & directory::WRITE != 0 && entry & directory::NO_WRITE == 0;
        let rights = if entry & directory::READ == 0 { Rights::NONE } else { readable(writes) };
        let attributes =
            if entry & directory::CACHED != 0 { Attributes::Cached } else { Attributes::Device };
        let physical = PhysAddr(entry as Word).align_down(Self::SPAN);
        let most = readable(entry & directory::MOST_WRITE != 0);
        Some((
            Leaf { physical, rights, most, attributes, global: false },
            entry & directory::SHARED != 0,
        ))
    }

    fn supervisor(entry: u32) -> u32 {
        entry
    }

    fn shared(entry: u32, rights: Rights) -> u32 {
        entry | directory::SHARED | flag(directory::NO_WRITE, !rights.contains(Rights::WRITE))
    }
}
