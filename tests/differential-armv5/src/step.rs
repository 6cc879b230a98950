// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event, by the assembly and by the portable kernel.

use crate::code::{Code, Executed, TESTS};
use crate::compare::{Before, Noted, Outcome, THREAD_POINTER, compare};
use crate::machine::{CPSR, Exit, Machine, REGISTERS};
use crate::scenario::{Event, Host};
use abi::frame::{USER_FLAGS, vector as named};
use abi::{Op, Rights, Tag, USER_END, UserAddr};
use anyhow::{Context, Result, ensure};
use arch_host::POOL_BASE;
use armv5_context::{THUMB, USER_MODE, hw, vector, word};
use fastrand::Rng;
use kcore::thread::ANCHOR;
use kcore::{Cpu, Kernel, Port, Thread};
use pool::Ref;
use std::collections::BTreeMap;

/// The domain access register while the kernel runs: all are open.
const ALL: u32 = 0x5555_5555;
/// ARM's `swi`, and its number.
const SWI: u32 = 0xef00_0000;
/// See [`SWI`].
const NUMBER: u32 = 0xff_ffff;

/// How often each was taken.
#[derive(Default)]
pub struct Tally {
    /// Events.
    pub events: u64,
    /// Calls by the fast path.
    pub calls: u64,
    /// `reply_wait` by the fast path.
    pub replies: u64,
    /// `run` by the fast path.
    pub runs: u64,
    /// Events of aliens by the fast path.
    pub alien_calls: u64,
    /// Those with which the process identifier was written.
    pub pids: u64,
    /// Calls to a thread that is as urgent as one in a ready queue.
    pub equal_calls: u64,
    /// Replies to such a one.
    pub equal_replies: u64,
    /// What was left to the portable kernel.
    pub given_up: u64,
    /// By test: events that were given up, and without this one test would have gone through with a wrong result.
    pub needed: [u64; TESTS.len()],
    /// And those that would have gone through with the right one.
    pub careful: [u64; TESTS.len()],
    /// How often each instruction was executed with its condition met, and how often not.
    pub executed: Executed,
}

impl Tally {
    fn note(&mut self, machine: &Machine) {
        machine.steps.iter().for_each(|(at, is_met)| self.executed.entry(*at).or_default()[usize::from(!is_met)] += 1);
    }
}

/// What the entry code finds beside the pool.
struct Entered<'a> {
    kernel: &'a Kernel<Host>,
    cpu: Cpu,
    noted: Noted,
    /// The program counter behind the instruction that entered, and its word.
    instruction: (u32, u32),
}

impl Entered<'_> {
    fn word(&self, code: &Code, address: u32) -> Option<u32> {
        let pool = &self.kernel.pool;
        if address.wrapping_sub(POOL_BASE) < pool.bytes() {
            return pool.bytes_at(address, 4).try_into().map(u32::from_ne_bytes).ok();
        }
        let at = |start: u32| address.wrapping_sub(start);
        let (start, bytes) = code.places.kernel;
        let cpu = [self.cpu.loaded, self.cpu.top, self.cpu.port, self.cpu.current.value()];
        let (behind, swi) = self.instruction;
        match address {
            _ if address == behind.wrapping_sub(4) => Some(swi),
            _ if at(code.places.cpu) < size_of::<Cpu>() as u32 => cpu.get(at(code.places.cpu) as usize / 4).copied(),
            _ if at(start) < bytes => Some(self.noted.dirty),
            _ if address == code.places.index_mask => Some(self.kernel.threads.count - 1),
            // Nobody reads it.
            THREAD_POINTER => Some(0),
            _ => code.word(address),
        }
    }
}

/// The registers of a user: random ones with these in r0 and so on.
fn random_user(first: &[u32], rng: &mut Rng) -> [u32; REGISTERS] {
    let mut user = std::array::from_fn(|_| rng.u32(..));
    user[..first.len()].copy_from_slice(first);
    user[CPSR] = user[CPSR] & USER_FLAGS | USER_MODE;
    let aligned = if user[CPSR] & THUMB != 0 { !1 } else { !3 };
    user[15] = (user[15] % USER_END) & aligned;
    user
}

