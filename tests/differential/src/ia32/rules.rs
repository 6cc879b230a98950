// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the entry code does at an event, and what must be true of the result. The portable kernel
//! cannot judge segments and rarely loaded state, because these belong to the port.

use super::Kernel;
use super::code::{CPU, Code};
use super::entry::{Entered, Entry};
use super::lazy::{first_tls_of, frame_of, may_switch};
use super::machine::{DS, ES, Exit, FS, GS, Machine, reg};
use super::spaces::{code_and_stack, hw, is_server, region, user_segments};
use crate::clock::Clock;
use crate::processor::{Outcome, Run, pool_word};
use abi::{Frame, Op, Tag};
use anyhow::{Result, ensure};
use arch_host::{POOL_BASE, Part};
use core::mem::offset_of;
use ia32_context::hw::{DIRECTORY, HOME, REGION_LOW, SERVER};
use ia32_context::loaded::{AWAY, FLAGS};
use ia32_context::selector::{TLS, USER_DATA};
use ia32_context::{FIXED_FLAGS, checked_selector, state, translated, word};
use kcore::port::{Processor as _, Translation};
use kcore::thread::{ANCHOR, gate};
use kcore::{Cpu, Scheduler, Space, Thread};
use pool::{Link, Ref};
use std::borrow::Cow;

/// Words of saved registers, in the order of [`Left::registers`].
const WORDS: [usize; 10] = [
    word::EAX,
    word::EBX,
    word::ECX,
    word::EDX,
    word::ESI,
    word::EDI,
    word::EBP,
    word::ESP,
    word::EIP,
    word::EFLAGS,
];
/// Their names.
const NAMES: [&str; 10] = ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp", "eip", "eflags"];
/// The address of `Cpu::current`.
const CURRENT: u32 = CPU + offset_of!(Cpu, current) as u32;
/// The task-state segment continues after `Cpu`: the stack segment of ring 0, then the word that
/// says whose directory is loaded.
const DIRECTORY_OF: u32 = CPU + 20;
/// The byte of a segment descriptor's upper word that has the present bit.
const ACCESS: u32 = 0xff00;

/// The selectors of small spaces have this bit; of others only servers' and the last one of TLS.
const SMALL_BIT: u32 = 1 << 6;

/// What the assembly left besides memory.
pub struct Left {
    /// `eax ebx ecx edx esi edi ebp esp eip eflags` of the running thread.
    registers: [u32; 10],
    /// All of them are compared; for a native after `sysexit` ECX and EDX have no meaning.
    whole: bool,
    /// DS and ES of the running thread.
    data: [u32; 2],
    /// The directory, if it was changed.
    cr3: Option<u32>,
    /// The portable kernel does the rest of the way into the space.
    with_care: bool,
    /// Addresses whose translations were dropped.
    dropped: Vec<u32>,
}

/// Rows of words outside of the pool, each with the address of its first word.
type Rows<'a> = Vec<(u32, Cow<'a, [u32]>)>;

/// The kernel's words of the clock.
const fn clock_words(Clock { base, mult, shift, .. }: Clock) -> [u32; 4] {
    [base as u32, (base >> 32) as u32, mult, shift]
}

