// SPDX-License-Identifier: MIT OR Apache-2.0
//! An entry into the kernel: how, with which registers, and with which state of the processor.

use super::code::ENTRIES;
use super::machine::{System, User};
use super::{Kernel, spaces};
use crate::clock::Clock;
use crate::processor::{Event, Found, Processor, all, pool_word};
use abi::frame::{CHANGED_STATE, USER_FLAGS, fault, vector as named};
use abi::{Frame, Op, PAGE_SIZE, Rights, Tag, USER_END, UserAddr};
use anyhow::{Result, ensure};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::Thread;
use kcore::fault::EVENT_WORDS;
use kcore::port::{CONTEXT_WORDS, Context, Processor as _};
use kcore::thread::gate;
use mmu::powerpc::bits;
use pool::Ref;
use powerpc_context::{lazy, msr, vector, word};

/// The first registers of a message: r3 to r10, and then r14 and r15.
const FIRST: usize = 3;
const NEAR: usize = 8;
const FAR: [usize; 2] = [14, 15];
/// The bits of the fixed-point exception register: three flags and a count.
const XER: u32 = 0xe000_007f;

/// Why an access or a fetch failed, in DSISR or SRR1: the hashed table does not have the page, or
/// it does not allow the access.
const NOT_FOUND: u32 = 1 << 30;
const PROTECTED: u32 = 1 << 27;
/// In DSISR: it was a store.
const STORE: u32 = 1 << 25;

/// How a thread entered.
pub struct Entered {
    /// Its registers.
    pub user: User,
    /// The processor's other state.
    pub system: System,
    /// Its tables and windows.
    pub spaces: spaces::Entered,
    /// The address at which it enters.
    pub entry: u32,
    /// The access that failed; none at a `sc`.
    pub fault: Option<Fault>,
    /// The clock.
    pub clock: Clock,
}

/// An access that failed.
#[derive(Clone, Copy)]
pub struct Fault {
    /// The address.
    address: u32,
    /// The right that it needed.
    access: Rights,
    /// The error that its handler gets; none if the access can be repeated, because the page is
    /// mapped after all, or if it is one of an I/O port.
    error: Option<u32>,
}

impl Fault {
    /// An access of a thread, mostly to a missing page.
    fn random(
        kernel: &Kernel,
        found: &Found,
        me: Ref<Thread>,
        spaces: &spaces::Entered,
        rng: &mut Rng,
    ) -> Self {
        // Sometimes to a page that is present, if one is found.
        let mut seeks = if rng.u32(..5) == 0 { 64 } else { 0 };
        loop {
            let address = match rng.u32(..16) {
                0 => USER_END | rng.u32(..),
                1 => rng.u32(..USER_END),
                _ => found.range + rng.u32(..super::PowerPc::PAGES * PAGE_SIZE),
            };
            let (address, access, error) = match rng.u32(..3) {
                0 => (address & !3, Rights::EXECUTE, fault::FETCH),
                1 => (address, Rights::WRITE, fault::WRITE),
                _ => (address, Rights::READ, 0),
            };
            if address >= USER_END {
                if access != Rights::EXECUTE {
                    return Self { address, access, error: None };
                }
                continue;
            }
            let error = match spaces::seen(kernel, me, spaces, address) {
                None if seeks > 0 => {
                    seeks -= 1;
                    continue;
                }
                None => Some(error),
                Some(page)
                    if access == Rights::WRITE && page & bits::READ_ONLY != bits::READ_WRITE =>
                {
                    Some(error | fault::PROTECTION)
                }
                // Such faults are rare.
                Some(_) if rng.u32(..4) > 0 => continue,
                Some(_) => None,
            };
            return Self { address, access, error };
        }
    }

    /// Sets the processor's registers. Returns the address at which the thread enters.
    fn tell(&self, user: &mut User, system: &mut System) -> u32 {
        let [data, fetch, _] = ENTRIES;
        let is_found = self.error.is_none_or(|error| error & fault::PROTECTION != 0);
        let why = if is_found { PROTECTED } else { NOT_FOUND };
        if self.access == Rights::EXECUTE {
            user.pc = self.address;
            user.msr |= why;
            return fetch;
        }
        system.dar = self.address;
        system.dsisr = why | if self.access == Rights::WRITE { STORE } else { 0 };
        data
    }

    /// Whether the page is present and cannot be written.
    pub fn is_of_protection(&self) -> bool {
        self.error.is_some_and(|error| error & fault::PROTECTION != 0)
    }
}

