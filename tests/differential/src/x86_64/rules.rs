// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the entry code makes of an event, and what must be true of it whatever the portable kernel
//! does.

use super::Kernel;
use super::code::{CPU, Code, ONES};
use super::entry::{CALL, Entered, NUMBERS};
use super::machine::{Exit, Machine, reg};
use super::spaces::tables;
use crate::clock::Clock;
use crate::processor::{Outcome, Run, pool_word};
use abi::frame::{GENERAL, USER_FLAGS, vector};
use abi::{Op, Tag};
use anyhow::{Context, Result, bail, ensure};
use core::mem::offset_of;
use kcore::port::{CONTEXT_WORDS, Processor as _};
use kcore::thread::{ANCHOR, gate};
use kcore::{Cpu, Scheduler, Thread};
use pool::Ref;
use x86_64_context::{FIXED_FLAGS, word};

/// Where `Cpu::current` is.
const CURRENT: u32 = CPU + offset_of!(Cpu, current) as u32;
/// Where `Cpu::top` is.
const TOP: u32 = CPU + offset_of!(Cpu, top) as u32;
/// What a call and a reply-and-wait to another space may take at most, from the entry to user mode.
const MOST: [(Op, usize); 2] = [(Op::Call, 50), (Op::ReplyWait, 52)];

/// What the assembly left beside memory.
pub struct Left {
    /// All registers of who runs, by the processor's numbers.
    registers: [u64; 16],
    /// The tables, if they were loaded.
    cr3: Option<u64>,
}

/// Where a saved register of a thread is: the lower half of its address.
fn saved(thread: Ref<Thread>, word: usize) -> u32 {
    thread.address() - ANCHOR + word as u32 * 8
}

/// The user's registers by the processor's numbers, as `syscall` leaves them.
fn numbered(entered: &Entered) -> [u64; 16] {
    let mut registers = [0; 16];
    NUMBERS.iter().zip(entered.user.r).for_each(|(number, value)| registers[*number] = value);
    registers[reg::RSP] = entered.user.rsp;
    registers
}

/// Runs the entry code on a copy: returns what it left in memory and registers if it went to user
/// mode; otherwise checks that it left everything as it was. The conditional jump `turned` does the
/// opposite.
pub fn run(
    code: &Code,
    kernel: &mut Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    turned: Option<usize>,
) -> Result<Run<Left>> {
    if !entered.by_call {
        return Ok(Run { outcome: None, tests: Vec::new(), steps: Vec::new(), ways: Vec::new() });
    }
    let cpu = *kernel.port.cpu();
    let kernel = &*kernel;
    // After `Cpu` comes the upper half of ring 0's stack pointer.
    let hot = [cpu.loaded, cpu.top, cpu.port, cpu.current.value(), u32::MAX];
    let scheduler: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched));
    // After the scheduler comes the clock.
    let Clock { base, mult, shift, counter } = entered.clock;
    let clock = [base as u32, (base >> 32) as u32, mult, shift];
    let place = code.places.scheduler;
    let rows: [(u32, &[u32]); 4] = [
        (CPU, &hot),
        (code.symbols.pool_place, &[0, kernel.threads.count - 1]),
        (place, scheduler),
        (place + size_of::<Scheduler>() as u32, &clock),
    ];
    let known = |address: u32| {
        rows.iter()
            .find_map(|(start, row)| row.get((address.wrapping_sub(*start) / 4) as usize).copied())
    };
    let memory =
        |address: u32| pool_word::<super::X86_64>(kernel, address).or_else(|| known(address));
    let mut machine = Machine::new(&memory);
    (machine.regs, machine.segments) = (numbered(entered), entered.segments);
    machine.tsc = counter;
    let exit = machine.run(code, code.symbols.entry, turned)?;
    let end = End { code, kernel, me, entered, machine: &machine, cpu };
    let (outcome, ways) = match exit {
        Exit::Sysret => {
            let (outcome, ways) = end.outcome()?;
            (Some(outcome), ways)
        }
        Exit::Left(at) => {
            end.given_up(at)?;
            (None, Vec::new())
        }
    };
    Ok(Run { outcome, tests: machine.tests, steps: machine.steps, ways })
}

/// Where the entry code ended.
struct End<'a> {
    code: &'a Code,
    kernel: &'a Kernel,
    me: Ref<Thread>,
    entered: &'a Entered,
    machine: &'a Machine<'a>,
    cpu: Cpu,
}

