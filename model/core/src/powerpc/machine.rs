// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: its TLBs and its caches, which have physical addresses, hit or missed by
//! fetches and accesses.

use super::instruction::{Operation, special};
use super::tlb::Tlb;
use super::walk::{Controls, Mapping, Way};
use crate::cache::{Cache, Outcome};
use crate::cpu::{Geometry, Reload};
use crate::events::Events;
use crate::lines::lines;
use crate::memory::Physical;

/// HID0: all of the instruction cache is dropped, of the data cache.
pub(super) const DROP_CODE: u32 = 1 << 11;
pub(super) const DROP_DATA: u32 = 1 << 10;

/// Bytes of code or of data from an address on.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The first.
    pub address: u32,
    /// How many.
    pub bytes: u32,
    /// Whether they are written.
    pub write: bool,
    /// Whether user mode does it.
    pub user: bool,
    /// Whether it is a fetch.
    pub fetch: bool,
}

/// TLBs and caches.
pub struct Machine {
    reload: Reload,
    /// The instruction TLB, or the only one.
    itlb: Tlb,
    dtlb: Option<Tlb>,
    l1i: Option<Cache>,
    l1d: Cache,
    /// Where the handler of a miss of code, of data begins, and its instructions (603).
    handlers: [(u32, u32); 2],
}

impl Machine {
    /// A machine with nothing in TLBs and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            reload: geometry.reload,
            itlb: Tlb::new(&geometry.itlb),
            dtlb: geometry.dtlb.as_ref().map(Tlb::new),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            l1d: Cache::new(&geometry.l1d),
            handlers: [(0x1000, 0), (0x1100, 0)],
        }
    }

    /// Who fills its TLBs.
    #[must_use]
    pub const fn reload(&self) -> Reload {
        self.reload
    }

    /// A miss handler was seen to fill a TLB by so many instructions. (The emulator enters it at
    /// misses of its own, which are others.)
    pub fn handled(&mut self, code: bool, instructions: u32) {
        self.handlers[usize::from(!code)].1 = instructions;
    }

    /// Code is executed, or data read or written. False if no table tells a translation.
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
        let hit = cache.is_some_and(|l1i| l1i.access(physical, physical, false) != Outcome::Miss);
        events.l1i_misses += u64::from(!hit);
    }

    fn touch(&mut self, mapping: Mapping, address: u32, write: bool, events: &mut Events) {
        if !mapping.is_cached() {
            *(if write { &mut events.memory_writes } else { &mut events.uncached_reads }) += 1;
            return;
        }
        let physical = mapping.physical(address);
        events.l1d_misses += u64::from(self.l1d.access(physical, physical, write) == Outcome::Miss);
        if write && mapping.is_written_back() {
            self.l1d.soil(physical, physical);
        }
        events.memory_writes += u64::from(write && !mapping.is_written_back());
        events.write_backs += self.l1d.take_write_backs();
    }

    /// What the TLB has of a page, or gets.
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

    /// The handler runs, and reads the tables by the data cache.
    fn reload_by_software(
        &mut self,
        access: Access,
        controls: &Controls,
        memory: &mut impl Physical,
        events: &mut Events,
    ) -> Option<Mapping> {
        let (handler, instructions) = self.handlers[usize::from(!access.fetch)];
        events.software_reloads += 1;
        events.reload_instructions += u64::from(instructions);
        for address in lines(handler, instructions * 4, 5).take_while(|_| instructions > 0) {
            self.fetch(Mapping::identity(address), address, events);
        }
        let mut read = Vec::new();
        let found = controls.walk(memory, access.address, |entry| read.push(entry)).ok();
        read.into_iter()
            .for_each(|entry| self.touch(Mapping::identity(entry), entry, false, events));
        found
    }

    /// The processor searches the hashed table by the data cache. What it does not have the kernel
    /// puts there: the emulator, which has a TLB of its own, may not have needed that.
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

    /// A special register is written that may drop caches.
    pub fn write(&mut self, register: u16, value: u32) {
        if register == special::HID0 && value & DROP_CODE != 0 {
            self.l1i.iter_mut().for_each(Cache::flush);
        }
        if register == special::HID0 && value & DROP_DATA != 0 {
            self.l1d.flush();
        }
    }
}
