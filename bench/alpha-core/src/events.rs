// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens next: mostly a system call of the thread that runs, with arguments that mostly make
//! sense; seldom a page fault, an exception, a tick or an interrupt.

use crate::outcome::Outcome;
use crate::port::{LINES, Simulated};
use abi::boot::slot::{IRQ, QUOTA, RAM, SPACE, THREAD};
use abi::frame::vector;
use abi::utcb::Utcb;
use abi::{
    Delivery, MapRecord, MessageKind, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END, UserAddr,
    Word, syscall,
};
use alpha_context::{Alpha, CALL, word};
use core::mem::offset_of;
use kcore::port::Registers;
use kcore::{Kernel, Thread};
use pool::Ref;

/// The first slot that random calls fill, empty and use.
const FIRST: Word = (IRQ + LINES as u32) as Word;
/// How many such slots there are.
const SLOTS: Word = 24;
/// Nanoseconds of a second: an alarm is at most that far away.
const SECOND: u64 = 1_000_000_000;
/// The addresses that are mapped: two leaf tables.
const MAPPED: Word = 4 * TABLE_SPAN;

/// xorshift64* (Vigna 2016).
pub struct Random(u64);

impl Random {
    /// A series of random numbers; the seed is made odd.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed << 1 | 1)
    }

    const fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    const fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }

    const fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// A slot of the random calls.
    const fn own(&mut self) -> Word {
        FIRST + self.below(SLOTS)
    }

    /// A selector that often names an object.
    const fn slot(&mut self) -> Word {
        match self.below(12) {
            0 => self.next(),
            1 => QUOTA as Word,
            2 => SPACE as Word,
            3 => RAM as Word,
            4 => THREAD as Word,
            5 => IRQ as Word + self.below(LINES as u64),
            _ => self.own(),
        }
    }

    const fn address(&mut self) -> Word {
        match self.below(16) {
            0 => USER_END - self.below(4) * PAGE_SIZE,
            1 => self.next(),
            2 => self.below(2 * TABLE_SPAN),
            _ => MAPPED + self.below(2 * TABLE_SPAN / PAGE_SIZE) * PAGE_SIZE,
        }
    }

    const fn bytes(&mut self) -> Word {
        match self.below(8) {
            0 => self.next(),
            1 => TABLE_SPAN << self.below(2),
            _ => (1 + self.below(8)) * PAGE_SIZE,
        }
    }

    /// A random word.
    const fn value(&mut self) -> Word {
        match self.below(8) {
            0 => self.next(),
            1 => 0,
            2 => !self.below(3),
            3 => 1 << self.below(64),
            4 => self.below(4096),
            5 => self.address(),
            6 => self.bytes(),
            _ => self.slot(),
        }
    }

    const fn rights(&mut self) -> Rights {
        if self.one_in(2) { Rights::RWX } else { Rights(self.below(64) as u32) }
    }
}

/// Arguments that mostly make sense for an operation.
fn sensible(op: Op, random: &mut Random) -> [Word; 4] {
    let (quota, space) = (QUOTA as Word, SPACE as Word);
    let quota = if random.one_in(4) { random.own() } else { quota };
    let some_space = if random.one_in(2) { random.own() } else { space };
    match op {
        Op::CreateQuota => [quota, 1 << (14 + random.below(5)), random.own(), random.below(8)],
        Op::CreateSpace => [quota, random.below(3) * 8, random.own(), 0],
        Op::CreateSegment => [quota, random.bytes(), random.own(), 0],
        Op::CreateThread => [quota, some_space, random.own(), 0],
        Op::DeriveMemory => {
            [RAM as Word, random.below(64) * PAGE_SIZE, random.bytes(), random.own()]
        }
        Op::Copy => [random.slot(), 0, random.own(), random.rights().0.into()],
        Op::Map | Op::MapReplyWait => [1 + random.below(4), 0, 0, 0],
        Op::Attach => {
            let address = MAPPED + random.below(8) * TABLE_SPAN;
            [some_space, address, random.own(), random.rights().0.into()]
        }
        Op::Detach => [some_space, MAPPED + random.below(8) * TABLE_SPAN, 0, 0],
        Op::Lookup => [some_space, random.address(), RAM as Word, 0],
        Op::Start | Op::SetRegisters | Op::Stop | Op::Reset => {
            [random.own(), random.address(), random.address(), random.value()]
        }
        Op::SetPriority => [random.own(), random.below(256), random.below(256), 0],
        Op::BindIrq => [IRQ as Word + random.below(LINES as u64), THREAD as Word, 0, 0],
        Op::AckIrq => [IRQ as Word + random.below(LINES as u64), 0, 0, 0],
        Op::SetHandler => [random.own(), random.own(), 0, 0],
        Op::Delete | Op::Revoke | Op::Notify | Op::Call | Op::Send => {
            [random.own(), random.below(2), random.value(), random.value()]
        }
        _ => [random.slot(), random.value(), random.value(), random.value()],
    }
}

/// Whether a call would end everything at once, because it concerns the root server's own objects.
fn guarded(op: Op, slot: Word, random: &mut Random) -> Word {
    let ends = matches!(op, Op::Delete | Op::Revoke | Op::Stop | Op::Reset | Op::SetRegisters);
    if ends && slot < FIRST { random.own() } else { slot }
}