impl End<'_> {
    /// The portable kernel finds all as the user had it, but for what a system call of a native
    /// thread loses.
    fn given_up(&self, at: u32) -> Result<()> {
        let (machine, user) = (self.machine, &self.entered.user);
        let before = numbered(self.entered);
        let [whole, pushed] = self.code.symbols.slow;
        let written = &machine.words.written;
        if at == whole {
            ensure!(machine.regs == before && written.is_empty(), "all registers are the user's");
            return Ok(());
        }
        ensure!(at == pushed, "the code went to {at:#x}");
        ensure!(!self.kernel.pool[self.me].is_alien(), "an alien loses registers");
        for index in CALL {
            let number = NUMBERS[index - word::GENERAL];
            ensure!(machine.regs[number] == before[number], "register {number} is another one");
        }
        let lost = [reg::RBX, reg::RBP, reg::R15, reg::RCX, reg::R11];
        let wanted = [0, 0, 0, user.rip, FIXED_FLAGS];
        ensure!(lost.map(|number| machine.regs[number]) == wanted, "what is lost is not put away");
        let saved = |word: usize| saved(self.me, word);
        ensure!(
            machine.regs[reg::RSP] == ONES | u64::from(saved(word::VECTOR)),
            "the stack is at {:#x}",
            machine.regs[reg::RSP]
        );
        for (index, value) in [
            (word::VECTOR, vector::SYSTEM_CALL),
            (word::ERROR, 0),
            (word::RIP, user.rip),
            (word::RFLAGS, FIXED_FLAGS),
            (word::RSP, user.rsp),
        ] {
            let found = machine.load(ONES | u64::from(saved(index)), 8)?;
            ensure!(found == value, "word {index} is saved as {found:#x}, not {value:#x}");
        }
        let context = saved(0)..saved(CONTEXT_WORDS);
        ensure!(
            written.keys().all(|at| context.contains(at)),
            "something was changed before the slow way: {written:x?}"
        );
        Ok(())
    }

    /// What it left, and the ways that it took.
    fn outcome(&self) -> Result<(Outcome<Left>, Vec<&'static str>)> {
        let (machine, kernel) = (self.machine, self.kernel);
        ensure!(self.cpu.loaded == 0, "what is loaded is the next thread's, too");
        ensure!(
            [0, 3, 4, 5].iter().all(|at| machine.segments[*at] == 0),
            "the next thread has selectors of this one"
        );
        let address = machine.load(ONES | u64::from(CURRENT), 4)? as u32;
        let current = (0..kernel.threads.count)
            .filter_map(|index| kernel.threads.get(index))
            .find(|thread| thread.address() == address)
            .with_context(|| format!("{address:#x} runs, which is no thread"))?;
        let switches = kernel.pool[current].space != self.entered.space.link();
        let op = Op::from_code(self.entered.user.r[0] as u32 >> Tag::OP_SHIFT);
        let most = MOST.iter().find(|(named, _)| Some(*named) == op);
        let (steps, most) = (machine.steps.len(), most.map_or(usize::MAX, |(_, most)| *most));
        ensure!(steps <= most, "{op:?} took {steps} instructions, not {most}");
        let way = self.way(op.context("an unknown system call went through")?, current)?;
        let ways = if switches { vec![way, "to another space"] } else { vec![way] };
        let own = Left { registers: machine.regs, cr3: machine.cr3 };
        Ok((Outcome { current, written: machine.words.written.clone(), own }, ways))
    }
}

/// What it is called in the tally.
impl End<'_> {
    fn way(&self, op: Op, current: Ref<Thread>) -> Result<&'static str> {
        let scheduler = self.code.places.scheduler;
        let queues = scheduler..scheduler + size_of::<Scheduler>() as u32;
        let is_queued = self.machine.words.written.range(queues).next().is_some();
        let bits = self.machine.regs[NUMBERS[word::RSI - word::GENERAL]];
        Ok(match op {
            Op::Call => "calls",
            Op::ReplyWait => "replies",
            Op::Notify if current != self.me => "notifications of more urgent threads",
            Op::Notify if is_queued => "notifications of waiting threads",
            Op::Notify => "notifications",
            Op::Receive if current != self.me => "receives that wait",
            Op::Receive if bits != 0 => "receives of notifications",
            Op::Receive => "receives of nothing",
            _ => bail!("{op:?} went through"),
        })
    }
}

/// Registers and tables of who runs are those of the portable kernel.
pub fn check(
    code: &Code,
    kernel: &Kernel,
    entered: &Entered,
    outcome: &Outcome<Left>,
) -> Result<()> {
    let Outcome { current, written, own: left } = outcome;
    let context = &kernel.pool[*current].context;
    for index in CALL {
        let (value, number) = (context[index], NUMBERS[index - word::GENERAL]);
        let found = left.registers[number];
        ensure!(found == value, "register {number} is {value:#x}, by the assembly {found:#x}");
    }
    let [rip, rsp] = [context[word::RIP], context[word::RSP]];
    let numbers = [reg::RCX, reg::RSP, reg::R11, reg::RBX, reg::RBP, reg::R15];
    let found = numbers.map(|number| left.registers[number]);
    ensure!(
        found == [rip, rsp, FIXED_FLAGS, 0, 0, 0],
        "RIP, RSP, flags, RBX, RBP, R15 are {found:x?}; the first two should be {rip:#x}, {rsp:#x}"
    );
    let space = kernel.pool[*current].space.get().context("it has no space")?;
    let cr3 = (space != entered.space).then(|| tables(kernel, space));
    ensure!(left.cr3 == cr3, "the tables are {:x?}, not {cr3:x?}", left.cr3);
    ensure!(kernel.port.invalidated.is_empty(), "the portable kernel dropped translations");
    let queues = code.places.scheduler..code.places.scheduler + size_of::<Scheduler>() as u32;
    let is_known = |at: &u32| {
        crate::processor::is_pool::<super::X86_64>(kernel, *at)
            || [CURRENT, TOP].contains(at)
            || queues.contains(at)
    };
    ensure!(written.keys().all(is_known), "words were written: {written:x?}");
    Ok(())
}

/// A thread that waits in a system call goes on with flags that a user may have.
pub fn check_thread(thread: &Thread) -> Result<()> {
    if !matches!(thread.gate, gate::OPEN | gate::REPLY | gate::NOTIFIED) {
        return Ok(());
    }
    let flags = thread.context[word::RFLAGS];
    ensure!(flags & !USER_FLAGS == FIXED_FLAGS, "waits with the flags {flags:#x}");
    Ok(())
}

/// General registers, which are all of the processor's but RSP.
const _: () = assert!(GENERAL == 15);
