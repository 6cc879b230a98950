// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions as messages, aliens, and the receive mode `run`.
//!
//! An exception is a call that the kernel makes for the thread: to its handler, with the badge of
//! the handler's capability. The reply resumes the thread. A native thread's registers are words of
//! the message; an alien's are written to its UTCB slot, which lies in its handler's space, and
//! read from there when it is resumed.

use crate::map::Batch;
use crate::port::{FaultIn, Port, Registers};
use crate::thread::{SEQUENCE, flag, gate};
use crate::{Kernel, Outcome, Result, Space, Thread};
use abi::frame::{self, Frame};
use abi::tag::REGISTER_WORDS;
use abi::utcb::Utcb;
use abi::{Delivery, Error, MessageKind, Rights, Tag, UserAddr, Word, call};
use core::mem::offset_of;
use pool::Ref;

/// Where a native thread's frame is in a message: bytes from the receiver's UTCB.
pub const FRAME_OFFSET: u32 =
    offset_of!(Utcb, words) as u32 + REGISTER_WORDS * size_of::<Word>() as u32;
/// Words of the message that tells of an alien's event: its number, the address of a page fault,
/// the error.
pub const EVENT_WORDS: u32 = 3;
const FRAME_BYTES: u32 = size_of::<Frame>() as u32;

impl<P: Port> Kernel<P> {
    /// The current thread did what it may not or cannot do; its registers, the
    /// exception's number and error code are in its context.
    pub fn exception(&mut self) {
        if let Some(me) = self.current() {
            self.raise(me);
        }
        self.schedule();
    }

    /// The current thread had a translation fault in user mode.
    pub fn page_fault(&mut self, address: UserAddr, access: Rights) {
        let Some(me) = self.current() else { return };
        self.pool[me].fault_address = address;
        let repaired = match self.pool[me].space.get() {
            Some(space) => self.port.fault_in(&mut self.pool, space, address, access),
            None => FaultIn::Report,
        };
        if repaired == FaultIn::Report {
            self.raise(me);
        }
        self.schedule();
    }

    /// Sends a thread's exception to its handler, or halts it if there is none.
    pub(crate) fn raise(&mut self, thread: Ref<Thread>) {
        self.unready(thread);
        let handler = self.pool[thread].handler;
        let to: Ref<Thread> = handler.object();
        if handler.is_empty() || to == thread || self.pool[to].space.is_null() {
            self.halt(thread);
            return;
        }
        let kind =
            if self.pool[thread].is_alien() { MessageKind::Alien } else { MessageKind::Exception };
        self.pool[thread].sending = kind as u32;
        self.pool[thread].badge = handler.badge();
        self.pool[thread].partner = to.link();
        if self.receives_from(to, thread) {
            let handle = self.pool[thread].handle.wrapping_add(SEQUENCE);
            self.transfer_exception(thread, to, handler.badge(), handle);
            self.pool[thread].handle = handle;
            self.wake(to);
        } else {
            self.pool[thread].gate = gate::SENDING | gate::SLOW;
            self.join_senders(to, thread);
        }
    }

    /// Nobody handles the thread's exception. A thread that runs it as an alien must not wait for
    /// ever.
    fn halt(&mut self, thread: Ref<Thread>) {
        self.pool[thread].gate = gate::HALTED;
        let runner = self.pool[thread].partner.get();
        if let Some(runner) = runner
            .filter(|r| self.pool[*r].state() == gate::RUN && self.pool[*r].partner.is(thread))
        {
            self.fail(runner, Error::BadState);
        }
    }

    /// Delivers an exception to a handler that receives; the thread then waits for its reply.
    pub(crate) fn transfer_exception(
        &mut self,
        from: Ref<Thread>,
        to: Ref<Thread>,
        badge: u32,
        handle: u32,
    ) {
        let frame = P::Registers::frame(&self.pool[from]);
        let alien = self.pool[from].is_alien();
        let (kind, words) = if alien {
            (MessageKind::Alien, EVENT_WORDS)
        } else {
            (MessageKind::Exception, REGISTER_WORDS + frame::WORDS)
        };
        let at = if alien { self.pool[from].utcb } else { self.pool[to].utcb + FRAME_OFFSET };
        self.pool.bytes_mut(at, FRAME_BYTES).copy_from_slice(bytemuck::bytes_of(&frame));
        let t = &mut self.pool[from];
        t.gate = gate::REPLY
            | match (alien, t.lazy) {
                (true, _) => gate::ALIEN,
                (false, 0) => gate::EXCEPTION,
                (false, _) => gate::SLOW,
            };
        self.set_results(
            to,
            Delivery::new(kind, badge, words, 0).0,
            handle,
            Self::registers([frame.vector, frame.address, frame.error]),
        );
    }