/// The contents of these words.
fn rows<'a>(code: &Code, kernel: &'a Kernel, cpu: Cpu, entered: &Entered) -> Rows<'a> {
    let gdt = code.symbols.gdt;
    // The directory is recorded only for a server. After it is a word that is not used.
    let noted = if is_server(kernel, entered.space) {
        entered.directory_of.address()
    } else {
        hw(kernel, entered.space, SERVER)
    };
    let hot = vec![cpu.loaded, cpu.top, cpu.port, cpu.current.value(), 0, noted, 0];
    let [low, high] = Link::<Thread>::from_value(cpu.loaded & !FLAGS)
        .get()
        .map_or([0; 2], |thread| first_tls_of(kernel, thread));
    let tls = vec![low, if cpu.loaded & AWAY == 0 { high } else { high & !ACCESS }];
    let pool_place =
        vec![kernel.port.physical(POOL_BASE).0.wrapping_sub(POOL_BASE), kernel.threads.count - 1];
    let scheduler = code.places.scheduler;
    let mut rows: Rows = vec![
        (CPU, hot.into()),
        (scheduler, bytemuck::cast_slice(bytemuck::bytes_of(&kernel.sched)).into()),
        // The clock is after the scheduler.
        (scheduler + size_of::<Scheduler>() as u32, clock_words(entered.clock).to_vec().into()),
        (gdt + u32::from(TLS & !7), tls.into()),
        (code.symbols.pool_place, pool_place.into()),
    ];
    rows.extend(
        user_segments(kernel, gdt, entered.space).map(|(at, word)| (at, vec![word].into())),
    );
    rows
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
    let Some(entry) = entered.entry else {
        return Ok(Run { outcome: None, tests: Vec::new(), steps: Vec::new(), ways: Vec::new() });
    };
    let cpu = *kernel.port.cpu();
    let kernel = &*kernel;
    let rows = rows(code, kernel, cpu, entered);
    let known = |address: u32| {
        rows.iter()
            .find_map(|(start, row)| row.get((address.wrapping_sub(*start) / 4) as usize).copied())
    };
    let memory =
        |address: u32| pool_word::<super::Ia32>(kernel, address).or_else(|| known(address));
    let mut machine = Machine::new(&memory, code.symbols.gdt);
    start(&mut machine, kernel, me, entered, entry);
    let exit = machine.run(code, entry.address(&code.symbols), turned)?;
    let end = End {
        code,
        kernel,
        me,
        entered,
        entry,
        cpu,
        machine: &machine,
        exit,
        alien: kernel.pool[me].is_alien(),
    };
    let is_slow = matches!(exit, Exit::Left(address) if address != code.symbols.restores && address != code.symbols.calls_rust);
    let (outcome, ways) = if is_slow {
        end.given_up()?;
        (None, Vec::new())
    } else {
        let (outcome, ways) = end.outcome()?;
        (Some(outcome), ways)
    };
    Ok(Run { outcome, tests: machine.tests, steps: machine.steps, ways })
}

/// Gives a machine the registers of an entry, and the words that the processor pushes.
fn start(machine: &mut Machine, kernel: &Kernel, me: Ref<Thread>, entered: &Entered, entry: Entry) {
    let user = &entered.user;
    machine.tsc = entered.clock.counter;
    let [eax, ebx, ecx, edx, esi, edi, ebp, ..] = user.regs;
    machine.regs = [eax, ecx, edx, ebx, 0, ebp, esi, edi];
    machine.load_segment(DS, user.ds);
    machine.load_segment(ES, user.es);
    machine.segments[FS] = user.fs;
    machine.segments[GS] = user.gs;
    if let Entry::Fault { address, .. } = entry {
        machine.cr2 =
            address.wrapping_add(region(kernel, entered.space).map_or(0, mmu::descriptor::base));
    }
    let pushed = entry.pushed(user);
    if !pushed.is_empty() {
        let bottom = me.address() - pushed.len() as u32 * 4;
        machine.words.written.extend((bottom..).step_by(4).zip(pushed));
        machine.regs[reg::ESP] = bottom;
    }
}

/// Where the entry code ended.
struct End<'a> {
    code: &'a Code,
    kernel: &'a Kernel,
    me: Ref<Thread>,
    entered: &'a Entered,
    entry: Entry,
    cpu: Cpu,
    machine: &'a Machine<'a>,
    exit: Exit,
    /// The thread that entered is an alien.
    alien: bool,
}

