// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deleting and revoking, in steps: after each the kernel may be left for an
//! interrupt, and the system call starts again from what is still there.
//!
//! No recursion: a step walks from the target down to something that nothing
//! derives from (the last of a chain of descendants) and removes that. Threads and
//! Spaces only lose their original capability here: `reap.rs` ends them.

use crate::cap::Slot;
use crate::memory::{Attachment, Irq, Memory, class};
use crate::port::Port;
use crate::quota::Header;
use crate::reap::Work;
use crate::space::{Owner, Region, Segment, Space, TABLE_BYTES, Table};
use crate::thread::Thread;
use crate::{Kernel, NOTHING, Outcome, Result};
use abi::{Kind, PAGE_SIZE, TABLE_SPAN};
use core::mem::take;
use mmu::{ENTRIES, Format};
use pool::{Link, Ref};

/// Pages whose mappings are searched in one step of a revoke, a part of a table.
const PAGES: u32 = 128;
const PARTS: u32 = ENTRIES as u32 / PAGES;
/// Entries of an upper level that are passed over in one step because there is nothing.
const PASSED: u32 = 128;
/// Parts of all tables that an owner can have.
const ALL_PARTS: u32 = mmu::USER_ENTRIES as u32 * PARTS;

/// What `progress` says once the capability is gone and the work list is left.
const LISTED: u32 = 1;

impl<P: Port> Kernel<P> {
    /// `delete`.
    pub(crate) fn delete(&mut self, me: Ref<Thread>, caller: Ref<Space>, selector: u32) -> Result<Outcome> {
        let mut progress = take(&mut self.pool[me].progress);
        loop {
            if progress == LISTED {
                if !self.work(me) {
                    return Ok(Outcome::Done(NOTHING));
                }
            } else {
                let (target, _) = self.cap(caller, selector)?;
                if self.delete_step(me, target) {
                    progress = LISTED;
                }
            }
            if self.pool[me].space.is_null() {
                // It deleted its own ground. The reaper has what is left.
                return Ok(Outcome::Handled);
            }
            if self.port.interrupt_pending() {
                self.pool[me].progress = progress;
                return Ok(Outcome::Again);
            }
        }
    }

    /// `revoke`.
    pub(crate) fn revoke(&mut self, me: Ref<Thread>, caller: Ref<Space>, selector: u32) -> Result<Outcome> {
        let (target, cap) = self.cap(caller, selector)?;
        loop {
            if let Some(child) = self.descendant(target) {
                self.delete_step(me, child);
            } else if cap.kind() != Kind::Memory || !self.is_original(target) || self.unmap_step(cap.object()) {
                return Ok(Outcome::Done(NOTHING));
            }
            if self.port.interrupt_pending() {
                return Ok(Outcome::Again);
            }
        }
    }

    fn header(&mut self, kind: Kind, address: u32) -> &mut Header {
        match kind {
            Kind::Thread => &mut self.pool[Ref::<Thread>::new(address)].header,
            _ => &mut self.pool[Ref::new(address)],
        }
    }

    fn is_original(&mut self, at: Ref<Slot>) -> bool {
        let slot = self.pool[at];
        self.header(slot.kind(), slot.address()).original.is(at)
    }

    /// Removes one capability that derives from `target`, or at last that itself: true then. What ends
    /// with it in time goes onto the work list of `worker`.
    pub(crate) fn delete_step(&mut self, worker: Ref<Thread>, target: Ref<Slot>) -> bool {
        let mut at = target;
        while let Some(child) = self.descendant(at) {
            at = child;
        }
        if self.is_original(at) {
            let slot = self.pool[at];
            self.header(slot.kind(), slot.address()).dying = 1;
            if !self.end(worker, slot) {
                return false;
            }
        }
        self.clear_slot(at);
        at == target
    }

    /// One step of ending an object that nothing derives from any more. True when it needs no capability any more.
    fn end(&mut self, worker: Ref<Thread>, slot: Slot) -> bool {
        match slot.kind() {
            Kind::Thread => {
                let thread: Ref<Thread> = slot.object();
                self.pool[thread].header.original = Link::NULL;
                self.doom_thread(worker, thread);
                true
            }
            Kind::Space => {
                let space: Ref<Space> = slot.object();
                self.pool[space].region.header.original = Link::NULL;
                self.push_work(worker, Work::space(space));
                true
            }
            Kind::Quota => {
                self.end_quota(slot.object());
                true
            }
            Kind::Segment => self.end_segment(slot.object()),
            Kind::Memory => self.end_memory(slot.object()),
            Kind::Irq => {
                self.end_irq(slot.object());
                true
            }
        }
    }