/// As the entry code saves them for the portable kernel.
fn save(thread: &mut Thread, user: &[u32; REGISTERS], vector: u32) {
    let context = &mut thread.context;
    context[word::R0..word::R0 + 15].copy_from_slice(&user[..15]);
    (context[word::PC], context[word::CPSR]) = (user[15], user[CPSR]);
    (context[word::VECTOR], context[word::ERROR]) = (vector, 0);
}

/// Lets the thread that runs do this.
pub fn step(kernel: &mut Kernel<Host>, event: &Event, code: &Code, rng: &mut Rng, tally: &mut Tally) -> Result<()> {
    let me = kernel.current().context("nobody runs")?;
    tally.events += 1;
    kernel.port.now += rng.u64(..20_000);
    match event {
        Event::Swi(arguments) => {
            let user = random_user(arguments, rng);
            let noted = noted(kernel, rng);
            swi(kernel, me, &user, code, noted, (rng, tally))?;
        }
        Event::PageFault => {
            save(&mut kernel.pool[me], &random_user(&[], rng), named::PAGE_FAULT);
            kernel.page_fault(UserAddr(rng.u32(..)), Rights::READ);
        }
        Event::Tick => {
            save(&mut kernel.pool[me], &random_user(&[], rng), vector::INTERRUPT);
            kernel.port.now += rng.u64(..12_000_000);
            kernel.tick();
        }
    }
    while kernel.carry_on() {}
    // Somebody has to run: alarms are the only thing that time brings.
    for _ in 0..4 {
        if kernel.current().is_none() {
            kernel.port.now += 10_000_000;
            kernel.tick();
            while kernel.carry_on() {}
        }
    }
    let noted = Noted { pid: rng.u32(..4) << 25, ..noted(kernel, rng) };
    leave(kernel, &random_user(&[], rng), code, noted, tally)
}

/// What the processor has beside the registers of the user who runs: the process identifier, and the domains that were open.
fn noted(kernel: &mut Kernel<Host>, rng: &mut Rng) -> Noted {
    let space = kernel.current().and_then(|me| kernel.pool[me].space.get());
    let own = space.map_or(hw::INDIFFERENT, |space| kernel.pool[space].hw[hw::PID]);
    let pid = if own & hw::INDIFFERENT != 0 { rng.u32(..4) << 25 } else { own };
    Noted { pid, dirty: rng.u32(..) & rng.u32(..) }
}

/// A system call, by the assembly first.
fn swi(
    kernel: &mut Kernel<Host>,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    code: &Code,
    noted: Noted,
    (rng, tally): (&mut Rng, &mut Tally),
) -> Result<()> {
    let before = Before::new(kernel);
    let cpu = *kernel.port.cpu();
    let swi = SWI | if rng.bool() { 0 } else { rng.u32(..) & NUMBER };
    let entered = Entered { kernel, cpu, noted, instruction: (user[15], swi) };
    let (outcome, without) = assembly(&entered, me, user, code, tally)?;
    let timer = kernel.port.timer.take();
    kernel.port.invalidated.clear();
    save(&mut kernel.pool[me], user, vector::SWI);
    let by_alien = kernel.pool[me].is_alien();
    if by_alien {
        // Of Thumb the port gives 8 bits of another instruction, which is not in this memory.
        kernel.pool[me].context[word::ERROR] = swi & NUMBER;
        kernel.exception();
    } else {
        kernel.system_call();
    }
    if let Some(outcome) = &outcome {
        compare(kernel, &before, me, outcome, code)?;
        tally.pids += u64::from(outcome.changed_pid());
        let op = Op::from_code(user[0] >> Tag::OP_SHIFT);
        let is_call = op == Some(Op::Call);
        *match op {
            _ if by_alien => &mut tally.alien_calls,
            Some(Op::Call) => &mut tally.calls,
            Some(Op::Run) => &mut tally.runs,
            _ => &mut tally.replies,
        } += 1;
        let priority = outcome.current.get().map(|current| kernel.pool[current].priority);
        *if is_call { &mut tally.equal_calls } else { &mut tally.equal_replies } += u64::from(priority == Some(cpu.top));
    } else {
        tally.given_up += 1;
    }
    for (test, outcome) in without {
        let is_right = outcome.is_some_and(|outcome| compare(kernel, &before, me, &outcome, code).is_ok());
        *if is_right { &mut tally.careful[test] } else { &mut tally.needed[test] } += 1;
    }
    kernel.port.timer = kernel.port.timer.or(timer);
    Ok(())
}

