// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which thread runs: 256 priorities, a bitmap, and time slices that calls donate.
//!
//! The running thread is in no ready queue, and neither is a blocked thread. A system call that
//! wakes a thread notes it as `handoff`; [`Kernel::schedule`], called once before the kernel is
//! left, decides between the current thread, the handoff and the queues.

use crate::port::{Cpu, Port};
use crate::thread::{flag, gate};
use crate::{Kernel, Thread};
use abi::PRIORITIES;
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;
use pool::{Link, Ref};

/// A full time slice in nanoseconds.
pub const SLICE: u32 = 10_000_000;

/// When no tick was asked for.
const NEVER: u64 = u64::MAX;

/// Which priorities have something, a bit each.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Default, Pod, Zeroable)]
pub(crate) struct Levels([u32; PRIORITIES as usize / 32]);

impl Levels {
    #[expect(
        clippy::indexing_slicing,
        reason = "the mask keeps it in bounds, and the compiler sees that"
    )]
    pub(crate) fn mark(&mut self, priority: u32, occupied: bool) {
        let word = &mut self.0[(priority >> 5 & 7) as usize];
        let bit = 1 << (priority & 31);
        if occupied { *word |= bit } else { *word &= !bit }
    }

    /// The highest one.
    #[expect(clippy::indexing_slicing, reason = "the index is of a word that was found")]
    pub(crate) fn top(&self) -> Option<u32> {
        let word = self.0.iter().rposition(|w| *w != 0)?;
        Some(word as u32 * 32 + 31 - self.0[word].leading_zeros())
    }
}

/// Ready queues and the slice that runs. The layout is what fast paths know of it, too: see
/// [`place`].
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
pub struct Scheduler {
    heads: [Link<Thread>; PRIORITIES as usize],
    occupied: Levels,
    /// When the running slice ends.
    slice_end: u64,
    /// When the timer was told to tick, or [`NEVER`].
    programmed: u64,
    /// Whose slice it is.
    owner: Link<Thread>,
    /// A ready thread in no queue, for which the caller may make way. None between two system
    /// calls.
    handoff: Link<Thread>,
    /// Not 0 if an alarm was set or a slice began since the timer was looked at. Always 0 between
    /// two system calls.
    stale: u32,
    /// Fills the last word of 8 bytes.
    gap: u32,
}

/// Where the parts of a [`Scheduler`] are that fast paths know, in bytes.
pub mod place {
    use super::{Scheduler, offset_of};

    /// The first thread of each priority's queue, a word each.
    pub const HEADS: usize = offset_of!(Scheduler, heads);
    /// A bit for each priority whose queue is not empty.
    pub const OCCUPIED: usize = offset_of!(Scheduler, occupied);
    /// When the running slice ends, 8 bytes, in nanoseconds since boot.
    pub const SLICE_END: usize = offset_of!(Scheduler, slice_end);
    /// When the timer ticks, 8 bytes; all ones if it will not.
    pub const PROGRAMMED: usize = offset_of!(Scheduler, programmed);
    /// Whose slice it is.
    pub const OWNER: usize = offset_of!(Scheduler, owner);
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            heads: [Link::NULL; PRIORITIES as usize],
            occupied: Levels::default(),
            slice_end: 0,
            programmed: NEVER,
            owner: Link::NULL,
            handoff: Link::NULL,
            stale: 1,
            gap: 0,
        }
    }
}

impl Scheduler {
    /// The timer may have to tick sooner.
    pub(crate) fn alarm_set(&mut self) {
        self.stale = 1;
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "the mask keeps it in bounds, and the compiler sees that"
    )]
    fn head(&mut self, priority: u32) -> &mut Link<Thread> {
        &mut self.heads[(priority & 255) as usize]
    }

    /// First thread of the queue of a priority.
    #[must_use]
    #[expect(
        clippy::indexing_slicing,
        reason = "the mask keeps it in bounds, and the compiler sees that"
    )]
    pub fn first(&self, priority: u32) -> Option<Ref<Thread>> {
        self.heads[(priority & 255) as usize].get()
    }

    /// The highest priority that has a ready thread in a queue.
    #[must_use]
    pub fn top(&self) -> Option<u32> {
        self.occupied.top()
    }
}

impl<P: Port> Kernel<P> {
    /// Puts a ready thread at the end (or the front) of its queue.
    pub(crate) fn enqueue(&mut self, thread: Ref<Thread>, front: bool) {
        let priority = self.pool[thread].priority;
        let head = *self.sched.head(priority);
        self.insert_circular(head, thread);
        if front || head.is_null() {
            *self.sched.head(priority) = thread.link();
        }
        self.sched.occupied.mark(priority, true);
        self.publish_top();
    }

