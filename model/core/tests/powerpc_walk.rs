// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation on PowerPC against the kernel's own algorithms: the model finds what the kernel's
//! functions put into the hashed table and into its tables, and nothing else.

use abi::{PhysAddr, Rights, UserAddr};
use mmu::hash::{self, Group, PLACES};
use mmu::powerpc::{NO_WRITE, PowerPc, seen};
use mmu::{Attributes, Format, Leaf, vsid};
use model_core::powerpc::{Controls, Mapping, search, walk};
use model_core::{NoMapping, Physical};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Where the hashed table lies.
const TABLE: u32 = 0x0040_0000;
const GROUPS: usize = 1024;

/// A hashed table, as a processor reads it.
struct Hashed(Vec<Group>);

impl Physical for Hashed {
    fn read(&mut self, address: u32) -> Option<u32> {
        let offset = address.checked_sub(TABLE)? as usize;
        Some(self.0.get(offset / 64)?[offset / 8 % PLACES][offset / 4 % 2])
    }
}

/// Words by address.
struct Words(BTreeMap<u32, u32>);

impl Physical for Words {
    fn read(&mut self, address: u32) -> Option<u32> {
        Some(self.0.get(&address).copied().unwrap_or(0))
    }
}

proptest! {
    /// More pages than a table's groups hold, so that some are in their second group and some are
    /// lost.
    #[test]
    fn the_processor_finds_what_the_kernel_inserts(
        pages in prop::collection::vec((1_u32..60, 0_u32..0xc00, 0_u32..0x40), 1..600), gone in prop::collection::vec(any::<prop::sample::Index>(), 0..40)
    ) {
        let (mut table, mut hand) = (Hashed(vec![[[0; 2]; PLACES]; GROUPS]), 0);
        let places: Vec<_> = pages.iter().map(|(context, page, far)| {
            let address = UserAddr(page << 12 | far << 24 & 0xbf00_0000);
            (vsid::of_address(*context, address), address)
        }).collect();
        for (value, (vsid, address)) in (0_u32..).zip(&places) {
            hash::insert(&mut table.0, *vsid, *address, value << 12 | 0x182, &mut hand);
        }
        for index in gone {
            let (vsid, address) = places[index.index(places.len())];
            hash::remove(&mut table.0, vsid, address);
        }
        for (vsid, address) in places {
            let wanted = hash::look_up(&table.0, vsid, address).map(Mapping).ok_or(NoMapping::Absent);
            let mut read = Vec::new();
            // SDR1: 64 KiB, so no bit of the mask.
            prop_assert_eq!(search(&mut table, TABLE, vsid, address.0, |entry| read.push(entry)), wanted);
            prop_assert!(read.len() <= 2 * PLACES && read.iter().all(|entry| (TABLE..TABLE + 0x1_0000).contains(entry)));
            prop_assert_eq!(wanted.is_err() && read.len() < 2 * PLACES, false, "it gave up early");
        }
    }

    /// Pages and large pages, with any rights, also below a directory's entry that only reads, by
    /// the entry or by the segment's key; in a server's window, too, which may be shut.
    #[test]
    fn the_tables_are_those_of_the_kernel(
        address in 0_u32..0xc000_0000, physical in 0_u32..0x8_0000, write: bool, none: bool, large: bool, shared_reads: bool,
        window: bool, open: bool, as_whole: bool
    ) {
        let (directory, table) = (0x10_0000_u32, 0x20_0000_u32);
        let rights = if none { Rights::NONE } else if write { Rights::READ.union(Rights::WRITE) } else { Rights::READ };
        let leaf = Leaf { physical: PhysAddr(physical << 12), rights, most: rights, attributes: Attributes::Cached, global: false };
        let upper = if large { PowerPc::large(leaf) } else {
            let entry = PowerPc::table(PhysAddr(table));
            if shared_reads { PowerPc::shared(entry, Rights::READ) } else { entry }
        };
        let upper = if window { PowerPc::supervisor(upper) } else { upper };
        let lower = PowerPc::leaf(leaf);
        let mut words = Words(BTreeMap::from([(directory + (address >> 22) * 4, upper), (table + (address >> 12 & 0x3ff) * 4, lower)]));
        // A Segment that a space has as a whole, and may only read: the key says so.
        let key = shared_reads && as_whole && !large;
        let seen_from = if key { upper & !NO_WRITE } else { upper };
        let wanted = seen(seen_from, if large { 0 } else { lower }, address).map(Mapping).filter(|_| open || !window);
        let keyed = if key { vsid::KEY } else { 0 };
        let segments = core::array::from_fn(|segment| vsid::vsid(u32::from(open), segment as u32) | keyed);
        let controls = Controls { directory, segments, ..Controls::default() };
        let mut read = 0;
        prop_assert_eq!(walk(&mut words, &controls, address, |_| read += 1).ok(), wanted);
        if let Some(found) = wanted {
            prop_assert_eq!(found.permits(true, key), write && (large || !shared_reads));
            prop_assert_eq!(read, if large { 1 } else { 2 });
        }
    }
}

#[test]
fn tables_that_cannot_be_read() {
    let mut none = Hashed(Vec::new());
    assert_eq!(search(&mut none, TABLE, 1, 0, |_| ()), Err(NoMapping::Unreachable));
    assert_eq!(walk(&mut none, &Controls::default(), 0, |_| ()), Err(NoMapping::Unreachable));
}
