// SPDX-License-Identifier: MIT OR Apache-2.0
//! The use of the hashed table by three functions, next to the paper's 37, 57 and 75 % (section
//! 5.2): its first two had the kernel's pages in the table, too.

use mmu::hash::PLACES;
use mmu::scatter::{GROUPS, fill};
use mmu::vsid::Function;

#[test]
fn scattered_vsids_fill_the_table_as_the_paper_s_do_at_least() {
    for (function, with_kernel, paper, tolerance) in [
        (Function::Process, true, 370, 120),
        (Function::ProcessAndSegment, true, 570, 120),
        (Function::Scattered, false, 750, 0),
    ] {
        let filled = fill(function, with_kernel);
        let used = filled.use_in_thousandths();
        let is_near =
            if tolerance == 0 { used >= paper } else { used.abs_diff(paper) <= tolerance };
        assert!(is_near, "{function:?}: {used} thousandths, the paper {paper}");
        assert_eq!(filled.histogram.iter().sum::<usize>(), GROUPS);
        let entries: usize =
            filled.histogram.iter().enumerate().map(|(entries, groups)| entries * groups).sum();
        assert_eq!(
            entries + filled.evicted,
            GROUPS * PLACES,
            "each entry is in the table or was evicted"
        );
    }
}
