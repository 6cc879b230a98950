// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter of ARM against a small kernel. A kernel that does everything that it must do is not
//! reported; each one that leaves something out is.

use abi::arch::armv5::layout::AREA_START;
use model_core::armv5::{Class, Controls, Counter, Operation, Setup, Which, World};
use model_core::{
    Chunk, Cpu, Events, IntervalReport, Marker, PerLine, Physical, Privilege, Report,
};
use std::collections::BTreeMap;

/// Where physical memory appears to the kernel.
const WINDOW: u32 = 0xe000_0000;
const ROOT: u32 = 0x4000;
/// Coarse tables of two slots of the process identifier.
const TABLES: [u32; 2] = [0x8000, 0x8400];
const SLOT: u32 = 32 << 20;
/// Domains of the two processes.
const DOMAINS: [u32; 2] = [3, 4];
const VECTORS: u32 = 0xffff_0000;
const SWI: u32 = VECTORS + 8;
const IRQ: u32 = VECTORS + 0x18;
const PAGE: u32 = 4096;
/// A user page that the kernel may write, too: cached, and written back.
const USER_PAGE: u32 = 0xffe;

/// Physical memory, as words, and registers.
#[derive(Default)]
struct Guest {
    words: BTreeMap<u32, u32>,
    controls: Controls,
    link: u32,
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        Some(self.words.get(&address).copied().unwrap_or(0))
    }
}

impl World for Guest {
    fn controls(&mut self) -> Controls {
        self.controls
    }
    fn link(&mut self) -> u32 {
        self.link
    }
}

/// What the kernel leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// Its tables' lines are not written back.
    TableClean,
    /// Translations stay when a page goes.
    EntryFlush,
    /// Lines of a page stay when it goes.
    PageClean,
    /// Lines are cleaned at the address before the process identifier is put in.
    WrongProcess,
    /// They are dropped without being written back.
    DropOnly,
    /// Written code is not written back.
    CodeClean,
    /// Lines of code stay when code is written.
    CodeDrop,
    /// The entry of a process whose domain becomes another is not flushed.
    DomainFlush,
    /// The kernel writes a page that the process keeps, without cleaning.
    Alias,
}

/// A machine with that kernel.
struct Machine {
    counter: Counter,
    guest: Guest,
    executed: u64,
    fault: Fault,
}

impl Machine {
    fn new(fault: Fault) -> Self {
        let words = [
            (ROOT + (WINDOW >> 20) * 4, 0x40e),
            (ROOT + (VECTORS >> 20) * 4, 0x40e),
            (ROOT + (SLOT >> 20) * 4, TABLES[0] | DOMAINS[0] << 5 | 1),
            (ROOT + ((2 * SLOT) >> 20) * 4, TABLES[1] | DOMAINS[1] << 5 | 1),
        ];
        let controls = Controls {
            control: 1 << 13 | 1 << 12 | 1 << 2 | 1,
            root: ROOT,
            domains: 0x5555_5555,
            process: SLOT,
        };
        let setup = Setup {
            checker: Some(model_core::armv5::Checker::new(false)),
            kernel: WINDOW,
            ..Setup::default()
        };
        let guest = Guest { words: words.into(), controls, link: 0 };
        let mut machine = Self { counter: Counter::new(setup), guest, executed: 0, fault };
        machine.counter.arm(0, &mut machine.guest);
        machine
    }

    /// An instruction of who has this privilege.
    fn step(&mut self, privilege: Privilege, address: u32) {
        self.counter.chunk(
            &Chunk::new(privilege, &[4], PerLine::default()),
            address,
            self.executed,
            &mut self.guest,
        );
        self.executed += 1;
    }

    fn enter(&mut self, vector: u32) {
        self.step(Privilege::Kernel, vector);
        self.operate(Operation::WriteDomains, 0x5555_5555);
    }

    fn leave(&mut self, process: usize) {
        self.operate(Operation::WriteProcess, (process as u32 + 1) * SLOT);
        self.operate(Operation::WriteDomains, 1 | 1 << (2 * DOMAINS[process]));
        self.counter.special(Class::Return, 0, 0);
    }

    fn operate(&mut self, operation: Operation, value: u32) {
        self.counter.special(Class::System(operation), 0, value);
    }

    fn operate_unless(&mut self, fault: Fault, operation: Operation, value: u32) {
        if self.fault != fault {
            self.operate(operation, value);
        }
    }

