// SPDX-License-Identifier: MIT OR Apache-2.0
//! Coarse tables by which a space may only read.
//!
//! A Segment's tables are shared, and the processor's first-level entries have no rights of their
//! own. So a space that has a Segment attached without the right to write gets read-only copies of
//! its coarse tables. There are few copies: they are a cache, which faults fill, and a copy is
//! dropped when its table changes.

use crate::cache;
use crate::paging::{Coarse, physical_of_image};
use arch_common::shared::Shared;
use core::sync::atomic::{AtomicU32, Ordering};
use mmu::armv5::{COARSE_BYTES, read_only};

/// How many there are.
const COUNT: usize = 16;

/// How many are in use, for the fast paths.
pub static COPIES: AtomicU32 = AtomicU32::new(0);

static TABLES: Shared<[Coarse; COUNT]> = Shared::new([Coarse([0; 256]); COUNT]);

/// What a copy is a copy of.
#[derive(Clone, Copy)]
struct Shadow {
    /// The section of the directory that shows it; 0: none.
    section: usize,
    /// Physical address of the coarse table that it is a copy of.
    source: u32,
}

/// The copies.
pub struct Shadows {
    all: [Shadow; COUNT],
    next: usize,
}

impl Shadows {
    /// None yet.
    pub const fn new() -> Self {
        Self { all: [Shadow { section: 0, source: 0 }; COUNT], next: 0 }
    }

    /// Makes a copy of a coarse table that has these entries, to be shown in a section. Returns its
    /// physical address, and the section from which another copy has to be removed, if there was no
    /// free one.
    pub fn make(&mut self, section: usize, source: u32, entries: &[u32]) -> (u32, Option<usize>) {
        let index =
            self.all.iter().position(|shadow| shadow.section == section).unwrap_or(self.next);
        self.next = (self.next + 1) % COUNT;
        let before = core::mem::replace(&mut self.all[index], Shadow { section, source }).section;
        if before == 0 {
            COPIES.store(COPIES.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        // SAFETY: one processor, interrupts off; nothing walks the table: it is shown nowhere once
        // `before` is gone from the directory.
        let table = unsafe { &mut (*TABLES.get())[index] };
        table.0.iter_mut().zip(entries).for_each(|(to, from)| *to = read_only(*from));
        let at = TABLES.address() + index as u32 * COARSE_BYTES;
        cache::clean(at..at + COARSE_BYTES);
        (physical_of_image(at), (before != 0 && before != section).then_some(before))
    }

    /// The physical address of the copy of this coarse table that a section shows.
    pub fn find(&self, section: usize, source: u32) -> Option<u32> {
        let index = self
            .all
            .iter()
            .position(|shadow| shadow.section == section && shadow.source == source)?;
        Some(physical_of_image(TABLES.address() + index as u32 * COARSE_BYTES))
    }

    /// Forgets one copy of a coarse table in the page at this physical address. Returns the section
    /// that showed it.
    pub fn forget_copy(&mut self, page: u32) -> Option<usize> {
        let shadow = self
            .all
            .iter_mut()
            .find(|shadow| shadow.section != 0 && shadow.source & !(abi::PAGE_SIZE - 1) == page)?;
        COPIES.store(COPIES.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        Some(core::mem::take(&mut shadow.section))
    }
}
