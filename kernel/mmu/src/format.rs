// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a port's translation tables look like. In every port the authoritative tables are a tree of
//! tables, each of a page; ports differ in the number of levels, the width of an entry and the
//! meaning of its bits.

use abi::{PAGE_SIZE, PhysAddr, Rights, UserAddr, Word};
use bytemuck::Pod;

/// How memory behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attributes {
    /// RAM: cached.
    Cached,
    /// RAM, not cached. Writes may be combined.
    Uncached,
    /// Device registers: neither cached nor combined.
    Device,
}

/// An entry of the lowest level, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Physical address of the page.
    pub physical: PhysAddr,
    /// Rights in force.
    pub rights: Rights,
    /// The most that `protect` may give: what `map` gave.
    pub most: Rights,
    /// How it behaves.
    pub attributes: Attributes,
    /// Whether all spaces that have a page at the address have this one, so that its translation
    /// may stay when the tables change. (A port may ignore it.)
    pub global: bool,
}

/// Layout of translation tables. A *leaf table* has the entries of pages. A *directory* has entries
/// that name leaf tables, or are large pages. A table of a higher level names tables of the level
/// below.
///
/// An all-zero entry is empty.
pub trait Format {
    /// An entry.
    type Entry: Pod + PartialEq + Eq;
    /// Levels of tables, at least 2. With 2 a space has one directory.
    const LEVELS: u32;

    /// Whether there are large pages: without, a span is mapped page by page.
    const HAS_LARGE: bool = true;

    /// Entries of a table.
    const ENTRIES: usize = PAGE_SIZE as usize / size_of::<Self::Entry>();
    /// Bytes that a leaf table maps.
    const SPAN: Word = PAGE_SIZE * Self::ENTRIES as Word;
    /// Leaf tables that cover the user's addresses.
    const USER_TABLES: usize = (abi::USER_END / Self::SPAN) as usize;

    /// The empty entry.
    #[must_use]
    fn empty() -> Self::Entry {
        bytemuck::Zeroable::zeroed()
    }
    /// Whether an entry is empty.
    #[must_use]
    fn is_empty(entry: Self::Entry) -> bool {
        entry == Self::empty()
    }

    /// The leaf table that maps an address: its number among all of a space.
    #[must_use]
    fn table_index(address: UserAddr) -> usize {
        (address.0 / Self::SPAN) as usize
    }
    /// The first address that a leaf table maps.
    #[must_use]
    fn table_start(index: usize) -> UserAddr {
        UserAddr(index as Word * Self::SPAN)
    }
    /// Index of an address in its leaf table.
    #[must_use]
    fn leaf_index(address: UserAddr) -> usize {
        (address.0 / PAGE_SIZE) as usize % Self::ENTRIES
    }
    /// Leaf tables that one entry spans in a table of this level: 1 is a directory.
    #[must_use]
    fn tables_of_entry(level: u32) -> usize {
        Self::ENTRIES.pow(level - 1)
    }

    /// The entry for a page.
    fn leaf(leaf: Leaf) -> Self::Entry;
    /// The entry for the page that follows in physical memory, with the same rights and attributes.
    fn next(entry: Self::Entry) -> Self::Entry;
    /// What an entry of a leaf table says; `None` if it is empty.
    fn decode(entry: Self::Entry) -> Option<Leaf>;
    /// Whether two entries of a leaf table have the same page and attributes, whatever their rights
    /// are.
    #[must_use]
    fn is_same_page(one: Self::Entry, other: Self::Entry) -> bool {
        let page = |entry| Self::decode(entry).map(|leaf| (leaf.physical, leaf.attributes));
        page(one) == page(other)
    }
    /// An entry of a higher level that names a table.
    fn table(physical: PhysAddr) -> Self::Entry;
    /// The table that an entry of a higher level names, and whether it is a Segment's.
    fn decode_table(entry: Self::Entry) -> Option<(PhysAddr, bool)>;
    /// The most rights that an entry that names a table leaves to the entries of that table.
    fn table_rights(entry: Self::Entry) -> Rights;
    /// A directory's entry that maps all of its span itself: a page of [`SPAN`](Self::SPAN) bytes
    /// at a multiple of its size.
    fn large(leaf: Leaf) -> Self::Entry;
    /// The large page that a directory's entry maps, and whether it is a Segment's.
    fn decode_large(entry: Self::Entry) -> Option<(Leaf, bool)>;
    /// A server's own entry of its directory, changed so that user mode of the spaces that show the
    /// server cannot access anything by a copy of it. (Where there are no servers, the entry as it
    /// is.)
    fn supervisor(entry: Self::Entry) -> Self::Entry;
    /// A space's copy of an entry of another directory, which gives at most `rights`. The copy of
    /// an empty entry maps nothing, but is not empty: the place is the Segment's.
    fn shared(entry: Self::Entry, rights: Rights) -> Self::Entry;
}
