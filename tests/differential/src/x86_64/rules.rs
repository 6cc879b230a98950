// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the entry code does at an event, and what must be true of the result, whatever the portable
//! kernel does.

use super::Kernel;
use super::code::{CPU, Code, ONES, SCRATCH};
use super::entry::{CALL, Entered, Entry, NUMBERS};
use super::lazy::{is_handled, registers};
use super::machine::{Exit, Machine, reg};
use super::spaces::tables;
use crate::clock::Clock;
use crate::processor::{Outcome, Run, pool_word};
use abi::frame::{GENERAL, USER_FLAGS, vector};
use abi::{Op, Tag, USER_END, UserAddr};
use anyhow::{Context, Result, bail, ensure};
use arch_host::{POOL_BASE, Part};
use core::mem::offset_of;
use kcore::port::{CONTEXT_WORDS, Processor as _, Translation as _};
use kcore::thread::{ANCHOR, gate};
use kcore::{Cpu, Scheduler, Thread};
use pool::Ref;
use x86_64_context::loaded::{FLAGS, FPU};
use x86_64_context::{FIXED_FLAGS, goes_by_steps, selector, word};

/// The address of `Cpu::current`.
const CURRENT: u32 = CPU + offset_of!(Cpu, current) as u32;
/// The address of `Cpu::top`.
const TOP: u32 = CPU + offset_of!(Cpu, top) as u32;
/// The address of `Cpu::loaded`.
const LOADED: u32 = CPU + offset_of!(Cpu, loaded) as u32;
/// The most instructions of some ways, from the entry to user mode in another space.
const MOST: [(&str, usize); 7] = [
    ("calls", 50),
    ("replies", 52),
    ("alien calls", 60),
    ("runs", 64),
    ("alien faults", 70),
    ("alien faults with the FPU", 77),
    ("faults", 103),
];
/// How many words of the system call's results are valid at an alien's event: the delivery, the
/// handle, and the message.
const EVENT: usize = 2 + kcore::fault::EVENT_WORDS as usize;

/// What the assembly left besides memory.
pub struct Left {
    /// All registers of the running thread, by the processor's numbers.
    registers: [u64; 16],
    /// RIP and RFLAGS of the running thread.
    place: [u64; 2],
    /// CR0 and the base of FS.
    rare: (u64, u64),
    /// `Cpu::loaded`.
    loaded: u32,
    /// Selectors of the running thread.
    data: [u16; 4],
    /// All registers came from its context.
    restored: bool,
    /// Pages of the running thread whose translations were dropped.
    dropped: Vec<u64>,
    /// The tables, if they were loaded.
    cr3: Option<u64>,
}

/// The lower half of the address of a thread's saved register.
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
    let [call, fault] = code.symbols.entries;
    let entry = match entered.entry {
        Entry::Call => call,
        Entry::Fault { .. } => fault,
        Entry::Other => {
            let (tests, steps, ways) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Run { outcome: None, tests, steps, ways });
        }
    };
    let cpu = *kernel.port.cpu();
    let kernel = &*kernel;
    // The upper half of ring 0's stack pointer is after `Cpu`.
    let hot = [cpu.loaded, cpu.top, cpu.port, cpu.current.value(), u32::MAX];
    let scheduler: &[u32] = bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched));
    // The clock is after the scheduler.
    let Clock { base, mult, shift, counter } = entered.clock;
    let clock = [base as u32, (base >> 32) as u32, mult, shift];
    let place = code.places.scheduler;
    let distance = (kernel.port.physical(POOL_BASE).0 as u32).wrapping_sub(POOL_BASE);
    let end = [USER_END as u32, (USER_END >> 32) as u32];
    let rows: [(u32, &[u32]); 6] = [
        (CPU, &hot),
        (SCRATCH, &[0; 6]),
        (code.symbols.user_end, &end),
        (code.symbols.pool_place, &[distance, kernel.threads.count - 1]),
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
    (machine.cr0, machine.fs_base) = registers(kernel, cpu.loaded, me);
    start(&mut machine, me, entered);
    let exit = machine.run(code, entry, turned)?;
    let end = End { code, kernel, me, entered, machine: &machine, cpu, exit };
    let (outcome, ways) = match exit {
        Exit::Sysret | Exit::Iret => {
            let (outcome, ways) = end.outcome()?;
            (Some(outcome), ways)
        }
        Exit::Left(at) if at == code.symbols.restores => {
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

/// What the processor does at a fault.
fn start(machine: &mut Machine, me: Ref<Thread>, entered: &Entered) {
    let Entry::Fault { address, .. } = entered.entry else { return };
    machine.cr2 = address;
    let pushed = entered.pushed();
    let bottom = me.address() - pushed.len() as u32 * 8;
    machine.words.written.extend(
        (bottom..)
            .step_by(4)
            .zip(pushed.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32])),
    );
    machine.regs[reg::RSP] = ONES | u64::from(bottom);
}

/// Where the entry code ended.
struct End<'a> {
    code: &'a Code,
    kernel: &'a Kernel,
    me: Ref<Thread>,
    entered: &'a Entered,
    machine: &'a Machine<'a>,
    cpu: Cpu,
    exit: Exit,
}

