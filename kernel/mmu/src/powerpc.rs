// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC: two levels of tables of this kernel's own, which no processor walks. Code that fills a
//! TLB (603) or a hashed table (604) reads them, so an entry of a leaf table is the second word of
//! a PTE as the processor wants it (*Programming Environments for 32-bit Microprocessors*, section
//! 7.6.1.2), and needs no conversion.
//!
//! Readable pages are executable: only a whole segment of 256 MiB can be kept from execution. A
//! page without any right is an entry without the bit R, which keeps its address so that `protect`
//! can give rights back.

use crate::format::{Attributes, Format, Leaf};
use abi::{PAGE_SIZE, PhysAddr, Rights, Word};

/// Entry bits.
pub mod bits {
    /// Address part.
    pub const ADDRESS: u32 = !0xfff;
    /// Software, in a directory's entry: it is a copy of a Segment's.
    pub const SHARED: u32 = 0x800;
    /// Software: the page was mapped writable.
    pub const MOST_WRITE: u32 = 0x400;
    /// Software: the entry holds a page, even if nobody may use it.
    pub const HELD: u32 = 0x200;
    /// R, referenced: the page can be used. The kernel has no use for what R means, so it is always
    /// set in what the processor sees.
    pub const PRESENT: u32 = 0x100;
    /// C, changed: always set, or the processor would write it.
    pub const CHANGED: u32 = 0x80;
    /// Software, in a directory's entry: it is a server's, or a copy of one in a space that shows
    /// the server. In a page it would be W, which none has.
    pub const SUPERVISOR: u32 = 0x40;
    /// I: not cached.
    pub const UNCACHED: u32 = 0x20;
    /// G: the processor reads nothing ahead.
    pub const GUARDED: u32 = 0x8;
    /// Software, in a directory's entry: a page of [`SPAN`](crate::Format::SPAN) bytes. The
    /// processor has no such pages: each 4 KiB of it is an entry of the TLB.
    pub const LARGE: u32 = 0x4;
    /// PP: a space may read and write by a segment whose key bit is clear, and only read by one
    /// whose key bit is set ([`KEY`](crate::vsid::KEY)).
    pub const READ_WRITE: u32 = 1;
    /// PP: any space may only read. It has all bits of [`READ_WRITE`], so one OR makes what two
    /// entries allow together.
    pub const READ_ONLY: u32 = 3;
    /// What of an entry the processor sees; the rest is reserved there.
    pub const SEEN: u32 = !(SHARED | MOST_WRITE | HELD | SUPERVISOR | LARGE);
}
use bits::*;

/// The bit that [`READ_ONLY`] has and [`READ_WRITE`] has not.
pub const NO_WRITE: u32 = READ_ONLY ^ READ_WRITE;

/// The format of both kinds of processors.
#[derive(Clone, Copy, Debug)]
pub struct PowerPc;

/// The second word of the PTE that the processor gets for the page at an address, from the page's
/// entries in its directory and its leaf table; nothing if there is no right.
#[must_use]
pub const fn seen(directory: u32, leaf: u32, address: u32) -> Option<u32> {
    if directory & PRESENT == 0 {
        return None;
    }
    let entry = if directory & LARGE == 0 {
        leaf | directory & NO_WRITE
    } else {
        directory | address & 0x003f_f000
    };
    if entry & PRESENT == 0 { None } else { Some(entry & SEEN) }
}

impl Format for PowerPc {
    type Entry = u32;
    const LEVELS: u32 = 2;

    fn leaf(leaf: Leaf) -> u32 {
        let mut entry = leaf.physical.0 as u32 & ADDRESS | HELD | CHANGED;
        if leaf.rights.intersection(Rights::RWX) != Rights::NONE {
            entry |= PRESENT;
        }
        entry |= if leaf.rights.contains(Rights::WRITE) { READ_WRITE } else { READ_ONLY };
        if leaf.most.contains(Rights::WRITE) {
            entry |= MOST_WRITE;
        }
        entry
            | match leaf.attributes {
                Attributes::Cached => 0,
                Attributes::Uncached => UNCACHED,
                Attributes::Device => UNCACHED | GUARDED,
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
        let with_write =
            |is_writable: bool| if is_writable { readable.union(Rights::WRITE) } else { readable };
        let rights = if entry & PRESENT == 0 {
            Rights::NONE
        } else {
            with_write(entry & READ_ONLY == READ_WRITE)
        };
        let attributes = match entry & (UNCACHED | GUARDED) {
            0 => Attributes::Cached,
            UNCACHED => Attributes::Uncached,
            _ => Attributes::Device,
        };
        let physical = PhysAddr((entry & ADDRESS) as Word);
        // VSIDs are a space's own, so no translation is all spaces'.
        Some(Leaf {
            physical,
            rights,
            most: with_write(entry & MOST_WRITE != 0),
            attributes,
            global: false,
        })
    }

    fn table(physical: PhysAddr) -> u32 {
        physical.0 as u32 & ADDRESS | PRESENT | READ_WRITE
    }

    fn decode_table(entry: u32) -> Option<(PhysAddr, bool)> {
        (entry & PRESENT != 0 && entry & LARGE == 0)
            .then_some((PhysAddr((entry & ADDRESS) as Word), entry & SHARED != 0))
    }

    fn table_rights(entry: u32) -> Rights {
        if entry & READ_ONLY == READ_WRITE {
            Rights::RWX
        } else {
            Rights::READ.union(Rights::EXECUTE)
        }
    }

    fn large(leaf: Leaf) -> u32 {
        Self::leaf(Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf }) | LARGE
    }

    fn decode_large(entry: u32) -> Option<(Leaf, bool)> {
        let leaf = Self::decode(entry).filter(|_| entry & LARGE != 0)?;
        Some((leaf, entry & SHARED != 0))
    }

    fn supervisor(entry: u32) -> u32 {
        if entry == 0 { entry } else { entry | SUPERVISOR }
    }

    fn shared(entry: u32, rights: Rights) -> u32 {
        if rights.contains(Rights::WRITE) { entry | SHARED } else { entry | READ_ONLY | SHARED }
    }
}
