// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter of PowerPC against a small kernel, on a 603 and on a 604. A kernel that does
//! everything that it must do is not reported; each one that leaves something out is.

use mmu::hash::{self, Group, PLACES};
use mmu::vsid;
use model_core::powerpc::{
    Bat, Class, Controls, Counted, Counter, Machine, Operation, Setup, World, special,
};
use model_core::{Chunk, Cpu, Marker, PerLine, Physical, Privilege, Report};
use std::collections::BTreeMap;

const HASH: u32 = 0x0040_0000;
/// Directories and leaf tables of two spaces.
const TABLES: [(u32, u32); 2] = [(0x1_0000, 0x1_1000), (0x1_2000, 0x1_3000)];
const THREADS: [u32; 2] = [0x2_0000, 0x2_0800];
const SC: u32 = 0xc00;
const PAGE: u32 = 4096;
/// R, C, and all may be done.
const USED: u32 = 0x182;
const FRAMES: [u32; 3] = [0x10_0000, 0x10_1000, 0x10_2000];

/// Memory and registers.
struct Guest {
    words: BTreeMap<u32, u32>,
    table: Vec<Group>,
    is_software: bool,
    space: usize,
    /// LR.
    link: u32,
    /// Whether the last search of the hashed table found nothing.
    found_nothing: bool,
}

impl Physical for Guest {
    fn read(&mut self, address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(HASH) as usize;
        let hashed =
            self.table.get(offset / 64).map(|group| group[offset / 8 % PLACES][offset / 4 % 2]);
        hashed.or_else(|| Some(self.words.get(&address).copied().unwrap_or(0)))
    }
}

impl World for Guest {
    fn controls(&mut self) -> Controls {
        let all = Bat { upper: 0x1ffe, lower: 2 };
        let bats = [[all, Bat::default(), Bat::default(), Bat::default()]; 2];
        Controls {
            hash: if self.is_software { 0 } else { HASH },
            directory: TABLES[self.space].0,
            bats,
            ..Controls::default()
        }
    }
    fn thread(&mut self) -> u32 {
        THREADS[self.space]
    }
    fn left_user(&mut self) -> bool {
        true
    }
    fn found_nothing(&mut self, _: bool) -> bool {
        self.found_nothing
    }
    fn link(&mut self) -> u32 {
        self.link
    }
}

/// What the kernel leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// The translation of a page stays when the page goes.
    PageFlush,
    /// And what the hashed table has.
    HashRemoval,
    /// A segment of the last space stays open.
    Null,
    /// A space gets the context of another that has run.
    Context,
    /// Code that was written is not written back.
    CodeClean,
    /// Lines of code stay when code is written.
    CodeDrop,
    /// What was reserved stays so.
    Reservation,
    /// A page that is written has no C.
    Changed,
}

/// A machine with that kernel.
struct System {
    counter: Counter,
    guest: Guest,
    executed: u64,
    fault: Fault,
}

impl System {
    fn new(setup: Setup, is_software: bool, fault: Fault) -> Self {
        let mut system = Self::unarmed(setup, is_software, fault);
        system.counter.arm(0, &mut system.guest);
        system
    }

    fn unarmed(setup: Setup, is_software: bool, fault: Fault) -> Self {
        let words = TABLES.map(|(directory, table)| (directory, table | USED)).into();
        let table = vec![[[0; 2]; PLACES]; 1024];
        let guest = Guest { words, table, is_software, space: 0, link: 0, found_nothing: false };
        Self { counter: Counter::new(setup), guest, executed: 0, fault }
    }

    fn step(&mut self, privilege: Privilege, address: u32) {
        self.counter.chunk(
            &Chunk::new(privilege, &[4], PerLine::default()),
            address,
            self.executed,
            &mut self.guest,
        );
        self.executed += 1;
    }

    fn special(&mut self, class: Class, address: u32, value: u32) {
        self.counter.special(Counted { class, offset: 0, address, value }, &mut self.guest);
    }

    fn operate(&mut self, operation: Operation, address: u32, value: u32) {
        self.special(Class::System(operation), address, value);
    }

    fn context(&self, space: usize) -> u32 {
        if self.fault == Fault::Context { 5 } else { 5 + space as u32 }
    }

    /// The kernel leaves to a space that uses segment 0, and the first one segment 1, too.
    fn leave(&mut self, space: usize) {
        let context = self.context(space);
        self.operate(Operation::WriteSegment(Some(0)), 0, vsid::vsid(context, 0));
        if space == 0 || self.fault != Fault::Null {
            self.operate(
                Operation::WriteSegment(Some(1)),
                0,
                vsid::vsid(if space == 0 { context } else { 0 }, 1),
            );
        }
        if self.fault != Fault::Reservation {
            self.special(Class::Release, 0, 0);
        }
        self.guest.space = space;
        self.operate(Operation::WriteSpecial(special::DIRECTORY), 0, TABLES[space].0);
        self.special(Class::Return, 0, 0);
    }

