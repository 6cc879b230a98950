// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deleting and revoking, in steps: after each the kernel may be left for an
//! interrupt, and the system call starts again from what is still there.
//!
//! No recursion: a step walks from the target down to something that nothing
//! depends on (the last of a chain of descendants; inside a Space that dies, a
//! capability of its table) and removes that.

use crate::cap::Slot;
use crate::memory::{Attachment, Irq, Memory, attachment, class};
use crate::port::Port;
use crate::quota::{Header, Quota};
use crate::space::{Owner, Segment, Space, TABLE_BYTES, Table};
use crate::thread::Thread;
use crate::{Kernel, NOTHING, Outcome, Result};
use abi::{Error, Kind, PAGE_SIZE, TABLE_SPAN};
use mmu::Format;
use pool::Ref;

/// Threads or slots looked at in one step.
const SCAN: u32 = 64;
/// Upper-level entries whose tables are searched in one step of a revoke.
const TABLES: u32 = 4;

/// What a step found to do.
enum Down {
    /// Go on with this slot, which depends on the one looked at.
    To(Ref<Slot>),
    /// Something was done; look again.
    Again,
    /// The object is gone.
    Gone,
}

impl<P: Port> Kernel<P> {
    /// `delete`.
    pub(crate) fn delete(&mut self, me: Ref<Thread>, caller: Ref<Space>, selector: u32) -> Result<Outcome> {
        let (target, _) = self.cap(caller, selector)?;
        while !self.delete_step(target) {
            // A caller that is gone could not come back to finish: interrupts wait then.
            if !self.pool[me].space.is_null() && self.port.interrupt_pending() {
                return Ok(Outcome::Again);
            }
        }
        Ok(self.survived(me))
    }

    /// `revoke`.
    pub(crate) fn revoke(&mut self, me: Ref<Thread>, caller: Ref<Space>, selector: u32) -> Result<Outcome> {
        let (target, cap) = self.cap(caller, selector)?;
        loop {
            if let Some(child) = self.descendant(target) {
                self.delete_step(child);
            } else if cap.kind() != Kind::Memory || !self.is_original(target) || self.unmap_step(cap.object()) {
                return Ok(self.survived(me));
            }
            if self.pool[me].space.is_null() {
                return Ok(Outcome::Handled);
            }
            if self.port.interrupt_pending() {
                return Ok(Outcome::Again);
            }
        }
    }

    /// A caller that deleted its own ground gets no result.
    fn survived(&self, me: Ref<Thread>) -> Outcome {
        if self.pool[me].space.is_null() { Outcome::Handled } else { Outcome::Done(NOTHING) }
    }

    fn header(&mut self, kind: Kind, address: u32) -> &mut Header {
        match kind {
            Kind::Thread => &mut self.pool[Ref::<Thread>::new(address)].header,
            Kind::Quota => &mut self.pool[Ref::<Quota>::new(address)].header,
            Kind::Space => &mut self.pool[Ref::<Space>::new(address)].header,
            Kind::Segment => &mut self.pool[Ref::<Segment>::new(address)].header,
            Kind::Memory => &mut self.pool[Ref::<Memory>::new(address)].header,
            Kind::Irq => &mut self.pool[Ref::<Irq>::new(address)].header,
        }
    }

    fn is_original(&mut self, at: Ref<Slot>) -> bool {
        let slot = self.pool[at];
        self.header(slot.kind(), slot.address()).original.is(at)
    }

    /// Removes one thing that depends on `target`, or at last itself: true then.
    fn delete_step(&mut self, target: Ref<Slot>) -> bool {
        let mut at = target;
        loop {
            if let Some(child) = self.descendant(at) {
                at = child;
                continue;
            }
            if self.is_original(at) {
                let slot = self.pool[at];
                self.header(slot.kind(), slot.address()).dying = 1;
                match self.end(slot) {
                    Down::To(next) => {
                        at = next;
                        continue;
                    }
                    Down::Again => return false,
                    Down::Gone => {}
                }
            }
            self.clear_slot(at);
            return at == target;
        }
    }

    /// One step of ending an object that nothing derives from any more.
    fn end(&mut self, slot: Slot) -> Down {
        let gone = match slot.kind() {
            Kind::Thread => self.end_thread(slot.object()),
            Kind::Quota => self.end_quota(slot.object()),
            Kind::Space => return self.end_space(slot.object()),
            Kind::Segment => self.end_segment(slot.object()),
            Kind::Memory => self.end_memory(slot.object()),
            Kind::Irq => self.end_irq(slot.object()),
        };
        if gone { Down::Gone } else { Down::Again }
    }