/// An outcome without a test, by the test's number; none if it went where nothing is.
type Without = Vec<(usize, Option<Outcome>)>;

/// What the entry code makes of it; if it gives up, what it would have without one of its tests, where the others let it through.
fn assembly(
    entered: &Entered,
    me: Ref<Thread>,
    user: &[u32; REGISTERS],
    code: &Code,
    tally: &mut Tally,
) -> Result<(Option<Outcome>, Without)> {
    let (entry, slow) = (code.symbol("swi_entry")?, code.symbol("trap5enter")?);
    let memory = |address: u32| entered.word(code, address);
    let mut machine = Machine::new(&memory, user, entered.noted.pid, me.address());
    let exit = machine.run(code, entry, None)?;
    tally.note(&machine);
    if exit == Exit::User {
        return Ok((Some(Outcome::new(&machine, code, entered.noted)?), Vec::new()));
    }
    ensure!(exit == Exit::Left(slow), "the code went to {exit:x?}");
    given_up(&machine, me, user)?;
    let mut without = Vec::new();
    for test in machine.tests.iter().copied().filter(|test| TESTS[*test].is_some()) {
        let mut machine = Machine::new(&memory, user, entered.noted.pid, me.address());
        match machine.run(code, entry, Some(test)) {
            Ok(Exit::User) => without.push((test, Some(Outcome::new(&machine, code, entered.noted)?))),
            Ok(Exit::Left(_)) => {}
            Err(_) => without.push((test, None)),
        }
    }
    Ok((None, without))
}

/// On the way to the portable kernel all registers are saved as the user had them, and nothing else is changed.
fn given_up(machine: &Machine, me: Ref<Thread>, had: &[u32; REGISTERS]) -> Result<()> {
    let at = |index: usize| me.address() - ANCHOR + index as u32 * 4;
    let mut saved: BTreeMap<u32, u32> = (word::R0..word::R0 + 15).map(at).zip(had.iter().copied()).collect();
    saved.extend([(at(word::PC), had[15]), (at(word::CPSR), had[CPSR]), (at(word::VECTOR), vector::SWI)]);
    ensure!(*machine.written() == saved, "saved was {:x?} of {had:x?}", machine.written());
    ensure!(machine.dacr == Some(ALL), "the domains are {:x?}", machine.dacr);
    ensure!(machine.pid_writes == 0, "the process identifier was written");
    Ok(())
}

/// The way out restores all registers of the thread that runs, whatever is in the processor.
fn leave(kernel: &mut Kernel<Host>, left: &[u32; REGISTERS], code: &Code, noted: Noted, tally: &mut Tally) -> Result<()> {
    let Some(current) = kernel.current() else { return Ok(()) };
    let cpu = *kernel.port.cpu();
    let entered = Entered { kernel, cpu, noted, instruction: (0, 0) };
    let memory = |address: u32| entered.word(code, address);
    let mut machine = Machine::new(&memory, left, noted.pid, 0);
    let exit = machine.run(code, code.symbol("leave_kernel")?, None)?;
    tally.note(&machine);
    ensure!(exit == Exit::User, "the way out went to {exit:x?}");
    let (outcome, word) = (Outcome::new(&machine, code, noted)?, machine.word(THREAD_POINTER));
    outcome.runs(kernel, code, &[THREAD_POINTER], 0..0).context("on the way out")?;
    let pointer = kernel.pool[current].lazy_state[0];
    ensure!(word == Some(pointer), "the thread pointer is {word:x?} in place of {pointer:#x}");
    Ok(())
}
