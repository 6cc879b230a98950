// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLBs with tags, and the entries of upper tables that a processor keeps.

use super::walk::{Mapping, Size};
use crate::replacement::{Replacement, Victims};
use crate::tlb::{LargePages, TlbGeometry, WalkGeometry};

/// The key of an entry that is free.
const FREE: u64 = u64::MAX;
/// A key has the page's number in this many bits,
const PAGE_BITS: u32 = 36;
/// then its size in two, and then the tag.
const TAG_SHIFT: u32 = PAGE_BITS + 2;
/// The tag of entries that are global.
const GLOBAL_TAG: u32 = (1 << 25) - 1;

fn key(tag: u32, address: u64, size: Size) -> u64 {
    u64::from(tag) << TAG_SHIFT
        | (size as u64) << PAGE_BITS
        | address >> size.shift() & ((1 << PAGE_BITS) - 1)
}

const fn is_small(key: u64) -> bool {
    key >> PAGE_BITS & 3 == Size::Small as u64
}

/// One array of entries.
struct Array {
    /// Sets minus one.
    mask: u64,
    ways: usize,
    /// [`FREE`] if there is none.
    keys: Vec<u64>,
    mappings: Vec<Mapping>,
    victims: Victims,
}

impl Array {
    fn new(entries: u32, ways: u32, replacement: Replacement) -> Self {
        Self {
            mask: u64::from(entries / ways - 1),
            ways: ways as usize,
            keys: vec![FREE; entries as usize],
            mappings: vec![Mapping::default(); entries as usize],
            victims: Victims::new(entries as usize, ways as usize, replacement),
        }
    }

    fn find(&self, key: u64) -> Option<usize> {
        let first = (key & self.mask) as usize * self.ways;
        Some(first + self.keys[first..first + self.ways].iter().position(|&other| other == key)?)
    }

    fn used(&mut self, slot: usize) -> Mapping {
        self.victims.touch(slot);
        self.mappings[slot]
    }

    fn insert(&mut self, key: u64, mapping: Mapping) {
        let set = (key & self.mask) as usize;
        let first = set * self.ways;
        let free = self.keys[first..first + self.ways].iter().position(|&other| other == FREE);
        let slot = free.map_or_else(|| self.victims.choose(set), |way| first + way);
        (self.keys[slot], self.mappings[slot]) = (key, mapping);
        self.victims.touch(slot);
    }

    fn remove_if(&mut self, mut condition: impl FnMut(u64) -> bool) {
        for key in self.keys.iter_mut().filter(|key| **key != FREE) {
            if condition(*key) {
                *key = FREE;
            }
        }
    }
}

/// A TLB. Pages of 1 GiB are in the same entries as those of 2 MiB.
pub struct Tlb {
    small: Array,
    /// Large pages, if they have entries of their own.
    large: Option<Array>,
    /// Whether large pages are held in pieces.
    pieces: bool,
    /// Where pages were found lately, by the lower bits of their numbers. It may be outdated, so it
    /// is compared.
    hints: Vec<Hint>,
}

/// Where a page was found.
#[derive(Clone, Copy, Default)]
struct Hint {
    page: u64,
    tag: u32,
    key: u64,
    slot: usize,
}

const HINTS: usize = 256;

impl Tlb {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it).
    #[must_use]
    pub fn new(geometry: &TlbGeometry) -> Self {
        let TlbGeometry { entries, ways, replacement, large } = *geometry;
        Self {
            small: Array::new(entries, ways.unwrap_or(entries), replacement),
            large: match large {
                LargePages::Own { entries, ways } => Some(Array::new(entries, ways, replacement)),
                LargePages::Shared | LargePages::Pieces => None,
            },
            pieces: large == LargePages::Pieces,
            hints: vec![Hint::default(); HINTS],
        }
    }

    /// The translation of linear address `address` in the space with this tag (below 2^25 - 1), if
    /// it is held.
    pub fn lookup(&mut self, address: u64, tag: u32) -> Option<Mapping> {
        let page = address >> Size::Small.shift();
        let hint = self.hints[page as usize % HINTS];
        if hint.page == page && hint.tag == tag {
            let array = self.array(hint.key);
            if array.keys[hint.slot] == hint.key {
                return Some(array.used(hint.slot));
            }
        }
        Size::ALL.into_iter().flat_map(|size| [(tag, size), (GLOBAL_TAG, size)]).find_map(
            |(of, size)| {
                let key = key(of, address, size);
                let array = self.array(key);
                let slot = array.find(key)?;
                let mapping = array.used(slot);
                self.hints[page as usize % HINTS] = Hint { page, tag, key, slot };
                Some(mapping)
            },
        )
    }

    /// The set of entries with such keys.
    fn array(&mut self, key: u64) -> &mut Array {
        match &mut self.large {
            Some(large) if !is_small(key) => large,
            _ => &mut self.small,
        }
    }

    /// Inserts what a walk found, after a miss.
    pub fn insert(&mut self, address: u64, tag: u32, mapping: Mapping) {
        let tag = if mapping.global { GLOBAL_TAG } else { tag };
        let mapping = if self.pieces { mapping.piece(address) } else { mapping };
        let key = key(tag, address, mapping.size);
        self.array(key).insert(key, mapping);
    }

    /// Forgets the translation of one address, global or of the space with this tag.
    pub fn flush_page(&mut self, address: u64, tag: u32) {
        let flushed = Size::ALL.map(|size| [tag, GLOBAL_TAG].map(|tag| key(tag, address, size)));
        self.remove_if(|key| flushed.as_flattened().contains(&key));
    }

    /// Drops all entries with this tag.
    pub fn flush_tag(&mut self, tag: u32) {
        self.remove_if(|key| key >> TAG_SHIFT == u64::from(tag));
    }

    /// Drops all entries that are not global.
    pub fn flush_local(&mut self) {
        self.remove_if(|key| key >> TAG_SHIFT != u64::from(GLOBAL_TAG));
    }

    /// Drops all entries.
    pub fn flush_all(&mut self) {
        self.remove_if(|_| true);
    }

    fn remove_if(&mut self, condition: impl Fn(u64) -> bool) {
        self.small.remove_if(&condition);
        self.large.iter_mut().for_each(|large| large.remove_if(&condition));
    }
}