/// Sets the words of the thread's UTCB that a user would write before a call.
fn write_utcb(kernel: &mut Kernel<Simulated>, me: Ref<Thread>, op: Op, random: &mut Random) {
    let utcb = kernel.pool[me].utcb;
    if utcb == 0 {
        return;
    }
    let mut set = |offset: usize, word: u64, bytes: usize| {
        let at = kernel.pool.bytes_mut(utcb + offset as u32, bytes as u32);
        at.copy_from_slice(&word.to_le_bytes()[..bytes]);
    };
    match op {
        Op::Map | Op::MapReplyWait | Op::MapRun => {
            for index in 0..4 {
                let what = random.below(8) as u32;
                let what = if what < 5 { MapRecord::MAP } else { what - 4 };
                let space = if random.one_in(2) { SPACE as Word } else { random.own() };
                let memory = if random.one_in(2) { RAM as Word } else { random.own() };
                let (address, offset, bytes) =
                    (random.address(), random.below(8) * PAGE_SIZE, random.bytes());
                let record = MapRecord::new(
                    what,
                    space,
                    address,
                    memory,
                    offset,
                    bytes,
                    random.rights().intersection(Rights::RWX),
                );
                for (word, value) in (4 * index..).zip(record.0) {
                    set(offset_of!(Utcb, words) + 8 * word, value, 8);
                }
            }
        }
        _ => {
            set(offset_of!(Utcb, words) + 8 * 3, QUOTA.into(), 8);
            for _ in 0..4 {
                let word = random.below(64) as usize;
                set(offset_of!(Utcb, words) + 8 * word, random.value(), 8);
            }
            set(offset_of!(Utcb, words) + 8 * 3, QUOTA.into(), 8);
        }
    }
    set(offset_of!(Utcb, accept), random.next(), 4);
    set(offset_of!(Utcb, receive_slot), random.own(), 4);
    set(offset_of!(Utcb, send_caps), random.own() << 16 | random.below(64), 4);
}

/// Whether results say that an operation succeeded.
fn succeeded(op: Op, first: Word) -> bool {
    if op.returns_delivery() {
        Delivery(first as u32).kind() != MessageKind::Failed
    } else {
        first == 0
    }
}

/// A random system call of the thread that runs.
fn system_call(
    kernel: &mut Kernel<Simulated>,
    me: Ref<Thread>,
    random: &mut Random,
    outcome: &mut Outcome,
) {
    let op = syscall::ALL[random.below(syscall::ALL.len() as u64) as usize];
    let mut words = [0; CALL.len()];
    words.iter_mut().for_each(|word| *word = random.value());
    // It seldom waits: hardly anybody would wake it.
    let poll = if random.one_in(64) { 0 } else { Tag::POLL };
    let shape = match random.below(4) {
        0 => random.below(0x200) as u32,
        _ => 3,
    };
    words[0] = (Tag::new(op, 0, 0).0 | poll | shape).into();
    if !random.one_in(4) {
        words[1..5].copy_from_slice(&sensible(op, random));
    }
    words[1] = guarded(op, words[1], random);
    write_utcb(kernel, me, op, random);
    let context = &mut kernel.pool[me].context;
    for (index, word) in words.into_iter().enumerate() {
        Alpha::set_result(context, index, word);
    }
    context[word::VECTOR] = vector::SYSTEM_CALL;
    if kernel.pool[me].is_alien() {
        kernel.exception();
    } else {
        kernel.system_call();
    }
    kernel.port.pending = random.one_in(16);
    while kernel.carry_on() {}
    let context = &kernel.pool[me].context;
    let first = Alpha::argument(context, 0);
    outcome.calls += 1;
    if succeeded(op, first) {
        outcome.good += 1;
        outcome.operations |= 1 << op as u32;
    }
    for index in 0..CALL.len() {
        outcome.add(Alpha::argument(&kernel.pool[me].context, index));
    }
}

/// Time passes, until the timer or a line wakes a thread. Returns whether one was woken.
fn sleep(kernel: &mut Kernel<Simulated>, random: &mut Random) -> bool {
    for _ in 0..4 {
        let (now, timer) = (kernel.port.now, kernel.port.timer.unwrap_or_default());
        kernel.port.now = timer.clamp(now, now + SECOND) + 1;
        kernel.tick();
        kernel.interrupt(random.below(LINES as u64) as u32);
        while kernel.carry_on() {}
        if kernel.current().is_some() {
            return true;
        }
    }
    false
}

/// At most this many events; fewer if no thread will run any more. Returns how many there were.
pub fn run(
    kernel: &mut Kernel<Simulated>,
    random: &mut Random,
    outcome: &mut Outcome,
    most: u32,
) -> u32 {
    for made in 0..most {
        outcome.add(kernel.port.dropped);
        let Some(me) = kernel.current() else {
            if sleep(kernel, random) {
                continue;
            }
            return made + 1;
        };
        outcome.add(me.address().into());
        kernel.port.now += random.below(100_000);
        match random.below(64) {
            0 => kernel.tick(),
            1 => kernel.interrupt(random.below(LINES as u64) as u32),
            2 if random.one_in(16) => {
                let rights = random.rights();
                kernel.page_fault(UserAddr(random.address()), rights);
            }
            3 if random.one_in(16) => {
                kernel.pool[me].context[word::VECTOR] = random.below(64);
                kernel.exception();
            }
            _ => system_call(kernel, me, random, outcome),
        }
        while kernel.carry_on() {}
    }
    most
}
