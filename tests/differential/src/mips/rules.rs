// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the entry code does at an event, and what must be true of the result, whatever the portable
//! kernel does.

use super::code::{Code, ONES};
use super::entry::{CALL, Entered, KERNELS, STACK};
use super::machine::{Exit, Machine, System};
use super::{Kernel, Mips};
use crate::memory::Words;
use crate::processor::{Outcome, Run, is_pool, pool_word};
use abi::{Op, Tag};
use anyhow::{Context, Result, bail, ensure};
use core::mem::offset_of;
use kcore::port::Processor as _;
use kcore::thread::ANCHOR;
use kcore::{Cpu, Scheduler, Thread};
use mips_context::cause::{self, code as codes};
use mips_context::{hw, word};
use pool::Ref;

/// The most instructions of each, from the entry to user mode.
const MOST: [(Op, usize); 4] =
    [(Op::Call, 62), (Op::ReplyWait, 64), (Op::Notify, 108), (Op::Receive, 57)];
/// The address of the tables is after `Cpu`, at this offset.
const TABLES: u32 = size_of::<Cpu>() as u32;

/// What the assembly left besides memory.
pub struct Left {
    /// All general registers of the running thread.
    r: [u64; 32],
    /// The others.
    system: System,
    /// The tables that the handler of misses reads.
    tables: u32,
}

/// Runs the entry code on a copy: returns what it left in memory and registers if it went to user
/// mode; otherwise checks that it left everything as it was. The test `turned` finds the opposite.
pub fn run(
    code: &Code,
    kernel: &mut Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    turned: Option<usize>,
) -> Result<Run<Left>> {
    let cpu = *kernel.port.cpu();
    let kernel = &*kernel;
    let hot = [cpu.loaded, cpu.top, cpu.port, cpu.current.value(), entered.tables];
    let scheduler: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched));
    let rows: [(u32, &[u32]); 3] = [
        (code.places.cpu, &hot),
        (code.symbols.pool_place, &[0, kernel.threads.count - 1]),
        (code.places.scheduler, scheduler),
    ];
    let known = |address: u32| {
        rows.iter()
            .find_map(|(start, row)| row.get((address.wrapping_sub(*start) / 4) as usize).copied())
    };
    let memory = |address: u32| pool_word::<Mips>(kernel, address).or_else(|| known(address));
    let mut machine = Machine {
        r: entered.r,
        system: entered.system,
        words: Words::new(&memory),
        tests: Vec::new(),
        steps: Vec::new(),
    };
    let exit = machine.run(code, code.symbols.entry, turned)?;
    let end = End { code, kernel, me, entered, machine: &machine };
    let (outcome, ways) = match exit {
        Exit::Return => {
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
}

impl End<'_> {
    /// The event was left to the portable kernel: checks that it finds the user's registers. Those
    /// that a system call of a native thread loses may also be 0.
    fn given_up(&self, at: u32) -> Result<()> {
        let (machine, entered) = (self.machine, self.entered);
        ensure!(at == self.code.symbols.slow, "the code went to {at:#x}");
        ensure!(machine.system == entered.system, "the processor has {:x?}", machine.system);
        let Words { written, order, .. } = &machine.words;
        ensure!(order.is_empty(), "something was changed before the slow way: {written:x?}");
        let number = (entered.system.cause & cause::CODE) >> cause::CODE_SHIFT;
        let loses = number == codes::SYSTEM_CALL
            && !entered.is_delayed()
            && !self.kernel.pool[self.me].is_alien();
        for register in (1..32).filter(|register| !KERNELS.contains(register)) {
            let (value, before) = (machine.r[register], entered.r[register]);
            let may_be_lost = loses && !CALL.contains(&register) && register != STACK;
            ensure!(
                value == before || may_be_lost && value == 0,
                "${register} has {value:#x}, and had {before:#x}"
            );
        }
        Ok(())
    }

    /// What the code left, and the ways that it took.
    fn outcome(&self) -> Result<(Outcome<Left>, Vec<&'static str>)> {
        let (machine, kernel) = (self.machine, self.kernel);
        let hot = |offset: u32| machine.load(ONES | u64::from(self.code.places.cpu + offset));
        let address = hot(offset_of!(Cpu, current) as u32)?;
        let current = (0..kernel.threads.count)
            .filter_map(|index| kernel.threads.get(index))
            .find(|thread| thread.address() == address)
            .with_context(|| format!("{address:#x} runs, which is no thread"))?;
        let op = Op::from_code(self.entered.r[CALL[0]] as u32 >> Tag::OP_SHIFT);
        let way = match op {
            Some(Op::Call) => "calls",
            Some(Op::ReplyWait) => "replies",
            Some(Op::Notify) => "notifies",
            Some(Op::Receive) => "receives",
            _ => bail!("{op:?} went through"),
        };
        let most = MOST.iter().find(|(named, _)| Some(*named) == op).map(|(_, most)| *most);
        let steps = machine.steps.len();
        ensure!(most.is_some_and(|most| steps <= most), "{op:?} took {steps} instructions");
        let switches = kernel.pool[current].space != self.entered.space.link();
        let ways = if switches { vec![way, "to another space"] } else { vec![way] };
        let own = Left { r: machine.r, system: machine.system, tables: hot(TABLES)? };
        Ok((Outcome { current, written: machine.words.written.clone(), own }, ways))
    }
}

/// Checks that registers and space of the running thread are those of the portable kernel.
pub fn check(
    code: &Code,
    kernel: &Kernel,
    entered: &Entered,
    outcome: &Outcome<Left>,
) -> Result<()> {
    let Outcome { current, written, own: left } = outcome;
    let context = &kernel.pool[*current].context;
    for register in CALL.into_iter().chain([STACK]) {
        let (value, found) = (context[word::GPR + register], left.r[register]);
        ensure!(found == value, "${register} is {value:#x}, by the assembly {found:#x}");
    }
    let pc = context[word::PC];
    ensure!(left.system.epc == pc, "it goes on at {:#x}, not {pc:#x}", left.system.epc);
    // No address of the kernel is left in a register: these have ones in their upper half.
    for register in KERNELS {
        ensure!(left.r[register] == 0, "${register} has {:#x}", left.r[register]);
    }
    for (register, value) in left.r.iter().enumerate() {
        let is_known = CALL.contains(&register)
            || register == STACK
            || *value == entered.r[register]
            || value & ONES != ONES;
        ensure!(is_known, "${register} has {value:#x}");
    }
    let space = kernel.pool[*current].space.get().context("it has no space")?;
    let hw = &kernel.pool[space].hw;
    let asid = left.system.entry_hi & 0xff;
    ensure!(
        asid == u64::from(hw[hw::ASID]) && left.tables == hw[hw::TABLE],
        "its ASID is {asid}, and its tables are at {:#x}; they should be {hw:x?}",
        left.tables
    );
    ensure!(hw[hw::ASID] != 0, "it has no ASID");
    ensure!(kernel.port.invalidated.is_empty(), "the portable kernel dropped translations");
    let hot = code.places.cpu..code.places.cpu + TABLES + 4;
    let queues = code.places.scheduler..code.places.scheduler + size_of::<Scheduler>() as u32;
    let is_known =
        |at: u32| is_pool::<Mips>(kernel, at) || hot.contains(&at) || queues.contains(&at);
    ensure!(written.keys().all(is_known), "words were written: {written:x?}");
    Ok(())
}

/// A reference to a thread is after its registers.
const _: () = assert!(ANCHOR as usize == size_of::<kcore::port::Context>());
