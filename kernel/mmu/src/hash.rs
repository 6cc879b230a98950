// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hashed table of a 604 (*Programming Environments for 32-bit Microprocessors*, section 7.6):
//! a cache of the translation tables, which the processor looks at when its TLB has no entry.
//!
//! A page's entry can be in one of two groups of eight. If both are full, an entry there is
//! replaced; the space that lost it has a fault, and gets it again. R and C are set from the start,
//! so the processor only reads the table.

use abi::UserAddr;

/// An entry: the page, and what it is mapped to.
pub type Pte = [u32; 2];
/// Entries of a group.
pub const PLACES: usize = 8;
/// Entries with one hash.
pub type Group = [Pte; PLACES];
/// In the first word: the entry is valid.
pub const VALID: u32 = 1 << 31;
/// In the first word: it is in the second of its two groups.
pub const SECOND: u32 = 1 << 6;

/// What [`insert`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The page had an entry, which was changed.
    Changed,
    /// A place was free.
    Free,
    /// It replaced the entry of another page.
    Evicted,
}

/// Groups of the smallest table: an entry has the upper 6 bits of a page's 16-bit number in its
/// segment, and its group has to determine the others.
pub const LEAST: usize = 1024;

/// The two groups of a page, in a table of `count` groups: a power of two, at least [`LEAST`].
#[must_use]
pub const fn groups(vsid: u32, address: UserAddr, count: usize) -> [usize; 2] {
    let hash = (vsid ^ (address.0 as u32 >> 12 & 0xffff)) as usize;
    [hash & (count - 1), !hash & (count - 1)]
}

/// The first word of a page's entry, in its first group or its second one.
#[must_use]
pub const fn tag(vsid: u32, address: UserAddr, is_second: bool) -> u32 {
    VALID | vsid << 7 | if is_second { SECOND } else { 0 } | address.0 as u32 >> 22 & 0x3f
}

/// Where the entry of a page is, if there is one.
fn find(table: &[Group], vsid: u32, address: UserAddr) -> Option<(usize, usize)> {
    let places = groups(vsid, address, table.len()).into_iter().zip([false, true]);
    places.into_iter().find_map(|(group, is_second)| {
        let tag = tag(vsid, address, is_second);
        table[group].iter().position(|pte| pte[0] == tag).map(|place| (group, place))
    })
}

/// Inserts the entry of a page, whose second word is `value`. `hand` is the place whose entry was
/// last replaced: the places of a group take turns.
pub fn insert(
    table: &mut [Group],
    vsid: u32,
    address: UserAddr,
    value: u32,
    hand: &mut usize,
) -> Inserted {
    if let Some((group, place)) = find(table, vsid, address) {
        table[group][place][1] = value;
        return Inserted::Changed;
    }
    for (group, is_second) in groups(vsid, address, table.len()).into_iter().zip([false, true]) {
        if let Some(pte) = table[group].iter_mut().find(|pte| pte[0] & VALID == 0) {
            *pte = [tag(vsid, address, is_second), value];
            return Inserted::Free;
        }
    }
    *hand = (*hand + 1) % PLACES;
    let [group, _] = groups(vsid, address, table.len());
    table[group][*hand] = [tag(vsid, address, false), value];
    Inserted::Evicted
}

/// Removes the entry of a page. Returns whether there was one.
pub fn remove(table: &mut [Group], vsid: u32, address: UserAddr) -> bool {
    let found = find(table, vsid, address);
    if let Some((group, place)) = found {
        table[group][place] = [0, 0];
    }
    found.is_some()
}

/// Removes all entries of some VSIDs. Returns how many there were.
pub fn remove_all(table: &mut [Group], is_of: impl Fn(u32) -> bool) -> u32 {
    let entries = table
        .as_flattened_mut()
        .iter_mut()
        .filter(|pte| pte[0] & VALID != 0 && is_of((pte[0] & !VALID) >> 7));
    entries.map(|pte| *pte = [0, 0]).count() as u32
}

/// What the processor finds of a page: the second word of its entry.
#[must_use]
pub fn look_up(table: &[Group], vsid: u32, address: UserAddr) -> Option<u32> {
    find(table, vsid, address).map(|(group, place)| table[group][place][1])
}
