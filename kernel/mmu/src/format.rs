// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a port's translation-table entries mean. The truth is a two-level table
//! of physical addresses in every port; only the bits differ.

use abi::Rights;

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

/// A lower-level entry, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    /// Physical address of the page.
    pub physical: u32,
    /// Rights in force.
    pub rights: Rights,
    /// The most that `protect` may give: what `map` gave.
    pub most: Rights,
    /// How it behaves.
    pub attributes: Attributes,
}

/// Encodes and decodes entries. An all-zero entry is empty; a lower-level entry has the page's
/// address in its upper bits, so that those of neighbouring pages differ by the size of one.
pub trait Format {
    /// The entry for a page.
    fn leaf(leaf: Leaf) -> u32;
    /// What a lower-level entry says; `None` if it is empty.
    fn decode(entry: u32) -> Option<Leaf>;
    /// An upper-level entry that names a table at a physical address.
    fn table(physical: u32) -> u32;
    /// Physical address of the table that an upper-level entry names, and whether it is a
    /// Segment's.
    fn decode_table(entry: u32) -> Option<(u32, bool)>;
    /// The most that an upper-level entry which names a table lets the table's entries give.
    fn table_rights(entry: u32) -> Rights;
    /// An upper-level entry that maps all of its span itself: a page of `TABLE_SPAN` bytes at a
    /// multiple of its size.
    fn large(leaf: Leaf) -> u32;
    /// The large page that an upper-level entry maps, and whether it is a Segment's.
    fn decode_large(entry: u32) -> Option<(Leaf, bool)>;
    /// A space's copy of an upper-level entry of a Segment, which gives at most `rights`. The copy of an
    /// empty entry maps nothing, but is not empty: the place is the Segment's.
    fn shared(entry: u32, rights: Rights) -> u32;
}
