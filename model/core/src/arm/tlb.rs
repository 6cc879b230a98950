// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation look-aside buffers, whose entries keep domain and rights and are of no space.

use super::walk::{Mapping, Size};
use crate::replacement::Victims;
use crate::tlb::{LargePages, TlbGeometry};

/// A TLB.
pub struct Tlb {
    /// Sets minus one.
    mask: u32,
    ways: usize,
    /// Whether what is larger than a page is held in pieces of 4 KiB.
    pieces: bool,
    /// First address and mapping of each entry.
    entries: Vec<Option<(u32, Mapping)>>,
    victims: Victims,
    /// Where the last hit was. May be outdated: it is compared.
    last: usize,
}

fn covers(entry: Option<(u32, Mapping)>, address: u32) -> Option<Mapping> {
    entry.filter(|(first, mapping)| (first ^ address) >> mapping.size.shift() == 0).map(|(_, mapping)| mapping)
}

impl Tlb {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it).
    pub fn new(geometry: &TlbGeometry) -> Self {
        let ways = geometry.ways.unwrap_or(geometry.entries);
        Self {
            mask: geometry.entries / ways - 1,
            ways: ways as usize,
            pieces: geometry.large != LargePages::Shared,
            entries: vec![None; geometry.entries as usize],
            victims: Victims::new(geometry.entries as usize, ways as usize, geometry.replacement),
            last: 0,
        }
    }

    /// The entry of a modified virtual address, if it is held.
    pub fn lookup(&mut self, address: u32) -> Option<Mapping> {
        if let Some(mapping) = covers(self.entries[self.last], address) {
            self.victims.touch(self.last);
            return Some(mapping);
        }
        let (slot, mapping) = self.find(address)?;
        self.victims.touch(slot);
        self.last = slot;
        Some(mapping)
    }

    fn find(&self, address: u32) -> Option<(usize, Mapping)> {
        let in_set = |set: usize| {
            let slots = set * self.ways..(set + 1) * self.ways;
            slots.into_iter().find_map(|slot| Some((slot, covers(self.entries[slot], address)?)))
        };
        if self.mask == 0 {
            return in_set(0);
        }
        [Size::Small, Size::Large, Size::Section].into_iter().find_map(|size| in_set(self.set(address, size)))
    }

    fn set(&self, address: u32, size: Size) -> usize {
        (address >> size.shift() & self.mask) as usize
    }

    /// Enters what a walk found, after a miss.
    pub fn insert(&mut self, address: u32, mapping: Mapping) {
        let mapping = if self.pieces { mapping.piece(address) } else { mapping };
        let set = self.set(address, mapping.size);
        let free = (set * self.ways..(set + 1) * self.ways).find(|slot| self.entries[*slot].is_none());
        let slot = free.unwrap_or_else(|| self.victims.choose(set));
        self.entries[slot] = Some((address, mapping));
        self.victims.touch(slot);
    }

    /// Forgets the entries of an address.
    pub fn flush_entry(&mut self, address: u32) {
        while let Some((slot, _)) = self.find(address) {
            self.entries[slot] = None;
        }
    }

    /// Forgets everything.
    pub fn flush(&mut self) {
        self.entries.fill(None);
    }
}
