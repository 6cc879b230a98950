// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLBs whose entries keep domain and rights, and belong to no space.

use super::walk::{Mapping, Size};
use crate::replacement::Victims;
use crate::tlb::{LargePages, TlbGeometry};

/// A TLB.
pub struct Tlb {
    /// Sets minus one.
    mask: u32,
    ways: usize,
    /// Whether larger mappings are held in pieces of 4 KiB.
    pieces: bool,
    /// First address and mapping of each entry.
    entries: Vec<Option<(u32, Mapping)>>,
    victims: Victims,
    /// Addresses whose translations are locked: their entries are not replaced, and stay when all
    /// others are dropped.
    locked: Vec<u32>,
    /// Where the last hit was. It may be outdated, so it is compared.
    last: usize,
}

fn covers(entry: Option<(u32, Mapping)>, address: u32) -> Option<Mapping> {
    entry
        .filter(|(first, mapping)| (first ^ address) >> mapping.size.shift() == 0)
        .map(|(_, mapping)| mapping)
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
            locked: Vec::new(),
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
        [Size::Small, Size::Large, Size::Section]
            .into_iter()
            .find_map(|size| in_set(self.set(address, size)))
    }

    fn set(&self, address: u32, size: Size) -> usize {
        (address >> size.shift() & self.mask) as usize
    }

    /// Inserts what a walk found, after a miss.
    pub fn insert(&mut self, address: u32, mapping: Mapping) {
        let mapping = if self.pieces { mapping.piece(address) } else { mapping };
        let set = self.set(address, mapping.size);
        let slots = set * self.ways..(set + 1) * self.ways;
        let slot = slots.clone().find(|slot| self.entries[*slot].is_none()).unwrap_or_else(|| {
            let all = slots.filter(|slot| self.is_locked(*slot)).count() == self.ways;
            loop {
                let slot = self.victims.choose(set);
                if all || !self.is_locked(slot) {
                    return slot;
                }
                self.victims.touch(slot);
            }
        });
        self.entries[slot] = Some((address, mapping));
        self.victims.touch(slot);
    }

    fn is_locked(&self, slot: usize) -> bool {
        self.locked.iter().any(|address| covers(self.entries[slot], *address).is_some())
    }

    /// Locks the translation of an address, as soon as the TLB has it. (The processor walks the
    /// tables for it at once.)
    pub fn lock(&mut self, address: u32) {
        self.locked.push(address);
    }

    /// Drops the entries for an address, locked or not.
    pub fn flush_entry(&mut self, address: u32) {
        while let Some((slot, _)) = self.find(address) {
            let entry = self.entries[slot].take();
            self.locked.retain(|locked| covers(entry, *locked).is_none());
        }
    }

    /// Drops all entries that are not locked.
    pub fn flush(&mut self) {
        for slot in 0..self.entries.len() {
            if !self.is_locked(slot) {
                self.entries[slot] = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::Replacement;

    const LOCKED: u32 = 0x1000;

    fn hold(tlb: &mut Tlb, addresses: std::ops::Range<u32>) {
        addresses.step_by(0x1000).for_each(|address| tlb.insert(address, Mapping::default()));
    }

    #[test]
    fn what_is_locked_makes_no_room() {
        for replacement in [Replacement::RoundRobin, Replacement::Lru] {
            let mut tlb = Tlb::new(&TlbGeometry {
                entries: 4,
                ways: None,
                replacement,
                large: LargePages::Shared,
            });
            tlb.lock(LOCKED);
            hold(&mut tlb, LOCKED..0x9000);
            assert!(tlb.lookup(LOCKED).is_some(), "{replacement:?}");
            // The others take turns in what is left.
            assert_eq!(
                (0x2000..0x9000)
                    .step_by(0x1000)
                    .filter(|address| tlb.lookup(*address).is_some())
                    .count(),
                3
            );
            tlb.flush();
            assert!(
                tlb.lookup(LOCKED).is_some() && tlb.lookup(0x8000).is_none(),
                "{replacement:?}"
            );
            tlb.flush_entry(LOCKED);
            hold(&mut tlb, LOCKED..0x9000);
            assert!(tlb.lookup(LOCKED).is_none(), "{replacement:?}: it was unlocked");
        }
    }

    #[test]
    fn where_all_are_locked_one_makes_room() {
        let mut tlb = Tlb::new(&TlbGeometry {
            entries: 2,
            ways: None,
            replacement: Replacement::RoundRobin,
            large: LargePages::Shared,
        });
        (0..2).for_each(|page| tlb.lock(page << 12));
        hold(&mut tlb, 0..0x3000);
        assert!(tlb.lookup(0x2000).is_some());
    }
}