    fn access(&mut self, address: u32, write: bool) {
        self.counter.access(0, address, 4, write, false, &mut self.guest);
    }

    /// User code at 0 reads or writes an address.
    fn user(&mut self, address: u32, write: bool) {
        self.step(Privilege::User, 0);
        self.access(address, write);
    }

    fn set(&mut self, entry: u32, word: u32) {
        self.access(WINDOW + entry, true);
        self.guest.words.insert(entry, word);
        self.counter.access(0, WINDOW + entry, 4, true, false, &mut self.guest);
        self.operate_unless(Fault::TableClean, Operation::CleanLine(false), WINDOW + entry);
        self.operate(Operation::Drain, 0);
    }

    /// A process gets a page.
    fn map(&mut self, process: usize, page: u32, frame: u32) {
        // The kernel looks at what was there.
        self.access(WINDOW + TABLES[process] + page * 4, false);
        self.set(TABLES[process] + page * 4, frame | USER_PAGE);
    }

    fn unmap(&mut self, process: usize, page: u32) {
        let start = (process as u32 + 1) * SLOT + page * PAGE;
        let cleaned = if self.fault == Fault::WrongProcess { page * PAGE } else { start };
        for offset in (0..PAGE).step_by(32) {
            let clean = if self.fault == Fault::DropOnly {
                Operation::InvalidateLine(Which::Data)
            } else {
                Operation::CleanLine(true)
            };
            self.operate_unless(Fault::PageClean, clean, cleaned + offset);
            self.operate(Operation::InvalidateLine(Which::Code), start + offset);
        }
        self.set(TABLES[process] + page * 4, 0);
        self.operate_unless(Fault::EntryFlush, Operation::FlushEntry(Which::Both), start);
    }

    /// The kernel reads and writes a page by its own address, and writes it back for others.
    fn clear(&mut self, frame: u32) {
        for offset in (0..PAGE).step_by(4) {
            self.access(WINDOW + frame + offset, true);
        }
        for offset in (0..PAGE).step_by(32) {
            self.operate_unless(
                Fault::CodeClean,
                Operation::CleanLine(true),
                WINDOW + frame + offset,
            );
        }
    }

    fn report(&self) -> Report {
        self.counter.report()
    }
}

const FRAMES: [u32; 4] = [0x2_0000, 0x2_1000, 0x2_2000, 0x2_3000];

/// Two processes get pages, use them, give them back, and get each other's; one of the pages is
/// code that the kernel has loaded again. A domain goes from one process to the other.
fn scene(fault: Fault) -> Report {
    let mut machine = Machine::new(fault);
    machine.enter(SWI);
    // The code of each process, and a page of data.
    (0..2).for_each(|process| machine.map(process, 0, FRAMES[process]));
    machine.map(0, 1, FRAMES[2]);
    machine.leave(0);
    machine.user(PAGE, false);
    machine.user(PAGE, true);
    machine.enter(SWI);
    if fault == Fault::Alias {
        machine.access(WINDOW + FRAMES[2], false);
    }
    // The page of data goes to the other process, cleared; the first one gets another.
    machine.unmap(0, 1);
    machine.clear(FRAMES[2]);
    machine.map(1, 1, FRAMES[2]);
    machine.leave(1);
    machine.user(PAGE, false);
    machine.user(PAGE, true);
    machine.enter(IRQ);
    machine.unmap(1, 1);
    machine.clear(FRAMES[0]);
    machine.clear(FRAMES[2]);
    // New code of the first process is loaded by the kernel's address.
    machine.access(WINDOW + FRAMES[0], false);
    machine.clear(FRAMES[0]);
    for offset in (0..PAGE).step_by(32) {
        machine.operate_unless(
            Fault::CodeDrop,
            Operation::InvalidateLine(Which::Code),
            SLOT + offset,
        );
    }
    machine.clear(FRAMES[3]);
    machine.map(0, 1, FRAMES[3]);
    machine.leave(0);
    machine.user(PAGE, true);
    machine.enter(SWI);
    // The first process gets the other's domain, which has none now.
    machine.set(ROOT + ((2 * SLOT) >> 20) * 4, 0);
    machine.access(WINDOW + ROOT + (SLOT >> 20) * 4, false);
    machine.set(ROOT + (SLOT >> 20) * 4, TABLES[0] | DOMAINS[1] << 5 | 1);
    machine.operate_unless(Fault::DomainFlush, Operation::FlushTlb(Which::Both), 0);
    machine.operate(Operation::WriteProcess, SLOT);
    machine.operate(Operation::WriteDomains, 1 | 1 << (2 * DOMAINS[1]));
    machine.user(PAGE, false);
    machine.report()
}

