// SPDX-License-Identifier: MIT OR Apache-2.0
//! Notifications, interrupts and alarms: bits that are set in a thread, seen by
//! it in its UTCB, and delivered by the next receive that accepts them.

use crate::port::Port;
use crate::thread::{Thread, flag, gate};
use crate::{Kernel, memory};
use abi::utcb::Utcb;
use abi::{Delivery, MessageKind};
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;
use pool::{Link, Object, Ref};

/// An entry of the heap of alarms.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Entry(Link<Thread>);
impl Object for Entry {}

/// Bytes of the heap of alarms for each thread.
pub const ALARM_BYTES: u32 = size_of::<Entry>() as u32;

/// Most alarms that are delivered in one go: the timer ticks again at once for the others.
const FIRE: u32 = 4;

/// A binary heap of the threads that have an alarm: none is due before the one at
/// half its index. The first index is 1, and a thread knows its own.
#[derive(Clone, Copy)]
pub struct Alarms {
    start: u32,
    count: u32,
}

impl Alarms {
    /// No alarms; their entries will be at this address of the pool, one for each thread but the first.
    pub(crate) const fn new(start: u32) -> Self {
        Self { start, count: 0 }
    }
    const fn entry(&self, index: u32) -> Ref<Entry> {
        Ref::new(self.start + index * ALARM_BYTES)
    }
}

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
        (self.alarms.count != 0).then(|| self.alarm_of(1)).flatten().map(|(_, at)| at)
    }

    /// The thread at an index of the heap of alarms, and when it is due; nobody is at index 0.
    fn alarm_of(&self, index: u32) -> Option<(Ref<Thread>, u64)> {
        let thread = (index <= self.alarms.count).then(|| self.pool[self.alarms.entry(index)].0.get()).flatten()?;
        Some((thread, self.pool[thread].alarm_at))
    }

    /// Sets a thread's alarm.
    pub(crate) fn set_alarm(&mut self, thread: Ref<Thread>, at: u64, bits: u32) {
        self.cancel_alarm(thread);
        if bits == 0 {
            return;
        }
        self.sched.alarm_set();
        let t = &mut self.pool[thread];
        (t.alarm_at, t.alarm_bits) = (at, bits);
        t.flags |= flag::ALARM;
        self.alarms.count += 1;
        self.place_alarm(self.alarms.count, thread);
    }

    /// Takes a thread's alarm, if any, out of the heap.
    pub(crate) fn cancel_alarm(&mut self, thread: Ref<Thread>) {
        if self.pool[thread].flags & flag::ALARM == 0 {
            return;
        }
        self.pool[thread].flags &= !flag::ALARM;
        let last = self.alarm_of(self.alarms.count);
        self.alarms.count -= 1;
        if let Some((last, _)) = last.filter(|(last, _)| *last != thread) {
            self.place_alarm(self.pool[thread].alarm_index, last);
        }
    }

    /// Puts a thread into the heap of alarms: at this index, where nobody is, or above or below it.
    fn place_alarm(&mut self, index: u32, thread: Ref<Thread>) {
        let at = self.pool[thread].alarm_at;
        let mut index = index;
        while let Some((above, _)) = self.alarm_of(index / 2).filter(|(_, above)| *above > at) {
            self.put_alarm(index, above);
            index /= 2;
        }
        while let Some((below, place)) = self.earlier_below(index).filter(|(below, _)| self.pool[*below].alarm_at < at) {
            self.put_alarm(index, below);
            index = place;
        }
        self.put_alarm(index, thread);
    }

    /// The earlier of the two below an index of the heap, and its index.
    fn earlier_below(&self, index: u32) -> Option<(Ref<Thread>, u32)> {
        let (left, right) = (2 * index, 2 * index + 1);
        let (thread, at) = self.alarm_of(left)?;
        match self.alarm_of(right) {
            Some((other, earlier)) if earlier < at => Some((other, right)),
            _ => Some((thread, left)),
        }
    }

    fn put_alarm(&mut self, index: u32, thread: Ref<Thread>) {
        self.pool[self.alarms.entry(index)] = Entry(thread.link());
        self.pool[thread].alarm_index = index;
    }

    /// Delivers alarms that are due, a few: others are as due when the timer is programmed next.
    pub(crate) fn fire_alarms(&mut self) {
        let now = self.port.now();
        for _ in 0..FIRE {
            let Some((thread, _)) = self.alarm_of(1).filter(|(_, at)| *at <= now) else { return };
            self.cancel_alarm(thread);
            let bits = self.pool[thread].alarm_bits;
            self.notify(thread, bits);
        }
    }
}
