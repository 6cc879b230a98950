// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ending Threads and Spaces.
//!
//! How long it takes depends on others: every thread that waits for a Thread has to be found, and
//! every capability in a Space's table has to be deleted. So the object is put on the *work list*
//! of the thread that deletes or resets it, and the list is processed in steps. The object that was
//! found last comes first: a Space whose capability is in the table of a Space that ends is ended
//! before it, and no step descends to it again.
//!
//! If another thread ends that thread, the work list is added to the other one's. If the thread is
//! stopped, or ends itself, the list goes to the *reaper*: a thread of the kernel itself, without a
//! space, which runs with the priority of the thread that left the work. So no thread waits for
//! ever for one that is gone, and interrupts never have to wait. A dying component may have chosen
//! a low priority for this work: so no thread of a dying Space runs beyond the next tick of the
//! timer ([`Kernel::end_doomed`]).

use crate::bind::bound_to;
use crate::port::Port;
use crate::sched::Levels;
use crate::thread::{self, flag, gate};
use crate::work::{Ends, List, Work};
use crate::{Kernel, Owner, Progress, Slot, Space, Thread};
use abi::{Error, PRIORITIES};
use core::mem::{offset_of, take};
use pool::{Link, Ref};

/// Threads or slots looked at in one step.
const SCAN: u32 = 64;
/// Threads that fail in one step.
const FAILED: u32 = 8;

/// Work lists whose threads do not work them off any more, by the priority they had.
#[derive(Debug)]
pub(crate) struct Left {
    lists: [List; PRIORITIES as usize],
    occupied: Levels,
}

impl Default for Left {
    fn default() -> Self {
        Self { lists: [List::default(); PRIORITIES as usize], occupied: Levels::default() }
    }
}

impl Left {
    #[expect(
        clippy::indexing_slicing,
        reason = "the mask keeps it in bounds, and the compiler sees that"
    )]
    fn list(&mut self, priority: u32) -> &mut List {
        &mut self.lists[(priority & 255) as usize]
    }
}

impl<P: Port> Kernel<P> {
    fn next_work(&mut self, of: Work) -> Option<&mut Work> {
        match of.get()? {
            Ends::Thread(thread) => Some(&mut self.pool[thread].work_next),
            Ends::Space(space) => Some(&mut self.pool[space].work_next),
        }
    }

    /// One list of two: what `front` has comes first.
    fn join(&mut self, front: List, back: List) -> List {
        if front.is_empty() || back.is_empty() {
            return if front.is_empty() { back } else { front };
        }
        if let Some(next) = self.next_work(front.last) {
            *next = back.first;
        }
        List { first: front.first, last: back.last }
    }

    /// Puts a list that is not empty in front of a thread's.
    fn add_work(&mut self, worker: Ref<Thread>, list: List) {
        let work = self.join(list, self.pool[worker].work);
        let t = &mut self.pool[worker];
        t.work = work;
        t.flags |= flag::WORKS;
    }

    /// Puts something on a thread's work list.
    pub(crate) fn push_work(&mut self, worker: Ref<Thread>, work: Work) {
        if let Some(Ends::Thread(thread)) = work.get() {
            self.pool[thread].flags |= flag::LISTED;
        }
        self.add_work(worker, List::of(work));
    }

    /// Takes the first thing off a thread's work list.
    pub(crate) fn pop_work(&mut self, worker: Ref<Thread>) {
        let List { first, last } = self.pool[worker].work;
        let next = self.next_work(first).map(take).unwrap_or_default();
        if let Some(Ends::Thread(thread)) = first.get() {
            self.pool[thread].flags &= !flag::LISTED;
        }
        let t = &mut self.pool[worker];
        if next == Work::default() {
            t.work = List::default();
            t.flags &= !flag::WORKS;
        } else {
            t.work = List { first: next, last };
        }
    }

    /// Takes a thread's work list away, if it has one.
    fn take_work(&mut self, thread: Ref<Thread>) -> Option<List> {
        let t = &mut self.pool[thread];
        t.helps = Link::NULL;
        let works = t.flags & flag::WORKS != 0;
        t.flags &= !flag::WORKS;
        works.then(|| take(&mut t.work))
    }

    /// A thread does not work its list off any more: the reaper does, as urgently.
    pub(crate) fn leave_work(&mut self, thread: Ref<Thread>) {
        if let Some(list) = self.take_work(thread) {
            self.leave_list(list, self.pool[thread].priority);
        }
    }

    /// What a thread has to end is ended by another.
    pub(crate) fn pass_work(&mut self, thread: Ref<Thread>, to: Ref<Thread>) {
        if let Some(list) = self.take_work(thread) {
            self.add_work(to, list);
        }
    }

    /// Gives a list to the reaper.
    fn leave_list(&mut self, list: List, priority: u32) {
        self.put_left(list, priority);
        let reaper = self.threads.reaper();
        let t = &mut self.pool[reaper];
        if t.state() != gate::READY {
            self.take_left(reaper);
            self.pool[reaper].gate = gate::READY;
            self.enqueue(reaper, false);
        } else if priority > t.priority {
            let (list, before) = (take(&mut t.work), t.priority);
            self.put_left(list, before);
            self.take_left(reaper);
        }
    }

