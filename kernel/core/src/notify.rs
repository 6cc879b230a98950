// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifications, interrupts and alarms: bits that are set in a thread, seen by
//! it in its UTCB, and delivered by the next receive that accepts them.

use crate::port::Port;
use crate::thread::{Thread, flag, gate};
use crate::{Kernel, memory};
use abi::utcb::Utcb;
use abi::{Delivery, MessageKind};
use core::mem::offset_of;
use pool::{Link, Ref};

impl<P: Port> Kernel<P> {
    /// A word of a thread's UTCB.
    pub(crate) fn utcb_word(&self, thread: Ref<Thread>, offset: usize) -> u32 {
        let bytes = self.pool.bytes_at(self.pool[thread].utcb + offset as u32, 4);
        bytes.try_into().map_or(0, u32::from_ne_bytes)
    }

    /// Writes a word of a thread's UTCB.
    pub(crate) fn set_utcb_word(&mut self, thread: Ref<Thread>, offset: usize, value: u32) {
        let at = self.pool[thread].utcb + offset as u32;
        self.pool.bytes_mut(at, 4).copy_from_slice(&value.to_ne_bytes());
    }

    /// The bits that are pending and that the thread's next receive accepts.
    pub(crate) fn accepted(&self, thread: Ref<Thread>) -> u32 {
        if self.pool[thread].utcb == 0 { 0 } else { self.pool[thread].signals & self.utcb_word(thread, offset_of!(Utcb, accept)) }
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
    pub(crate) fn take_signals(&mut self, thread: Ref<Thread>, bits: u32, kind: MessageKind, handle: u32) {
        let signals = self.pool[thread].signals & !bits;
        self.set_signals(thread, signals);
        self.set_results(thread, Delivery::new(kind, 0, 1, 0).0, handle, [bits, 0, 0]);
    }

    /// An interrupt line fired: masked until it is acknowledged.
    pub fn interrupt(&mut self, line: u32) {
        self.port.set_irq(line, false);
        let irq = self.irqs.get(line as usize).and_then(|irq| irq.get());
        if let Some(target) = irq.map(|irq| self.pool[irq].target).filter(|target| !target.is_empty()) {
            self.notify(target.object(), target.badge());
        }
        self.settle();
    }

    /// The Irq object of a line.
    pub(crate) fn set_irq_object(&mut self, line: u32, irq: Link<memory::Irq>) {
        if let Some(entry) = self.irqs.get_mut(line as usize) {
            *entry = irq;
        }
    }

    /// When the earliest alarm is due.
    pub(crate) fn next_alarm(&self) -> Option<u64> {
        self.alarms.get().map(|thread| self.pool[thread].alarm_at)
    }

    /// Sets a thread's alarm; the list is kept in the order of time.
    pub(crate) fn set_alarm(&mut self, thread: Ref<Thread>, at: u64, bits: u32) {
        self.cancel_alarm(thread);
        if bits == 0 {
            return;
        }
        self.sched.alarm_set();
        let (mut prev, mut next) = (Link::NULL, self.alarms);
        while let Some(other) = next.get().filter(|other| self.pool[*other].alarm_at <= at) {
            (prev, next) = (other.link(), self.pool[other].alarm_next);
        }
        let t = &mut self.pool[thread];
        (t.alarm_at, t.alarm_bits, t.alarm_prev, t.alarm_next) = (at, bits, prev, next);
        t.flags |= flag::ALARM;
        match prev.get() {
            Some(prev) => self.pool[prev].alarm_next = thread.link(),
            None => self.alarms = thread.link(),
        }
        if let Some(next) = next.get() {
            self.pool[next].alarm_prev = thread.link();
        }
    }

    /// Takes a thread's alarm, if any, out of the list.
    pub(crate) fn cancel_alarm(&mut self, thread: Ref<Thread>) {
        if self.pool[thread].flags & flag::ALARM == 0 {
            return;
        }
        let Thread { alarm_prev: prev, alarm_next: next, .. } = self.pool[thread];
        self.pool[thread].flags &= !flag::ALARM;
        match prev.get() {
            Some(prev) => self.pool[prev].alarm_next = next,
            None => self.alarms = next,
        }
        if let Some(next) = next.get() {
            self.pool[next].alarm_prev = prev;
        }
    }

    /// Delivers the alarms that are due.
    pub(crate) fn fire_alarms(&mut self) {
        let now = self.port.now();
        while let Some(thread) = self.alarms.get().filter(|thread| self.pool[*thread].alarm_at <= now) {
            self.cancel_alarm(thread);
            let bits = self.pool[thread].alarm_bits;
            self.notify(thread, bits);
        }
    }
}
