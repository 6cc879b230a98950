// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of translations that a processor might still have, and that the tables no longer
//! have.
//!
//! As on IA-32, the checker keeps every translation that was used until an instruction flushes it,
//! and a store into a table marks the translations that depend on it. When a marked one is used, or
//! a global one under other tables than before, the tables are walked again and compared.
//!
//! QEMU has no PCIDs, so each load of CR3 flushes what is not global, and a kernel in QEMU relies
//! on that. The checker does not examine which translations stay by a PCID: `mmu::pcid` has tests
//! of its own.
//!
//! The checker does not see entries that a processor loads by speculation, before the first use;
//! stores into tables by devices or by user code; and pieces of a large page that remain when one
//! of its pages is flushed after the tables have split it.

use super::walk::{Mapping, Memory, Size, walk};
use crate::memory::NoMapping;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Linear address.
    pub address: u64,
    /// Whether it is a write.
    pub write: bool,
    /// Whether ring 3 does it: others may use supervisor pages.
    pub user: bool,
    /// Whether it fetches code.
    pub fetch: bool,
}

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The tables have this mapping.
    Good(Mapping),
    /// The TLB may have a translation that is no longer true since the instruction at this address,
    /// the lower half of a kernel's.
    Stale(u32),
    /// The tables cannot be read.
    Unknown,
}

/// A translation that was used.
#[derive(Clone, Copy)]
struct Entry {
    /// Its age: entries with another age than the present one were flushed.
    age: u32,
    /// The mapping of these 4 KiB, which may be a part of a larger page,
    mapping: Mapping,
    /// and the size of that page.
    size: Size,
    /// The tables that last had it.
    root: u64,
    /// Whether a table that it depends on was written since.
    suspect: bool,
}

/// Pages of linear addresses that are below an entry of a table: where they begin, and the binary
/// logarithm of how many are below each entry.
type Role = (u64, u32);

/// The checker.
#[derive(Default)]
pub struct Checker {
    /// By the number of the page.
    entries: FxHashMap<u64, Entry>,
    /// Age of entries that are not global, and of those that are.
    ages: [u32; 2],
    /// By the number of the page of physical memory.
    tables: FxHashMap<u64, Vec<Role>>,
    /// The instruction that made a page's entry suspect.
    causes: FxHashMap<u64, u32>,
    /// The instruction that loaded CR3.
    switched_by: u32,
    /// Whether a page of 1 GiB was ever found.
    has_huge: bool,
}

const PAGE_SHIFT: u32 = Size::Small.shift();

impl Checker {
    fn held(&self, page: u64) -> Option<Entry> {
        let entry = *self.entries.get(&page)?;
        (entry.age == self.ages[usize::from(entry.mapping.global)]).then_some(entry)
    }

    /// An access has succeeded, with paging on and the tables below `root`, the value of CR3.
    pub fn access(&mut self, access: Access, root: u64, memory: &mut impl Memory) -> Verdict {
        let page = access.address >> PAGE_SHIFT;
        let held = self.held(page);
        let survived = held.is_some_and(|entry| entry.mapping.global && entry.root != root);
        if survived && held.is_some_and(|entry| !entry.suspect) {
            self.causes.insert(page, self.switched_by);
        }
        let doubtful = held.filter(|entry| survived || entry.suspect);
        // A processor walks again before it refuses an access, so an entry that forbids it is no
        // use of it.
        if let Some(entry) =
            held.filter(|entry| doubtful.is_none() && allows(entry.mapping, access))
        {
            return Verdict::Good(entry.mapping);
        }
        let found = match self.walk(access.address, root, memory) {
            Err(NoMapping::Unreachable) => return Verdict::Unknown,
            found => found.ok(),
        };
        if doubtful.is_some_and(|entry| contradicts(entry.mapping, access, found)) {
            // Reported once for each change of the tables.
            self.enter(page, found, root);
            return self.stale(page);
        }
        match (found, doubtful) {
            // Still there with fewer rights than the entry: suspect until flushed.
            (Some(now), Some(entry)) if !covers(now, entry.mapping) => Verdict::Good(entry.mapping),
            (Some(now), _) => {
                self.enter(page, found, root);
                Verdict::Good(now)
            }
            // It was done, and the tables say that it cannot be: no entry of ours explains it.
            (None, _) => self.stale(page),
        }
    }

    fn stale(&self, page: u64) -> Verdict {
        Verdict::Stale(self.causes.get(&page).copied().unwrap_or(0))
    }

