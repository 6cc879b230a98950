// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the fast path does at an event, and what must be true of the result, whatever the portable
//! kernel does.

use super::Kernel;
use super::code::Code;
use super::entry::Entered;
use super::machine::{Exit, Machine, special};
use crate::processor::{Outcome, Run, is_pool, pool_word};
use abi::{Op, Tag};
use alpha_context::{CALL, hw, word};
use anyhow::{Context, Result, ensure};
use kcore::Thread;
use kcore::port::Processor as _;
use kcore::thread::{ANCHOR, gate};
use pool::Ref;
use std::collections::BTreeMap;

/// The instructions of every call and every reply-and-wait, from the entry to user mode.
const TAKES: [(Op, usize, &str); 2] = [(Op::Call, 49, "calls"), (Op::ReplyWait, 51, "replies")];

/// What the fast path left besides memory.
pub struct Left {
    registers: [u64; 32],
    special: BTreeMap<u32, u64>,
    goes_on: u64,
}

/// The words that a port has in registers of PALmode, in the order of `ipc.S`.
fn kept(kernel: &mut Kernel) -> [u64; 5] {
    let cpu = *kernel.port.cpu();
    let table = kernel.threads;
    [
        cpu.current.value().into(),
        cpu.loaded.into(),
        u64::from(cpu.top) << 32 | u64::from(gate::OPEN),
        (table.start + ANCHOR).into(),
        (table.count - 1).into(),
    ]
}

/// Runs the fast path on a copy: returns what it left in memory and registers if it went to user
/// mode; otherwise checks that it left everything as it was. The conditional branch `turned` does
/// the opposite.
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
    let mut registers: BTreeMap<u32, u64> = (special::KEPT..).zip(kept(kernel)).collect();
    registers.insert(special::EXC_ADDR, entered.pc);
    let kernel = &*kernel;
    let memory = |address: u32| pool_word::<super::Alpha>(kernel, address);
    let mut machine = Machine::new(entered.registers, registers.clone(), &memory);
    let exit = machine.run(code, turned)?;
    let (outcome, ways) = match exit {
        Exit::User(goes_on) => {
            let address = machine.special[&special::KEPT];
            let current = (0..kernel.threads.count)
                .filter_map(|index| kernel.threads.get(index))
                .find(|thread| u64::from(thread.address()) == address)
                .with_context(|| format!("{address:#x} runs, which is no thread"))?;
            ensure!(
                registers[&(special::KEPT + 1)] == 0,
                "what is loaded is the next thread's, too"
            );
            ensure!(machine.special.contains_key(&special::TBIA), "the TLB was not dropped");
            registers.insert(special::KEPT, address);
            ensure!(
                (special::KEPT..special::KEPT + 5).all(|at| machine.special[&at] == registers[&at]),
                "another register of PALmode was written"
            );
            let op = Op::from_code(entered.registers[0] as u32 >> Tag::OP_SHIFT);
            let (_, takes, way) = TAKES
                .into_iter()
                .find(|(named, ..)| Some(*named) == op)
                .with_context(|| format!("{op:?} went through"))?;
            let steps = machine.steps.len();
            ensure!(steps == takes, "{op:?} took {steps} instructions, not {takes}");
            let switches = kernel.pool[current].space != entered.space.link();
            let ways = if switches { vec![way, "to another space"] } else { vec![way] };
            let own = Left { registers: machine.user, special: machine.special, goes_on };
            (Some(Outcome { current, written: machine.words.written, own }), ways)
        }
        Exit::Left(at) => {
            ensure!(at == code.slow, "the code went to {at:#x}");
            ensure!(
                machine.user == entered.registers
                    && machine.words.order.is_empty()
                    && machine.special == registers,
                "something of {me:?} was changed before the slow way"
            );
            (None, Vec::new())
        }
    };
    Ok(Run { outcome, tests: machine.tests, steps: machine.steps, ways })
}

/// Checks that registers, tag and tables of the running thread are those of the portable kernel.
pub fn check(kernel: &Kernel, entered: &Entered, outcome: &Outcome<Left>) -> Result<()> {
    let Outcome { current, written, own: left } = outcome;
    let context = &kernel.pool[*current].context;
    for (index, found) in left.registers.iter().enumerate() {
        // Registers that are no part of the message keep the sender's values.
        let value = match index {
            30 => context[word::SP],
            _ if CALL.contains(&index) => context[index],
            _ => entered.registers[index],
        };
        ensure!(*found == value, "register {index} is {value:#x}, by the fast path {found:#x}");
    }
    let (found, pc) = (left.goes_on, context[word::PC]);
    ensure!(found == pc, "it goes on at {pc:#x}, by the fast path at {found:#x}");
    let space = kernel.pool[*current].space.get().context("it has no space")?;
    let words = &kernel.pool[space].hw;
    let [table, tag] =
        [hw::TABLE, hw::TAG].map(|at| u64::from(words[at]) | u64::from(words[at + 1]) << 32);
    ensure!(tag != 0, "its space has no tag");
    let loaded =
        [special::PTBR, special::TAGS[0], special::TAGS[1]].map(|at| left.special.get(&at));
    ensure!(loaded == [Some(&table), Some(&tag), Some(&tag)], "tables and tags are {loaded:x?}");
    ensure!(kernel.port.invalidated.is_empty(), "the portable kernel dropped translations");
    ensure!(
        written.keys().all(|at| is_pool::<super::Alpha>(kernel, at)),
        "words were written: {written:x?}"
    );
    Ok(())
}
