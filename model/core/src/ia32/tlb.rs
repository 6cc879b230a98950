// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation look-aside buffers.

use super::walk::Mapping;
use crate::replacement::{Replacement, Victims};
use crate::tlb::{LargePages, TlbGeometry};

/// The key of an entry that is free.
const FREE: u64 = u64::MAX;

/// One array of entries.
struct Array {
    /// Sets minus one.
    mask: u32,
    ways: usize,
    /// Tag and page; [`FREE`] if there is none.
    keys: Vec<u64>,
    mappings: Vec<Mapping>,
    victims: Victims,
}

impl Array {
    fn new(entries: u32, ways: u32, replacement: Replacement) -> Self {
        Self {
            mask: entries / ways - 1,
            ways: ways as usize,
            keys: vec![FREE; entries as usize],
            mappings: vec![Mapping::default(); entries as usize],
            victims: Victims::new(entries as usize, ways as usize, replacement),
        }
    }

    fn find(&self, key: u64) -> Option<usize> {
        let first = (key as u32 & self.mask) as usize * self.ways;
        Some(first + self.keys[first..first + self.ways].iter().position(|&other| other == key)?)
    }

    fn used(&mut self, slot: usize) -> Mapping {
        self.victims.touch(slot);
        self.mappings[slot]
    }

    fn insert(&mut self, key: u64, mapping: Mapping) {
        let set = (key as u32 & self.mask) as usize;
        let first = set * self.ways;
        let free = self.keys[first..first + self.ways].iter().position(|&other| other == FREE);
        let slot = free.map_or_else(|| self.victims.choose(set), |way| first + way);
        (self.keys[slot], self.mappings[slot]) = (key, mapping);
        self.victims.touch(slot);
    }

    fn remove_if(&mut self, mut condition: impl FnMut(u64, &Mapping) -> bool) {
        for (key, mapping) in self.keys.iter_mut().zip(&self.mappings) {
            if *key != FREE && condition(*key, mapping) {
                *key = FREE;
            }
        }
    }
}

/// A TLB. Pages are 4 KiB, large ones 4 MiB.
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
    page: u32,
    tag: u32,
    key: u64,
    slot: usize,
}

const HINTS: usize = 256;

/// A large page's key is told from a small one's by this bit.
const LARGE: u64 = 1 << 63;
/// Entries that are global have this tag.
const GLOBAL_TAG: u32 = 0x7fff_ffff;

fn key(tag: u32, page: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(page)
}

impl Tlb {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it).
    #[must_use]
    pub fn new(geometry: &TlbGeometry) -> Self {
        Self {
            small: Array::new(
                geometry.entries,
                geometry.ways.unwrap_or(geometry.entries),
                geometry.replacement,
            ),
            large: match geometry.large {
                LargePages::Own { entries, ways } => {
                    Some(Array::new(entries, ways, geometry.replacement))
                }
                LargePages::Shared | LargePages::Pieces => None,
            },
            pieces: geometry.large == LargePages::Pieces,
            hints: vec![Hint::default(); HINTS],
        }
    }

    /// The translation of linear address `address` in the space with number `tag` (below 2^31 - 1),
    /// if it is held.
    pub fn lookup(&mut self, address: u32, tag: u32) -> Option<Mapping> {
        let page = address >> 12;
        let hint = self.hints[page as usize % HINTS];
        if hint.page == page && hint.tag == tag {
            let array = self.array(hint.key);
            if array.keys[hint.slot] == hint.key {
                return Some(array.used(hint.slot));
            }
        }
        let keys = [
            key(tag, page),
            key(GLOBAL_TAG, page),
            LARGE | key(tag, page >> 10),
            LARGE | key(GLOBAL_TAG, page >> 10),
        ];
        keys.into_iter().find_map(|key| {
            let array = self.array(key);
            let slot = array.find(key)?;
            let mapping = array.used(slot);
            self.hints[page as usize % HINTS] = Hint { page, tag, key, slot };
            Some(mapping)
        })
    }

    /// The set of entries with such keys.
    fn array(&mut self, key: u64) -> &mut Array {
        match &mut self.large {
            Some(large) if key & LARGE != 0 => large,
            _ => &mut self.small,
        }
    }

    /// Inserts what a walk found, after a miss.
    pub fn insert(&mut self, address: u32, tag: u32, mapping: Mapping) {
        let tag = if mapping.global { GLOBAL_TAG } else { tag };
        let mapping = if mapping.large && self.pieces { mapping.piece(address) } else { mapping };
        let key =
            if mapping.large { LARGE | key(tag, address >> 22) } else { key(tag, address >> 12) };
        self.array(key).insert(key, mapping);
    }

    /// Forgets the translation of one address, global or of the space `tag`.
    pub fn flush_page(&mut self, address: u32, tag: u32) {
        let keys =
            [tag, GLOBAL_TAG].map(|tag| [key(tag, address >> 12), LARGE | key(tag, address >> 22)]);
        self.each(|array| {
            array.remove_if(|key, _| keys.iter().flatten().any(|&flushed| flushed == key))
        });
    }

    /// Drops all entries that are not global.
    pub fn flush_local(&mut self) {
        self.each(|array| array.remove_if(|_, mapping| !mapping.global));
    }

    /// Drops all entries.
    pub fn flush_all(&mut self) {
        self.each(|array| array.remove_if(|_, _| true));
    }

    fn each(&mut self, mut act: impl FnMut(&mut Array)) {
        act(&mut self.small);
        self.large.iter_mut().for_each(act);
    }
}