impl Entered {
    /// An entry by this event, with random registers.
    pub fn random(
        kernel: &mut Kernel,
        found: &Found,
        me: Ref<Thread>,
        event: &Event,
        rng: &mut Rng,
    ) -> Self {
        // Mostly less time passes than a slice has.
        let passes = if rng.u32(..8) == 0 { 8_000_000 } else { 20_000 };
        let mut clock = Clock::random(kernel.port.now + rng.u64(..passes), rng);
        // Sometimes the counter's lower half has just been carried into the upper one.
        let has_passed = rng.u32(..8) == 0;
        if has_passed {
            clock = just_passed(kernel.port.now + rng.u64(..passes), rng);
        }
        kernel.port.now = clock.now();
        let mut user = random_user(rng);
        let runs = match event {
            Event::Call([tag, handle, ..])
                if matches!(Op::from_code(tag >> Tag::OP_SHIFT), Some(Op::Run | Op::MapRun)) =>
            {
                Some(kernel.threads.named(*handle))
            }
            _ => None,
        };
        user.msr = kernel.pool[me].context[word::MSR] | fpu(kernel, me, runs, rng);
        let (mut system, spaces) = spaces::enter(kernel, me, runs, rng);
        system.time_base = clock.counter;
        if has_passed {
            // The upper half is read before the carry.
            (system.time_base, system.passes) = (clock.counter.wrapping_sub(1), 1);
        }
        let [_, _, call] = ENTRIES;
        let mut fault = None;
        let entry = match event {
            Event::Call(arguments) => {
                (FIRST..FIRST + NEAR)
                    .chain(FAR)
                    .zip(arguments)
                    .for_each(|(register, value)| user.gpr[register] = *value);
                call
            }
            Event::Fault => fault
                .insert(Fault::random(kernel, found, me, &spaces, rng))
                .tell(&mut user, &mut system),
            Event::Tick => call,
        };
        Self { user, system, spaces, entry, fault, clock }
    }

    /// Its registers as they are saved for the portable kernel, by `sc` (docs/powerpc.md, *Other
    /// things*) or by an exception.
    pub fn saved(&self, is_alien: bool) -> User {
        let mut saved = self.user;
        if self.fault.is_some() {
            return saved;
        }
        if is_alien {
            (saved.gpr[11], saved.gpr[12]) = (0, 0);
            saved.cr = lost(saved.cr);
            return saved;
        }
        let keeps = |register: usize| {
            matches!(register, 1 | 2)
                || (FIRST..FIRST + NEAR).contains(&register)
                || FAR.contains(&register)
        };
        (0..32).filter(|register| !keeps(*register)).for_each(|register| saved.gpr[register] = 0);
        User { gpr: saved.gpr, pc: saved.pc, msr: saved.msr, ..User::default() }
    }

    /// A handler that gets an event has the thread's values in registers that are not the
    /// message's. It knows all of them: they are in its memory. None has a word of the kernel.
    ///
    /// # Errors
    /// If one has.
    pub fn unknown(&self, is_alien: bool, handler: &mut User, has: &User) -> Result<()> {
        let saved = self.saved(true);
        let msr = self.user.msr & (msr::RUNNING | USER_FLAGS);
        let Fault { address, error, .. } =
            self.fault.unwrap_or(Fault { address: 0, access: Rights::NONE, error: None });
        let event = [address, error.unwrap_or_default(), named::SYSTEM_CALL, named::PAGE_FAULT];
        let known = [
            &[saved.lr, saved.ctr, saved.xer, saved.cr, saved.pc, msr, handler.msr, gate::READY, 0]
                [..],
            &event,
        ]
        .concat();
        // All words of a native's message are known.
        let words = if is_alien { FIRST + 2 + EVENT_WORDS as usize } else { FIRST + NEAR };
        let is_known =
            |register: &usize| matches!(register, 11 | 12) || !is_alien && FAR.contains(register);
        for register in [0].into_iter().chain(words..32).filter(|register| !is_known(register)) {
            let value = has.gpr[register];
            let is_known = saved.gpr.contains(&value)
                || known.contains(&value)
                || self.fault.is_none() && lost(value) == saved.cr;
            ensure!(is_known, "r{register} has {value:#x}");
            handler.gpr[register] = value;
        }
        (handler.lr, handler.ctr, handler.xer, handler.cr) =
            (saved.lr, saved.ctr, saved.xer, has.cr);
        Ok(())
    }

