// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables of an imaginary processor: two levels of 32-bit entries, or four of 64-bit
//! ones. An entry has the address in its upper bits, and a bit for each right.

use abi::{PAGE_SIZE, PhysAddr, Rights, Word};
use mmu::{Attributes, Format, Leaf};

/// The bits of the rights in force.
const RIGHTS: Word = 7;
/// The bits of the most rights.
const MOST_SHIFT: u32 = 3;
/// The entry holds a page, of either size.
const PAGE: Word = 1 << 6;
/// The entry names a table; together with [`PAGE`], it is a large page.
const TABLE: Word = 1 << 7;
/// The bits that say what the entry is.
const KIND: Word = PAGE | TABLE;
/// The entry is a copy of one in another directory.
const SHARED: Word = 1 << 8;
/// The entry is a server's.
const SUPERVISOR: Word = 1 << 9;
/// The page is a device's.
const DEVICE: Word = 1 << 10;
/// The page is RAM that is not cached.
const UNCACHED: Word = 1 << 11;

/// The format of translation tables on the host.
#[derive(Clone, Copy, Debug)]
pub struct HostFormat;

const fn rights(entry: Word) -> Rights {
    Rights((entry & RIGHTS) as u32)
}

impl Format for HostFormat {
    type Entry = Word;
    // Users' addresses end with an entry of the highest table: with pages of 8 KiB three levels do.
    const LEVELS: u32 = match (size_of::<Word>(), PAGE_SIZE) {
        (4, _) => 2,
        (_, 4096) => 4,
        _ => 3,
    };

    fn leaf(leaf: Leaf) -> Word {
        let attributes = match leaf.attributes {
            Attributes::Cached => 0,
            Attributes::Uncached => UNCACHED,
            Attributes::Device => DEVICE,
        };
        leaf.physical.align_down(PAGE_SIZE).0
            | leaf.rights.0 as Word
            | (leaf.most.0 as Word) << MOST_SHIFT
            | PAGE
            | attributes
    }
    fn next(entry: Word) -> Word {
        entry.wrapping_add(PAGE_SIZE)
    }
    fn decode(entry: Word) -> Option<Leaf> {
        let attributes = match entry & (DEVICE | UNCACHED) {
            0 => Attributes::Cached,
            UNCACHED => Attributes::Uncached,
            _ => Attributes::Device,
        };
        let physical = PhysAddr(entry).align_down(PAGE_SIZE);
        let (rights, most) = (rights(entry), rights(entry >> MOST_SHIFT));
        (entry & PAGE != 0).then_some(Leaf { physical, rights, most, attributes, global: false })
    }
    fn table(physical: PhysAddr) -> Word {
        physical.0 | TABLE | RIGHTS
    }
    fn decode_table(entry: Word) -> Option<(PhysAddr, bool)> {
        (entry & KIND == TABLE)
            .then_some((PhysAddr(entry).align_down(PAGE_SIZE), entry & SHARED != 0))
    }
    fn table_rights(entry: Word) -> Rights {
        rights(entry)
    }
    fn large(leaf: Leaf) -> Word {
        Self::leaf(Leaf { physical: leaf.physical.align_down(Self::SPAN), ..leaf }) | TABLE
    }
    fn decode_large(entry: Word) -> Option<(Leaf, bool)> {
        Self::decode(entry).filter(|_| entry & KIND == KIND).map(|leaf| (leaf, entry & SHARED != 0))
    }
    fn supervisor(entry: Word) -> Word {
        if entry & KIND == 0 { entry } else { entry | SUPERVISOR }
    }
    fn shared(entry: Word, rights: Rights) -> Word {
        entry & (!RIGHTS | rights.0 as Word) | SHARED
    }
}
