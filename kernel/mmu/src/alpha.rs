// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha: three levels of tables with 1,024 entries each, which PALcode reads, or QEMU in its place
//! (*Alpha Architecture Reference Manual*, II-B, *Page Table Entry*; QEMU, `target/alpha/helper.c`).
//!
//! | entry | bits |
//! |---|---|
//! | of a leaf table | the frame in the upper half, what faults and who may access, and software's |
//! | that names a table | the frame; valid, and for the kernel to read |
//! | that names a table whose pages have fewer rights than their entries say, or is a large page | not valid: the kernel handles a miss |
//!
//! The processor has a bit that forbids reading, one that allows writing and one that forbids
//! execution, so all rights can be told apart.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Entry bits.
pub mod bits {
    /// The entry can be used.
    pub const VALID: u64 = 1;
    /// FOR: reading faults.
    pub const NO_READ: u64 = 1 << 1;
    /// FOE: execution faults.
    pub const NO_EXECUTE: u64 = 1 << 3;
    /// KRE: the kernel may read. What names a table has it.
    pub const KERNEL: u64 = 1 << 8;
    /// URE: users may read.
    pub const USER: u64 = 1 << 9;
    /// UWE: users may write.
    pub const WRITABLE: u64 = 1 << 13;
    /// Where the number of the frame begins.
    pub const FRAME_SHIFT: u32 = 32;

    /// Software: the entry holds a page, even if nobody may use it.
    pub const HELD: u64 = 1 << 16;
    /// Software: the lowest of the bits for the most rights of a page, or for those that an entry
    /// leaves to its table's pages.
    pub const MOST_SHIFT: u32 = 17;
    /// Software: RAM that is not cached. (Addresses say so on this processor, not entries.)
    pub const UNCACHED: u64 = 1 << 20;
    /// Software: the page has registers of a device.
    pub const DEVICE: u64 = 1 << 21;
    /// Software, in a directory's entry: it is a copy of a Segment's.
    pub const SHARED: u64 = 1 << 22;
    /// Software, in a directory's entry: a page of [`SPAN`](crate::Format::SPAN) bytes.
    pub const LARGE: u64 = 1 << 23;
    /// Software: it names a table.
    pub const TABLE: u64 = 1 << 24;
}
use bits::*;

/// The format of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Alpha;

/// The frame at an address.
const fn frame(physical: PhysAddr) -> u64 {
    (physical.0 as u64 / PAGE_SIZE as u64) << FRAME_SHIFT
}

/// The address of an entry's frame.
const fn address(entry: u64) -> PhysAddr {
    PhysAddr((entry >> FRAME_SHIFT) as Word * PAGE_SIZE)
}

/// The bits of rights, and of an entry that can be used at all.
const fn with(rights: Rights) -> u64 {
    let rights = rights.intersection(Rights::RWX);
    if rights.0 == 0 {
        return 0;
    }
    let read = if rights.contains(Rights::READ) { 0 } else { NO_READ };
    let write = if rights.contains(Rights::WRITE) { WRITABLE } else { 0 };
    let execute = if rights.contains(Rights::EXECUTE) { 0 } else { NO_EXECUTE };
    VALID | USER | read | write | execute
}

/// The bits of [`with`].
const GIVEN: u64 = VALID | NO_READ | NO_EXECUTE | USER | WRITABLE;
/// The bits of the most rights.
const MOST: u64 = (Rights::RWX.0 as u64) << MOST_SHIFT;

/// The most rights of a page, or those that an entry leaves to the table that it names.
const fn most(entry: u64) -> Rights {
    Rights((entry >> MOST_SHIFT) as u32).intersection(Rights::RWX)
}

/// The rights that an entry's bits give, whether it is valid or not.
const fn given(entry: u64) -> Rights {
    if entry & USER == 0 {
        return Rights::NONE;
    }
    let mut rights = Rights::NONE;
    if entry & NO_READ == 0 {
        rights = rights.union(Rights::READ);
    }
    if entry & WRITABLE != 0 {
        rights = rights.union(Rights::WRITE);
    }
    if entry & NO_EXECUTE == 0 {
        rights = rights.union(Rights::EXECUTE);
    }
    rights
}

impl Format for Alpha {
    type Entry = u64;
    const LEVELS: u32 = 3;
    // QEMU reads the tables itself, and knows none; a 21164's PALcode would put one into the TLB.
    const HAS_LARGE: bool = false;

    fn leaf(leaf: Leaf) -> u64 {
        let most = leaf.most.intersection(Rights::RWX);
        frame(leaf.physical)
            | with(leaf.rights)
            | HELD
            | (most.0 as u64) << MOST_SHIFT
            | match leaf.attributes {
                Attributes::Cached => 0,
                Attributes::Uncached => UNCACHED,
                Attributes::Device => DEVICE,
            }
    }

    fn next(entry: u64) -> u64 {
        entry.wrapping_add(1 << FRAME_SHIFT)
    }

    fn decode(entry: u64) -> Option<Leaf> {
        if entry & HELD == 0 {
            return None;
        }
        let attributes = match entry & (UNCACHED | DEVICE) {
            0 => Attributes::Cached,
            UNCACHED => Attributes::Uncached,
            _ => Attributes::Device,
        };
        // A tag is a space's own, so no translation is all spaces'.
        Some(Leaf {
            physical: address(entry),
            rights: given(entry),
            most: most(entry),
            attributes,
            global: false,
        })
    }

    fn table(physical: PhysAddr) -> u64 {
        frame(physical) | VALID | KERNEL | TABLE | (Rights::RWX.0 as u64) << MOST_SHIFT
    }

    fn decode_table(entry: u64) -> Option<(PhysAddr, bool)> {
        (entry & TABLE != 0).then_some((address(entry), entry & SHARED != 0))
    }

    fn table_rights(entry: u64) -> Rights {
        most(entry)
    }

    fn large(leaf: Leaf) -> u64 {
        let leaf = Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf };
        Self::leaf(leaf) & !VALID | LARGE
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
        if entry & TABLE == 0 {
            let left = given(entry).intersection(rights);
            return entry & !GIVEN | with(left) & !VALID | SHARED;
        }
        let left = most(entry).intersection(rights);
        let is_whole = left.contains(Rights::RWX);
        let kept = entry & !(MOST | if is_whole { 0 } else { VALID });
        kept | (left.0 as u64) << MOST_SHIFT | SHARED
    }
}
