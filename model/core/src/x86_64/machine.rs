// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: TLBs, the entries of upper tables that it keeps, and caches, in which
//! fetches and accesses hit or miss.
//!
//! Caches have physical addresses, because the index of the first level is within a page. A walk of
//! tables is counted by the entries that it reads, and does not go through the caches.

use super::tlb::{Tlb, Upper};
use super::walk::Mapping;
use crate::cache::{Cache, Outcome};
use crate::chunk::Chunk;
use crate::cpu::{Geometry, Tags};
use crate::events::Events;
use rustc_hash::FxHashMap;

/// The part of CR3 that is the PCID.
const PCID: u64 = 0xfff;

/// The PCID of the tables with which servers and their processes run: its translations are dropped
/// each time that such tables are loaded (docs/entry-area.md).
const AREAS: u64 = 0xfff;

/// TLBs and caches.
pub struct Machine {
    spaces: Spaces,
    itlb: Tlb,
    /// The data TLB, if data has its own.
    dtlb: Option<Tlb>,
    /// The second-level TLB of both.
    stlb: Option<Tlb>,
    upper: Option<Upper>,
    l1i: Option<Cache>,
    l1d: Cache,
    l2: Option<Cache>,
}

/// The space whose translations are used.
struct Spaces {
    /// Whether they have tags.
    tagged: bool,
    /// Whether CR3 has had a PCID. Until then each space has a number, as if PCIDs never ran out.
    shows: bool,
    /// Numbers of spaces by CR3, or the space that last had each PCID.
    known: FxHashMap<u64, u64>,
    /// The present space's tag.
    tag: u32,
}

/// What has to be forgotten when CR3 is loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forget {
    Nothing,
    Tag,
    Local,
}

impl Spaces {
    fn enter(&mut self, cr3: u64) -> Forget {
        if !self.tagged {
            return Forget::Local;
        }
        let (pcid, table) = (cr3 & PCID, cr3 & !PCID);
        let starts = pcid != 0 && !self.shows;
        if starts {
            self.shows = true;
            self.known.clear();
        }
        if !self.shows {
            let next = self.known.len() as u64;
            self.tag = *self.known.entry(cr3).or_insert(next) as u32;
            return Forget::Nothing;
        }
        self.tag = pcid as u32;
        // Who has none of its own drops what the others left.
        let is_its = self.known.insert(pcid, table) == Some(table) && pcid != 0 && pcid != AREAS;
        match (starts, is_its) {
            (true, _) => Forget::Local,
            (false, true) => Forget::Nothing,
            (false, false) => Forget::Tag,
        }
    }
}

/// What the machine asks its environment.
pub trait Tables {
    /// The mapping of a linear address; `None` if it cannot be found.
    fn translate(&mut self, address: u64) -> Option<Mapping>;
}