    /// Takes a thread's registers as its handler left them: an alien's from its
    /// slot, a native thread's from the reply if that has all of them.
    pub(crate) fn resume_exception(&mut self, me: Ref<Thread>, thread: Ref<Thread>, tag: Tag) {
        let at = if self.pool[thread].is_alien() {
            self.pool[thread].utcb
        } else if tag.words() >= REGISTER_WORDS + frame::WORDS {
            self.pool[me].utcb + FRAME_OFFSET
        } else {
            return;
        };
        let frame: Frame = bytemuck::pod_read_unaligned(self.pool.bytes_at(at, FRAME_BYTES));
        if frame.changed & frame::CHANGED_STATE != 0 {
            // What is in the processor would be the old state.
            self.port.unload(&mut self.pool, thread, true);
        }
        P::Registers::load_frame(&mut self.pool[thread], &frame);
    }

    /// The alien that a thread may run by a handle.
    #[inline(always)]
    fn waiting_alien(&self, space: Ref<Space>, tag: Tag, handle: Word) -> Result<Ref<Thread>> {
        Self::check_tag(tag)?;
        let alien = self.waiting_caller(space, handle)?;
        if self.pool[alien].is_alien() { Ok(alien) } else { Err(Error::BadState) }
    }

    /// `map_run`: an answer to an alien's page fault, mostly.
    pub(crate) fn map_run(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        call: call::MapRun,
    ) -> Result<Outcome> {
        let call::MapRun { handle, count } = call;
        if let Err(error) = self.waiting_alien(space, tag, handle) {
            // The records that an interruption had left.
            self.pool[me].progress = 0;
            return Err(error);
        }
        match self.map_records(me, space, count)? {
            Batch::Done => self.run(me, space, tag, handle),
            Batch::Again => Ok(Outcome::Again),
            Batch::Failed(index, error) => {
                self.set_failed(me, error);
                P::Registers::set_result(&mut self.pool[me].context, 2, index as Word);
                Ok(Outcome::Handled)
            }
        }
    }

    /// `run`: reply to an alien, then wait for its next event or a notification.
    #[inline(always)]
    pub(crate) fn run(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        tag: Tag,
        handle: Word,
    ) -> Result<Outcome> {
        let alien = self.waiting_alien(space, tag, handle)?;
        let bits = self.accepted(me);
        if bits != 0 {
            // The alien has not run: its handle stays good.
            self.take_signals(me, bits, MessageKind::Interrupted, handle as u32);
            return Ok(Outcome::Handled);
        }
        self.resume_exception(me, alien, tag);
        if self.pool[alien].handler.object::<Thread>() != me {
            // Its next event goes to its handler, which it knows then in place of this thread.
            self.pool[alien].flags |= flag::WATCHED;
        }
        self.wake(alien);
        self.pool[alien].partner = me.link();
        self.pool[me].partner = alien.link();
        self.wait(me, gate::RUN);
        Ok(Outcome::Handled)
    }

    /// A notification reached a thread that waits in `run`: its alien is stopped.
    pub(crate) fn interrupt_run(&mut self, me: Ref<Thread>, bits: u32) {
        let Some(alien) = self.pool[me].partner.get() else { return };
        if self.pool[alien].state() != gate::READY || !self.pool[alien].partner.is(me) {
            // Halted, stopped or run by somebody else: there is nothing to interrupt.
            self.take_signals(me, bits, MessageKind::Notification, 0);
            self.wake(me);
            return;
        }
        self.unready(alien);
        let handle = self.pool[alien].handle.wrapping_add(SEQUENCE);
        let badge = self.pool[alien].handler.badge();
        self.transfer_exception(alien, me, badge, handle);
        let at = self.pool[alien].utcb + offset_of!(Frame, vector) as u32;
        self.pool
            .bytes_mut(at, size_of::<Word>() as u32)
            .copy_from_slice(&frame::vector::INTERRUPTED.to_ne_bytes());
        self.pool[alien].sending = MessageKind::Alien as u32;
        self.pool[alien].handle = handle;
        self.pool[alien].partner = me.link();
        self.take_signals(me, bits, MessageKind::Interrupted, handle);
        self.wake(me);
    }
}
