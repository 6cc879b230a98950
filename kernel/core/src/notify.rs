// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifications, interrupts and alarms: bits that are set in a thread, seen by
//! it in its UTCB, and delivered by the next receive that accepts them.

use crate::port::Port;
use crate::thread::gate;
use crate::{Kernel, Thread};
use abi::utcb::Utcb;
use abi::{Delivery, MessageKind, Word};
use core::mem::offset_of;
use pool::Ref;

impl<P: Port> Kernel<P> {
    /// The bits that are pending and that the thread's next receive accepts.
    pub(crate) fn accepted(&self, thread: Ref<Thread>) -> u32 {
        if self.pool[thread].utcb == 0 {
            0
        } else {
            self.pool[thread].signals & self.utcb_word(thread, offset_of!(Utcb, accept))
        }
    }

    /// Changes the pending bits and their mirror.
    pub(crate) fn set_signals(&mut self, thread: Ref<Thread>, signals: u32) {
        self.pool[thread].signals = signals;
        if self.pool[thread].utcb != 0 && !self.pool[thread].is_alien() {
            self.set_utcb_word(thread, offset_of!(Utcb, pending), signals);
        }
    }

    /// Sets notification bits of a thread and delivers them if it waits for them.
    pub(crate) fn notify(&mut self, thread: Ref<Thread>, bits: u32) {
        let signals = self.pool[thread].signals | bits;
        self.set_signals(thread, signals);
        let bits = self.accepted(thread);
        if bits == 0 {
            return;
        }
        match self.pool[thread].state() {
            gate::OPEN | gate::CLOSED | gate::NOTIFIED => {
                self.take_signals(thread, bits, MessageKind::Notification, 0);
                self.wake(thread);
            }
            gate::RUN => self.interrupt_run(thread, bits),
            _ => {}
        }
    }

    /// Delivers bits as the result of the thread's receive.
    pub(crate) fn take_signals(
        &mut self,
        thread: Ref<Thread>,
        bits: u32,
        kind: MessageKind,
        handle: u32,
    ) {
        let signals = self.pool[thread].signals & !bits;
        self.set_signals(thread, signals);
        self.set_results(
            thread,
            Delivery::new(kind, 0, 1, 0).0,
            handle,
            Self::registers([bits as Word, 0, 0]),
        );
    }
}