impl End<'_> {
    /// The event was left to the portable kernel: checks that it finds the user's registers, except
    /// those that a system call of a native thread loses.
    fn given_up(&self, at: u32) -> Result<()> {
        let (machine, user) = (self.machine, &self.entered.user);
        let before = numbered(self.entered);
        let [whole, pushed, all_pushed] = self.code.symbols.slow;
        let written = &machine.words.written;
        let context = saved(self.me, 0)..saved(self.me, CONTEXT_WORDS);
        ensure!(
            written.keys().all(|at| context.contains(&at) || (SCRATCH..CPU).contains(&at)),
            "something was changed before the slow way: {written:x?}"
        );
        let rare = registers(self.kernel, self.cpu.loaded, self.me);
        ensure!((machine.cr0, machine.fs_base) == rare, "what is loaded was changed");
        if at == whole {
            ensure!(machine.regs == before, "all registers are the user's");
            return Ok(());
        }
        if let Entry::Fault { .. } = self.entered.entry {
            ensure!([pushed, all_pushed].contains(&at), "the code went to {at:#x}");
            return self.fault_given_up(at == all_pushed, &before);
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
        Ok(())
    }

    /// The same for a fault: registers are as the user had them, or pushed.
    fn fault_given_up(&self, all_pushed: bool, before: &[u64; 16]) -> Result<()> {
        let machine = self.machine;
        let mut wanted: Vec<u64> = self.entered.pushed();
        wanted.insert(0, vector::PAGE_FAULT);
        if all_pushed {
            wanted.splice(0..0, self.entered.user.r);
        } else {
            let kept = (0..16).filter(|number| *number != reg::RSP);
            for number in kept {
                ensure!(machine.regs[number] == before[number], "register {number} is another one");
            }
        }
        let bottom = saved(self.me, CONTEXT_WORDS - wanted.len());
        ensure!(machine.regs[reg::RSP] as u32 == bottom, "the stack is elsewhere");
        for (at, value) in (bottom..).step_by(8).zip(wanted) {
            let found = machine.load(ONES | u64::from(at), 8)?;
            ensure!(found == value, "{found:#x} is saved at {at:#x}, not {value:#x}");
        }
        Ok(())
    }

    /// What the code left, and the ways that it took.
    fn outcome(&self) -> Result<(Outcome<Left>, Vec<&'static str>)> {
        let (machine, kernel) = (self.machine, self.kernel);
        let address = machine.load(ONES | u64::from(CURRENT), 4)? as u32;
        let current = (0..kernel.threads.count)
            .filter_map(|index| kernel.threads.get(index))
            .find(|thread| thread.address() == address)
            .with_context(|| format!("{address:#x} runs, which is no thread"))?;
        let switches = kernel.pool[current].space != self.entered.space.link();
        let way = self.way(current)?;
        let most = MOST.iter().find(|(named, _)| *named == way);
        let (steps, most) = (machine.steps.len(), most.map_or(usize::MAX, |(_, most)| *most));
        ensure!(steps <= most, "{way} took {steps} instructions, not {most}");
        let ways = if switches { vec![way, "to another space"] } else { vec![way] };
        let mut registers = machine.regs;
        let restored = matches!(self.exit, Exit::Left(_));
        let context = |word: usize| machine.load(ONES | u64::from(saved(current, word)), 8);
        if restored {
            for index in word::GENERAL..word::VECTOR {
                registers[NUMBERS[index - word::GENERAL]] = context(index)?;
            }
            registers[reg::RSP] = context(word::RSP)?;
        }
        let place = if restored {
            [context(word::RIP)?, context(word::RFLAGS)?]
        } else if self.exit == Exit::Iret {
            let at = |word: u64| machine.load(machine.regs[reg::RSP] + 8 * word, 8);
            ensure!(
                [at(1)?, at(4)?] == [selector::USER_CODE, selector::USER_DATA].map(u64::from),
                "a return to other segments"
            );
            registers[reg::RSP] = at(3)?;
            [at(0)?, at(2)?]
        } else {
            [reg::RCX, reg::R11].map(|at| machine.regs[at])
        };
        let own = Left {
            registers,
            place,
            rare: (machine.cr0, machine.fs_base),
            loaded: machine.load(ONES | u64::from(LOADED), 4)? as u32,
            data: [0, 3, 4, 5].map(|at| machine.segments[at]),
            restored,
            dropped: machine.dropped.clone(),
            cr3: machine.cr3,
        };
        Ok((Outcome { current, written: machine.words.written.clone(), own }, ways))
    }
}

