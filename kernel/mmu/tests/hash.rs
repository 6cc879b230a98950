// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hashed table against a map of pages, as a walk of the processor's would see it.

use abi::UserAddr;
use mmu::hash::{Group, Inserted, VALID, insert, look_up, remove};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The walk as the manual has it (*Programming Environments*, section 7.6.1.4), written by its
/// picture: hash, group, compare.
fn walk(table: &[Group], vsid: u32, address: u32) -> Option<u32> {
    let page = address >> 12 & 0xffff;
    for second in [0, 1] {
        let hash = if second == 0 {
            (vsid & 0x7_ffff) ^ page
        } else {
            !((vsid & 0x7_ffff) ^ page) & 0x7_ffff
        };
        let group = table[hash as usize % table.len()];
        let found = group.iter().find(|[first, _]| {
            first >> 31 == 1
                && first >> 7 & 0xff_ffff == vsid
                && first >> 6 & 1 == second
                && first & 0x3f == page >> 10
        });
        if let Some([_, value]) = found {
            return Some(*value);
        }
    }
    None
}

/// Groups of the smallest table that there is. An entry has the upper 6 of a page's 16 bits, and
/// its place tells the other 10.
const GROUPS: usize = mmu::hash::LEAST;

/// A VSID and an address. All pages that differ in their upper bits only are in the same two
/// groups, so these are full.
fn page() -> impl Strategy<Value = (u32, u32)> {
    (1u32..4, 0u32..2, 0u32..64).prop_map(|(context, lower, upper)| {
        (mmu::vsid::vsid(context, 0), lower << 12 | upper << 22)
    })
}

proptest! {
    #[test]
    fn what_is_found_is_what_was_put_in(events in proptest::collection::vec((page(), any::<bool>(), any::<u32>()), 1..300)) {
        let mut table = vec![[[0; 2]; 8]; GROUPS];
        let (mut truth, mut hand) = (BTreeMap::new(), 0);
        for ((vsid, address), puts_in, value) in events {
            let at = UserAddr(address.into());
            if puts_in {
                let had = look_up(&table, vsid, at).is_some();
                let inserted = insert(&mut table, vsid, at, value, &mut hand);
                prop_assert_eq!(inserted == Inserted::Changed, had);
                truth.insert((vsid, address), value);
                prop_assert_eq!(walk(&table, vsid, address), Some(value), "what was put in last is there");
            } else {
                remove(&mut table, vsid, at);
                truth.remove(&(vsid, address));
            }
            for ((vsid, address), value) in &truth {
                let found = walk(&table, *vsid, *address);
                prop_assert!(found.is_none() || found == Some(*value), "it may be lost, but never another one");
                prop_assert_eq!(found, look_up(&table, *vsid, UserAddr((*address).into())));
            }
        }
        let mut rest = table.clone();
        let gone = mmu::vsid::vsid(1, 0);
        let removed = mmu::hash::remove_all(&mut rest, |vsid| vsid == gone);
        let stays = |vsid: u32, address| walk(&rest, vsid, address) == walk(&table, vsid, address).filter(|_| vsid != gone);
        prop_assert!(truth.keys().all(|(vsid, address)| stays(*vsid, *address)), "all of one VSID are taken out, and no others");
        let of = truth.keys().filter(|(vsid, address)| *vsid == gone && walk(&table, *vsid, *address).is_some());
        prop_assert_eq!(removed as usize, of.count());
        let entries = table.iter().flatten().filter(|[first, _]| first & VALID != 0).count();
        let found = truth.keys().filter(|(vsid, address)| walk(&table, *vsid, *address).is_some()).count();
        prop_assert_eq!(entries, found, "no entry is there twice, and none of a page that was taken out");
    }
}
