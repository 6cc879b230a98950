// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of translations that a processor might still have, and that the tables no longer
//! have.
//!
//! As in [`crate::ia32::Checker`], a TLB without limits, one for code and one for data, holds each
//! translation that was used until an operation flushes it. A store into a table marks those that
//! depend on it; a marked one is compared with the tables when it is used next. No entry belongs to
//! a space: one that was found with another first-level table is compared, too.

use super::instruction::Which;
use super::walk::{Access, Controls, Mapping, Size, walk};
use crate::memory::{NoMapping, Physical};
use rustc_hash::FxHashMap;

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It used this translation.
    Good(Mapping),
    /// It used this translation, which the TLB had before and which the tables have, too.
    Held(Mapping),
    /// The TLB may have another translation than the tables since the instruction at this address;
    /// they have this one.
    Stale(u32, Option<Mapping>),
    /// The tables cannot be read.
    Unknown,
}

/// A translation that was used, of a page of 4 KiB.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Its age: entries with another age than the present one were flushed.
    age: u32,
    /// Frame and flags.
    word: u32,
    /// The first-level table below which the tables last had it.
    root: u32,
    permissions: u8,
    domain: u8,
}

const CACHED: u32 = 1;
const BUFFERED: u32 = 2;
const SUSPECT: u32 = 4;
const SECTION: u32 = 8;
const LARGE: u32 = 16;
const FRAME: u32 = !0xfff;

impl Entry {
    fn new(mapping: Mapping, address: u32, age: u32, root: u32) -> Self {
        let piece = mapping.piece(address);
        let flag = |set, flag| if set { flag } else { 0 };
        let size =
            flag(mapping.size == Size::Section, SECTION) | flag(mapping.size == Size::Large, LARGE);
        let word = piece.frame | flag(piece.cached, CACHED) | flag(piece.buffered, BUFFERED) | size;
        Self { age, word, root, permissions: piece.permissions, domain: piece.domain }
    }

    fn mapping(self) -> Mapping {
        let (cached, buffered) = (self.word & CACHED != 0, self.word & BUFFERED != 0);
        let (frame, domain, permissions) = (self.word & FRAME, self.domain, self.permissions);
        Mapping { frame, size: Size::Small, domain, permissions, cached, buffered }
    }
}

/// The tables that a KiB of physical memory is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The first level, from this MiB on.
    Upper(u32),
    /// The second level for this MiB.
    Lower(u32),
}

/// Entries by page. Those of a MiB that was never used take no memory.
struct Pages(Vec<Vec<Entry>>);

impl Pages {
    const OF_SECTION: usize = 256;

    fn new() -> Self {
        Self(vec![Vec::new(); 1 << 12])
    }

    fn get(&self, page: usize) -> Entry {
        self.0[page / Self::OF_SECTION].get(page % Self::OF_SECTION).copied().unwrap_or_default()
    }

    /// The entries of the MiB that a page is in.
    fn section(&mut self, page: usize) -> &mut [Entry] {
        let section = &mut self.0[page / Self::OF_SECTION];
        if section.is_empty() {
            section.resize(Self::OF_SECTION, Entry::default());
        }
        section
    }

    fn get_mut(&mut self, page: usize) -> &mut Entry {
        &mut self.section(page)[page % Self::OF_SECTION]
    }
}

/// What TLBs might hold.
pub struct Translations {
    /// Of code and of data.
    entries: [Pages; 2],
    ages: [u32; 2],
    tables: FxHashMap<u32, Vec<Role>>,
    /// A bit for each KiB of physical memory: it is in `tables`.
    is_table: Vec<u64>,
    /// The instruction that made a page's entry suspect.
    causes: FxHashMap<u32, u32>,
    /// The instruction that loaded the first-level table.
    switched_by: u32,
}

impl Default for Translations {
    fn default() -> Self {
        Self {
            entries: [(); 2].map(|()| Pages::new()),
            ages: [1, 1],
            tables: FxHashMap::default(),
            is_table: vec![0; 1 << 16],
            causes: FxHashMap::default(),
            switched_by: 0,
        }
    }
}

