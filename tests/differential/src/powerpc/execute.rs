// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code and the exit code, executed on a copy of the kernel's data.

use super::code::{Code, ENTRIES};
use super::entry::{Entered, lost, random_user, save, user};
use super::machine::{Machine, System, User};
use super::spaces::{NONE, Shown};
use super::{Kernel, PowerPc};
use crate::clock::Clock;
use crate::processor::{Outcome, Run, all, pool_word};
use abi::{Frame, Op, PAGE_SIZE, Tag};
use anyhow::{Context, Result, ensure};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::port::{CONTEXT_WORDS, Processor};
use kcore::sched::place;
use kcore::thread::ANCHOR;
use kcore::{Cpu, Scheduler, Thread};
use pool::{Link, Ref};
use powerpc_context::{msr, vector, word};

/// What the assembly left besides memory.
pub struct Left {
    /// The user's registers.
    pub user: User,
    /// The others.
    pub system: System,
    /// The fast paths' words about a window.
    pub shown: Shown,
}

/// The kernel's data besides the pool and the scheduler.
struct Known {
    cpu: Cpu,
    shown: Shown,
    /// The clock's words from its base on, the upper half first.
    clock: [u32; 4],
}

impl Known {
    fn new(cpu: Cpu, shown: Shown, Clock { base, mult, shift, .. }: Clock) -> Self {
        Self { cpu, shown, clock: [(base >> 32) as u32, base as u32, mult, shift] }
    }
}

/// The offset, in the scheduler of this host, of a word at an offset in the code's scheduler, where
/// the upper half of 64 bits comes first.
fn as_here(offset: u32) -> u32 {
    let halves = [place::SLICE_END, place::PROGRAMMED].map(|start| start as u32..start as u32 + 8);
    if halves.iter().any(|halves| halves.contains(&offset)) { offset ^ 4 } else { offset }
}

/// A word of the scheduler, or of the clock, which follows it.
fn of_kernel(kernel: &Kernel, clock: &[u32; 4], offset: u32) -> Option<u32> {
    let scheduler: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched));
    let after = (offset / 4).checked_sub(scheduler.len() as u32);
    scheduler.get(as_here(offset) as usize / 4).or_else(|| clock.get(after? as usize)).copied()
}

/// The word that the code reads at an address.
fn before(
    kernel: &Kernel,
    code: &Code,
    Known { cpu, shown, clock }: &Known,
    address: u32,
) -> Option<u32> {
    if let Some(word) = pool_word::<PowerPc>(kernel, address) {
        return Some(word);
    }
    let at = address.wrapping_sub(code.places.cpu) as usize / 4;
    let words = [cpu.loaded, cpu.top, cpu.port, cpu.current.value()];
    if let Some(word) = of_kernel(kernel, clock, address.wrapping_sub(code.places.scheduler)) {
        return Some(word);
    }
    match address {
        _ if address == code.symbols.index_mask => Some(kernel.threads.count - 1),
        // These are never read.
        _ if code.symbols.stack.contains(&address) || code.symbols.reload.contains(&address) => {
            Some(0)
        }
        _ => words
            .get(at)
            .or_else(|| shown.get(address.wrapping_sub(code.symbols.shown) as usize / 4))
            .copied(),
    }
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
    let known = Known::new(cpu, entered.spaces.shown, entered.clock);
    let memory = |address: u32| before(kernel, code, &known, address);
    let mut machine = Machine::new(&memory, entered.user, entered.system);
    machine.run(code, entered.entry, turned)?;
    let mut ways = Vec::new();
    let shown = std::array::from_fn(|index| {
        let at = code.symbols.shown + index as u32 * 4;
        machine.words().written.get(at).unwrap_or(entered.spaces.shown[index])
    });
    let left = Left { user: machine.processor.user, system: machine.processor.system, shown };
    let outcome = if left.user.msr & msr::USER != 0 {
        let current = Link::from_value(
            machine
                .words()
                .get(code.places.cpu + offset_of!(Cpu, current) as u32)
                .context("nobody runs")?,
        );
        let current: Ref<Thread> = all::<PowerPc>(kernel)
            .into_iter()
            .find(|thread| current.is(*thread))
            .context("no thread runs")?;
        let written = &machine.words().written;
        let start = code.places.scheduler;
        let queues = start..start + size_of::<Scheduler>() as u32;
        ways = taken(
            kernel,
            entered,
            (me, current),
            (known.cpu.top, &left, written.range(queues).next().is_some()),
        );
        let is_kernels =
            |(at, _): &(u32, u32)| !code.symbols.reload.contains(at) && *at != code.symbols.shown;
        let loses = kernel.pool[me].is_alien() && entered.fault.is_none();
        let cr = kernel.pool[me].utcb + offset_of!(Frame, cr) as u32;
        let seen = |(at, word): (u32, u32)| {
            let word = if loses && at == cr { lost(word) } else { word };
            (start.wrapping_add(as_here(at.wrapping_sub(start))), word)
        };
        let written = written.iter().filter(is_kernels).map(seen).collect();
        Some(Outcome { current, written, own: left })
    } else {
        given_up(&machine, code, (kernel.pool[me].is_alien(), me), entered)?;
        None
    };
    // If the fast path succeeds, all of its tests are passed already.
    let tests = if outcome.is_none() { machine.tests } else { Vec::new() };
    Ok(Run { outcome, tests, steps: machine.steps, ways })
}

