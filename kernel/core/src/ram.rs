// SPDX-License-Identifier: MIT OR Apache-2.0
//! Free RAM, as a port finds it at boot: ranges, from which the port removes what is in use
//! already.

use crate::boot::Range;
use abi::boot::RAM_RANGES;
use abi::{PAGE_SIZE, PhysAddr, Word};

/// Ranges of whole pages, at most as many as the root server is told of. If there are more, the
/// smallest are left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ram {
    ranges: [Range; RAM_RANGES],
    count: usize,
    left_out: Word,
}

impl Ram {
    /// The ranges, in no order.
    #[must_use]
    pub fn ranges(&self) -> &[Range] {
        self.ranges.get(..self.count).unwrap_or_default()
    }

    /// Bytes that were left out as there were too many ranges.
    #[must_use]
    pub const fn left_out(&self) -> Word {
        self.left_out
    }

    /// Adds the whole pages from `base` up to `end`, if there are any. They are in no other range.
    pub fn add(&mut self, base: PhysAddr, end: PhysAddr) {
        let end = end.align_down(PAGE_SIZE);
        if base >= end {
            return;
        }
        // There is a page's start from here up to the end.
        let base = base.align_up(PAGE_SIZE);
        if base == end {
            return;
        }
        let mut added = Range { base, bytes: end - base };
        if let Some(free) = self.ranges.get_mut(self.count) {
            *free = added;
            self.count += 1;
            return;
        }
        if let Some(smallest) = self
            .ranges
            .iter_mut()
            .min_by_key(|range| range.bytes)
            .filter(|range| range.bytes < added.bytes)
        {
            core::mem::swap(smallest, &mut added);
        }
        self.left_out += added.bytes;
    }

    /// Takes the pages that `hole` touches out of the ranges.
    pub fn exclude(&mut self, hole: Range) {
        let (start, end) = (hole.base.align_down(PAGE_SIZE), hole.end().align_up(PAGE_SIZE));
        let mut left = Self { left_out: self.left_out, ..Self::default() };
        for range in self.ranges() {
            left.add(range.base, range.end().min(start));
            left.add(range.base.max(end), range.end());
        }
        *self = left;
    }
}
