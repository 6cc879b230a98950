// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free RAM against a set of its pages.

use abi::boot::RAM_RANGES;
use abi::{PAGE_SIZE, PhysAddr, Word};
use kcore::boot::Range;
use kcore::ram::Ram;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Pages of the machine.
const PAGES: Word = 200;

fn pages(ranges: &[Range]) -> Vec<Word> {
    ranges.iter().flat_map(|range| range.base.0 / PAGE_SIZE..range.end().0 / PAGE_SIZE).collect()
}

proptest! {
    /// Holes are taken out of one piece of RAM: what is left is what no hole touches, but for the
    /// smallest pieces if there are too many.
    #[test]
    fn what_no_hole_touches_is_left(holes in prop::collection::vec((0..PAGES * PAGE_SIZE, 1..3 * PAGE_SIZE), 0..60)) {
        let mut ram = Ram::default();
        // The first and the last page are not whole.
        ram.add(PhysAddr(1), PhysAddr(PAGES * PAGE_SIZE - 1));
        let mut free: BTreeSet<Word> = (1..PAGES - 1).collect();
        for (base, bytes) in holes {
            ram.exclude(Range { base: PhysAddr(base), bytes });
            free.retain(|page| (page + 1) * PAGE_SIZE <= base || page * PAGE_SIZE >= base + bytes);
            let told = pages(ram.ranges());
            let once: BTreeSet<Word> = told.iter().copied().collect();
            prop_assert_eq!(once.len(), told.len(), "a page is told of once");
            prop_assert!(once.is_subset(&free));
            prop_assert!(ram.ranges().len() <= RAM_RANGES && ram.ranges().iter().all(|range| range.bytes != 0));
            if ram.left_out() == 0 {
                prop_assert_eq!(&once, &free);
            } else {
                prop_assert!(free.len() - once.len() <= (ram.left_out() / PAGE_SIZE) as usize);
            }
        }
    }
}

#[test]
fn the_smallest_pieces_are_left_out() {
    let mut ram = Ram::default();
    let piece = |index: Word| 1 + (index * 7) % 40;
    for index in 0..40 {
        let base = PhysAddr(index * 64 * PAGE_SIZE);
        ram.add(base, base + piece(index) * PAGE_SIZE);
    }
    let mut sizes: Vec<Word> = (0..40).map(piece).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut told: Vec<Word> = ram.ranges().iter().map(|range| range.bytes / PAGE_SIZE).collect();
    told.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(told, sizes[..RAM_RANGES]);
    assert_eq!(ram.left_out() / PAGE_SIZE, sizes[RAM_RANGES..].iter().sum());
}