/// The ways that led to user mode.
fn taken(
    kernel: &Kernel,
    entered: &Entered,
    (me, current): (Ref<Thread>, Ref<Thread>),
    (top, left, queues): (u32, &Left, bool),
) -> Vec<&'static str> {
    let is_alien = kernel.pool[me].is_alien();
    let way = match (entered.fault, Op::from_code(entered.user.gpr[3] >> Tag::OP_SHIFT)) {
        (Some(_), _) if is_alien => "page faults of aliens",
        (Some(_), _) => "page faults",
        _ if is_alien => "alien calls",
        (_, Some(Op::Call)) => "calls",
        (_, Some(Op::Run)) => "runs",
        (_, Some(Op::MapReplyWait)) => "answers by a page",
        (_, Some(Op::MapRun)) => "runs with a page",
        (_, Some(Op::Map)) => "maps",
        (_, Some(Op::Notify)) if current != me => "notifications of more urgent threads",
        (_, Some(Op::Notify)) if queues => "notifications of waiting threads",
        (_, Some(Op::Notify)) => "notifications",
        (_, Some(Op::Receive)) if current != me => "receives that wait",
        (_, Some(Op::Receive)) if left.user.gpr[5] == 0 => "receives of nothing",
        (_, Some(Op::Receive)) => "receives of notifications",
        _ => "replies",
    };
    let is_equal = kernel.pool[current].priority == top;
    let bytes = kernel.pool.bytes_at(kernel.pool[me].utcb + 12, 4);
    let is_several = matches!(way, "maps" | "runs with a page")
        && bytes.try_into().is_ok_and(|bytes| u32::from_ne_bytes(bytes) != PAGE_SIZE);
    let keeps_tables = entered.system.sprg[0] == left.system.sprg[0];
    let elsewhere = kernel.pool[me].space != kernel.pool[current].space;
    let ways = [
        (elsewhere && !keeps_tables, "to another space"),
        (is_several, "of several pages"),
        (left.shown[0] != entered.spaces.shown[0], "to another space that shows the server"),
        (elsewhere && keeps_tables && is_alien, "windows opened"),
        (elsewhere && keeps_tables && !is_alien, "windows shut"),
        (
            entered.fault.is_some_and(|fault| fault.is_of_protection()),
            "faults of stores to what can be read",
        ),
        (left.user.msr & msr::FPU != 0, "runs with the FPU"),
        (way == "calls" && is_equal, "calls at the priority of a ready thread"),
        (way != "calls" && is_equal, "others at one"),
        (entered.system.reserved, "with a reservation"),
    ];
    [way]
        .into_iter()
        .chain(ways.into_iter().filter_map(|(is_it, way)| is_it.then_some(way)))
        .collect()
}

