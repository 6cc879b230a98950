// SPDX-License-Identifier: MIT OR Apache-2.0
//! How well a function that makes VSIDs fills the hashed table: the experiment of section 5.2 of
//! Dougan, Mackerras, Yodaiken 1999, by counting instead of running. Programs of equal layout put
//! their pages into a table until there are as many pages as the table has entries; a page that
//! finds no place in either of its groups replaces another one.

use crate::hash::{PLACES, groups};
use crate::vsid::Function;
use abi::UserAddr;

/// Groups of the table: that of the paper's machines with 32 MiB of RAM, 16,384 entries.
pub const GROUPS: usize = 2048;
/// The segment of the kernel's own pages, and their number, where the table has these, too.
const KERNEL: (u32, u32) = (12, 1024);
/// A large program: the first page of each part, how many there are, and whether they go downwards.
/// 24 of them fill the table.
const PROGRAM: [(u32, u32, bool); 5] = [
    (0x0180_0000, 200, false),
    (0x1001_0000, 60, false),
    (0x3000_0000, 220, false),
    (0x1005_0000, 180, false),
    (0x7fff_f000, 22, true),
];

/// How a table was filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filled {
    /// How many groups have 0, 1, ... entries.
    pub histogram: [usize; PLACES + 1],
    /// Entries that found no place.
    pub evicted: usize,
}

impl Filled {
    /// Entries of the table that are used, in thousandths of all.
    #[must_use]
    pub fn use_in_thousandths(&self) -> usize {
        let used: usize =
            self.histogram.iter().enumerate().map(|(entries, groups)| entries * groups).sum();
        used * 1000 / (GROUPS * PLACES)
    }
}

/// Fills a table, with or without pages of the kernel.
#[must_use]
pub fn fill(function: Function, with_kernel: bool) -> Filled {
    let (mut entries, mut evicted, mut inserted) = ([0; GROUPS], 0, 0);
    let mut insert = |vsid: u32, address: u32| {
        if inserted == GROUPS * PLACES {
            return false;
        }
        inserted += 1;
        match groups(vsid, UserAddr(address.into()), GROUPS)
            .into_iter()
            .find(|group| entries[*group] < PLACES)
        {
            Some(group) => entries[group] += 1,
            None => evicted += 1,
        }
        true
    };
    if with_kernel {
        let (segment, pages) = KERNEL;
        (0..pages).for_each(|page| {
            _ = insert(function.vsid(0, segment), (segment << 28) + page * abi::PAGE_SIZE as u32)
        });
    }
    // The processes of a machine that has run for a while.
    let mut process = 400;
    while PROGRAM.iter().all(|(base, pages, down)| {
        (0..*pages).all(|page| {
            let bytes = page * abi::PAGE_SIZE as u32;
            insert(
                function.vsid(process, base >> 28),
                if *down { base - bytes } else { base + bytes },
            )
        })
    }) {
        process += 1;
    }
    let histogram =
        core::array::from_fn(|count| entries.iter().filter(|entries| **entries == count).count());
    Filled { histogram, evicted }
}
