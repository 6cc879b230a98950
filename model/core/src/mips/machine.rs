// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: its TLB, and caches with virtual index and physical tag, in which
//! fetches and accesses hit or miss.

use super::tlb::{Dropped, Key, Tlb};
use super::walk::{Page, UNMAPPED, unmapped, walk};
use crate::cache::{Cache, Outcome};
use crate::cpu::{Geometry, Reload, Tags};
use crate::events::Events;
use crate::lines::lines;
use crate::memory::Physical;

/// Bytes of code or of data from an address on.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The address of the first.
    pub address: u64,
    /// How many.
    pub bytes: u32,
    /// Whether they are written.
    pub write: bool,
    /// Whether user mode makes the access.
    pub user: bool,
    /// Whether it is a fetch.
    pub fetch: bool,
}

impl Access {
    /// The same for one address of each line that it touches.
    pub(super) fn lines(self, shift: u32) -> impl Iterator<Item = Self> {
        let first = self.address;
        lines(first as u32, self.bytes, shift).map(move |low| {
            let offset = low.wrapping_sub(first as u32);
            Self {
                address: first.wrapping_add(offset.into()),
                bytes: self.bytes.saturating_sub(offset),
                ..self
            }
        })
    }
}

/// The space whose translations are valid, as the processor and the handler of misses have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// EntryHi's ASID, if it is known.
    pub asid: Option<u8>,
    /// The highest table, in kseg0, if it is known.
    pub top: Option<u32>,
}

/// What the handler of misses did when it was last seen.
#[derive(Clone, Debug, Default)]
pub struct Handler {
    /// Its instructions.
    pub instructions: u64,
    /// Its code: the address of each piece, and its number of bytes.
    pub code: Vec<(u32, u32)>,
    /// Where it reads the address of the highest table.
    pub hot: Option<u32>,
}

/// TLB and caches.
pub struct Machine {
    /// Whether the geometry is that of such a processor.
    fits: bool,
    tlb: Tlb,
    l1i: Option<Cache>,
    l1d: Cache,
    handler: Handler,
}

impl Machine {
    /// A machine with nothing in TLB and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            fits: geometry.tags == Tags::Asid
                && geometry.reload == Reload::Software
                && geometry.dtlb.is_none(),
            tlb: Tlb::new(&geometry.itlb),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            l1d: Cache::new(&geometry.l1d),
            handler: Handler::default(),
        }
    }

    /// Whether it is a machine of this kind: one TLB with ASIDs, which software fills.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.fits
    }

    /// The handler of misses has filled the TLB. (The emulator enters it at misses of its own TLB,
    /// which are different ones.)
    pub fn handled(&mut self, handler: Handler) {
        self.handler = handler;
    }

    /// Code is executed, or data read or written. Returns false if no table has a translation.
    pub fn access(
        &mut self,
        access: Access,
        counts: Counts,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> bool {
        let shift =
            if access.fetch { self.l1i.as_ref().map_or(5, Cache::shift) } else { self.l1d.shift() };
        let mut known = true;
        for access in access.lines(shift) {
            let low = access.address as u32;
            let place = match unmapped(low).filter(|_| !access.user) {
                Some(place) => Some(place),
                None => self
                    .look_up(access, counts, memory, events)
                    .map(|page| (page.physical(access.address), page.is_cached())),
            };
            match place {
                Some(place) if access.fetch => self.fetch(low, place, events),
                Some(place) => self.touch(low, place, access.write, events),
                None => known = false,
            }
        }
        known
    }

    fn fetch(&mut self, low: u32, (physical, is_cached): (u32, bool), events: &mut Events) {
        let cache = self.l1i.as_mut().filter(|_| is_cached);
        let hit = cache.is_some_and(|l1i| l1i.access(low, physical, false) != Outcome::Miss);
        events.l1i_misses += u64::from(!hit);
    }

    fn touch(
        &mut self,
        low: u32,
        (physical, is_cached): (u32, bool),
        write: bool,
        events: &mut Events,
    ) {
        if !is_cached {
            *(if write { &mut events.memory_writes } else { &mut events.uncached_reads }) += 1;
            return;
        }
        events.l1d_misses += u64::from(self.l1d.access(low, physical, write) == Outcome::Miss);
        if write {
            self.l1d.soil(low, physical);
        }
        events.write_backs += self.l1d.take_write_backs();
    }

    /// What the TLB has for a page, or gets from its handler.
    fn look_up(
        &mut self,
        access: Access,
        counts: Counts,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> Option<Page> {
        let address = access.address;
        let key = Key::new(counts.asid?, address);
        let held = self.tlb.look_up(key).map(|pair| pair.page(address));
        if let Some(page) = held.filter(|page| page.permits(access.write)) {
            return Some(page);
        }
        let mut read = Vec::new();
        let found = walk(memory, counts.top?, address, |entry| read.push(entry));
        if held.is_none() {
            *(if access.fetch { &mut events.itlb_misses } else { &mut events.dtlb_misses }) += 1;
            self.handle(&read, events);
        }
        // What an entry forbids the kernel was told, and has replaced: that was executed.
        let pair = found.ok()?;
        self.tlb.insert(key, pair);
        Some(pair.page(address)).filter(|page| page.permits(access.write))
    }

    /// The handler runs, and reads the tables through the data cache.
    fn handle(&mut self, read: &[u32], events: &mut Events) {
        events.software_reloads += 1;
        events.reload_instructions += self.handler.instructions;
        let Handler { code, hot, .. } = self.handler.clone();
        for at in code.into_iter().flat_map(|(start, bytes)| lines(start, bytes, 5)) {
            if let Some(place) = unmapped(at) {
                self.fetch(at, place, events);
            }
        }
        for at in hot.iter().chain(read) {
            // In kseg0: what index they have there is that of their physical address.
            self.touch(*at, (*at & UNMAPPED, true), false, events);
        }
    }

    /// Something of an ASID is dropped.
    pub(super) fn drop(&mut self, dropped: Dropped) {
        self.tlb.retain(|key| !dropped.has(key));
    }

    /// Everything is dropped.
    pub fn flush(&mut self) {
        self.tlb.flush();
    }
}