    /// Takes a thread out of its ready queue.
    pub(crate) fn dequeue(&mut self, thread: Ref<Thread>) {
        let priority = self.pool[thread].priority;
        let head = *self.sched.head(priority);
        let rest = self.remove_circular(head, thread);
        *self.sched.head(priority) = rest;
        self.sched.occupied.mark(priority, !rest.is_null());
        self.pool[thread].flags &= !flag::BRIEF;
        self.publish_top();
    }

    fn publish_top(&mut self) {
        let top = self.sched.top().unwrap_or(0);
        self.port.cpu().top = top;
    }

    /// Inserts before `head`, that is at the end of the circle; returns nothing: the
    /// caller decides about the head.
    pub(crate) fn insert_circular(&mut self, head: Link<Thread>, thread: Ref<Thread>) {
        let (next, prev) = match head.get() {
            None => (thread, thread),
            Some(head) => (head, self.pool[head].prev.get().unwrap_or(head)),
        };
        self.pool[thread].next = next.link();
        self.pool[thread].prev = prev.link();
        self.pool[prev].next = thread.link();
        self.pool[next].prev = thread.link();
    }

    /// Removes from a circle; returns its new head.
    pub(crate) fn remove_circular(
        &mut self,
        head: Link<Thread>,
        thread: Ref<Thread>,
    ) -> Link<Thread> {
        let Thread { next, prev, .. } = self.pool[thread];
        self.pool[thread].next = Link::NULL;
        self.pool[thread].prev = Link::NULL;
        if next.is(thread) {
            return Link::NULL;
        }
        if let (Some(next), Some(prev)) = (next.get(), prev.get()) {
            self.pool[prev].next = next.link();
            self.pool[next].prev = prev.link();
        }
        if head.is(thread) { next } else { head }
    }

    /// Whether the thread is in a ready queue (rather than running or handed to).
    fn is_queued(&self, thread: Ref<Thread>) -> bool {
        self.pool[thread].state() == gate::READY && !self.pool[thread].next.is_null()
    }

    /// Makes a thread ready that was not. It may get the processor at once, with
    /// the caller's slice, unless the slice it had lent out ran out meanwhile.
    pub(crate) fn wake(&mut self, thread: Ref<Thread>) {
        let t = &mut self.pool[thread];
        t.gate = gate::READY;
        t.forget_sending();
        let expired = t.flags & flag::EXPIRED != 0;
        t.flags &= !flag::EXPIRED;
        if expired {
            self.enqueue(thread, false);
        } else if let Some(earlier) =
            core::mem::replace(&mut self.sched.handoff, thread.link()).get()
        {
            // Two woken in one call (a death, say): the more urgent is offered the processor.
            let (first, other) = if self.pool[earlier].priority >= self.pool[thread].priority {
                (earlier, thread)
            } else {
                (thread, earlier)
            };
            self.sched.handoff = first.link();
            self.enqueue(other, false);
        }
    }

    /// Takes a ready thread from wherever it is; its gate is the caller's to set.
    pub(crate) fn unready(&mut self, thread: Ref<Thread>) {
        if self.is_queued(thread) {
            self.dequeue(thread);
        } else if self.sched.handoff.is(thread) {
            self.sched.handoff = Link::NULL;
        }
    }

    /// Changes a thread's priority wherever it is queued.
    pub(crate) fn reprioritise(&mut self, thread: Ref<Thread>, priority: u32) {
        let queued = self.is_queued(thread);
        if queued {
            self.dequeue(thread);
        }
        let waits_at = (self.pool[thread].state() == gate::SENDING)
            .then(|| self.pool[thread].partner.get())
            .flatten();
        if let Some(receiver) = waits_at {
            self.leave_senders(receiver, thread);
        }
        self.pool[thread].priority = priority;
        if queued {
            self.enqueue(thread, false);
        }
        if let Some(receiver) = waits_at {
            self.join_senders(receiver, thread);
        }
    }

    /// Decides who runs next. Called once before the kernel is left. Returns whether all is as it
    /// was: the usual end of a system call, when nobody was woken and who ran still may.
    pub fn schedule(&mut self) -> bool {
        if self.sched.handoff.is_null()
            && self.sched.stale == 0
            && let Cpu { top, current, .. } = *self.port.cpu()
            && current.get().is_some_and(|current| {
                let t = &self.pool[current];
                t.state() == gate::READY && t.next.is_null() && t.priority >= top
            })
        {
            return true;
        }
        self.reschedule();
        false
    }

