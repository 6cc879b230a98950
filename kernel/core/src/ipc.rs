// SPDX-License-Identifier: MIT OR Apache-2.0
//! IPC: the specification with which every port's fast path is compared.
//!
//! Messages are addressed to a Thread. The receiver learns the badge of the capability that was
//! used, and gets a *reply handle*: the caller's index and the number of its call
//! ([`Thread::handle`]). A handle is valid while that call waits, for any thread of the receiver's
//! space. There may be any number of unanswered handles; they take no memory.
//!
//! A queue of senders is a circle in the order of priority, and within a priority in the order of
//! arrival. The first sender of each priority is also in a second circle, which has only such
//! senders: so a thread that joins the queue examines one sender of each priority, however many
//! there are.

use crate::port::{Port, Registers};
use crate::thread::{SEQUENCE, flag, gate};
use crate::{Kernel, NOTHING, Outcome, Progress, Result, Space, Thread};
use abi::tag::MAX_WORDS;
use abi::{Error, Kind, MessageKind, Op, Rights, Selector, Tag, Word, call};
use pool::{Link, Ref};

impl<P: Port> Kernel<P> {
    /// Sets the state of a thread that now waits, with the flags that the fast path tests.
    pub(crate) fn wait(&mut self, thread: Ref<Thread>, state: u32) {
        let fast = P::Registers::resumes_fast(&self.pool[thread]);
        self.pool[thread].gate = state | if fast { 0 } else { gate::SLOW };
    }

    /// Checks the parts of a tag that every sending operation has.
    pub(crate) fn check_tag(tag: Tag) -> Result<()> {
        if tag.words() > MAX_WORDS || tag.0 & Tag::NOTIFICATIONS_ONLY != 0 {
            Err(Error::BadOperation)
        } else {
            Ok(())
        }
    }

    /// `call` and `send`: `kind` says which.
    pub(crate) fn send(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        receiver: Selector,
        kind: MessageKind,
    ) -> Result<Outcome> {
        Self::check_tag(tag)?;
        let (_, slot) = self.slot_of(space, receiver, Kind::Thread, Rights::CALL)?;
        let to: Ref<Thread> = slot.object();
        if to == me {
            return Err(Error::BadArgument);
        }
        if self.pool[to].space.is_null() {
            return Err(Error::PeerGone);
        }
        self.pool[me].sending = kind as u32;
        self.pool[me].badge = slot.badge();
        if self.receives_from(to, me) {
            self.hand_over(me, to)?;
            if kind == MessageKind::Send {
                self.wake(to);
                return Ok(Outcome::Done(NOTHING));
            }
            self.wake(to);
        } else if tag.polls() {
            return Err(Error::WouldBlock);
        } else {
            self.wait(me, gate::SENDING);
            self.pool[me].gate |= gate::SLOW;
            self.pool[me].partner = to.link();
            self.join_senders(to, me);
        }
        Ok(Outcome::Handled)
    }

    /// Whether a thread waits in a receive that takes a message from `from`.
    pub(crate) fn receives_from(&self, thread: Ref<Thread>, from: Ref<Thread>) -> bool {
        let t = &self.pool[thread];
        match t.state() {
            gate::OPEN => true,
            gate::CLOSED | gate::RUN => t.partner.is(from),
            _ => false,
        }
    }

    /// Moves what `from` sends to the waiting `to`; a caller then waits for the
    /// reply, a sender goes on. The caller of this wakes `to`.
    fn hand_over(&mut self, from: Ref<Thread>, to: Ref<Thread>) -> Result<()> {
        let badge = self.pool[from].badge;
        let kind = self.pool[from].sending;
        if kind == MessageKind::Send as u32 {
            return self.transfer(from, to, MessageKind::Send, badge, 0);
        }
        let handle = self.pool[from].handle.wrapping_add(SEQUENCE);
        if kind == MessageKind::Call as u32 {
            self.transfer(from, to, MessageKind::Call, badge, handle)?;
            self.wait(from, gate::REPLY);
        } else {
            self.transfer_exception(from, to, badge, handle);
        }
        self.pool[from].handle = handle;
        self.pool[from].partner = to.link();
        Ok(())
    }

    /// `receive`, and the second half of `reply_wait`.
    pub(crate) fn receive(
        &mut self,
        me: Ref<Thread>,
        from: Option<Ref<Thread>>,
        tag: Tag,
    ) -> Result<Outcome> {
        let bits = self.accepted(me);
        if bits != 0 {
            self.take_signals(me, bits, MessageKind::Notification, 0);
            return Ok(Outcome::Handled);
        }
        let notifications_only = tag.0 & Tag::NOTIFICATIONS_ONLY != 0;
        while let Some(sender) = self.next_sender(me, from).filter(|_| !notifications_only) {
            self.leave_senders(me, sender);
            if !self.may_still_send(sender, me) {
                self.refuse(sender);
                if self.port.interrupt_pending() {
                    return Ok(Outcome::Again);
                }
                continue;
            }
            let sends = self.pool[sender].sending == MessageKind::Send as u32;
            match self.hand_over(sender, me) {
                Ok(()) if sends => {
                    self.set_status(sender, Ok(NOTHING));
                    self.wake(sender);
                }
                Ok(()) => {}
                Err(error) => {
                    self.fail(sender, error);
                    if self.port.interrupt_pending() {
                        return Ok(Outcome::Again);
                    }
                    continue;
                }
            }
            return Ok(Outcome::Handled);
        }
        if tag.polls() {
            return Err(Error::WouldBlock);
        }
        self.pool[me].partner = from.into();
        let state = if notifications_only {
            gate::NOTIFIED
        } else if let Some(from) = from {
            self.pool[from].flags |= flag::WATCHED;
            gate::CLOSED
        } else {
            gate::OPEN
        };
        self.wait(me, state);
        Ok(Outcome::Handled)
    }