    fn end_segment(&mut self, segment: Ref<Segment>) -> bool {
        if !self.spread(segment) {
            return false;
        }
        if let Some(at) = self.pool[segment].uses.get() {
            self.detach_record(at);
            return false;
        }
        if let Some(at) = self.pool[segment].region.attached.get() {
            self.drop_record(at);
            return false;
        }
        let mut cursor = self.pool[segment].region.header.cursor;
        let is_empty = self.free_tables(Owner::Segment(segment), &mut cursor);
        self.pool[segment].region.header.cursor = cursor;
        if !is_empty {
            return false;
        }
        let Region { header, top, .. } = self.pool[segment].region;
        if let Some(top) = top.get() {
            self.release(header.quota, top.address(), TABLE_BYTES);
        }
        self.release(header.quota, segment.address(), size_of::<Segment>() as u32);
        true
    }

    fn end_memory(&mut self, memory: Ref<Memory>) -> bool {
        if !self.unmap_step(memory) {
            return false;
        }
        let quota = self.pool[memory].header.quota;
        self.release(quota, memory.address(), pool::MIN_BYTES);
        true
    }

    fn end_irq(&mut self, irq: Ref<Irq>) {
        let line = self.pool[irq].line;
        self.port.set_irq(line, false);
        self.set_irq_object(line, pool::Link::NULL);
        let target = Ref::<Slot>::new(irq.address() + core::mem::offset_of!(Irq, target) as u32);
        if !self.pool[target].is_empty() {
            self.clear_slot(target);
        }
        let quota = self.pool[irq].header.quota;
        self.release(quota, irq.address(), pool::MIN_BYTES);
    }

    /// Searches a part of one owner's tables for pages of a Memory. True when no mapping of it is left.
    fn unmap_step(&mut self, memory: Ref<Memory>) -> bool {
        let Memory { class: kind, base, bytes, uses, .. } = self.pool[memory];
        let Some(at) = uses.get() else { return true };
        let owner = self.pool[at].owner();
        if let (class::PORTS, Owner::Space(space)) = (kind, owner) {
            self.set_ports(space, base, bytes, false);
            self.drop_record(at);
            return false;
        }
        if let Owner::Segment(segment) = owner
            && !self.spread(segment)
        {
            return false;
        }
        let Attachment { mut cursor, .. } = self.pool[at];
        let most = (cursor + PASSED * PARTS).min(ALL_PARTS);
        while cursor < most && self.top_entry(owner, (cursor / PARTS) as usize) == 0 {
            cursor = (cursor / PARTS + 1) * PARTS;
        }
        let index = cursor / PARTS;
        if cursor == ALL_PARTS {
            self.drop_record(at);
            return false;
        }
        if cursor < most {
            self.take_from_large(owner, index as usize, (base, bytes));
            match self.own_table(owner, index as usize) {
                Some(table) => {
                    self.unmap_in_table(owner, index * TABLE_SPAN + cursor % PARTS * PAGES * PAGE_SIZE, table, (base, bytes));
                    cursor += 1;
                }
                None => cursor = (index + 1) * PARTS,
            }
        }
        self.pool[at].cursor = cursor;
        false
    }

    /// Unmaps pages of a range of physical memory from the part of a table where `start` is.
    fn unmap_in_table(&mut self, owner: Owner, start: u32, table: Ref<Table>, (base, bytes): (u32, u32)) {
        let first = mmu::leaf_index(start);
        let leaves = first..first + PAGES as usize;
        let within = |entry: u32| P::Format::decode(entry).is_some_and(|leaf| leaf.physical.wrapping_sub(base) < bytes);
        let (mut low, mut high) = (u32::MAX, 0);
        let entries = self.pool[table].0.get(leaves.clone()).unwrap_or_default();
        for (i, _) in entries.iter().enumerate().filter(|(_, entry)| within(**entry)) {
            let address = start + i as u32 * PAGE_SIZE;
            low = low.min(address);
            high = address + PAGE_SIZE;
        }
        if low == u32::MAX {
            return;
        }
        self.before(owner, low, high);
        let entries = self.pool[table].0.get_mut(leaves).unwrap_or_default();
        entries.iter_mut().filter(|entry| within(**entry)).for_each(|entry| *entry = 0);
        self.flush(owner, low, high);
    }
}