    /// Takes the current thread out of a Space that dies, and leaves it to the reaper: what began
    /// to end that may be less urgent than it is, for ever. False if neither of its Spaces dies, or
    /// it ends them itself.
    pub(crate) fn end_doomed(&mut self, thread: Ref<Thread>) -> bool {
        let Thread { space, home, flags, .. } = self.pool[thread];
        let dies = |kernel: &Self, space: Link<Space>| {
            space.get().is_some_and(|space| kernel.pool[space].region.header.is_dying())
        };
        if flags & flag::AGAIN != 0 || !dies(self, space) && !dies(self, home) {
            return false;
        }
        if self.pool[thread].flags & flag::LISTED == 0 {
            let (work, priority) = (Work::thread(thread), self.pool[thread].priority);
            self.pool[thread].flags |= flag::LISTED;
            self.leave_list(List::of(work), priority);
        }
        self.take_out(thread, Error::PeerGone, self.threads.reaper());
        true
    }

    fn put_left(&mut self, list: List, priority: u32) {
        let before = *self.left.list(priority);
        let joined = self.join(list, before);
        *self.left.list(priority) = joined;
        self.left.occupied.mark(priority, !joined.is_empty());
    }

    /// Gives the reaper the most urgent list, and its priority; false if there is none.
    fn take_left(&mut self, reaper: Ref<Thread>) -> bool {
        let Some(priority) = self.left.occupied.top() else { return false };
        self.left.occupied.mark(priority, false);
        self.pool[reaper].work = take(self.left.list(priority));
        self.reprioritise(reaper, priority);
        true
    }

    /// The reaper runs: a step; the port checks for interrupts before the next one.
    pub(crate) fn reap(&mut self) {
        let reaper = self.threads.reaper();
        if self.work(reaper) == Progress::Done && !self.take_left(reaper) {
            self.pool[reaper].gate = gate::STOPPED;
        }
        self.port.interrupt_pending();
    }

    /// One step of a thread's work. Done if there was none. The thread itself may be what is ended
    /// next: then it has no space and no work any more.
    pub(crate) fn work(&mut self, worker: Ref<Thread>) -> Progress {
        if let Some(other) = self.pool[worker].helps.get() {
            if self.fail_waiters(other) == Progress::Done {
                self.pool[worker].helps = Link::NULL;
            }
            return Progress::Interrupted;
        }
        match self.pool[worker].work.first.get() {
            None => return Progress::Done,
            Some(Ends::Thread(thread)) => self.end_thread(worker, thread),
            Some(Ends::Space(space)) => self.end_space(worker, space),
        }
        Progress::Interrupted
    }

    /// A thread to which no capability is left is to be ended by `worker`.
    pub(crate) fn doom_thread(&mut self, worker: Ref<Thread>, thread: Ref<Thread>) {
        if self.pool[thread].flags & flag::LISTED == 0 {
            self.push_work(worker, Work::thread(thread));
        } else {
            // The thread that is at it may be less urgent.
            self.pool[worker].helps = thread.link();
        }
        if self.pool[thread].space.is_null() {
            // Somebody may wait for it since it was taken out of its space.
            let t = &mut self.pool[thread];
            t.header.cursor = 0;
            t.leaving = Error::PeerGone as u32;
        } else {
            self.take_out(thread, Error::PeerGone, worker);
        }
    }

    /// One step of ending a thread that is first on a work list.
    fn end_thread(&mut self, worker: Ref<Thread>, thread: Ref<Thread>) {
        if self.fail_waiters(thread) == Progress::Done {
            self.pop_work(worker);
            if self.pool[thread].header.is_dying() {
                let handler = Ref::<Slot>::new(
                    thread.address() + (offset_of!(Thread, handler) as u32 - thread::ANCHOR),
                );
                self.clear_slot(handler);
                self.free_thread(thread);
            }
        }
    }

    /// Takes a thread out of its space: it stops. Everybody who waits for it fails with `error`,
    /// which is [`fail_waiters`](Self::fail_waiters)'s work. What it was ending is `worker`'s to
    /// end.
    pub(crate) fn take_out(&mut self, thread: Ref<Thread>, error: Error, worker: Ref<Thread>) {
        let runner = self.pool[thread].partner;
        self.forget_handle(thread);
        self.leave_queues(thread);
        self.cancel_alarm(thread);
        self.port.unload(&mut self.pool, thread, false);
        self.free_utcb_slot(thread);
        if let (Some(runs_in), Some(home)) =
            (self.pool[thread].space.get(), self.pool[thread].home.get())
        {
            for space in bound_to(runs_in, home) {
                self.pool[space].threads -= 1;
            }
        }
        let t = &mut self.pool[thread];
        t.gate = gate::HALTED;
        t.space = Link::NULL;
        t.home = Link::NULL;
        t.cap_limit = 0;
        t.utcb = 0;
        t.signals = 0;
        t.handle = t.handle.wrapping_add(thread::SEQUENCE);
        t.header.cursor = 0;
        t.leaving = error as u32;
        if worker != thread && worker != self.threads.reaper() {
            self.pass_work(thread, worker);
        }
        self.forget_steps(thread);
        if self.is_unwatched(thread)
            && let Some(runner) = runner.get().filter(|r| self.pool[*r].partner.is(thread))
        {
            self.abandon(runner, thread, error);
        }
    }