#[test]
fn a_kernel_that_does_all_is_not_accused() {
    let report = scene(Fault::Nothing);
    assert_eq!((&report.violations[..], &report.errors[..]), (&[][..], &[][..]));
    assert!(report.checked.is_some_and(|checked| checked > 4000));
}

#[test]
fn what_is_left_out_is_found() {
    for (fault, rules) in [
        (Fault::TableClean, &["table walked that is dirty in the data cache"][..]),
        (Fault::EntryFlush, &["stale translation used"]),
        (Fault::PageClean, &["memory written that is dirty under another address"]),
        (Fault::WrongProcess, &["memory written that is dirty under another address"]),
        (Fault::DropOnly, &["dirty line invalidated"]),
        (Fault::CodeClean, &["code fetched that is dirty in the data cache"]),
        (Fault::CodeDrop, &["line of code older than memory used"]),
        (Fault::DomainFlush, &["stale translation used"]),
        (Fault::Alias, &["memory read that is dirty under another address"]),
    ] {
        let found: Vec<String> =
            scene(fault).violations.into_iter().map(|violation| violation.rule).collect();
        for rule in rules {
            assert!(found.iter().any(|found| found == rule), "{fault:?}: {found:?}");
        }
    }
}

/// The emulator let something happen that no translation permits: with the domain closed.
#[test]
fn the_domains_are_looked_at_with_each_hit() {
    let mut machine = Machine::new(Fault::Nothing);
    machine.enter(SWI);
    machine.map(0, 0, FRAMES[0]);
    machine.map(0, 1, FRAMES[2]);
    machine.leave(0);
    machine.user(PAGE, false);
    assert_eq!(machine.report().violations, []);
    machine.enter(SWI);
    machine.operate(Operation::WriteDomains, 1);
    machine.access(PAGE, false);
    let found = machine.report().violations;
    assert_eq!(
        found.iter().map(|violation| &violation.rule[..]).collect::<Vec<_>>(),
        ["stale translation used"]
    );
}

fn interval(machine: &Machine) -> IntervalReport {
    machine.report().intervals.remove(&1).expect("the interval is in the report")
}

#[test]
fn entries_and_operations_are_counted() {
    let mut machine = Machine::new(Fault::Nothing);
    machine.enter(SWI);
    (0..2).for_each(|process| machine.map(process, 0, FRAMES[process]));
    // The first process is a native component: a section of UTCBs is in its domain.
    machine.set(ROOT + (AREA_START >> 20) * 4, 0xc0e | DOMAINS[0] << 5);
    machine.leave(0);
    machine.step(Privilege::User, 0);
    machine.counter.mark(Marker::Begin(1), Privilege::User, machine.executed, &mut machine.guest);
    machine.step(Privilege::User, 0);
    // It is undefined there.
    machine.operate(Operation::WriteDomains, 0);
    machine.guest.link = 4;
    machine.enter(SWI);
    machine.step(Privilege::Kernel, WINDOW + 0x1000);
    machine.leave(1);
    // An interrupt before the first user instruction; then one that the idle kernel has.
    machine.enter(IRQ);
    machine.guest.link = WINDOW + 0x1004;
    machine.enter(IRQ);
    machine.operate(Operation::FlushTlb(Which::Both), 0);
    machine.operate(Operation::FlushEntry(Which::Data), 0);
    machine.leave(1);
    machine.step(Privilege::User, 0);
    machine.counter.mark(Marker::End(1), Privilege::User, machine.executed, &mut machine.guest);
    let report = interval(&machine);
    let medians = report.medians();
    assert_eq!(
        medians.parts().map(|part| part.instructions),
        [4, 0, 1, 1],
        "kernel, server, components, user"
    );
    let expected = Events {
        instructions: 4,
        trap_entries: 1,
        fault_entries: 1,
        far_returns: 2,
        domain_writes: 5,
        process_writes: 2,
        tlb_flushes: 1,
        page_flushes: 1,
        ..Events::default()
    };
    assert_eq!(medians.kernel, expected);
    assert_eq!(
        report.visits.iter().map(|visit| visit.kernel_instructions).collect::<Vec<_>>(),
        [2, 2]
    );
}