/// The name of the way in the tally.
impl End<'_> {
    fn way(&self, current: Ref<Thread>) -> Result<&'static str> {
        let (has_fpu, was) = (self.cpu.loaded & FPU != 0, self.cpu.loaded & !FLAGS);
        let is_fault = matches!(self.entered.entry, Entry::Fault { .. });
        if self.kernel.pool[self.me].is_alien() {
            return Ok(match (is_fault, has_fpu) {
                (true, true) => "alien faults with the FPU",
                (true, false) => "alien faults",
                (false, true) => "alien calls with the FPU",
                (false, false) => "alien calls",
            });
        }
        if is_fault {
            return Ok("faults");
        }
        let scheduler = self.code.places.scheduler;
        let queues = scheduler..scheduler + size_of::<Scheduler>() as u32;
        let is_queued = self.machine.words.written.range(queues).next().is_some();
        let bits = self.machine.regs[NUMBERS[word::RSI - word::GENERAL]];
        let op = Op::from_code(self.entered.user.r[0] as u32 >> Tag::OP_SHIFT);
        Ok(match op.context("an unknown system call went through")? {
            Op::Call => "calls",
            Op::ReplyWait => "replies",
            Op::MapReplyWait => "answers by a page",
            Op::MapRun if has_fpu => "runs that map, with the FPU",
            Op::MapRun => "runs that map",
            Op::Run if current.address() != was => "runs of another alien",
            Op::Run if has_fpu => "runs with the FPU",
            Op::Run if self.exit == Exit::Iret => "runs by iretq",
            Op::Run => "runs",
            Op::Notify if current != self.me => "notifications of more urgent threads",
            Op::Notify if is_queued => "notifications of waiting threads",
            Op::Notify => "notifications",
            Op::Receive if current != self.me => "receives that wait",
            Op::Receive if bits != 0 => "receives of notifications",
            Op::Receive => "receives of nothing",
            op => bail!("{op:?} went through"),
        })
    }
}