    /// Whether a thread is an alien whose waiters are known: who tries to send to it, and who runs
    /// it if anybody does. It receives no messages, and only its partner can run it.
    fn is_unwatched(&self, thread: Ref<Thread>) -> bool {
        self.pool[thread].flags & (flag::ALIEN | flag::WATCHED) == flag::ALIEN
    }

    /// Fails some of those who wait for a thread that was taken out of its space. Done when all
    /// have.
    pub(crate) fn fail_waiters(&mut self, thread: Ref<Thread>) -> Progress {
        let Some(error) = Error::from_code(self.pool[thread].leaving) else {
            return Progress::Done;
        };
        let mut failed = 0;
        if self.is_unwatched(thread) {
            while let Some(sender) = self.pool[thread].senders.get() {
                if failed == FAILED {
                    return Progress::Interrupted;
                }
                self.abandon(sender, thread, error);
                failed += 1;
            }
        } else {
            let first = self.pool[thread].header.cursor;
            let mut index = first;
            while index < self.threads.count {
                if index == first + SCAN || failed == FAILED {
                    self.pool[thread].header.cursor = index;
                    return Progress::Interrupted;
                }
                if let Some(waiter) =
                    self.threads.get(index).filter(|waiter| self.pool[*waiter].partner.is(thread))
                {
                    self.abandon(waiter, thread, error);
                    failed += 1;
                }
                index += 1;
            }
        }
        self.pool[thread].leaving = 0;
        Progress::Done
    }

    /// Fails `waiter` if it waits for `thread`.
    fn abandon(&mut self, waiter: Ref<Thread>, thread: Ref<Thread>, error: Error) {
        match self.pool[waiter].state() {
            gate::SENDING => {
                self.leave_senders(thread, waiter);
                self.fail(waiter, error);
            }
            gate::REPLY | gate::CLOSED | gate::RUN => self.fail(waiter, error),
            _ => {}
        }
    }

    /// One step of ending a Space that is first on a work list: threads, then capabilities,
    /// attachments, tables.
    fn end_space(&mut self, worker: Ref<Thread>, space: Ref<Space>) {
        let cursor = self.pool[space].region.header.cursor;
        let slots = self.pool[space].slots;
        if cursor < self.threads.count {
            self.empty_of_threads(worker, space, cursor);
        } else if cursor - self.threads.count < slots {
            self.empty_of_capabilities(worker, space, cursor - self.threads.count);
        } else if self.spread(Owner::Space(space)) == Progress::Interrupted {
            // Another step of what was changed last.
        } else if let Some(at) =
            self.pool[space].region.uses.get().or(self.pool[space].segments.get())
        {
            self.detach_record(at);
        } else if let Some(at) = self.pool[space].region.attached.get() {
            self.drop_record(at);
        } else {
            self.drop_space(space);
            let tables = self.threads.count + slots;
            let mut next = cursor - tables;
            let freed = self.free_tables(Owner::Space(space), &mut next);
            self.pool[space].region.header.cursor = tables + next;
            if freed == Progress::Done {
                self.pop_work(worker);
                self.discard_space(space);
            }
        }
    }

    /// Takes threads out of a dying space, and aliens whose UTCB slots lie in it. Nobody binds one
    /// to it any more: without any left the search is over.
    fn empty_of_threads(&mut self, worker: Ref<Thread>, space: Ref<Space>, first: u32) {
        if self.pool[space].threads == 0 {
            self.pool[space].region.header.cursor = self.threads.count;
            return;
        }
        let end = (first + SCAN).min(self.threads.count);
        let threads = self.threads;
        let found = (first..end).find_map(|index| {
            let thread = threads.get(index)?;
            let t = &self.pool[thread];
            (t.space.is(space) || t.home.is(space)).then_some((index, thread))
        });
        self.pool[space].region.header.cursor = found.map_or(end, |(index, _)| index + 1);
        if let Some((_, thread)) = found {
            // First onto the list: the worker may be the thread.
            if self.pool[thread].flags & flag::LISTED == 0 {
                self.push_work(worker, Work::thread(thread));
            } else {
                self.pool[worker].helps = thread.link();
            }
            self.take_out(thread, Error::PeerGone, worker);
        }
    }

    /// Deletes capabilities of a dying space's table.
    fn empty_of_capabilities(&mut self, worker: Ref<Thread>, space: Ref<Space>, first: u32) {
        let end = (first + SCAN).min(self.pool[space].slots);
        let found = (first..end).find(|i| !self.pool[Space::slot(space, *i)].is_empty());
        self.pool[space].region.header.cursor = self.threads.count + found.unwrap_or(end);
        if let Some(index) = found {
            // What is left of it is found by the next step.
            let _ = self.delete_step(worker, Space::slot(space, index));
        }
    }
}