impl End<'_> {
    /// The word on the stack.
    fn pushed(&self, offset: u32) -> Result<u32> {
        self.machine.word(self.machine.regs[reg::ESP].wrapping_add(offset))
    }

    /// A word of the GDT: the first descriptor of TLS.
    fn first_tls(&self) -> u32 {
        self.code.symbols.gdt + u32::from(TLS & !7)
    }

    /// The event was left to the portable kernel: checks that it finds the user's registers and
    /// segments.
    fn given_up(&self) -> Result<()> {
        let (machine, user) = (self.machine, &self.entered.user);
        let [eax, ebx, ecx, edx, esi, edi, ebp, esp, eip, _] = user.regs;
        let ((vector, error), (left, more)) =
            (self.entry.saved(), self.entry.slow(self.alien, &self.code.symbols));
        let at = |offset: u32| self.pushed(offset);
        ensure!(self.exit == Exit::Left(left), "the code went to {:x?}", self.exit);
        let kept = if more == 0 {
            machine.regs[..4] == [eax, ecx, edx, ebx] && machine.regs[5..] == [ebp, esi, edi]
        } else {
            [at(0)?, at(4)?, at(8)?, at(16)?, at(20)?, at(24)?, at(28)?]
                == [edi, esi, ebp, ebx, edx, ecx, eax]
        };
        ensure!(
            [DS, ES].map(|index| machine.segments[index]) == [user.ds, user.es],
            "DS and ES are not as the user had them"
        );
        ensure!(
            kept,
            "registers are not as the user had them: {:x?}, not {:x?}",
            machine.regs,
            user.regs
        );
        ensure!(
            machine.regs[reg::ESP] == self.me.address() - 28 - more,
            "the stack is at {:#x}",
            machine.regs[reg::ESP]
        );
        ensure!(
            at(more)? == vector
                && at(more + 4)? == error
                && at(more + 8)? == eip
                && at(more + 16)? & FIXED_FLAGS == FIXED_FLAGS
                && at(more + 20)? == esp
                // The word of CS has SS in its upper half, which `iret` ignores.
                && [at(more + 12)? & 0xffff, at(more + 24)?] == [user.cs, user.ss],
            "the saved words are wrong"
        );
        let scratch = self.me.address() - ANCHOR..self.me.address();
        // State that was removed may have been loaded again: the portable kernel removes it again.
        let fetched =
            |a: u32| self.cpu.loaded & AWAY != 0 && (a == CPU || a & !4 == self.first_tls());
        // The portable kernel writes the same frame.
        let utcb = self.kernel.pool[self.me].utcb;
        let framed = |a: u32| self.alien && (utcb..utcb + size_of::<Frame>() as u32).contains(&a);
        let written = &machine.words.written;
        ensure!(
            written.keys().all(|a| scratch.contains(&a) || fetched(a) || framed(a)),
            "something was changed before the slow way: {written:x?}"
        );
        Ok(())
    }

    /// Registers, and DS and ES, of the thread that runs now.
    fn registers(&self, current: Ref<Thread>) -> Result<([u32; 10], [u32; 2])> {
        let machine = self.machine;
        let at = |offset: u32| self.pushed(offset);
        let mut registers = [0; 10];
        for (to, from) in [reg::EAX, reg::EBX, reg::ECX, reg::EDX, reg::ESI, reg::EDI, reg::EBP]
            .into_iter()
            .enumerate()
        {
            registers[to] = machine.regs[from];
        }
        let mut data = [machine.segments[DS], machine.segments[ES]].map(u32::from);
        match self.exit {
            Exit::Sysexit => registers[7..].copy_from_slice(&[
                machine.regs[reg::ECX],
                machine.regs[reg::EDX],
                machine.eflags,
            ]),
            Exit::Iret => {
                let space = self.space_of(current)?;
                ensure!(
                    [at(4)? & 0xffff, at(16)?] == code_and_stack(self.kernel, space),
                    "a return to other segments"
                );
                registers[7..].copy_from_slice(&[at(12)?, at(0)?, at(8)?]);
            }
            // All saved registers are restored.
            Exit::Left(_) => {
                let context = current.address() - ANCHOR;
                for (register, index) in registers.iter_mut().zip(WORDS) {
                    *register = machine.word(context + index as u32 * 4)?;
                }
                for (selector, index) in data.iter_mut().zip([word::DS, word::ES]) {
                    *selector = machine.word(context + index as u32 * 4)?;
                }
            }
        }
        Ok((registers, data))
    }

    fn space_of(&self, thread: Ref<Thread>) -> Result<Ref<Space>> {
        self.kernel.pool[thread]
            .space
            .get()
            .ok_or_else(|| anyhow::anyhow!("{thread:?} has no space"))
    }

    /// What the code left, and the ways that it took.
    fn outcome(&self) -> Result<(Outcome<Left>, Vec<&'static str>)> {
        let (machine, kernel) = (self.machine, self.kernel);
        let address = machine.word(CURRENT)?;
        let current = (0..kernel.threads.count)
            .filter_map(|index| kernel.threads.get(index))
            .find(|thread| thread.address() == address);
        let current =
            current.ok_or_else(|| anyhow::anyhow!("{address:#x} runs, which is no thread"))?;
        let target = self.space_of(current)?;
        let (registers, data) = self.registers(current)?;
        let with_care = self.exit == Exit::Left(self.code.symbols.calls_rust);
        self.check_segments(current, target, with_care)?;
        let data = self.check_data(current, target, data, with_care)?;
        let ways = self.check_loaded(current, target, registers, with_care)?;
        let to_alien = kernel.pool[current].is_alien();
        let restored = matches!(self.exit, Exit::Left(_));
        let own = Left {
            registers,
            whole: restored && !self.alien || to_alien,
            data,
            cr3: machine.cr3,
            with_care,
            dropped: machine.dropped.clone(),
        };
        Ok((Outcome { current, written: machine.words.written.clone(), own }, ways))
    }

    /// Checks that the segments of ring 3 are those of the space. If the portable kernel does the
    /// rest of a way with care, the assembly does not change them.
    fn check_segments(
        &self,
        current: Ref<Thread>,
        target: Ref<Space>,
        with_care: bool,
    ) -> Result<()> {
        let (machine, kernel, own) = (self.machine, self.kernel, self.entered.space);
        for (address, word) in
            user_segments(kernel, self.code.symbols.gdt, if with_care { own } else { target })
        {
            ensure!(
                machine.word(address)? == word,
                "{:#x} is at {address:#x} in place of {word:#x}",
                machine.word(address)?
            );
        }
        let noted = machine.word(DIRECTORY_OF)?;
        if with_care {
            let small = [own, target].iter().any(|space| region(kernel, *space).is_some());
            let context = current.address() - ANCHOR;
            let saved = machine.word(context + word::DS as u32 * 4)?
                | machine.word(context + word::ES as u32 * 4)?;
            ensure!(small || saved & SMALL_BIT != 0, "care without a cause");
            ensure!(machine.cr3.is_none(), "the tables are the portable kernel's business");
            ensure!(
                noted == self.entered.directory_of.address(),
                "the directory is said to be {noted:#x}'s"
            );
        } else {
            let tables = if machine.cr3.is_some() { target } else { self.entered.directory_of };
            ensure!(
                !is_server(kernel, target) || noted == tables.address(),
                "the directory is said to be {noted:#x}'s"
            );
        }
        Ok(())
    }

    /// Checks that DS and ES are those that the thread may have. Returns them as the portable
    /// kernel saves them.
    fn check_data(
        &self,
        current: Ref<Thread>,
        target: Ref<Space>,
        data: [u32; 2],
        with_care: bool,
    ) -> Result<[u32; 2]> {
        let (machine, kernel, user) = (self.machine, self.kernel, &self.entered.user);
        let to_small = region(kernel, target).is_some();
        if matches!(self.exit, Exit::Left(_)) {
            // With care, the portable kernel translates them.
            let right =
                |selector: &u32| translated(*selector as u16, to_small) | 3 == *selector as u16 | 3;
            ensure!(
                with_care || data.iter().all(right),
                "DS and ES of another kind of space: {data:x?}"
            );
            return Ok(data);
        }
        // Or `run` comes from a thread that happens to have the alien's DS and ES.
        let left = [user.ds, user.es].map(u32::from);
        let kept = !to_small
            && data == left
            && frame_of(kernel, current)
                .is_some_and(|frame| [frame.ds_es & 0xffff, frame.ds_es >> 16] == left);
        ensure!(
            kept || data == [u32::from(translated(USER_DATA, to_small)); 2],
            "DS and ES are {data:x?}"
        );
        let fresh =
            |index: usize| machine.hidden[index] == machine.descriptor(machine.segments[index]);
        ensure!(fresh(DS) && fresh(ES), "DS or ES was loaded before its descriptor was written");
        if kept {
            // The portable kernel gives it no selector that only another kind of space needs.
            let tls = state(&kernel.pool[current]).tls;
            return Ok(left.map(|selector| u32::from(checked_selector(selector as u16, &tls))));
        }
        Ok(data.map(|selector| u32::from(translated(selector as u16, false))))
    }

    /// Checks the loaded state by the port's rule, because the portable kernel has none. Returns
    /// the ways that were taken.
    fn check_loaded(
        &self,
        current: Ref<Thread>,
        target: Ref<Space>,
        registers: [u32; 10],
        with_care: bool,
    ) -> Result<Vec<&'static str>> {
        let (machine, kernel, user, cpu) =
            (self.machine, self.kernel, &self.entered.user, self.cpu);
        let to_alien = kernel.pool[current].is_alien();
        let alien_involved = match (self.alien, to_alien) {
            (true, _) => self.me.address(),
            (false, true) => current.address(),
            (false, false) => 0,
        };
        let puts_away = self.alien && is_server(kernel, target);
        let fetches = to_alien && cpu.loaded & AWAY != 0;
        let loaded = machine.word(CPU)?;
        let right =
            if with_care { cpu.loaded } else { alien_involved | if puts_away { AWAY } else { 0 } };
        ensure!(loaded == right, "{loaded:#x} is loaded");
        let switched = loaded & !AWAY != cpu.loaded & !AWAY;
        ensure!(
            !switched || to_alien && may_switch(kernel, self.me, cpu.loaded & !AWAY, loaded),
            "{:#x} was loaded",
            cpu.loaded
        );
        if switched || fetches || puts_away {
            let [low, high] = first_tls_of(kernel, if self.alien { self.me } else { current });
            let first_tls = self.first_tls();
            let descriptor = [machine.word(first_tls)?, machine.word(first_tls + 4)?];
            let expected = [low, if puts_away { high & !ACCESS } else { high }];
            let from = Link::<Thread>::from_value(cpu.loaded & !FLAGS)
                .get()
                .map(|from| first_tls_of(kernel, from));
            ensure!(
                descriptor == expected || switched && from == Some([low, high]),
                "the descriptor is {descriptor:x?} in place of {expected:x?}"
            );
        }
        let fs_gs = u32::from(machine.segments[FS]) | u32::from(machine.segments[GS]) << 16;
        let expected = if puts_away {
            0
        } else if fetches || switched {
            state(&kernel.pool[current]).fs_gs
        } else if let (Some(frame), false) = (frame_of(kernel, current), self.alien) {
            frame.fs_gs
        } else {
            u32::from(user.fs) | u32::from(user.gs) << 16
        };
        // Removed selectors are loaded again before a small space's segments are set.
        let is_small = region(kernel, self.entered.space).is_some();
        let names_small = u32::from(user.fs | user.gs) & SMALL_BIT != 0;
        ensure!(!(puts_away && is_small && names_small), "a small space's selectors are put away");
        let from = Link::<Thread>::from_value(cpu.loaded & !FLAGS)
            .get()
            .map_or(0, |from| state(&kernel.pool[from]).fs_gs);
        // The code has not tested whether others can be loaded.
        let is_loadable =
            fs_gs == from || fs_gs & 0xffff == 0 && matches!((fs_gs >> 16) as u16, 0 | TLS);
        ensure!(
            !(fetches && switched) || is_loadable,
            "FS and GS are {fs_gs:#x} without a look at them"
        );
        ensure!(fs_gs == expected, "FS and GS are {fs_gs:#x} in place of {expected:#x}");
        let to_small = region(kernel, target).is_some();
        let has_tls = state(&kernel.pool[current]).tls[0] != [0; 2];
        let all = [
            (true, self.way(current, registers, switched)),
            (is_server(kernel, target), "entries into a server"),
            (puts_away, "of them from an alien"),
            (fetches, "runs by a server"),
            (to_small && !matches!(self.exit, Exit::Left(_)), "entries into a small space"),
            (to_small && self.alien, "alien events to a small handler"),
            (with_care, "exits with care"),
            (
                puts_away && region(kernel, self.entered.space).is_some(),
                "events of aliens in small spaces",
            ),
            (fetches && to_small, "runs of them"),
            (fetches && to_small && switched, "runs of another alien in a small space"),
            (fetches && switched && !has_tls, "runs of another alien without TLS by a server"),
        ];
        Ok(all.into_iter().filter_map(|(is_taken, way)| is_taken.then_some(way)).collect())
    }

    /// Which fast path it was.
    fn way(&self, current: Ref<Thread>, registers: [u32; 10], switched: bool) -> &'static str {
        let scheduler = self.code.places.scheduler;
        let queues = scheduler..scheduler + size_of::<Scheduler>() as u32;
        let op = Op::from_code(self.entered.user.regs[0] >> Tag::OP_SHIFT);
        match (self.entry, op) {
            (Entry::Call, _) => "alien calls",
            (Entry::Fault { .. }, _) if self.alien => "alien faults",
            (Entry::Fault { .. }, _) => "faults",
            _ if self.alien => "alien sysenters",
            (_, Some(Op::MapReplyWait)) => "of them that map",
            _ if matches!(self.exit, Exit::Left(_)) => "replies to faults",
            (_, Some(Op::MapRun)) => "runs that map",
            _ if switched => "runs of another alien",
            _ if self.kernel.pool[current].is_alien() && self.exit == Exit::Iret => "runs",
            _ if self.kernel.pool[current].is_alien() => "runs by sysexit",
            (_, Some(Op::Notify)) if current != self.me => "notifications of more urgent threads",
            (_, Some(Op::Notify)) if self.machine.words.written.range(queues).next().is_some() => {
                "notifications of waiting threads"
            }
            (_, Some(Op::Notify)) => "notifications",
            (_, Some(Op::Receive)) if current != self.me => "receives that wait",
            (_, Some(Op::Receive)) if registers[4] != 0 => "receives of notifications",
            (_, Some(Op::Receive)) => "receives of nothing",
            (_, Some(Op::Call)) => "calls",
            _ => "replies",
        }
    }
}