/// The modelled processor: 32 entries and 1024 lines, round robin; what is written stays only where
/// a line is.
#[test]
fn hits_and_misses_are_those_of_the_geometry() {
    let cpu = std::fs::read_to_string("../cpus/pxa255-400.toml").expect("a text");
    let cpu = Cpu::parse(&cpu).expect("a CPU model");
    let mut machine = Machine::new(Fault::Nothing);
    let setup = Setup {
        machine: Some(model_core::armv5::Machine::new(&cpu.geometry)),
        kernel: WINDOW,
        ..Setup::default()
    };
    machine.counter = Counter::new(setup);
    for page in 0..64 {
        machine.guest.words.insert(TABLES[0] + page * 4, (0x20_0000 + page * PAGE) | USER_PAGE);
    }
    let count = |machine: &mut Machine, act: &mut dyn FnMut(&mut Machine)| {
        machine.counter.mark(
            Marker::Begin(1),
            Privilege::User,
            machine.executed,
            &mut machine.guest,
        );
        act(machine);
        machine.counter.mark(Marker::End(1), Privilege::User, machine.executed, &mut machine.guest);
        let events = interval(machine).medians().total();
        machine.counter = {
            let setup = Setup {
                machine: Some(model_core::armv5::Machine::new(&cpu.geometry)),
                kernel: WINDOW,
                ..Setup::default()
            };
            Counter::new(setup)
        };
        events
    };
    let pages = |machine: &mut Machine, count: u32| {
        (0..2).for_each(|_| (0..count).for_each(|page| machine.user(page * PAGE, false)))
    };
    assert_eq!(count(&mut machine, &mut |machine| pages(machine, 32)).dtlb_misses, 32);
    assert_eq!(
        count(&mut machine, &mut |machine| pages(machine, 33)).dtlb_misses,
        66,
        "one page too many displaces the next, always"
    );
    let lines = |machine: &mut Machine, count: u32, write: bool| {
        (0..count).for_each(|line| machine.user(line * 32, write));
    };
    let events =
        count(&mut machine, &mut |machine| (0..2).for_each(|_| lines(machine, 1024, false)));
    assert_eq!((events.l1d_misses, events.write_backs), (1024, 0));
    let events = count(&mut machine, &mut |machine| lines(machine, 1024, true));
    assert_eq!((events.l1d_misses, events.memory_writes), (0, 1024), "a write makes no line");
    let events = count(&mut machine, &mut |machine| {
        lines(machine, 1024, false);
        lines(machine, 1024, true);
        (0..1024).for_each(|line| machine.user(0x8000 + line * 32, false));
    });
    assert_eq!((events.l1d_misses, events.write_backs), (2048, 1024), "dirty lines are displaced");
    let events = count(&mut machine, &mut |machine| {
        lines(machine, 4, false);
        lines(machine, 4, true);
        machine.step(Privilege::Kernel, WINDOW);
        machine.operate(Operation::CleanLine(false), SLOT);
        machine.operate(Operation::InvalidateLine(Which::Data), SLOT + 32);
        machine.operate(Operation::TestClean(false), 0);
        lines(machine, 4, false);
    });
    assert_eq!(
        (events.write_backs, events.l1d_misses, events.test_cleans),
        (3, 5, 3),
        "one at its address, two by the loop"
    );
    let locked = |machine: &mut Machine, unlocks: bool| {
        let operate = |machine: &mut Machine, operation, value| {
            machine.step(Privilege::Kernel, WINDOW);
            machine.operate(operation, value);
        };
        operate(machine, Operation::LockLines, 1);
        lines(machine, 64, false);
        operate(machine, Operation::LockLines, 0);
        (0..1024).for_each(|line| machine.user(0x8000 + line * 32, false));
        if unlocks {
            operate(machine, Operation::UnlockLines, 0);
        }
        operate(machine, Operation::InvalidateCaches(Which::Data), 0);
        lines(machine, 64, false);
    };
    assert_eq!(count(&mut machine, &mut |machine| locked(machine, false)).l1d_misses, 64 + 1024);
    assert_eq!(
        count(&mut machine, &mut |machine| locked(machine, true)).l1d_misses,
        64 + 1024 + 64
    );
}
