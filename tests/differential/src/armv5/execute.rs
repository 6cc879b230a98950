// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code and the exit code, executed on a copy of the kernel's data.

use super::code::{Code, TESTS};
use super::entry::{Access, Entered, Noted, random_user};
use super::machine::{CPSR, Exit, Machine, REGISTERS};
use super::rules::{Left, THREAD_POINTER};
use super::{Armv5, Kernel};
use crate::memory::Written;
use crate::processor::{Outcome, Run, all, pool_word};
use abi::utcb::SLOT_USED;
use abi::{Op, Tag};
use anyhow::{Context, Result, ensure};
use arch_host::POOL_BASE;
use armv5_context::{hw, vector, word};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::port::{Processor, Translation};
use kcore::thread::ANCHOR;
use kcore::{Cpu, Space, Thread};
use pool::{Link, Ref};
use std::ops::Range;

/// The domain access register while the kernel runs: all domains are open.
const ALL: u32 = 0x5555_5555;

/// What the code can read besides the pool.
struct Outside<'a> {
    kernel: &'a Kernel,
    code: &'a Code,
    cpu: Cpu,
    noted: &'a Noted,
    /// See [`Entered`].
    instruction: (u32, u32),
}

impl Outside<'_> {
    /// A word, of the pool or another.
    fn word(&self, address: u32) -> Option<u32> {
        if let Some(word) = pool_word::<Armv5>(self.kernel, address) {
            return Some(word);
        }
        let (code, symbols, at) =
            (self.code, &self.code.symbols, |start: u32| address.wrapping_sub(start));
        let (start, bytes) = symbols.directory;
        let cpu = [self.cpu.loaded, self.cpu.top, self.cpu.port, self.cpu.current.value()];
        let (instruction, word) = self.instruction;
        match address {
            _ if address == instruction => Some(word),
            _ if at(code.places.cpu) < size_of::<Cpu>() as u32 => {
                cpu.get(at(code.places.cpu) as usize / 4).copied()
            }
            _ if at(start) < bytes => Some(self.noted.dirty),
            _ if address == symbols.index_mask => Some(self.kernel.threads.count - 1),
            _ if address == symbols.pool_offset => {
                Some((self.kernel.port.physical(POOL_BASE).0 as u32).wrapping_sub(POOL_BASE))
            }
            _ if address == symbols.copies => Some(self.noted.copies),
            // It is never read.
            THREAD_POINTER => Some(0),
            _ => code.word(address),
        }
    }
}

/// The slots of UTCBs, and the domain of each: that of the space where it lies.
fn frames(kernel: &Kernel) -> Vec<(Range<u32>, u32)> {
    let threads = all::<Armv5>(kernel)
        .into_iter()
        .map(|thread| &kernel.pool[thread])
        .filter(|thread| thread.utcb != 0);
    let home = |thread: &Thread| if thread.home.is_null() { thread.space } else { thread.home };
    threads
        .map(|thread| {
            (thread.utcb..thread.utcb + SLOT_USED, of_space(kernel, home(thread), hw::DOMAIN))
        })
        .collect()
}

/// A word that the port keeps of a space.
fn of_space(kernel: &Kernel, space: Link<Space>, word: usize) -> u32 {
    space.get().map_or(0, |space| kernel.pool[space].hw[word])
}

/// What the entry code does at an event. The test `turned` counts as passed.
pub fn enter(
    code: &Code,
    kernel: &mut Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    turned: Option<usize>,
) -> Result<Run<Left>> {
    let cpu = *kernel.port.cpu();
    let kernel = &*kernel;
    let outside =
        Outside { kernel, code, cpu, noted: &entered.noted, instruction: entered.instruction };
    let memory = |address: u32| outside.word(address);
    let (frames, open) = (frames(kernel), of_space(kernel, kernel.pool[me].space, hw::DACR));
    let mut machine = Machine::new(&memory, &entered.registers, entered.noted.pid, me.address())
        .with_domains(&frames, open);
    machine.fault = entered.fault.as_ref().map_or([0; 2], |fault| [fault.status, fault.address]);
    let [swi, data_fault, fetch_fault] = code.symbols.entries;
    let entry = match entered.fault.as_ref().map(|fault| fault.access) {
        None => swi,
        Some(Access::Data(_)) => data_fault,
        Some(Access::Fetch) => fetch_fault,
    };
    let exit = machine.run(code, entry, turned)?;
    let mut ways = if machine.found_closed {
        vec!["given up as a frame's domain is closed"]
    } else {
        Vec::new()
    };
    let outcome = if exit == Exit::User {
        let current = Link::from_value(
            machine
                .words()
                .get(code.places.cpu + offset_of!(Cpu, current) as u32)
                .context("nobody runs")?,
        );
        let current: Ref<Thread> = all::<Armv5>(kernel)
            .into_iter()
            .find(|thread| current.is(*thread))
            .context("no thread runs")?;
        let left = Left::new(&machine);
        ways.extend(taken(kernel, me, entered, &left, (current, cpu.top)));
        Some(Outcome { current, written: machine.words().written.clone(), own: left })
    } else {
        ensure!(exit == Exit::Left(code.symbols.slow), "the code went to {exit:x?}");
        given_up(&machine, me, entered)?;
        None
    };
    // If the fast path succeeds, all of its tests are passed already.
    let mut tests = if outcome.is_none() { machine.tests } else { Vec::new() };
    tests.retain(|test| TESTS[*test].is_some());
    Ok(Run { outcome, tests, steps: machine.steps, ways })
}

