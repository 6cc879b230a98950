// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds uses of translations that a processor might still have, and that the tables no longer
//! have.
//!
//! The checker keeps every translation that was used until an instruction flushes it: so it is a
//! TLB without limits, which has every entry that some processor might have. It also knows from
//! which tables each translation came. A store into one of these tables marks the entries that
//! depend on it; when a marked one is used, the tables are walked again and compared.
//!
//! A global entry stays when the directory changes. So it is also compared when it is first used
//! under another directory than that under which it was found or last compared.
//!
//! The checker does not see entries that a processor loads by speculation, before the first use;
//! stores into tables by devices or by user code; and pieces of a large page that remain when one
//! of its pages is flushed after the tables have split it.

use super::walk::{Mapping, walk};
use crate::memory::{NoMapping, Physical};
use rustc_hash::FxHashMap;

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Linear address.
    pub address: u32,
    /// Whether it is a write.
    pub write: bool,
    /// Whether ring 3 does it: others may use supervisor pages.
    pub user: bool,
}

/// The result of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The tables have this mapping.
    Good(Mapping),
    /// The TLB may have a translation that is no longer true since the instruction at this address.
    Stale(u32),
    /// The tables cannot be read.
    Unknown,
}

/// A translation that was used.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// Its age: entries with another age than the present one were flushed.
    age: u32,
    /// Frame and flags.
    word: u32,
    /// The directory below which the tables last had it.
    root: u32,
}

const WRITABLE: u32 = 1;
const USER: u32 = 2;
const GLOBAL: u32 = 4;
const LARGE: u32 = 8;
const SUSPECT: u32 = 16;
const FRAME: u32 = !0xfff;

/// The tables that a page of physical memory is a part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The upper level.
    Directory,
    /// The lower level for these 4 MiB of linear addresses.
    Table(u32),
}

/// The checker.
pub struct Checker {
    entries: Vec<Entry>,
    /// Age of entries that are not global, and of those that are.
    ages: [u32; 2],
    tables: FxHashMap<u32, Vec<Role>>,
    /// A bit for each page of physical memory: it is in `tables`.
    is_table: Vec<u64>,
    /// The instruction that made a page's entry suspect.
    causes: FxHashMap<u32, u32>,
    /// The instruction that loaded the directory.
    switched_by: u32,
}

impl Default for Checker {
    fn default() -> Self {
        Self {
            entries: vec![Entry::default(); 1 << 20],
            ages: [1, 1],
            tables: FxHashMap::default(),
            is_table: vec![0; 1 << 14],
            causes: FxHashMap::default(),
            switched_by: 0,
        }
    }
}

impl Checker {
    fn is_held(&self, entry: Entry) -> bool {
        entry.age == self.ages[usize::from(entry.word & GLOBAL != 0)]
    }

    /// An access has succeeded, with paging on and the tables below `root`.
    pub fn access(&mut self, access: Access, root: u32, memory: &mut impl Physical) -> Verdict {
        let page = (access.address >> 12) as usize;
        let entry = self.entries[page];
        let is_held = self.is_held(entry);
        let survived = is_held && entry.word & GLOBAL != 0 && entry.root != root;
        if survived && entry.word & SUSPECT == 0 {
            self.causes.insert(page as u32, self.switched_by);
        }
        let is_doubtful = survived || is_held && entry.word & SUSPECT != 0;
        // A processor walks again before it refuses a write, so an entry that forbids it is no use
        // of it.
        if is_held && !is_doubtful && (entry.word & WRITABLE != 0 || !access.write) {
            return Verdict::Good(mapping(entry.word));
        }
        let found = match self.walk(access.address, root, memory) {
            Err(NoMapping::Unreachable) => return Verdict::Unknown,
            found => found.ok(),
        };
        if is_doubtful && self.contradicts(entry.word, access, found) {
            // Reported once for each change of the tables.
            self.enter(page, found, root);
            return self.stale(page);
        }
        match found {
            // Still there with fewer rights than the entry: suspect until flushed.
            Some(now) if is_doubtful && !covers(now, entry.word) => {
                Verdict::Good(mapping(entry.word))
            }
            Some(now) => {
                self.enter(page, found, root);
                Verdict::Good(now)
            }
            // It was done, and the tables say that it cannot be: no entry of ours explains it.
            None => self.stale(page),
        }
    }

