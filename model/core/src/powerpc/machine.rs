// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: TLBs, and caches with physical addresses, in which fetches and accesses
//! hit or miss.

use super::instruction::{Operation, special};
use super::tlb::Tlb;
use super::walk::{Controls, Mapping, Way};
use crate::cache::{Cache, Outcome};
use crate::cpu::{Geometry, Reload};
use crate::events::Events;
use crate::lines::lines;
use crate::memory::Physical;
use std::collections::BTreeMap;

/// HID0: the instruction cache is locked; the data cache is.
const LOCK_CODE: u32 = 1 << 13;
const LOCK_DATA: u32 = 1 << 12;
/// HID0: the whole instruction cache is dropped; the whole data cache is.
pub(super) const DROP_CODE: u32 = 1 << 11;
pub(super) const DROP_DATA: u32 = 1 << 10;

/// Bytes of code or of data from an address on.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The address of the first.
    pub address: u32,
    /// Their number.
    pub bytes: u32,
    /// Whether they are written.
    pub write: bool,
    /// Whether user mode makes the access.
    pub user: bool,
    /// Whether it is a fetch.
    pub fetch: bool,
}

/// What a handler of a 603's misses did when it was last seen.
#[derive(Clone, Debug, Default)]
pub struct Handler {
    /// Its instructions.
    pub instructions: u32,
    /// Its code: the address of each piece, and its number of bytes.
    pub code: Vec<(u32, u32)>,
    /// How many words it read.
    pub reads: u32,
    /// Whether it read tables past the cache.
    pub is_uncached: bool,
}

/// TLBs and caches.
pub struct Machine {
    reload: Reload,
    /// The instruction TLB, or the only one.
    itlb: Tlb,
    dtlb: Option<Tlb>,
    l1i: Option<Cache>,
    l1d: Cache,
    /// The handlers of misses of code and of data, by the number of words that they read (603): one
    /// that searches the hashed table takes longer if it reads more places.
    handlers: [BTreeMap<u32, Handler>; 2],
    /// Whether the cache of code, of data is locked.
    locked: [bool; 2],
}