/// Checks that registers and the address space of the running thread are those of the portable
/// kernel.
pub fn check(
    kernel: &Kernel,
    me: Ref<Thread>,
    entered: &Entered,
    outcome: &Outcome<Left>,
) -> Result<()> {
    let Outcome { current, own: left, .. } = outcome;
    let context = kernel.pool[*current].context;
    for (name, (index, value)) in NAMES.iter().zip(WORDS.into_iter().zip(left.registers)) {
        let counts = left.whole || !matches!(*name, "ecx" | "edx");
        ensure!(
            !counts || context[index] == value,
            "{name} is {:#x}, by the assembly {value:#x}",
            context[index]
        );
    }
    let data = [context[word::DS], context[word::ES]];
    ensure!(data == left.data, "DS and ES are {data:x?}, by the assembly {:x?}", left.data);
    ensure!(
        left.whole || left.registers[9] == FIXED_FLAGS,
        "flags after sysexit: {:#x}",
        left.registers[9]
    );
    let is_alien = kernel.pool[*current].is_alien();
    // If a server runs with the tables of a native's space, they are loaded again for the native,
    // and those of a home for a small space.
    let home =
        |space: Ref<Space>| (hw(kernel, space, REGION_LOW) != 0).then(|| hw(kernel, space, HOME));
    let Entered { space, directory_of, .. } = *entered;
    let is_there = |to: &Ref<Space>| {
        if let Some(own) = home(*to) {
            return home(space) == Some(own) || is_alien && directory_of.address() == own;
        }
        let shown = hw(kernel, directory_of, SERVER) == to.address();
        space == *to || shown || is_alien && directory_of == *to
    };
    let to = kernel.pool[*current].space.get();
    let cr3 = to.filter(|to| !left.with_care && !is_there(to)).map(|to| hw(kernel, to, DIRECTORY));
    ensure!(left.cr3 == cr3, "the address space is {:x?} in place of {cr3:x?}", left.cr3);
    // The TLB has translations only of the space whose directory is loaded, and of the server that
    // it shows.
    let own = kernel.pool[me].space.get().map_or(0, Ref::address);
    let place = |space: Ref<Space>| {
        (
            space.address(),
            region(kernel, space).map_or(0, mmu::descriptor::base),
            hw(kernel, space, HOME),
        )
    };
    let threads = (0..kernel.threads.count).filter_map(|index| kernel.threads.get(index));
    let places: Vec<_> =
        threads.filter_map(|thread| kernel.pool[thread].space.get()).map(place).collect();
    let is_dropped = |(space, range): &Part| {
        let (base, home) = places
            .iter()
            .find(|(at, ..)| at == space)
            .map_or((0, *space), |(_, base, home)| (*base, *home));
        let dropped = left
            .dropped
            .iter()
            .any(|address| address & !(abi::PAGE_SIZE - 1) == base + range.start.0);
        *space != own && (home != directory_of.address() || dropped)
    };
    ensure!(
        kernel.port.invalidated.iter().all(is_dropped),
        "the portable kernel dropped translations"
    );
    Ok(())
}

/// Checks that a thread that the way into a server resumes by `iret` has a server's selectors
/// saved. Other ways write them first.
pub fn check_thread(kernel: &Kernel, thread: &Thread) -> Result<()> {
    let Some(space) = thread
        .space
        .get()
        .filter(|_| matches!(thread.gate, gate::OPEN | gate::REPLY | gate::RUN | gate::NOTIFIED))
    else {
        return Ok(());
    };
    let saved = [thread.context[word::CS] & 0xffff, thread.context[word::SS]];
    let is_right = !is_server(kernel, space) || saved == code_and_stack(kernel, space);
    ensure!(is_right, "waits with the selectors of another kind of space");
    Ok(())
}