    /// A space gets a page, or loses it if the entry is 0.
    fn set(&mut self, space: usize, page: u32, entry: u32) {
        let entry = if self.fault == Fault::Changed { entry & !0x80 } else { entry };
        self.guest.words.insert(TABLES[space].1 + page * 4, entry);
        let (number, address) = (vsid::vsid(self.context(space), 0), abi::UserAddr(page * PAGE));
        if entry != 0 {
            hash::insert(&mut self.guest.table, number, address, entry, &mut 0);
        } else if self.fault != Fault::HashRemoval {
            hash::remove(&mut self.guest.table, number, address);
        }
        if self.fault != Fault::PageFlush {
            self.operate(Operation::FlushEntry, page * PAGE, 0);
        }
    }

    /// User code at 0 accesses an address.
    fn user(&mut self, address: u32, write: bool) {
        self.step(Privilege::User, 0);
        self.counter.access(0, address, 4, write, &mut self.guest);
    }

    /// The kernel writes code into a frame.
    fn load(&mut self, frame: u32) {
        self.counter.access(0, frame, 4, true, &mut self.guest);
        if self.fault != Fault::CodeClean {
            self.operate(Operation::CleanLine, frame, 0);
        }
        if self.fault != Fault::CodeDrop {
            self.operate(Operation::DropCodeLine, frame, 0);
        }
    }
}

/// Two spaces run code and use a page, which goes from the first to nobody and another takes its
/// place; the code is written again.
fn scene(system: &mut System) -> Report {
    system.step(Privilege::Kernel, SC);
    for (space, frame) in FRAMES.into_iter().enumerate().take(2) {
        system.load(frame);
        system.set(space, 0, frame | USED);
    }
    system.set(0, 1, FRAMES[2] | USED);
    system.leave(0);
    system.user(PAGE, true);
    system.special(Class::Reserve, PAGE, 0);
    system.step(Privilege::Kernel, SC);
    system.leave(1);
    system.user(4, false);
    system.step(Privilege::Kernel, SC);
    system.set(0, 1, 0);
    system.set(0, 1, FRAMES[1] | USED);
    system.load(FRAMES[0]);
    system.leave(0);
    system.user(PAGE, false);
    system.counter.report()
}

