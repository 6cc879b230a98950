// SPDX-License-Identifier: MIT OR Apache-2.0
//! TLBs whose entries have VSIDs.

use super::walk::{Mapping, page};
use crate::replacement::Victims;
use crate::tlb::TlbGeometry;

/// VSID and page of an entry, and what it maps.
type Entry = Option<((u32, u32), Mapping)>;

/// A TLB.
pub struct Tlb {
    /// Sets minus one.
    mask: u32,
    ways: usize,
    entries: Vec<Entry>,
    victims: Victims,
}

impl Tlb {
    /// An empty one. The geometry is sound ([`crate::Cpu::parse`] checks it).
    pub fn new(geometry: &TlbGeometry) -> Self {
        let ways = geometry.ways.unwrap_or(geometry.entries);
        Self {
            mask: geometry.entries / ways - 1,
            ways: ways as usize,
            entries: vec![None; geometry.entries as usize],
            victims: Victims::new(geometry.entries as usize, ways as usize, geometry.replacement),
        }
    }

    /// The lowest bits of a page's number choose the set.
    fn set(&self, address: u32) -> usize {
        (page(address) & self.mask) as usize
    }

    /// The entry of an address under a VSID, if it is held.
    pub fn look_up(&mut self, vsid: u32, address: u32) -> Option<Mapping> {
        let (first, wanted) = (self.set(address) * self.ways, (vsid, page(address)));
        let (slot, mapping) = (first..first + self.ways)
            .find_map(|slot| Some((slot, self.entries[slot].filter(|e| e.0 == wanted)?.1)))?;
        self.victims.touch(slot);
        Some(mapping)
    }

    /// Inserts what was found after a miss.
    pub fn insert(&mut self, vsid: u32, address: u32, mapping: Mapping) {
        let set = self.set(address);
        let first = set * self.ways;
        let free = (first..first + self.ways).find(|slot| self.entries[*slot].is_none());
        let slot = free.unwrap_or_else(|| self.victims.choose(set));
        self.entries[slot] = Some(((vsid, page(address)), mapping));
        self.victims.touch(slot);
    }

    /// `tlbie`: drops the whole set that an address is in, whatever the VSIDs are (*PowerPC 603e
    /// User's Manual*, section 5.3.3).
    pub fn flush_set(&mut self, address: u32) {
        let first = self.set(address) * self.ways;
        self.entries[first..first + self.ways].fill(None);
    }

    /// Drops all entries.
    pub fn flush(&mut self) {
        self.entries.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replacement::Replacement;
    use crate::tlb::LargePages;

    fn tlb() -> Tlb {
        Tlb::new(&TlbGeometry {
            entries: 64,
            ways: Some(2),
            replacement: Replacement::Lru,
            large: LargePages::Shared,
        })
    }

    #[test]
    fn a_set_has_two_ways_whatever_the_segment() {
        let mut tlb = tlb();
        // Pages 128 KiB apart share a set.
        for (vsid, address) in [(1, 0), (2, 0x2_0000), (1, 0x1000_0000)] {
            tlb.insert(vsid, address, Mapping::identity(address));
        }
        assert_eq!(
            tlb.look_up(1, 0),
            tlb.look_up(1, 0x1000_0000),
            "the segment's number is not in an entry: the VSID is"
        );
        assert!(tlb.look_up(2, 0x2_0000).is_some());
        assert!(tlb.look_up(2, 0).is_none(), "another VSID");
        tlb.insert(3, 0x4_0000, Mapping::default());
        assert!(tlb.look_up(1, 0).is_none(), "it was used the longest time ago");
    }

    #[test]
    fn a_flush_is_of_a_set() {
        let mut tlb = tlb();
        tlb.insert(1, 0x3000, Mapping::default());
        tlb.insert(2, 0x3000, Mapping::default());
        tlb.insert(1, 0x4000, Mapping::default());
        tlb.flush_set(0x8002_3000);
        assert!(
            tlb.look_up(1, 0x3000).is_none()
                && tlb.look_up(2, 0x3000).is_none()
                && tlb.look_up(1, 0x4000).is_some()
        );
        tlb.flush();
        assert!(tlb.look_up(1, 0x4000).is_none());
    }
}
