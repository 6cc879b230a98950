// SPDX-License-Identifier: MIT OR Apache-2.0
//! Deleting and revoking, in steps: after each step the kernel may be left for an interrupt, and
//! then the system call continues with what is still there.
//!
//! There is no recursion: a step walks from the target down to a capability from which nothing is
//! derived (the last of a chain of descendants), and removes that. Threads and Spaces only lose
//! their original capability here: `reap.rs` ends them.

use crate::port::Port;
use crate::work::Work;
use crate::{Header, Kernel, NOTHING, Outcome, Progress, Result, Slot, Space, Thread};
use abi::{Kind, call};
use core::mem::take;
use pool::{Link, Ref};

/// What `progress` says once the capability is gone and the work list is left.
const LISTED: u32 = 1;

impl<P: Port> Kernel<P> {
    /// `delete`.
    pub(crate) fn delete(
        &mut self,
        me: Ref<Thread>,
        caller: Ref<Space>,
        call: call::Delete,
    ) -> Result<Outcome> {
        let mut progress = take(&mut self.pool[me].progress);
        loop {
            if progress == LISTED {
                if self.work(me) == Progress::Done {
                    return Ok(Outcome::Done(NOTHING));
                }
            } else {
                let (target, _) = self.cap(caller, call.slot)?;
                if self.delete_step(me, target) == Progress::Done {
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
    pub(crate) fn revoke(
        &mut self,
        me: Ref<Thread>,
        caller: Ref<Space>,
        call: call::Revoke,
    ) -> Result<Outcome> {
        let (target, cap) = self.cap(caller, call.slot)?;
        loop {
            if let Some(child) = self.descendant(target) {
                // What is left of it is found again.
                let _ = self.delete_step(me, child);
            } else if cap.kind() != Kind::Memory
                || !self.is_original(target)
                || self.unmap_step(cap.object()) == Progress::Done
            {
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

    /// Removes one capability that derives from `target`, or finally that itself: done then. What
    /// ends with it in time goes onto the work list of `worker`.
    pub(crate) fn delete_step(&mut self, worker: Ref<Thread>, target: Ref<Slot>) -> Progress {
        let at = self.last_descendant(target);
        if self.is_original(at) {
            let slot = self.pool[at];
            self.header(slot.kind(), slot.address()).dying = 1;
            if self.end(worker, slot) == Progress::Interrupted {
                return Progress::Interrupted;
            }
        }
        self.clear_slot(at);
        Progress::done_if(at == target)
    }

    /// One step of ending an object that nothing derives from any more. Done when it needs no
    /// capability any more.
    fn end(&mut self, worker: Ref<Thread>, slot: Slot) -> Progress {
        match slot.kind() {
            Kind::Thread => {
                let thread: Ref<Thread> = slot.object();
                self.pool[thread].header.original = Link::NULL;
                self.doom_thread(worker, thread);
                Progress::Done
            }
            Kind::Space => {
                let space: Ref<Space> = slot.object();
                self.pool[space].region.header.original = Link::NULL;
                self.push_work(worker, Work::space(space));
                Progress::Done
            }
            Kind::Quota => {
                self.end_quota(slot.object());
                Progress::Done
            }
            Kind::Segment => self.end_segment(slot.object()),
            Kind::Memory => self.end_memory(slot.object()),
            Kind::Irq => {
                self.end_irq(slot.object());
                Progress::Done
            }
        }
    }
}