/// Checks that on the way to the portable kernel all registers are saved, those that a system call
/// does not keep as zero, and that nothing else is changed.
fn given_up(
    machine: &Machine,
    code: &Code,
    (is_alien, me): (bool, Ref<Thread>),
    entered: &Entered,
) -> Result<()> {
    let [data, fetch, _] = ENTRIES;
    let number = match entered.entry {
        entry if entry == data => vector::DATA,
        entry if entry == fetch => vector::FETCH,
        _ => vector::SYSTEM_CALL,
    };
    let mut saved = [0; CONTEXT_WORDS];
    save(&mut saved, &entered.saved(is_alien), number);
    // That it is masked comes later.
    saved[word::MSR] = entered.user.msr;
    let at = |index: usize| me.address() - ANCHOR + index as u32 * 4;
    let User { gpr, lr, pc, msr, .. } = machine.processor.user;
    let context = (word::LR..CONTEXT_WORDS)
        .filter(|index| *index != word::ERROR)
        .map(|index| (at(index), saved[index]));
    // The kernel's first function has nothing to return to.
    let mut expected: Vec<(u32, u32)> = context.chain([(gpr[1], 0)]).collect();
    expected.sort_unstable();
    let loses = is_alien && entered.fault.is_none();
    let seen = |(place, value): (u32, u32)| {
        (place, if loses && place == at(word::CR) { lost(value) } else { value })
    };
    let written = machine.words().written.iter();
    let written = written.filter(|(at, _)| !code.symbols.reload.contains(at)).map(seen);
    ensure!(
        written.clone().eq(expected.iter().copied()),
        "saved was\n{:x?} in place of\n{expected:x?}",
        written.collect::<Vec<_>>()
    );
    ensure!(
        code.symbols.stack.contains(&gpr[1]) && code.symbols.stack.contains(&(gpr[1] + 15)),
        "the stack is {:#x}",
        gpr[1]
    );
    ensure!(gpr[1].is_multiple_of(16), "the stack is not aligned");
    ensure!(
        (pc, lr, msr) == (code.symbols.slow, code.symbols.leave, msr::KERNEL),
        "the code went to {pc:#x}, {msr:#x}, and back to {lr:#x}"
    );
    let has = machine.processor.system;
    ensure!(has.segments == entered.system.segments, "segment registers were written");
    ensure!(has.sprg[..2] == entered.system.sprg[..2], "the directory or the thread was written");
    Ok(())
}

/// Checks that the way out restores all registers of the thread that runs, whatever the processor
/// has.
pub fn leave(code: &Code, kernel: &mut Kernel, rng: &mut Rng) -> Result<Option<Run<Left>>> {
    let Some(current) = kernel.current() else { return Ok(None) };
    let known = Known::new(*kernel.port.cpu(), NONE, Clock::random(0, rng));
    let kernel = &*kernel;
    let memory = |address: u32| before(kernel, code, &known, address);
    let system = System {
        sprg: std::array::from_fn(|_| rng.u32(..)),
        reserved: rng.bool(),
        ..System::default()
    };
    let mut machine = Machine::new(&memory, User { msr: rng.u32(..), ..random_user(rng) }, system);
    machine.run(code, code.symbols.leave, None)?;
    let saved = user(&kernel.pool[current].context);
    ensure!(
        machine.processor.user == saved,
        "its registers are\n{saved:x?}, on the way out\n{:x?}",
        machine.processor.user
    );
    ensure!(saved.msr & msr::USER != 0, "it is not in user mode");
    ensure!(!machine.processor.system.reserved, "what was reserved still is");
    ensure!(
        machine.processor.system.sprg[1] == current.address(),
        "the thread is said to be {:#x}",
        machine.processor.system.sprg[1]
    );
    let place = current.address() - ANCHOR + word::RESERVATION as u32 * 4;
    let written = &machine.words().written;
    ensure!(written.keys().all(|at| at == place), "{written:x?} was written");
    Ok(Some(Run { outcome: None, tests: Vec::new(), steps: machine.steps, ways: Vec::new() }))
}