    fn enter(&mut self, page: u64, found: Option<Mapping>, root: u64) {
        let Some(now) = found else {
            self.entries.remove(&page);
            return;
        };
        let (age, size) = (self.ages[usize::from(now.global)], now.size);
        let mapping = now.piece(page << PAGE_SHIFT);
        self.has_huge |= size == Size::Huge;
        self.entries.insert(page, Entry { age, mapping, size, root, suspect: false });
    }

    fn walk(
        &mut self,
        address: u64,
        root: u64,
        memory: &mut impl Memory,
    ) -> Result<Mapping, NoMapping> {
        let tables = &mut self.tables;
        walk(memory, root, address, |table, shift| {
            // What 512 entries span begins at a multiple of that.
            let role = (address >> (shift + 9) << (shift + 9 - PAGE_SHIFT), shift - PAGE_SHIFT);
            let roles = tables.entry(table >> PAGE_SHIFT).or_default();
            if !roles.contains(&role) {
                roles.push(role);
            }
        })
    }

    /// The instruction at `instruction`, which is the lower half of a kernel address, writes
    /// physical memory at `physical`.
    pub fn stored(&mut self, physical: u64, instruction: u32) {
        let Some(roles) = self.tables.get(&(physical >> PAGE_SHIFT)) else { return };
        let index = physical >> 3 & 0x1ff;
        for &(first, shift) in roles {
            let first = first + (index << shift);
            let pages = first..first + (1 << shift);
            if shift == 0 {
                doubt(&mut self.entries, self.ages, &mut self.causes, first, instruction);
                continue;
            }
            for page in below(&self.entries, &pages) {
                doubt(&mut self.entries, self.ages, &mut self.causes, page, instruction);
            }
        }
    }

    /// One translation is flushed: that of a large page completely.
    pub fn flush_page(&mut self, address: u64) {
        let page = address >> PAGE_SHIFT;
        self.entries.remove(&page);
        for size in [Size::Large, Size::Huge].into_iter().take(1 + usize::from(self.has_huge)) {
            let pages = address >> size.shift() << (size.shift() - PAGE_SHIFT);
            let pages = pages..pages + (1 << (size.shift() - PAGE_SHIFT));
            for page in below(&self.entries, &pages) {
                if self.entries.get(&page).is_some_and(|entry| entry.size == size) {
                    self.entries.remove(&page);
                }
            }
        }
    }

    /// Everything that is not global is flushed, by the instruction at this address, which may also
    /// load other tables.
    pub fn flush_local(&mut self, instruction: u32) {
        self.switched_by = instruction;
        self.ages[0] += 1;
    }

    /// Everything is flushed.
    pub fn flush_all(&mut self) {
        self.ages = self.ages.map(|age| age + 1);
    }
}

/// The pages of a range that have entries.
fn below(entries: &FxHashMap<u64, Entry>, pages: &Range<u64>) -> Vec<u64> {
    let count = pages.end - pages.start;
    // Whichever are fewer are looked at.
    if count <= entries.len() as u64 {
        pages.clone().filter(|page| entries.contains_key(page)).collect()
    } else {
        entries.keys().copied().filter(|page| pages.contains(page)).collect()
    }
}

fn doubt(
    entries: &mut FxHashMap<u64, Entry>,
    ages: [u32; 2],
    causes: &mut FxHashMap<u64, u32>,
    page: u64,
    instruction: u32,
) {
    let Some(entry) = entries.get_mut(&page) else { return };
    if entry.age == ages[usize::from(entry.mapping.global)] {
        entry.suspect = true;
        causes.insert(page, instruction);
    }
}

/// Whether an entry with this mapping permits an access.
const fn allows(mapping: Mapping, access: Access) -> bool {
    (mapping.writable || !access.write)
        && (mapping.user || !access.user)
        && (mapping.executable || !access.fetch)
}

/// Whether what the entry permits differs from what the tables permit, for this access.
fn contradicts(entry: Mapping, access: Access, found: Option<Mapping>) -> bool {
    found.is_none_or(|now| {
        let moved = now.piece(access.address).frame != entry.frame;
        // An entry that forbids the access does not decide.
        allows(entry, access) && (moved || !allows(now, access))
    })
}

/// Whether a mapping permits all that an entry does, at the same place.
const fn covers(now: Mapping, entry: Mapping) -> bool {
    (now.writable || !entry.writable)
        && (now.user || !entry.user)
        && (now.executable || !entry.executable)
}
