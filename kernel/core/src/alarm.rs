// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alarms: each thread may have one, which notifies it when it is due.

use crate::port::Port;
use crate::thread::flag;
use crate::{Kernel, NOTHING, Result, Thread};
use abi::Word;
use abi::call::{self, SystemCall};
use bytemuck::{Pod, Zeroable};
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
    /// No alarms; their entries will be at this address of the pool, one for each thread but the
    /// first.
    pub(crate) const fn new(start: u32) -> Self {
        Self { start, count: 0 }
    }
    const fn entry(&self, index: u32) -> Ref<Entry> {
        Ref::new(self.start + index * ALARM_BYTES)
    }
}

impl<P: Port> Kernel<P> {
    /// `alarm`. A time is two words of 32 bits, whatever a word has.
    pub(crate) fn alarm(&mut self, me: Ref<Thread>, words: [Word; 4]) -> Result<[Word; 3]> {
        let [low, high, bits, _] = words;
        for word in [low, high] {
            crate::narrow(word)?;
        }
        let (at, bits) = (call::Alarm::of(words).at.0, crate::narrow(bits)?);
        if at <= self.port.now() {
            self.cancel_alarm(me);
            self.notify(me, bits);
        } else {
            self.set_alarm(me, at, bits);
        }
        Ok(NOTHING)
    }

    /// When the earliest alarm is due.
    pub(crate) fn next_alarm(&self) -> Option<u64> {
        (self.alarms.count != 0).then(|| self.alarm_of(1)).flatten().map(|(_, at)| at)
    }

    /// The thread at an index of the heap of alarms, and when it is due; nobody is at index 0.
    fn alarm_of(&self, index: u32) -> Option<(Ref<Thread>, u64)> {
        let thread = (index <= self.alarms.count)
            .then(|| self.pool[self.alarms.entry(index)].0.get())
            .flatten()?;
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
        while let Some((below, place)) =
            self.earlier_below(index).filter(|(below, _)| self.pool[*below].alarm_at < at)
        {
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
