// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages of x86-64's entry area, and what each ring may do with them.

use mmu::area::{Access, BASE, PARTS, Page, access, entry, fill, stray, table};
use mmu::x86_64::bits::{ADDRESS, GLOBAL, NO_EXECUTE, PRESENT, USER, WRITABLE};

const ENTRIES: usize = 512;

/// Some page for each.
fn physical(page: Page) -> u64 {
    0x10_0000 + page as u64 * 0x3000
}

fn filled() -> [u64; ENTRIES] {
    let mut entries = [0; ENTRIES];
    fill(&mut entries, physical);
    entries
}

#[test]
fn a_page_gives_each_ring_what_the_list_says() {
    let entries = filled();
    for part in &PARTS {
        let found = entries[part.page as usize];
        assert_eq!(found & ADDRESS, physical(part.page));
        assert_eq!([0, 1, 3].map(|ring| access(found, ring)), part.rings, "{:?}", part.page);
    }
    let pages = entries.iter().filter(|entry| **entry != 0).count();
    assert_eq!(pages, PARTS.len(), "nothing else is there");
}

/// What holds of any list that keeps a server off the kernel.
#[test]
fn no_ring_gets_more_than_is_safe() {
    for part in &PARTS {
        let [kernel, server, process] = part.rings;
        assert_eq!(process, Access::NONE, "{:?}: processes have nothing of it", part.page);
        assert_eq!(kernel, server, "{:?}: the code at ring 0 can do no more", part.page);
        assert!(!(server.write && server.execute), "{:?}: nobody writes code", part.page);
        assert!(!server.write || part.is_own, "{:?}: another server would see it", part.page);
        let found = entry(part, physical(part.page));
        assert_eq!(found & GLOBAL, 0, "{:?}: another table has another page there", part.page);
        assert!((BASE..=u64::MAX - 4095).contains(&part.page.address()));
    }
    let places: std::collections::BTreeSet<usize> =
        PARTS.iter().map(|part| part.page as usize).collect();
    assert_eq!(places.len(), PARTS.len(), "two pages have one place");
    assert_eq!(access(table(0x1000), 3), Access::NONE, "what leads there is the supervisor's");
    assert_eq!(access(table(0x1000), 1), Access { execute: true, ..Access::WRITE });
}

/// The processor's rules, by which the lists above are held.
#[test]
fn rights_are_those_of_the_processor() {
    assert_eq!(access(0, 0), Access::NONE);
    assert_eq!(access(WRITABLE | USER, 0), Access::NONE, "it is not present");
    assert_eq!(access(PRESENT, 1), Access::EXECUTE);
    assert_eq!(access(PRESENT | NO_EXECUTE, 0), Access::READ);
    assert_eq!(access(PRESENT | WRITABLE | NO_EXECUTE, 1), Access::WRITE);
    assert_eq!(access(PRESENT, 3), Access::NONE);
    assert_eq!(access(PRESENT | USER, 3), Access::EXECUTE);
    assert_eq!(access(PRESENT | USER | WRITABLE, 1), Access::WRITE, "a user's page is no code");
}

#[test]
fn what_does_not_belong_there_is_found() {
    let good = filled();
    assert_eq!(stray(&good, physical), None);
    let accessed_and_dirty = 1 << 5 | 1 << 6;
    let used = good.map(|entry| if entry == 0 { 0 } else { entry | accessed_and_dirty });
    assert_eq!(stray(&used, physical), None);
    for place in 0..ENTRIES {
        for bit in [PRESENT, WRITABLE, USER, GLOBAL, NO_EXECUTE, 0x1000] {
            let mut bad = good;
            bad[place] ^= bit;
            assert_eq!(stray(&bad, physical), Some(place), "{place}: {bit:#x}");
        }
    }
}