/// The ways that led to user mode.
fn taken(
    kernel: &Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    left: &Left,
    (current, top): (Ref<Thread>, u32),
) -> Vec<&'static str> {
    let is_alien = kernel.pool[me].is_alien();
    let op = Op::from_code(entered.user[0] >> Tag::OP_SHIFT);
    let way = match (&entered.fault, op) {
        (Some(fault), _) if matches!(fault.access, Access::Fetch) => "fetches",
        (Some(_), _) if is_alien => "page faults of aliens",
        (Some(_), _) => "page faults",
        _ if is_alien => "alien calls",
        (_, Some(Op::Call)) => "calls",
        (_, Some(Op::Run)) => "runs",
        (_, Some(Op::MapReplyWait)) => "answers by a page",
        (_, Some(Op::MapRun)) => "runs with a page",
        (_, Some(Op::Map)) => "maps",
        (_, Some(Op::Cache)) => "operations on caches",
        _ => "replies",
    };
    let is_equal = entered.fault.is_none() && kernel.pool[current].priority == top;
    let others = [
        (left.changed_pid(), "with another process identifier"),
        (left.replaced(), "pages in the place of others"),
        (is_equal && way == "calls", "calls at the priority of a ready thread"),
        (is_equal && way != "calls", "others at one"),
    ];
    [way]
        .into_iter()
        .chain(others.into_iter().filter_map(|(is_it, way)| is_it.then_some(way)))
        .collect()
}

/// Checks that on the way to the portable kernel all registers are saved as the user had them, and
/// that nothing else is changed.
fn given_up(machine: &Machine, me: Ref<Thread>, entered: &Entered) -> Result<()> {
    let at = |index: usize| me.address() - ANCHOR + index as u32 * 4;
    let had = &entered.registers;
    let mut saved = Written::default();
    if let Some(fault) = &entered.fault {
        saved.extend([(at(word::VECTOR), fault.access.number())]);
    } else {
        saved.extend((word::R0..word::R0 + 15).map(at).zip(had.iter().copied()));
        saved.extend([
            (at(word::PC), had[15]),
            (at(word::CPSR), had[CPSR]),
            (at(word::VECTOR), vector::SWI),
        ]);
    }
    let written = &machine.words().written;
    ensure!(*written == saved, "saved was {written:x?} of {had:x?}");
    ensure!(machine.dacr == Some(ALL), "the domains are {:x?}", machine.dacr);
    ensure!(machine.pid_writes == 0, "the process identifier was written");
    Ok(())
}

/// Checks that the way out restores all registers of the thread that runs, whatever the processor
/// has.
pub fn leave(code: &Code, kernel: &mut Kernel, rng: &mut Rng) -> Result<Option<Run<Left>>> {
    let Some(current) = kernel.current() else { return Ok(None) };
    let cpu = *kernel.port.cpu();
    let noted =
        Noted { entered: Link::NULL, pid: rng.u32(..4) << 25, ..Noted::random(kernel, rng) };
    let kernel = &*kernel;
    let left: [u32; REGISTERS] = random_user(&[], rng);
    let outside = Outside { kernel, code, cpu, noted: &noted, instruction: (0, 0) };
    let memory = |address: u32| outside.word(address);
    let mut machine = Machine::new(&memory, &left, noted.pid, 0);
    let exit = machine.run(code, code.symbols.leave, None)?;
    ensure!(exit == Exit::User, "the way out went to {exit:x?}");
    let words = machine.words();
    Left::new(&machine).runs(
        (kernel, code),
        current,
        &noted,
        (&words.written, &[THREAD_POINTER]),
        0..0,
    )?;
    let (word, pointer) = (words.get(THREAD_POINTER), kernel.pool[current].lazy_state[0]);
    ensure!(word == Some(pointer), "the thread pointer is {word:x?} in place of {pointer:#x}");
    Ok(Some(Run { outcome: None, tests: Vec::new(), steps: machine.steps, ways: Vec::new() }))
}