impl Machine {
    /// A machine with empty TLBs and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        let tagged = geometry.tags == Tags::Asid;
        Self {
            spaces: Spaces { tagged, shows: false, known: FxHashMap::default(), tag: 0 },
            itlb: Tlb::new(&geometry.itlb),
            dtlb: geometry.dtlb.as_ref().map(Tlb::new),
            stlb: geometry.stlb.as_ref().map(Tlb::new),
            upper: geometry.walk.as_ref().map(Upper::new),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            l1d: Cache::new(&geometry.l1d),
            l2: geometry.l2.as_ref().map(Cache::new),
        }
    }

    /// A chunk of code at linear address `base` is executed.
    pub fn fetch(
        &mut self,
        chunk: &Chunk,
        base: u64,
        tables: &mut impl Tables,
        events: &mut Events,
    ) {
        let shift = self.l1i.as_ref().map_or(6, Cache::shift);
        for line in lines(base, u32::from(chunk.bytes), shift) {
            let Some(physical) = self.translate(true, line, tables, events) else { continue };
            if let Some(l1i) = &mut self.l1i {
                if l1i.access(physical, physical, false) == Outcome::Hit {
                    continue;
                }
                events.l1i_misses += 1;
            }
            self.second(physical, events);
        }
    }

    /// Data is read or written.
    pub fn access(
        &mut self,
        address: u64,
        bytes: u32,
        tables: &mut impl Tables,
        events: &mut Events,
    ) {
        for line in lines(address, bytes, self.l1d.shift()) {
            let Some(physical) = self.translate(false, line, tables, events) else { continue };
            // What is written is read before, if it was not there.
            if self.l1d.access(physical, physical, false) != Outcome::Hit {
                events.l1d_misses += 1;
                self.second(physical, events);
            }
        }
    }

    /// Looks up the second-level cache.
    fn second(&mut self, physical: u64, events: &mut Events) {
        if let Some(l2) = &mut self.l2 {
            let hit = l2.access(physical, physical, false) == Outcome::Hit;
            events.l2_misses += u64::from(!hit);
        }
    }

    fn translate(
        &mut self,
        is_code: bool,
        address: u64,
        tables: &mut impl Tables,
        events: &mut Events,
    ) -> Option<u64> {
        let tag = self.spaces.tag;
        let first = match &mut self.dtlb {
            Some(dtlb) if !is_code => dtlb,
            _ => &mut self.itlb,
        };
        if let Some(held) = first.lookup(address, tag) {
            return Some(held.physical(address));
        }
        *(if is_code { &mut events.itlb_misses } else { &mut events.dtlb_misses }) += 1;
        let known = self.stlb.as_mut().and_then(|stlb| stlb.lookup(address, tag));
        let mapping = match known {
            Some(mapping) => mapping,
            None => {
                events.walks += 1;
                let mapping = tables.translate(address)?;
                let levels = mapping.size.levels();
                let loads = self.upper.as_mut().map(|upper| upper.walk(tag, address, mapping.size));
                events.walk_loads += u64::from(loads.unwrap_or(levels));
                self.stlb.iter_mut().for_each(|stlb| stlb.insert(address, tag, mapping));
                mapping
            }
        };
        first.insert(address, tag, mapping);
        Some(mapping.physical(address))
    }

    /// CR3 gets another value. Returns whether translations are dropped although there are tags: a
    /// space that gets a PCID drops the translations that its previous owner left, and a space that
    /// shares a PCID drops its translations each time.
    pub fn switch(&mut self, cr3: u64) -> bool {
        let forgotten = self.spaces.enter(cr3);
        match forgotten {
            Forget::Nothing => {}
            Forget::Tag => self.flush_tag(),
            Forget::Local => self.flush_local(),
        }
        self.spaces.tagged && forgotten != Forget::Nothing
    }

    /// CR3 gets the value that it has: everything with the present tag is flushed.
    pub fn flush_tag(&mut self) {
        if !self.spaces.tagged {
            return self.flush_local();
        }
        let tag = self.spaces.tag;
        self.tlbs(|tlb| tlb.flush_tag(tag));
        self.upper.iter_mut().for_each(|upper| upper.flush_tag(tag));
    }

    /// All translations are flushed.
    pub fn flush_all(&mut self) {
        self.tlbs(Tlb::flush_all);
        self.upper.iter_mut().for_each(Upper::flush_all);
    }

    /// One translation is flushed, and with it the entries that are kept of the present space's
    /// upper tables.
    pub fn flush_page(&mut self, address: u64) {
        let tag = self.spaces.tag;
        self.tlbs(|tlb| tlb.flush_page(address, tag));
        self.upper.iter_mut().for_each(|upper| upper.flush_tag(tag));
    }

    /// All caches are flushed.
    pub fn flush_caches(&mut self) {
        self.l1d.flush();
        self.l1i.iter_mut().chain(&mut self.l2).for_each(Cache::flush);
    }

    fn flush_local(&mut self) {
        self.tlbs(Tlb::flush_local);
        self.upper.iter_mut().for_each(Upper::flush_all);
    }

    fn tlbs(&mut self, mut act: impl FnMut(&mut Tlb)) {
        act(&mut self.itlb);
        self.dtlb.iter_mut().chain(&mut self.stlb).for_each(act);
    }
}

/// An address in each line of `1 << shift` bytes that the `bytes` from `address` on touch.
fn lines(address: u64, bytes: u32, shift: u32) -> impl Iterator<Item = u64> {
    let first = address >> shift;
    let last = address.saturating_add(u64::from(bytes.max(1)) - 1) >> shift;
    (first..=last).map(move |line| if line == first { address } else { line << shift })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_pcid_keeps_what_it_has() {
        let mut spaces = Spaces { tagged: true, shows: false, known: FxHashMap::default(), tag: 0 };
        let mut enter = |cr3| {
            let forgotten = spaces.enter(cr3);
            (spaces.tag, forgotten)
        };
        assert!(enter(0x1000) == (0, Forget::Nothing));
        assert!(enter(0x2000) == (1, Forget::Nothing), "a number for each");
        assert!(enter(0x1000) == (0, Forget::Nothing));
        assert!(enter(0x1005) == (5, Forget::Local), "the first PCID: numbers mean nothing more");
        assert!(enter(0x2006) == (6, Forget::Tag), "it was never used");
        assert!(enter(0x1005) == (5, Forget::Nothing));
        assert!(enter(0x2006) == (6, Forget::Nothing));
        assert!(enter(0x3005) == (5, Forget::Tag), "another space's before");
        for _ in 0..2 {
            assert!(enter(0x4000) == (0, Forget::Tag), "all share this one");
            assert!(enter(0x4fff) == (0xfff, Forget::Tag), "and all servers this one");
        }
        let mut plain = Spaces { tagged: false, shows: false, known: FxHashMap::default(), tag: 0 };
        assert!(plain.enter(0x1005) == Forget::Local);
    }
}