    fn stale(&self, page: usize) -> Verdict {
        Verdict::Stale(self.causes.get(&(page as u32)).copied().unwrap_or(0))
    }

    /// Whether what the entry permits differs from what the tables permit, for this access.
    fn contradicts(&self, word: u32, access: Access, found: Option<Mapping>) -> bool {
        let allowed =
            |writable: bool, user: bool| (writable || !access.write) && (user || !access.user);
        let by_entry = allowed(word & WRITABLE != 0, word & USER != 0);
        match found {
            None => true,
            Some(now) => {
                let frame = now.physical(access.address) & FRAME;
                // In kernel mode without write protection the entry does not decide.
                by_entry && (frame != word & FRAME || !allowed(now.writable, now.user))
            }
        }
    }

    fn enter(&mut self, page: usize, found: Option<Mapping>, root: u32) {
        self.entries[page] = match found {
            None => Entry::default(),
            Some(now) => {
                let flags = [
                    (now.writable, WRITABLE),
                    (now.user, USER),
                    (now.global, GLOBAL),
                    (now.large, LARGE),
                ];
                let flags =
                    flags.into_iter().filter(|(set, _)| *set).fold(0, |all, (_, flag)| all | flag);
                let frame = now.physical((page as u32) << 12) & FRAME;
                Entry { age: self.ages[usize::from(now.global)], word: frame | flags, root }
            }
        };
    }

    fn walk(
        &mut self,
        address: u32,
        root: u32,
        memory: &mut impl Physical,
    ) -> Result<Mapping, NoMapping> {
        let mut lower = None;
        let found = walk(memory, root, address, |table| lower = Some(table));
        self.note_table(root >> 12, Role::Directory);
        if let Some(table) = lower {
            self.note_table(table >> 12, Role::Table(address >> 22));
        }
        found
    }

    fn note_table(&mut self, page: u32, role: Role) {
        let roles = self.tables.entry(page).or_default();
        if !roles.contains(&role) {
            roles.push(role);
            self.is_table[(page >> 6) as usize] |= 1 << (page & 63);
        }
    }

    /// The instruction at linear address `instruction` writes physical memory at `physical`.
    pub fn stored(&mut self, physical: u32, instruction: u32) {
        let page = physical >> 12;
        if self.is_table[(page >> 6) as usize] & 1 << (page & 63) == 0 {
            return;
        }
        let index = physical >> 2 & 0x3ff;
        for role in self.tables.get(&page).into_iter().flatten() {
            let pages = match role {
                Role::Directory => index << 10..(index + 1) << 10,
                Role::Table(upper) => upper << 10 | index..(upper << 10 | index) + 1,
            };
            for page in pages {
                let entry = &mut self.entries[page as usize];
                if entry.age == self.ages[usize::from(entry.word & GLOBAL != 0)] {
                    entry.word |= SUSPECT;
                    self.causes.insert(page, instruction);
                }
            }
        }
    }

    /// One translation is flushed: that of a large page completely.
    pub fn flush_page(&mut self, address: u32) {
        self.entries[(address >> 12) as usize] = Entry::default();
        let first = (address >> 22 << 10) as usize;
        let large =
            self.entries[first..first + 1024].iter_mut().filter(|entry| entry.word & LARGE != 0);
        large.for_each(|entry| *entry = Entry::default());
    }

    /// Everything that is not global is flushed, by the instruction at this address, which may also
    /// load another directory.
    pub fn flush_local(&mut self, instruction: u32) {
        self.switched_by = instruction;
        self.ages[0] += 1;
    }

    /// Everything is flushed.
    pub fn flush_all(&mut self) {
        self.ages = self.ages.map(|age| age + 1);
    }
}

fn mapping(word: u32) -> Mapping {
    let flag = |bit| word & bit != 0;
    Mapping {
        frame: word & FRAME,
        large: false,
        global: flag(GLOBAL),
        writable: flag(WRITABLE),
        user: flag(USER),
    }
}

/// Whether a mapping permits all that an entry does, at the same place.
fn covers(now: Mapping, word: u32) -> bool {
    (now.writable || word & WRITABLE == 0) && (now.user || word & USER == 0)
}