fn rules(is_software: bool, fault: Fault) -> Vec<String> {
    let setup =
        Setup { checker: Some(model_core::powerpc::Checker::default()), ..Setup::default() };
    let report = scene(&mut System::new(setup, is_software, fault));
    assert_eq!(report.errors, [""; 0]);
    let mut rules: Vec<String> =
        report.violations.into_iter().map(|violation| violation.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn a_kernel_that_does_all_is_not_accused() {
    for is_software in [false, true] {
        assert_eq!(rules(is_software, Fault::Nothing), [""; 0]);
    }
}

#[test]
fn what_a_kernel_leaves_out_is_found() {
    for (fault, rule) in [
        (Fault::PageFlush, "stale translation used"),
        (Fault::Null, "segment of another space open"),
        (Fault::Context, "VSID of another space used again too early"),
        (Fault::CodeClean, "code fetched that is dirty in the data cache"),
        (Fault::CodeDrop, "line of code older than memory used"),
        (Fault::Reservation, "reservation of another thread kept"),
        (Fault::Changed, "store through an entry without C"),
    ] {
        for is_software in [false, true] {
            assert!(
                rules(is_software, fault).iter().any(|found| found == rule),
                "{fault:?}: {:?}",
                rules(is_software, fault)
            );
        }
    }
}

/// A 604 finds in the hashed table what was not taken out; in this kernel a new page overwrites it,
/// so the page must stay away.
#[test]
fn what_the_hashed_table_keeps_is_found() {
    let setup =
        Setup { checker: Some(model_core::powerpc::Checker::default()), ..Setup::default() };
    let mut system = System::new(setup, false, Fault::HashRemoval);
    system.step(Privilege::Kernel, SC);
    system.set(0, 0, FRAMES[0] | USED);
    system.set(0, 1, FRAMES[1] | USED);
    system.set(0, 1, 0);
    system.leave(0);
    system.user(PAGE, false);
    let rules: Vec<_> =
        system.counter.report().violations.into_iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, ["stale translation used"]);
}

/// A space has the context that another one had. The page at which it goes on was put into the
/// table or the TLB since then; of any other page there must be nothing.
#[test]
fn a_context_is_anothers_when_nothing_of_it_is_left() {
    let rules = |is_software: bool, gone: bool| {
        let setup =
            Setup { checker: Some(model_core::powerpc::Checker::default()), ..Setup::default() };
        let mut system = System::new(setup, is_software, Fault::Context);
        system.step(Privilege::Kernel, SC);
        for page in [0, 65] {
            system.set(0, page, FRAMES[0] | USED);
        }
        system.leave(0);
        system.user(65 * PAGE, false);
        system.step(Privilege::Kernel, SC);
        system.set(0, 0, 0);
        if gone {
            system.set(0, 65, 0);
        }
        system.set(1, 0, FRAMES[1] | USED);
        system.leave(1);
        if is_software {
            // The handler of the first fetch's miss.
            system.step(Privilege::Kernel, 0x1000);
            system.operate(Operation::WriteSpecial(special::LOADED), 0, FRAMES[1] | USED);
            system.operate(Operation::Load { code: true }, 0, 0);
        }
        system.user(4, false);
        let violations = system.counter.report().violations;
        violations.into_iter().map(|violation| violation.rule).collect::<Vec<_>>()
    };
    for is_software in [false, true] {
        assert_eq!(rules(is_software, true), [""; 0]);
        let found = ["VSID of another space used again too early"];
        assert_eq!(rules(is_software, false), found, "{is_software}");
    }
}

/// What users see by a BAT is what the tables have, as long as they do.
#[test]
fn a_block_that_is_not_as_the_tables_is_found() {
    let found = |frame: u32| {
        let setup =
            Setup { checker: Some(model_core::powerpc::Checker::default()), ..Setup::default() };
        let mut system = System::new(setup, true, Fault::Nothing);
        system.step(Privilege::Kernel, SC);
        system.set(0, 0, FRAMES[0] | USED);
        system.set(0, 1, frame | USED);
        // The fourth of data: 128 KiB at 0.
        for (register, value) in [(543, FRAMES[0] | 2), (542, 1)] {
            system.operate(Operation::WriteSpecial(register), 0, value);
        }
        system.leave(0);
        system.user(PAGE, true);
        let rule = "stale translation used";
        system.counter.report().violations.iter().any(|violation| violation.rule == rule)
    };
    assert_eq!(FRAMES.map(found), [true, false, true]);
}

/// Misses of the model's TLBs, and what each costs.
#[test]
fn who_fills_a_tlb_is_counted() {
    for (name, is_software) in [("ppc604-133", false), ("ppc603e-133", true)] {
        let cpu =
            Cpu::parse(&std::fs::read_to_string(format!("../cpus/{name}.toml")).expect("a text"))
                .expect("a CPU model");
        let setup = Setup { machine: Some(Machine::new(&cpu.geometry)), ..Setup::default() };
        // Before the first marker nobody tells whose code is executed.
        let mut system = System::unarmed(setup, is_software, Fault::Nothing);
        // Three pages of one set of either TLB, and the code.
        let pages = [0, 64, 128, 192];
        for page in pages {
            system.set(0, page, (FRAMES[1] + page * PAGE) | USED);
        }
        system.leave(0);
        system.counter.mark(Marker::Begin(1), Privilege::User, system.executed, &mut system.guest);
        system.user(0, false);
        system.counter.mark(Marker::End(1), Privilege::User, system.executed, &mut system.guest);
        system.counter.mark(Marker::Begin(2), Privilege::User, system.executed, &mut system.guest);
        for _ in 0..2 {
            pages[1..].iter().for_each(|page| system.user(page * PAGE, false));
        }
        system.counter.mark(Marker::End(2), Privilege::User, system.executed, &mut system.guest);
        let report = system.counter.report();
        assert_eq!(report.errors, [""; 0]);
        let events = report.intervals[&2].medians().total();
        assert_eq!(
            (events.itlb_misses, events.dtlb_misses),
            (0, 6),
            "{name}: three pages share two ways"
        );
        assert_eq!(
            (events.software_reloads, events.hash_misses),
            (if is_software { 6 } else { 0 }, 0),
            "{name}"
        );
        assert_eq!(events.hash_loads >= 6, !is_software, "{name}");
        assert_eq!(events.instructions, 6, "{name}");
    }
}

/// Searches of the emulator that find nothing are counted by the exceptions that follow. On a
/// processor whose TLB software fills, these say nothing of a search.
#[test]
fn a_search_that_finds_nothing_is_counted() {
    for (name, found_nothing, vector, misses) in [
        ("ppc604-133", true, 0x300, 1),
        ("ppc604-133", true, 0x400, 1),
        ("ppc604-133", false, 0x300, 0),
        ("ppc604-133", true, 0x500, 0),
        ("ppc603e-133", true, 0x300, 0),
    ] {
        let cpu =
            Cpu::parse(&std::fs::read_to_string(format!("../cpus/{name}.toml")).expect("a text"))
                .expect("a CPU model");
        let setup = Setup { machine: Some(Machine::new(&cpu.geometry)), ..Setup::default() };
        let mut system = System::unarmed(setup, name.contains("603"), Fault::Nothing);
        system.set(0, 0, FRAMES[1] | USED);
        system.leave(0);
        system.guest.found_nothing = found_nothing;
        system.counter.mark(Marker::Begin(1), Privilege::User, system.executed, &mut system.guest);
        system.step(Privilege::User, 0);
        system.step(Privilege::Kernel, vector);
        system.leave(0);
        system.step(Privilege::User, 0);
        system.counter.mark(Marker::End(1), Privilege::User, system.executed, &mut system.guest);
        let events = system.counter.report().intervals[&1].medians().total();
        assert_eq!(events.hash_misses, misses, "{name} {found_nothing} {vector:x}");
    }
}

/// A function of the kernel is counted apart, too, from its first instruction to where it returns
/// to, with what it calls, in the intervals in which it ran.
#[test]
fn a_function_is_counted_apart() {
    const FUNCTION: u32 = 0x8000;
    let setup = Setup { apart: Some(FUNCTION), ..Setup::default() };
    let mut system = System::new(setup, false, Fault::Nothing);
    system.step(Privilege::Kernel, SC);
    system.leave(0);
    system.step(Privilege::User, 0);
    for (interval, calls) in [(1, 2), (2, 0)] {
        let begin = Marker::Begin(interval);
        system.counter.mark(begin, Privilege::User, system.executed, &mut system.guest);
        system.step(Privilege::Kernel, SC);
        for _ in 0..calls {
            system.step(Privilege::Kernel, SC + 4);
            system.guest.link = SC + 8;
            system.step(Privilege::Kernel, FUNCTION);
            // A call of another, with a loop to the function's beginning.
            system.guest.link = FUNCTION + 4;
            system.step(Privilege::Kernel, FUNCTION + 0x100);
            system.operate(Operation::FlushEntry, PAGE, 0);
            system.step(Privilege::Kernel, FUNCTION + 4);
            system.step(Privilege::Kernel, FUNCTION);
            system.step(Privilege::Kernel, SC + 8);
        }
        system.operate(Operation::FlushEntry, PAGE, 0);
        system.leave(0);
        system.step(Privilege::User, 0);
        let end = Marker::End(interval);
        system.counter.mark(end, Privilege::User, system.executed, &mut system.guest);
    }
    let report = system.counter.report();
    let [with, without] = [1, 2].map(|interval| report.intervals[&interval].clone());
    let apart = with.apart.expect("it ran");
    assert_eq!((apart.instructions.median, apart.page_flushes.median), (8, 2));
    assert_eq!((with.kernel_instructions.median, with.events.kernel.page_flushes.median), (13, 3));
    assert_eq!((without.kernel_instructions.median, without.apart), (1, None));
}

/// A handler that the emulator runs counts only for the model's misses, of any owner, and so does
/// one that goes on where unusual cases are; one that fills nothing is an entry.
#[test]
fn a_handler_is_set_aside() {
    const USUAL: [u32; 2] = [0x1100, 0x1104];
    const UNUSUAL: [u32; 2] = [0x1100, 0x1648];
    for (missed, [begins, goes_on], fills, kernel, reload) in [
        (Privilege::User, USUAL, true, 0, 15),
        (Privilege::User, UNUSUAL, true, 0, 15),
        (Privilege::Kernel, USUAL, true, 3, 15),
        (Privilege::User, USUAL, false, 16, 0),
        (Privilege::User, UNUSUAL, false, 16, 0),
    ] {
        let mut system = System::new(Setup::default(), true, Fault::Nothing);
        system.step(Privilege::Kernel, SC);
        system.leave(0);
        system.step(Privilege::User, 0);
        system.counter.mark(Marker::Begin(1), Privilege::User, system.executed, &mut system.guest);
        system.step(Privilege::User, 0);
        if missed == Privilege::Kernel {
            (0..3).for_each(|_| system.step(Privilege::Kernel, SC));
        }
        // The access is counted, missed, and is counted again when it is made.
        system.step(Privilege::Kernel, begins);
        (0..14).for_each(|_| system.step(Privilege::Kernel, goes_on));
        if fills {
            system.operate(Operation::Load { code: false }, 0, 0);
        }
        let to = if fills { missed } else { Privilege::Kernel };
        system.step(to, if to == Privilege::Kernel { SC + 12 } else { 0 });
        system.step(Privilege::User, 0);
        system.counter.mark(Marker::End(1), Privilege::User, system.executed, &mut system.guest);
        let events = system.counter.report().intervals[&1].medians();
        assert_eq!(
            (events.total().reload_instructions, events.kernel.instructions),
            (reload, kernel),
            "{missed:?} {goes_on:x} {fills}"
        );
        assert_eq!(
            events.kernel.fault_entries,
            u64::from(!fills),
            "{missed:?} {goes_on:x} {fills}"
        );
    }
}