impl Machine {
    /// A machine with empty TLBs and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            reload: geometry.reload,
            itlb: Tlb::new(&geometry.itlb),
            dtlb: geometry.dtlb.as_ref().map(Tlb::new),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            l1d: Cache::new(&geometry.l1d),
            handlers: Default::default(),
            locked: [false; 2],
        }
    }

    /// What fills its TLBs.
    #[must_use]
    pub const fn reload(&self) -> Reload {
        self.reload
    }

    /// A handler of misses of code or of data has filled a TLB. (The emulator enters it at misses
    /// of its own TLB, which are different ones.)
    pub fn handled(&mut self, code: bool, handler: Handler) {
        self.handlers[usize::from(!code)].insert(handler.reads, handler);
    }

    /// Code is executed, or data read or written. Returns false if no table has a translation.
    pub fn access(
        &mut self,
        access: Access,
        controls: &Controls,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> bool {
        let shift =
            if access.fetch { self.l1i.as_ref().map_or(5, Cache::shift) } else { self.l1d.shift() };
        let mut known = true;
        for address in lines(access.address, access.bytes, shift) {
            let mapping = match controls.way(address, access.user, access.fetch) {
                Way::Block(mapping) => Some(mapping),
                Way::Page(vsid) => {
                    self.look_up(vsid, Access { address, ..access }, controls, memory, events)
                }
            };
            match mapping {
                Some(mapping) if access.fetch => self.fetch(mapping, address, events),
                Some(mapping) => self.touch(mapping, address, access.write, events),
                // It is counted as a miss of the hashed table.
                None if controls.alone != 0 && self.reload == Reload::Hash => {}
                None => known = false,
            }
        }
        known
    }

    fn fetch(&mut self, mapping: Mapping, address: u32, events: &mut Events) {
        let physical = mapping.physical(address);
        let cache = self.l1i.as_mut().filter(|_| mapping.is_cached());
        let outcome = cache.map(|l1i| {
            if self.locked[0] {
                l1i.access_locked(physical, physical)
            } else {
                l1i.access(physical, physical, false)
            }
        });
        let hit = outcome.is_some_and(|outcome| outcome != Outcome::Miss);
        events.l1i_misses += u64::from(!hit);
    }

    fn touch(&mut self, mapping: Mapping, address: u32, write: bool, events: &mut Events) {
        let physical = mapping.physical(address);
        if !mapping.is_cached()
            || self.locked[1] && self.l1d.access_locked(physical, physical) == Outcome::Miss
        {
            *(if write { &mut events.memory_writes } else { &mut events.uncached_reads }) += 1;
            return;
        }
        events.l1d_misses += u64::from(self.l1d.access(physical, physical, write) == Outcome::Miss);
        if write && mapping.is_written_back() {
            self.l1d.soil(physical, physical);
        }
        events.memory_writes += u64::from(write && !mapping.is_written_back());
        events.write_backs += self.l1d.take_write_backs();
    }

    /// What the TLB has for a page, or gets.
    fn look_up(
        &mut self,
        vsid: u32,
        access: Access,
        controls: &Controls,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> Option<Mapping> {
        let address = access.address;
        // What an entry forbids the kernel is told, and changes.
        if let Some(held) = self
            .tlb(access.fetch)
            .look_up(vsid, address)
            .filter(|held| held.permits(access.write, controls.key(address)))
        {
            return Some(held);
        }
        *(if access.fetch { &mut events.itlb_misses } else { &mut events.dtlb_misses }) += 1;
        let found = match self.reload {
            Reload::Software => self.reload_by_software(access, controls, memory, events),
            Reload::Hash | Reload::Walk => self.reload_by_hash(address, controls, memory, events),
        }?;
        self.tlb(access.fetch).insert(vsid, address, found);
        Some(found)
    }

    /// The handler runs, and reads the tables through the data cache.
    fn reload_by_software(
        &mut self,
        access: Access,
        controls: &Controls,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> Option<Mapping> {
        let (mut read, mut is_hashed) = (Vec::new(), None);
        if controls.alone == 0 && controls.hash != 0 {
            is_hashed = controls.search(memory, access.address, |entry| read.push(entry)).ok();
            events.hash_loads += read.len() as u64;
            events.hash_misses += u64::from(is_hashed.is_none());
        }
        // What is not in the hashed table the kernel puts there; the emulator may not have needed
        // that.
        let found = is_hashed
            .or_else(|| controls.walk(memory, access.address, |entry| read.push(entry)).ok());
        let words = read.len() as u32 + u32::from(is_hashed.is_some());
        let handlers = &self.handlers[usize::from(!access.fetch)];
        let handler = handlers
            .range(..=words)
            .next_back()
            .or_else(|| handlers.iter().next())
            .map(|(_, handler)| handler.clone());
        let Handler { instructions, code, is_uncached, .. } = handler.unwrap_or_default();
        events.software_reloads += 1;
        events.reload_instructions += u64::from(instructions);
        for address in code.into_iter().flat_map(|(start, bytes)| lines(start, bytes, 5)) {
            self.fetch(Mapping::identity(address), address, events);
        }
        if is_uncached {
            events.uncached_reads += read.len() as u64;
        } else {
            read.into_iter()
                .for_each(|entry| self.touch(Mapping::identity(entry), entry, false, events));
        }
        found
    }

    /// The processor searches the hashed table through the data cache. If the table does not have
    /// the entry, the kernel would insert it: the emulator, which has a TLB of its own, may not
    /// have needed that.
    fn reload_by_hash(
        &mut self,
        address: u32,
        controls: &Controls,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> Option<Mapping> {
        let mut read = Vec::new();
        let found = controls.search(memory, address, |entry| read.push(entry)).ok();
        events.hash_loads += read.len() as u64;
        read.into_iter()
            .for_each(|entry| self.touch(Mapping::identity(entry), entry, false, events));
        found.or_else(|| {
            events.hash_misses += 1;
            // Where Linux alone has its tables nobody tells; the emulator had the translation
            // still.
            if controls.alone == 0 { controls.walk(memory, address, |_| ()).ok() } else { None }
        })
    }

    fn tlb(&mut self, code: bool) -> &mut Tlb {
        self.dtlb.as_mut().filter(|_| !code).unwrap_or(&mut self.itlb)
    }

    /// The set of an address is flushed in both TLBs, or all is.
    pub fn flush(&mut self, address: Option<u32>) {
        for tlb in [Some(&mut self.itlb), self.dtlb.as_mut()].into_iter().flatten() {
            match address {
                Some(address) => tlb.flush_set(address),
                None => tlb.flush(),
            }
        }
    }

    /// An operation on the line of a physical address.
    pub fn operate(&mut self, operation: Operation, physical: u32, events: &mut Events) {
        match operation {
            Operation::CleanLine => self.l1d.clean_line(physical),
            Operation::FlushLine => {
                self.l1d.clean_line(physical);
                self.l1d.invalidate_line(physical);
            }
            Operation::InvalidateLine => self.l1d.invalidate_line(physical),
            Operation::AllocateLine => {
                self.l1d.allocate(physical);
                self.l1d.access(physical, physical, true);
                self.l1d.soil(physical, physical);
            }
            // It is no more than a hint.
            Operation::TouchLine if self.locked[1] => {}
            Operation::TouchLine => {
                events.l1d_misses +=
                    u64::from(self.l1d.access(physical, physical, false) == Outcome::Miss)
            }
            Operation::DropCodeLine => {
                self.l1i.iter_mut().for_each(|l1i| l1i.invalidate_line(physical))
            }
            _ => {}
        }
        events.write_backs += self.l1d.take_write_backs();
    }

    /// A special register is written that may drop caches or lock them.
    pub fn write(&mut self, register: u16, value: u32) {
        if register == special::HID0 {
            self.locked = [LOCK_CODE, LOCK_DATA].map(|lock| value & lock != 0);
        }
        if register == special::HID0 && value & DROP_CODE != 0 {
            self.l1i.iter_mut().for_each(Cache::flush);
        }
        if register == special::HID0 && value & DROP_DATA != 0 {
            self.l1d.flush();
        }
    }
}