    /// Threads first, then capabilities, attachments, tables.
    fn end_space(&mut self, space: Ref<Space>) -> Down {
        let cursor = self.pool[space].header.cursor;
        if cursor < self.threads.count {
            self.empty_of_threads(space, cursor);
            return Down::Again;
        }
        let first = cursor - self.threads.count;
        let slots = self.pool[space].slots;
        let end = (first + SCAN).min(slots);
        // The root server's original lies in its own table and goes last, with the table.
        let original = self.pool[space].header.original;
        let found = (first..end).map(|i| Space::slot(space, i)).find(|at| !self.pool[*at].is_empty() && !original.is(*at));
        if let Some(found) = found {
            return Down::To(found);
        }
        if end < slots {
            self.pool[space].header.cursor = self.threads.count + end;
            return Down::Again;
        }
        if let Some(at) = self.pool[space].attached.get() {
            if self.pool[at].kind == attachment::SEGMENT_IN_SPACE {
                self.detach_record(at);
            } else {
                self.drop_record(at);
            }
            return Down::Again;
        }
        self.port.space_dropped(&mut self.pool, space);
        if self.user_tables_free(Owner::Space(space)) {
            return Down::Again;
        }
        self.discard_space(space);
        Down::Gone
    }

    /// Takes threads out of a dying space, and aliens whose UTCB slots lie in it.
    fn empty_of_threads(&mut self, space: Ref<Space>, first: u32) {
        for index in first..(first + SCAN).min(self.threads.count) {
            let Some(thread) = self.threads.get(index) else { continue };
            let t = &self.pool[thread];
            // A thread that is half out of it is known by `unbinding`, unless it was reset into another space meanwhile.
            let half_out = self.pool[space].unbinding == index + 1 && t.space.is_null();
            if t.space.is(space) || t.home.is(space) || half_out {
                let done = self.unbind(thread, Error::PeerGone);
                self.pool[space].unbinding = if done { 0 } else { index + 1 };
                self.pool[space].header.cursor = if done { index + 1 } else { index };
                return;
            }
        }
        self.pool[space].unbinding = 0;
        self.pool[space].header.cursor = (first + SCAN).min(self.threads.count);
    }

    fn end_segment(&mut self, segment: Ref<Segment>) -> bool {
        if let Some(at) = self.pool[segment].uses.get() {
            self.detach_record(at);
            return false;
        }
        if let Some(at) = self.pool[segment].attached.get() {
            self.drop_record(at);
            return false;
        }
        if self.user_tables_free(Owner::Segment(segment)) {
            return false;
        }
        let Segment { header, top, .. } = self.pool[segment];
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

    fn end_irq(&mut self, irq: Ref<Irq>) -> bool {
        let line = self.pool[irq].line;
        self.port.set_irq(line, false);
        self.set_irq_object(line, pool::Link::NULL);
        let target = Ref::<Slot>::new(irq.address() + core::mem::offset_of!(Irq, target) as u32);
        if !self.pool[target].is_empty() {
            self.clear_slot(target);
        }
        let quota = self.pool[irq].header.quota;
        self.release(quota, irq.address(), pool::MIN_BYTES);
        true
    }

    /// Searches some tables of one owner for pages of a Memory. True when no
    /// mapping of it is left.
    fn unmap_step(&mut self, memory: Ref<Memory>) -> bool {
        let Memory { class: kind, base, bytes, uses, .. } = self.pool[memory];
        let Some(at) = uses.get() else { return true };
        let Attachment { cursor, .. } = self.pool[at];
        let owner = self.pool[at].owner();
        if let (class::PORTS, Owner::Space(space)) = (kind, owner) {
            self.set_ports(space, base, bytes, false);
            self.drop_record(at);
            return false;
        }
        let end = (cursor + TABLES).min(mmu::USER_ENTRIES as u32);
        for index in cursor..end {
            self.take_from_large(owner, index as usize, (base, bytes));
            if let Some(table) = self.own_table(owner, index as usize) {
                self.unmap_in_table(owner, index, table, (base, bytes));
            }
        }
        self.pool[at].cursor = end;
        if end == mmu::USER_ENTRIES as u32 {
            self.drop_record(at);
        }
        false
    }

    fn unmap_in_table(&mut self, owner: Owner, index: u32, table: Ref<Table>, (base, bytes): (u32, u32)) {
        let start = index * TABLE_SPAN;
        let within = |entry: u32| P::Format::decode(entry).is_some_and(|leaf| leaf.physical.wrapping_sub(base) < bytes);
        let (mut low, mut high) = (u32::MAX, 0);
        for (i, _) in self.pool[table].0.iter().enumerate().filter(|(_, entry)| within(**entry)) {
            let address = start + i as u32 * PAGE_SIZE;
            low = low.min(address);
            high = address + PAGE_SIZE;
        }
        if low == u32::MAX {
            return;
        }
        self.before(owner, low, high);
        self.pool[table].0.iter_mut().filter(|entry| within(**entry)).for_each(|entry| *entry = 0);
        self.flush(owner, low, high);
    }
}