/// The bits of an address by which the upper three tables are chosen, from the highest on.
const UPPER_SHIFTS: [u32; 3] = [39, 30, 21];

/// What a processor keeps of entries that lead to tables: those of highest tables, of the next
/// ones, of directories, each with its tag. The one that was used last is the last one.
pub struct Upper {
    most: [usize; 3],
    held: [Vec<(u32, u64)>; 3],
}

impl Upper {
    /// Nothing is kept yet.
    pub fn new(geometry: &WalkGeometry) -> Self {
        let WalkGeometry { pml4e, pdpte, pde } = *geometry;
        Self { most: [pml4e, pdpte, pde], held: Default::default() }
    }

    /// How many entries a walk to a page of this size reads: it begins below the entries that are
    /// kept. Afterwards the entries that lead to tables are kept.
    pub fn walk(&mut self, tag: u32, address: u64, size: Size) -> u32 {
        let levels = size.levels();
        let mut skipped = 0;
        let upper = UPPER_SHIFTS.into_iter().zip(self.most).zip(&mut self.held);
        for (level, ((shift, most), held)) in (1..levels).zip(upper) {
            let entry = (tag, address >> shift);
            match held.iter().position(|other| *other == entry) {
                Some(at) => {
                    held.remove(at);
                    skipped = level;
                }
                None if held.len() >= most.max(1) => _ = held.remove(0),
                None => {}
            }
            if most > 0 {
                held.push(entry);
            }
        }
        levels - skipped
    }

    /// Drops all entries with this tag.
    pub fn flush_tag(&mut self, tag: u32) {
        self.held.iter_mut().for_each(|held| held.retain(|(other, _)| *other != tag));
    }

    /// Drops all entries.
    pub fn flush_all(&mut self) {
        self.held.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    #[test]
    fn a_walk_begins_below_what_is_kept() {
        let mut upper = Upper::new(&WalkGeometry { pml4e: 1, pdpte: 2, pde: 2 });
        for (what, tag, address, size, loads) in [
            ("nothing is kept", 1, 0, Size::Small, 4),
            ("the page table is known", 1, 4096, Size::Small, 1),
            ("the directory is", 1, 2 * MIB, Size::Small, 2),
            ("a large page of it", 1, 4 * MIB, Size::Large, 1),
            ("the table above is", 1, GIB, Size::Small, 3),
            ("another one", 1, 1 << 39, Size::Small, 4),
            ("what came between has its place", 1, 4096, Size::Small, 4),
            ("another space has nothing", 2, 4096, Size::Small, 4),
        ] {
            assert_eq!(upper.walk(tag, address, size), loads, "{what}");
        }
        upper.flush_tag(1);
        assert_eq!(upper.walk(2, 4096, Size::Small), 1, "another space's stay");
        upper.flush_all();
        assert_eq!(upper.walk(2, 4096, Size::Small), 4);
    }

    #[test]
    fn nothing_is_kept_where_there_is_no_room() {
        let mut upper = Upper::new(&WalkGeometry { pml4e: 0, pdpte: 0, pde: 0 });
        for _ in 0..2 {
            assert_eq!(upper.walk(1, 0, Size::Small), 4);
        }
        assert_eq!(upper.walk(1, 0, Size::Huge), 2);
    }
}