    /// The system call `receive`: open, or from the thread that it names.
    pub(crate) fn receive_call(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        call: call::Receive,
    ) -> Result<Outcome> {
        let from = match call.sender.given() {
            None => None,
            Some(selector) => {
                Some(self.object::<Thread>(space, selector, Kind::Thread, Rights::CALL)?)
            }
        };
        if from == Some(me) {
            return Err(Error::BadArgument);
        }
        if from.is_some_and(|from| self.pool[from].space.is_null()) {
            return Err(Error::PeerGone);
        }
        self.receive(me, from, tag)
    }

    /// The thread that waits for a reply under a handle, if this space may give it.
    pub(crate) fn waiting_caller(&self, space: Ref<Space>, handle: Word) -> Result<Ref<Thread>> {
        let handle = u32::try_from(handle).map_err(|_| Error::BadHandle)?;
        let caller = self.threads.named(handle);
        let t = &self.pool[caller];
        let partner_space = t.partner.get().map_or(Link::NULL, |partner| self.pool[partner].space);
        if t.state() != gate::REPLY || t.handle != handle || !partner_space.is(space) {
            return Err(Error::BadHandle);
        }
        Ok(caller)
    }

    /// `reply`: never waits.
    pub(crate) fn reply(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        handle: Word,
    ) -> Result<()> {
        Self::check_tag(tag)?;
        let caller = self.waiting_caller(space, handle)?;
        if self.pool[caller].sending == MessageKind::Call as u32 {
            self.transfer(me, caller, MessageKind::Reply, 0, 0)?;
        } else {
            self.resume_exception(me, caller, tag);
        }
        self.wake(caller);
        Ok(())
    }

    /// `reply_wait`.
    pub(crate) fn reply_wait(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        handle: Word,
    ) -> Result<Outcome> {
        Self::check_tag(tag)?;
        if handle != 0 {
            self.reply(me, space, tag, handle)?;
        }
        let outcome = self.receive(me, None, tag)?;
        if matches!(outcome, Outcome::Again) {
            // What is carried on is the receive: the reply was given.
            let context = &mut self.pool[me].context;
            P::Registers::set_result(
                context,
                0,
                (Tag::new(Op::Receive, 0, 0).0 | tag.0 & Tag::POLL) as Word,
            );
            P::Registers::set_result(context, 1, 0);
        }
        Ok(outcome)
    }

    /// `map_reply_wait`: a pager's answer to a page fault, mostly. After the mapping nothing can
    /// fail but a receive that polls.
    pub(crate) fn map_reply_wait(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        call: call::MapReplyWait,
    ) -> Result<Outcome> {
        Self::check_tag(tag)?;
        if tag.words() != 0 || tag.caps() != 0 {
            return Err(Error::BadOperation);
        }
        let call::MapReplyWait { handle, record } = call;
        if handle != 0 {
            self.waiting_caller(space, handle)?;
        }
        if self.map_page(space, record)? == Progress::Interrupted {
            return Ok(Outcome::Again);
        }
        // A caller's registers get nothing of the record.
        (2..=4).for_each(|index| P::Registers::set_result(&mut self.pool[me].context, index, 0));
        self.reply_wait(me, space, tag, handle)
    }

    /// The first thread in the queue, or `from` if that is in it.
    fn next_sender(&self, me: Ref<Thread>, from: Option<Ref<Thread>>) -> Option<Ref<Thread>> {
        match from {
            None => self.pool[me].senders.get(),
            Some(from) => (self.pool[from].state() == gate::SENDING
                && self.pool[from].partner.is(me))
            .then_some(from),
        }
    }

    /// Whether a queued sender still has the capability that it sends with: for an exception its
    /// handler's.
    fn may_still_send(&self, sender: Ref<Thread>, to: Ref<Thread>) -> bool {
        let t = &self.pool[sender];
        let slot = if self.raised(sender) {
            Some(t.handler)
        } else {
            let selector = Selector(P::Registers::argument(&t.context, 1));
            t.space
                .get()
                .and_then(|space| self.slot_of(space, selector, Kind::Thread, Rights::CALL).ok())
                .map(|(_, slot)| slot)
        };
        slot.is_some_and(|slot| !slot.is_empty() && slot.object() == to && slot.badge() == t.badge)
    }