impl Translations {
    /// An access has succeeded, with translation on. `read` gets the physical address of each entry
    /// that a walk reads.
    pub fn access(
        &mut self,
        access: Access,
        controls: Controls,
        memory: &mut impl Physical,
        read: impl FnMut(u32),
    ) -> Verdict {
        let (page, kind) = (access.address >> 12, usize::from(!access.fetch));
        let entry = self.entries[kind].get(page as usize);
        let held = (entry.age == self.ages[kind]).then(|| entry.mapping());
        let elsewhere = entry.root != controls.table();
        let doubtful = elsewhere || entry.word & SUSPECT != 0;
        if let Some(mapping) = held.filter(|held| !doubtful && held.permits(access, controls)) {
            return Verdict::Held(mapping);
        }
        let now = match self.walk(access.address, controls.table(), memory, read) {
            Err(NoMapping::Unreachable) => return Verdict::Unknown,
            found => found.ok(),
        };
        let cause = match self.causes.get(&page) {
            _ if elsewhere && entry.word & SUSPECT == 0 => self.switched_by,
            cause => cause.copied().unwrap_or(0),
        };
        let piece = now.map(|now| now.piece(access.address));
        match (held, piece) {
            // Not yet wrong: but what it permits and the tables do not stays until it is flushed.
            (Some(held), Some(piece)) if agree(held, piece, access, controls) => {
                if held != piece {
                    return Verdict::Good(held);
                }
                self.enter(kind, access.address, now, controls);
                Verdict::Held(held)
            }
            (None, Some(piece)) if piece.permits(access, controls) => {
                self.enter(kind, access.address, now, controls);
                Verdict::Good(piece)
            }
            // Reported once for each change of the tables. What was done and no table permits,
            // nothing of ours explains.
            _ => {
                self.enter(kind, access.address, now, controls);
                Verdict::Stale(cause, piece)
            }
        }
    }

    fn enter(&mut self, kind: usize, address: u32, found: Option<Mapping>, controls: Controls) {
        let age = self.ages[kind];
        let entry = found
            .map_or_else(Entry::default, |now| Entry::new(now, address, age, controls.table()));
        *self.entries[kind].get_mut((address >> 12) as usize) = entry;
    }

    fn walk(
        &mut self,
        address: u32,
        root: u32,
        memory: &mut impl Physical,
        mut read: impl FnMut(u32),
    ) -> Result<Mapping, NoMapping> {
        let (mut level, mib) = (0, address >> 20);
        walk(memory, root, address, |entry| {
            read(entry);
            let role = if level == 0 { Role::Upper(mib & !0xff) } else { Role::Lower(mib) };
            level += 1;
            let roles = self.tables.entry(entry >> 10).or_default();
            if !roles.contains(&role) {
                roles.push(role);
                self.is_table[(entry >> 16) as usize] |= 1 << (entry >> 10 & 63);
            }
        })
    }

    /// The instruction at virtual address `instruction` writes physical memory at `physical`.
    pub fn stored(&mut self, physical: u32, instruction: u32) {
        if self.is_table[(physical >> 16) as usize] & 1 << (physical >> 10 & 63) == 0 {
            return;
        }
        let index = physical >> 2 & 0xff;
        for role in self.tables.get(&(physical >> 10)).into_iter().flatten() {
            let pages = match role {
                Role::Upper(first) => (first + index) << 8..(first + index + 1) << 8,
                Role::Lower(mib) => mib << 8 | index..(mib << 8 | index) + 1,
            };
            for page in pages {
                let held =
                    [0, 1].map(|kind| self.entries[kind].get(page as usize).age == self.ages[kind]);
                for kind in [0, 1].into_iter().filter(|kind| held[*kind]) {
                    self.entries[kind].get_mut(page as usize).word |= SUSPECT;
                }
                if held.contains(&true) {
                    self.causes.insert(page, instruction);
                }
            }
        }
    }

    /// The translation of one address is flushed, with all that its entry maps.
    pub fn flush_entry(&mut self, which: Which, address: u32) {
        for (entries, _) in self
            .entries
            .iter_mut()
            .zip([which.code(), which.data()])
            .filter(|(_, flushed)| *flushed)
        {
            let page = (address >> 12) as usize;
            *entries.get_mut(page) = Entry::default();
            for (flag, count) in [(SECTION, Pages::OF_SECTION), (LARGE, 16)] {
                let first = (page % Pages::OF_SECTION) & !(count - 1);
                let whole = entries.section(page)[first..first + count]
                    .iter_mut()
                    .filter(|entry| entry.word & flag != 0);
                whole.for_each(|entry| *entry = Entry::default());
            }
        }
    }

    /// Everything is flushed.
    pub fn flush(&mut self, which: Which) {
        self.ages[0] += u32::from(which.code());
        self.ages[1] += u32::from(which.data());
    }

    /// Another first-level table is loaded by the instruction at this address.
    pub fn switch(&mut self, instruction: u32) {
        self.switched_by = instruction;
    }
}

/// Whether an access has the same result by an entry and by the tables.
fn agree(held: Mapping, now: Mapping, access: Access, controls: Controls) -> bool {
    let place =
        |mapping: Mapping| (mapping.frame, mapping.domain, mapping.cached, mapping.buffered);
    place(held) == place(now) && held.permits(access, controls) && now.permits(access, controls)
}