    /// The event in the portable kernel.
    pub fn portable(&self, kernel: &mut Kernel, me: Ref<Thread>, event: &Event) {
        let is_alien = kernel.pool[me].is_alien();
        match (event, self.fault) {
            (Event::Tick, _) => save(&mut kernel.pool[me].context, &self.user, vector::DECREMENTER),
            (_, Some(Fault { address, access, error })) => {
                save(&mut kernel.pool[me].context, &self.user, named::PAGE_FAULT);
                if let Some(error) = error {
                    kernel.pool[me].context[word::ERROR] = error;
                    kernel.page_fault(UserAddr(address), access);
                }
            }
            _ if is_alien => {
                save(&mut kernel.pool[me].context, &self.saved(true), named::SYSTEM_CALL);
                kernel.exception();
            }
            _ => {
                save(&mut kernel.pool[me].context, &self.saved(false), vector::SYSTEM_CALL);
                kernel.system_call();
                forget_changed(kernel);
            }
        }
    }
}

/// A condition register without CR0, which is undefined after an alien's `sc`.
pub const fn lost(cr: u32) -> u32 {
    cr & 0x0fff_ffff
}

/// A clock whose counter's lower half is 0, and has the shortest ticks.
fn just_passed(now: u64, rng: &mut Rng) -> Clock {
    const TICKS: u32 = 11;
    let counter = u64::from(rng.u32(..)) << 32;
    Clock { base: counter.wrapping_sub(now << TICKS), mult: 1 << 20, shift: 20 + TICKS, counter }
}

/// Gives the FPU the registers of a thread, often of the alien that this one runs, or of none.
/// Returns the bit of the machine state if they are this thread's.
fn fpu(kernel: &mut Kernel, me: Ref<Thread>, runs: Option<Ref<Thread>>, rng: &mut Rng) -> u32 {
    let has_used = |thread: &Ref<Thread>| kernel.pool[*thread].lazy & lazy::FPU != 0;
    let mut used = all::<super::PowerPc>(kernel);
    used.retain(has_used);
    let any = used.get(rng.usize(..used.len() + 1)).copied();
    let owner = runs
        .filter(|alien| has_used(alien) && rng.u32(..4) > 0)
        .or(any)
        .map_or(0, |thread| thread.address());
    kernel.port.cpu().loaded = owner;
    if owner == me.address() { msr::FPU } else { 0 }
}

/// The port no longer takes the FPU's registers for the alien's if its handler says that it has
/// changed them.
fn forget_changed(kernel: &mut Kernel) {
    let Some(current) = kernel.current().filter(|current| kernel.pool[*current].is_alien()) else {
        return;
    };
    let at = kernel.pool[current].utcb + offset_of!(Frame, changed) as u32;
    let is_changed =
        pool_word::<super::PowerPc>(kernel, at).is_some_and(|changed| changed & CHANGED_STATE != 0);
    if is_changed && kernel.port.cpu().loaded == current.address() {
        kernel.port.cpu().loaded = 0;
    }
}

/// Random registers of a user.
pub fn random_user(rng: &mut Rng) -> User {
    User {
        gpr: std::array::from_fn(|_| rng.u32(..)),
        lr: rng.u32(..),
        ctr: rng.u32(..),
        xer: rng.u32(..) & XER,
        cr: rng.u32(..),
        pc: rng.u32(..USER_END) & !3,
        msr: msr::RUNNING,
    }
}

/// Saves the registers for the portable kernel: the machine state without the exception's bits and
/// without the FPU's.
pub fn save(context: &mut Context, user: &User, vector: u32) {
    context[word::GPR..CONTEXT_WORDS].copy_from_slice(&user.gpr);
    for (at, value) in [
        (word::LR, user.lr),
        (word::CTR, user.ctr),
        (word::XER, user.xer),
        (word::CR, user.cr),
        (word::PC, user.pc),
        (word::MSR, user.msr & (msr::RUNNING | USER_FLAGS)),
        (word::VECTOR, vector),
        (word::ERROR, 0),
    ] {
        context[at] = value;
    }
}

/// The saved registers.
pub fn user(context: &Context) -> User {
    User {
        gpr: std::array::from_fn(|register| context[word::GPR + register]),
        lr: context[word::LR],
        ctr: context[word::CTR],
        xer: context[word::XER],
        cr: context[word::CR],
        pc: context[word::PC],
        msr: context[word::MSR],
    }
}
