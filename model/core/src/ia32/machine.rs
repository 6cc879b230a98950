// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: TLBs and caches, in which fetches and accesses hit or miss.

use super::tlb::Tlb;
use super::walk::Mapping;
use crate::cache::{Cache, Outcome, Trace};
use crate::chunk::Chunk;
use crate::cpu::{Geometry, Tags};
use crate::events::Events;
use crate::lines::lines;
use rustc_hash::FxHashMap;

/// TLBs and caches.
pub struct Machine {
    tags: Tags,
    /// Numbers of spaces, where TLBs have them. Unlimited: none is ever used again.
    numbers: FxHashMap<u32, u32>,
    /// That of the present space.
    tag: u32,
    itlb: Tlb,
    /// The data TLB, if data has its own.
    dtlb: Option<Tlb>,
    l1i: Option<Cache>,
    trace: Option<Trace>,
    l1d: Cache,
    l2: Option<Cache>,
}

/// What the machine asks its environment, and what it reports to it.
pub trait Tables {
    /// The mapping of a linear address; `None` if it cannot be found.
    fn translate(&mut self, address: u32) -> Option<Mapping>;
    /// The memory of a virtual cache's line at `address` is not that of this space.
    fn alias(&mut self, address: u32);
}

impl Machine {
    /// A machine with empty TLBs and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            tags: geometry.tags,
            numbers: FxHashMap::default(),
            tag: 0,
            itlb: Tlb::new(&geometry.itlb),
            dtlb: geometry.dtlb.as_ref().map(Tlb::new),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            trace: geometry.trace.as_ref().map(Trace::new),
            l1d: Cache::new(&geometry.l1d),
            l2: geometry.l2.as_ref().map(Cache::new),
        }
    }

    /// A chunk of code at linear address `base` is executed.
    pub fn fetch(
        &mut self,
        chunk: &Chunk,
        base: u32,
        tables: &mut impl Tables,
        events: &mut Events,
    ) {
        if self.trace.is_some() {
            for &offset in &chunk.heads {
                let address = base.wrapping_add(u32::from(offset));
                let held = self.trace.as_mut().is_none_or(|trace| trace.fetch(address));
                if !held {
                    events.trace_misses += 1;
                    // Only what is not decoded is fetched, and only what is fetched is translated.
                    self.fetch_line(address, tables, events);
                }
            }
            return;
        }
        let shift = self.l1i.as_ref().map_or(5, Cache::shift);
        for line in lines(base, u32::from(chunk.bytes), shift) {
            self.fetch_line(line, tables, events);
        }
    }

    fn fetch_line(&mut self, address: u32, tables: &mut impl Tables, events: &mut Events) {
        let (mapping, missed) = translate(&mut self.itlb, self.tag, address, tables);
        events.itlb_misses += u64::from(missed);
        let Some(mapping) = mapping else { return };
        let physical = mapping.physical(address);
        if let Some(l1i) = &mut self.l1i {
            match l1i.access(address, physical, false) {
                Outcome::Hit => return,
                Outcome::Miss => events.l1i_misses += 1,
                Outcome::Alias => return tables.alias(address),
            }
        }
        if let Some(l2) = &mut self.l2 {
            events.l2_misses += u64::from(l2.access(address, physical, false) != Outcome::Hit);
        }
    }

    /// Data is read or written.
    pub fn access(
        &mut self,
        address: u32,
        bytes: u32,
        write: bool,
        tables: &mut impl Tables,
        events: &mut Events,
    ) {
        for line in lines(address, bytes, self.l1d.shift()) {
            let tlb = self.dtlb.as_mut().unwrap_or(&mut self.itlb);
            let (mapping, missed) = translate(tlb, self.tag, line, tables);
            events.dtlb_misses += u64::from(missed);
            let Some(mapping) = mapping else { continue };
            let physical = mapping.physical(line);
            match self.l1d.access(line, physical, write) {
                Outcome::Hit => continue,
                Outcome::Miss => events.l1d_misses += 1,
                Outcome::Alias => {
                    tables.alias(line);
                    continue;
                }
            }
            if let Some(l2) = &mut self.l2 {
                events.l2_misses += u64::from(l2.access(line, physical, write) != Outcome::Hit);
            }
        }
    }

    /// Other tables are used.
    pub fn switch(&mut self, root: u32) {
        match self.tags {
            Tags::None => self.flush_local(),
            Tags::Asid | Tags::Vsid => {
                let next = self.numbers.len() as u32;
                self.tag = *self.numbers.entry(root).or_insert(next);
                self.trace.iter_mut().for_each(Trace::flush);
            }
            Tags::Domain => {}
        }
    }

    /// Everything that is not global is flushed.
    pub fn flush_local(&mut self) {
        self.tlbs(Tlb::flush_local);
        self.trace.iter_mut().for_each(Trace::flush);
    }

    /// All translations are flushed.
    pub fn flush_all(&mut self) {
        self.tlbs(Tlb::flush_all);
        self.trace.iter_mut().for_each(Trace::flush);
    }

    /// One translation is flushed.
    pub fn flush_page(&mut self, address: u32) {
        let tag = self.tag;
        self.tlbs(|tlb| tlb.flush_page(address, tag));
    }

    /// All caches are flushed.
    pub fn flush_caches(&mut self) {
        self.trace.iter_mut().for_each(Trace::flush);
        self.l1d.flush();
        self.l1i.iter_mut().chain(&mut self.l2).for_each(Cache::flush);
    }

    fn tlbs(&mut self, mut act: impl FnMut(&mut Tlb)) {
        act(&mut self.itlb);
        self.dtlb.iter_mut().for_each(act);
    }
}

fn translate(
    tlb: &mut Tlb,
    tag: u32,
    address: u32,
    tables: &mut impl Tables,
) -> (Option<Mapping>, bool) {
    if let Some(held) = tlb.lookup(address, tag) {
        return (Some(held), false);
    }
    let found = tables.translate(address);
    if let Some(mapping) = found {
        tlb.insert(address, tag, mapping);
    }
    (found, true)
}