    /// A sender lost its capability while it waited in a queue. An exception goes to the handler
    /// that the thread has now.
    fn refuse(&mut self, sender: Ref<Thread>) {
        if self.raised(sender) {
            self.raise(sender);
        } else {
            self.fail(sender, Error::NoCapability);
        }
    }

    /// Whether a thread that sends or waits for a reply does so by an exception.
    fn raised(&self, thread: Ref<Thread>) -> bool {
        ![MessageKind::Call as u32, MessageKind::Send as u32].contains(&self.pool[thread].sending)
    }

    /// Puts a thread in a receiver's queue: by priority, first come first served within one.
    pub(crate) fn join_senders(&mut self, receiver: Ref<Thread>, sender: Ref<Thread>) {
        let first = self.pool[receiver].senders;
        let priority = self.pool[sender].priority;
        // The first sender of the first priority that is no higher than its own, if there is one.
        let mut at = first.get();
        while let Some(head) = at.filter(|head| self.pool[*head].priority > priority) {
            at = self.pool[head].group_next.get().filter(|next| !first.is(*next));
        }
        match at {
            Some(head) if self.pool[head].priority == priority => {
                let next = self.pool[head].group_next;
                self.insert_circular(next, sender);
            }
            before => {
                let before = before.map_or(first, Ref::link);
                self.insert_circular(before, sender);
                self.insert_group(before, sender);
                if before == first && at.is_some() || first.is_null() {
                    self.pool[receiver].senders = sender.link();
                }
            }
        }
    }

    /// Puts the first sender of its priority into the circle of such senders, before `next`.
    fn insert_group(&mut self, next: Link<Thread>, sender: Ref<Thread>) {
        let next = next.get().unwrap_or(sender);
        let prev = self.pool[next].group_prev.get().unwrap_or(sender);
        self.link_groups(prev, sender);
        self.link_groups(sender, next);
    }

    fn link_groups(&mut self, prev: Ref<Thread>, next: Ref<Thread>) {
        self.pool[prev].group_next = next.link();
        self.pool[next].group_prev = prev.link();
    }

    /// Takes a thread out of a receiver's queue.
    pub(crate) fn leave_senders(&mut self, receiver: Ref<Thread>, sender: Ref<Thread>) {
        let Thread { next, priority, group_next, group_prev, .. } = self.pool[sender];
        if let (Some(before), Some(behind)) = (group_prev.get(), group_next.get()) {
            let heir =
                next.get().filter(|next| *next != sender && self.pool[*next].priority == priority);
            let alone = behind == sender;
            self.pool[sender].group_next = Link::NULL;
            self.pool[sender].group_prev = Link::NULL;
            match heir {
                Some(heir) if alone => self.link_groups(heir, heir),
                Some(heir) => {
                    self.link_groups(before, heir);
                    self.link_groups(heir, behind);
                }
                None if alone => {}
                None => self.link_groups(before, behind),
            }
        }
        let head = self.pool[receiver].senders;
        let rest = self.remove_circular(head, sender);
        self.pool[receiver].senders = rest;
    }

    /// The call that a thread waits in ends without an answer. Its handle is never to be good
    /// again; but a handler that takes its own alien knows that, and would wear out the entry.
    pub(crate) fn forget_handle(&mut self, thread: Ref<Thread>) {
        let t = &self.pool[thread];
        let (alien, passed_on) = (t.is_alien(), t.flags & flag::PASSED_ON != 0);
        let holder = t
            .partner
            .get()
            .filter(|_| t.state() == gate::REPLY)
            .map(|partner| self.pool[partner].space);
        let knows = alien
            && self.current().is_some_and(|me| {
                holder == Some(self.pool[me].space) && holder != Some(Link::NULL)
            });
        if passed_on || holder.is_some() && !knows {
            let handle = self.threads.next_epoch(self.pool[thread].handle);
            let t = &mut self.pool[thread];
            t.handle = handle;
            t.epochs = t.epochs.saturating_add(1);
            t.flags &= !flag::PASSED_ON;
        }
    }

    /// Writes why the waiting of a thread ends as the result of what it waits in. False for an
    /// exception: nothing may be written over its registers.
    pub(crate) fn write_failure(&mut self, thread: Ref<Thread>, error: Error) -> bool {
        match self.pool[thread].state() {
            gate::SENDING | gate::REPLY if self.raised(thread) => return false,
            gate::SENDING | gate::REPLY
                if self.pool[thread].sending == MessageKind::Send as u32 =>
            {
                self.set_status(thread, Err(error))
            }
            _ => self.set_failed(thread, error),
        }
        true
    }

    /// Ends the waiting of a thread with an error, whatever it waits for. A thread
    /// whose exception cannot be handled any more halts.
    pub(crate) fn fail(&mut self, thread: Ref<Thread>, error: Error) {
        let goes_on = self.write_failure(thread, error);
        self.forget_handle(thread);
        self.pool[thread].partner = Link::NULL;
        if goes_on {
            self.wake(thread);
        } else {
            self.pool[thread].gate = gate::HALTED;
        }
    }
}
