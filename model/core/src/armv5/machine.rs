// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modelled processor: TLBs, and caches with virtual index and tag, in which fetches and
//! accesses hit or miss.

use super::instruction::{Operation, Which};
use super::tlb::Tlb;
use super::walk::{Access, Controls, Mapping};
use crate::cache::{Cache, Outcome};
use crate::cpu::Geometry;
use crate::events::Events;
use crate::lines::lines;

/// TLBs and caches.
pub struct Machine {
    /// The instruction TLB, or the only one.
    itlb: Tlb,
    dtlb: Option<Tlb>,
    l1i: Option<Cache>,
    l1d: Cache,
}

impl Machine {
    /// A machine with empty TLBs and caches.
    #[must_use]
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            itlb: Tlb::new(&geometry.itlb),
            dtlb: geometry.dtlb.as_ref().map(Tlb::new),
            l1i: geometry.l1i.as_ref().map(Cache::new),
            l1d: Cache::new(&geometry.l1d),
        }
    }

    /// This many bytes of code from a modified virtual address on are executed. `translate` walks
    /// the tables.
    pub fn fetch(
        &mut self,
        (base, bytes): (u32, u32),
        user: bool,
        controls: Controls,
        mut translate: impl FnMut(u32) -> Option<Mapping>,
        events: &mut Events,
    ) {
        for address in lines(base, bytes, self.l1i.as_ref().map_or(5, Cache::shift)) {
            let access = Access { address, write: false, user, fetch: true };
            let (mapping, missed) = look_up(&mut self.itlb, access, controls, &mut translate);
            events.itlb_misses += u64::from(missed);
            let Some(mapping) = mapping else { continue };
            let cache = self.l1i.as_mut().filter(|_| mapping.cached && controls.caches_code());
            let hit = cache.is_some_and(|l1i| {
                l1i.access(address, mapping.physical(address), false) != Outcome::Miss
            });
            events.l1i_misses += u64::from(!hit);
        }
    }

    /// Data is read or written.
    pub fn access(
        &mut self,
        access: Access,
        bytes: u32,
        controls: Controls,
        mut translate: impl FnMut(u32) -> Option<Mapping>,
        events: &mut Events,
    ) {
        for address in lines(access.address, bytes, self.l1d.shift()) {
            let tlb = self.dtlb.as_mut().unwrap_or(&mut self.itlb);
            let (mapping, missed) =
                look_up(tlb, Access { address, ..access }, controls, &mut translate);
            events.dtlb_misses += u64::from(missed);
            let Some(mapping) = mapping else { continue };
            if !mapping.cached || !controls.caches_data() {
                *(if access.write {
                    &mut events.memory_writes
                } else {
                    &mut events.uncached_reads
                }) += 1;
                continue;
            }
            let physical = mapping.physical(address);
            let missed = self.l1d.access(address, physical, access.write) == Outcome::Miss;
            let stays = access.write && mapping.buffered && self.l1d.soil(address, physical);
            if access.write && !stays {
                events.memory_writes += 1;
            } else {
                events.l1d_misses += u64::from(missed);
            }
            events.write_backs += self.l1d.take_write_backs();
        }
    }

    /// An operation is carried out, of lines and entries on the modified virtual address `operand`.
    pub fn operate(&mut self, operation: Operation, operand: u32, events: &mut Events) {
        let which = |which: Which, code: bool| if code { which.code() } else { which.data() };
        match operation {
            Operation::InvalidateCaches(caches) => {
                self.l1i.iter_mut().filter(|_| which(caches, true)).for_each(Cache::flush);
                if which(caches, false) {
                    self.l1d.flush();
                }
            }
            Operation::InvalidateLine(caches) => {
                self.l1i
                    .iter_mut()
                    .filter(|_| which(caches, true))
                    .for_each(|l1i| l1i.invalidate_line(operand));
                if which(caches, false) {
                    self.l1d.invalidate_line(operand);
                }
            }
            Operation::CleanLine(invalidates) => {
                self.l1d.clean_line(operand);
                if invalidates {
                    self.l1d.invalidate_line(operand);
                }
            }
            Operation::TestClean(invalidates) => {
                // The processor cleans a line each turn; an emulator has none and ends the loop
                // after the first.
                events.test_cleans += self.l1d.clean();
                if invalidates {
                    self.l1d.flush();
                }
            }
            Operation::AllocateLine => self.l1d.allocate(operand),
            Operation::LockLines => self.l1d.set_locking(operand & 1 != 0),
            Operation::UnlockLines => self.l1d.unlock(),
            Operation::FlushTlb(tlbs) => self.each(tlbs, Tlb::flush),
            Operation::FlushEntry(tlbs) => self.each(tlbs, |tlb| tlb.flush_entry(operand)),
            Operation::LockEntry(tlbs) => self.each(tlbs, |tlb| tlb.lock(operand)),
            _ => {}
        }
        events.write_backs += self.l1d.take_write_backs();
    }

    fn each(&mut self, tlbs: Which, mut act: impl FnMut(&mut Tlb)) {
        match &mut self.dtlb {
            Some(dtlb) if tlbs.data() => act(dtlb),
            Some(_) => {}
            None => return act(&mut self.itlb),
        }
        if tlbs.code() {
            act(&mut self.itlb);
        }
    }
}

/// The mapping of what is accessed, and whether the tables were walked for it. The domain access
/// control is looked at for each hit: of what an entry forbids the kernel would be told, and it
/// would be entered again.
fn look_up(
    tlb: &mut Tlb,
    access: Access,
    controls: Controls,
    translate: impl FnOnce(u32) -> Option<Mapping>,
) -> (Option<Mapping>, bool) {
    if !controls.translates() {
        return (Some(Mapping::identity(access.address)), false);
    }
    match tlb.lookup(access.address) {
        Some(held) if held.permits(access, controls) => return (Some(held), false),
        Some(_) => tlb.flush_entry(access.address),
        None => {}
    }
    let found = translate(access.address);
    if let Some(mapping) = found {
        tlb.insert(access.address, mapping);
    }
    (found, true)
}