    /// Puts the thread that runs next in `current`, of the running thread, the handoff and the
    /// queues.
    fn reschedule(&mut self) {
        let running =
            self.current().filter(|c| self.pool[*c].state() == gate::READY && !self.is_queued(*c));
        let handoff =
            core::mem::take(&mut self.sched.handoff).get().filter(|h| Some(*h) != running);
        let top = self.sched.top();
        match (running, handoff) {
            (Some(current), Some(woken)) => {
                if self.pool[woken].priority > self.pool[current].priority {
                    self.preempt(current);
                    self.enqueue(woken, true);
                    self.pick();
                } else {
                    self.enqueue(woken, false);
                    self.preempt_if_outranked(current);
                }
            }
            (Some(current), None) => self.preempt_if_outranked(current),
            (None, Some(woken)) if top.is_none_or(|top| self.pool[woken].priority >= top) => {
                self.port.cpu().current = woken.link();
                if self.sched.owner.is_null() {
                    self.begin_slice(woken);
                }
            }
            (None, woken) => {
                if let Some(woken) = woken {
                    self.enqueue(woken, false);
                }
                self.pick();
            }
        }
        self.program_timer();
    }

    /// Somebody more urgent takes the running thread's place.
    fn preempt_if_outranked(&mut self, current: Ref<Thread>) {
        if self.sched.top().is_some_and(|top| top > self.pool[current].priority) {
            self.preempt(current);
            self.pick();
        }
    }

    /// The running thread goes to the front of its queue and keeps what is left of its slice.
    fn preempt(&mut self, current: Ref<Thread>) {
        let left = self.sched.slice_end.saturating_sub(self.port.now());
        self.pool[current].slice_left = u32::try_from(left).unwrap_or(u32::MAX);
        self.enqueue(current, true);
    }

    /// Runs the first thread of the highest queue, or idles.
    fn pick(&mut self) {
        let next = self.sched.top().and_then(|top| self.sched.first(top));
        if let Some(next) = next {
            self.dequeue(next);
            self.begin_slice(next);
        } else {
            self.sched.owner = Link::NULL;
        }
        self.port.cpu().current = next.into();
    }

    fn begin_slice(&mut self, thread: Ref<Thread>) {
        self.sched.stale = 1;
        let left = core::mem::take(&mut self.pool[thread].slice_left);
        self.sched.slice_end = self.port.now() + u64::from(if left == 0 { SLICE } else { left });
        self.sched.owner = thread.link();
    }

    /// The current thread yields to others of its priority.
    pub(crate) fn rotate(&mut self, current: Ref<Thread>) {
        self.pool[current].slice_left = 0;
        self.enqueue(current, false);
        self.sched.owner = Link::NULL;
    }

    /// The slice is over: others of the same priority get their turn. If it was lent
    /// by a caller that still waits, that one loses its turn instead.
    pub(crate) fn end_slice(&mut self) {
        let Some(current) = self.current().filter(|c| self.pool[*c].state() == gate::READY) else {
            return;
        };
        if self.port.now() < self.sched.slice_end {
            return;
        }
        if let Some(owner) =
            self.sched.owner.get().filter(|o| *o != current && self.pool[*o].state() == gate::REPLY)
        {
            self.pool[owner].flags |= flag::EXPIRED;
            self.pool[owner].gate |= gate::SLOW;
        }
        if self.sched.top().is_some_and(|top| top >= self.pool[current].priority) {
            self.rotate(current);
        } else {
            self.begin_slice(current);
        }
    }

    /// Asks for the next tick if it must come before the one asked for last.
    fn program_timer(&mut self) {
        self.sched.stale = 0;
        let alarm = self.next_alarm();
        let slice = self.current().map(|_| self.sched.slice_end);
        let next = match (alarm, slice) {
            (Some(a), Some(s)) => Some(a.min(s)),
            (a, s) => a.or(s),
        };
        if let Some(next) = next.filter(|next| *next < self.sched.programmed) {
            self.sched.programmed = next;
            self.port.set_timer(Some(next));
        }
    }

    /// The timer ticked: alarms that are due, and the slice.
    pub fn tick(&mut self) {
        self.sched.programmed = NEVER;
        self.sched.stale = 1;
        self.fire_alarms();
        self.end_slice();
        self.schedule();
        if let Some(next) = self.current()
            && self.end_doomed(next)
        {
            self.schedule();
        }
    }

    /// Takes a thread out of whatever queue it is in.
    pub(crate) fn leave_queues(&mut self, thread: Ref<Thread>) {
        match self.pool[thread].state() {
            gate::READY => self.unready(thread),
            gate::SENDING => {
                if let Some(receiver) = self.pool[thread].partner.get() {
                    self.leave_senders(receiver, thread);
                }
            }
            _ => {}
        }
        self.pool[thread].partner = Link::NULL;
    }
}