/// Checks that registers and tables of the running thread are those of the portable kernel.
pub fn check(
    code: &Code,
    kernel: &Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    outcome: &Outcome<Left>,
) -> Result<()> {
    let Outcome { current, written, own: left } = outcome;
    let context = &kernel.pool[*current].context;
    let to_alien = kernel.pool[*current].is_alien();
    let from_alien = kernel.pool[me].is_alien();
    let before = numbered(entered);
    for index in word::GENERAL..word::VECTOR {
        let number = NUMBERS[index - word::GENERAL];
        let result = CALL.iter().position(|at| *at == index);
        let value = match result {
            _ if to_alien || left.restored => context[index],
            Some(result) if !from_alien || result < EVENT => context[index],
            // The handler may see the alien's values.
            _ if from_alien && ![reg::RCX, reg::R11].contains(&number) => before[number],
            _ => match number {
                reg::RCX => left.place[0],
                reg::R11 => left.place[1],
                _ => 0,
            },
        };
        let found = left.registers[number];
        ensure!(found == value, "register {number} is {value:#x}, by the assembly {found:#x}");
    }
    let flags = if to_alien || left.restored { context[word::RFLAGS] } else { FIXED_FLAGS };
    let [rip, rsp] = [context[word::RIP], context[word::RSP]];
    ensure!(
        left.place == [rip, flags] && left.registers[reg::RSP] == rsp,
        "RIP, flags, RSP are {:x?}, {:#x}, not {rip:#x}, {flags:#x}, {rsp:#x}",
        left.place,
        left.registers[reg::RSP]
    );
    let is_new = to_alien || left.restored;
    ensure!(!is_new || rip < USER_END, "it is to go on at {rip:#x}");
    ensure!(to_alien || !is_new || !goes_by_steps(context), "that it goes by steps is lost");
    check_loaded(kernel, (me, *current), entered, left)?;
    let space = kernel.pool[*current].space.get().context("it has no space")?;
    let cr3 = (space != entered.space).then(|| tables(kernel, space));
    ensure!(left.cr3 == cr3, "the tables are {:x?}, not {cr3:x?}", left.cr3);
    // For a space that is not entered, a bit of its word is cleared instead
    // (`spaces::drop_translations`).
    let is_dropped = |(at, range): &Part| {
        let is_page = |page: &u64| range.contains(&UserAddr(*page));
        *at != entered.space.address()
            && (*at != space.address() || left.dropped.iter().any(is_page))
    };
    ensure!(
        kernel.port.invalidated.iter().all(is_dropped),
        "the portable kernel dropped translations"
    );
    ensure!(left.dropped.len() <= kernel.port.invalidated.len(), "translations were dropped");
    let queues = code.places.scheduler..code.places.scheduler + size_of::<Scheduler>() as u32;
    let is_known = |at: u32| {
        crate::processor::is_pool::<super::X86_64>(kernel, at)
            || [CURRENT, TOP, LOADED].contains(&at)
            || (SCRATCH..CPU).contains(&at)
            || queues.contains(&at)
    };
    ensure!(written.keys().all(is_known), "words were written: {written:x?}");
    Ok(())
}

/// Checks that the loaded state is one that the next thread may see: none, unless it is an alien or
/// its handler.
fn check_loaded(
    kernel: &Kernel,
    (me, current): (Ref<Thread>, Ref<Thread>),
    entered: &Entered,
    left: &Left,
) -> Result<()> {
    let before = entered.loaded;
    let alien = [me, current].into_iter().find(|thread| kernel.pool[*thread].is_alien());
    let loaded = match alien {
        Some(alien) if before & !FLAGS == alien.address() => before,
        Some(alien) => alien.address(),
        None => 0,
    };
    let handler = if alien == Some(me) { current } else { me };
    ensure!(
        alien.is_none_or(|alien| is_handled(kernel, alien, handler)),
        "{current:?} finds what is loaded for another"
    );
    ensure!(left.loaded == loaded, "{:#x} is said to be loaded, not {loaded:#x}", left.loaded);
    let rare = registers(kernel, loaded, current);
    ensure!(left.rare == rare, "CR0 and the base of FS are {:x?}, not {rare:x?}", left.rare);
    let is_other = alien.is_some_and(|alien| before & !FLAGS != alien.address());
    ensure!(
        left.data == [0; 4] || alien.is_some() && !is_other,
        "the next thread has selectors of this one"
    );
    Ok(())
}

/// Checks that a thread that waits in a system call continues with flags that a user may have.
pub fn check_thread(thread: &Thread) -> Result<()> {
    if !matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED) {
        return Ok(());
    }
    let flags = thread.context[word::RFLAGS];
    ensure!(flags & !USER_FLAGS == FIXED_FLAGS, "waits with the flags {flags:#x}");
    Ok(())
}

/// The general registers are all of the processor's except RSP.
const _: () = assert!(GENERAL == 15);
