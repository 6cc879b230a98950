// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter of x86-64 against a small kernel. It counts what is known; a kernel that does
//! everything that it must do is not reported, and each one that leaves something out is.

use model_core::x86_64::{Checker, Class, Counter, Machine, Memory, Setup, World};
use model_core::{ByOwner, Chunk, Cpu, Events, Marker, PerLine, Privilege, Report, Rule};
use std::collections::BTreeMap;

/// Where the kernel's code is, and its data.
const TEXT: u64 = 0xffff_ffff_e000_0000;
const DATA: u64 = TEXT + 0x1000;
/// Code of users, and a page of theirs.
const CODE: u64 = 0x40_0000;
const PAGE: u64 = CODE + 0x1000;
/// Highest tables of two spaces.
const ROOTS: [u64; 2] = [0x1000, 0x9000];
const NO_EXECUTE: u64 = 1 << 63;
const CS_OF_USERS: u64 = 0x23;

/// What the kernel leaves out, or does otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// The translation of a page stays when the page goes.
    PageFlush,
    /// Tables are changed as a whole, and CR3 is not written.
    Reload,
    /// A page of users is global.
    Global,
    /// The kernel's code can be written.
    Writable,
    /// So can its data be executed, of which nobody executes any.
    Executable,
    /// Users reach the kernel's data.
    Open,
}

/// Memory and registers.
struct Guest {
    words: BTreeMap<u64, u64>,
    root: u64,
    native: bool,
}

impl Memory for Guest {
    fn entry(&mut self, address: u64) -> Option<u64> {
        Some(self.words.get(&address).copied().unwrap_or(0))
    }
}

impl World for Guest {
    fn root(&mut self) -> u64 {
        self.root
    }
    fn paging(&mut self) -> bool {
        true
    }
    fn is_native(&mut self) -> bool {
        self.native
    }
}

/// A machine with that kernel.
struct System {
    counter: Counter,
    guest: Guest,
    executed: u64,
    fault: Fault,
}

fn index(address: u64, shift: u32) -> u64 {
    (address >> shift & 0x1ff) * 8
}

impl System {
    fn new(setup: Setup, fault: Fault) -> Self {
        let guest = Guest { words: BTreeMap::new(), root: ROOTS[0], native: true };
        let mut system = Self { counter: Counter::new(setup), guest, executed: 0, fault };
        let words = &mut system.guest.words;
        for root in ROOTS {
            let tables = [root, root + 0x5000, root + 0x6000, root + 0x7000];
            for (level, shift) in [39, 30, 21].into_iter().enumerate() {
                words.insert(tables[level] + index(CODE, shift), tables[level + 1] | 7);
            }
            words.insert(tables[3] + index(CODE, 12), 0x10_0005);
        }
        // The kernel's part is the same in both: text, and data that is not executed.
        let open = if fault == Fault::Open { 4 } else { 0 };
        words.extend(ROOTS.map(|root| (root + index(TEXT, 39), 0x2003 | open)));
        words.extend([
            (0x2000 + index(TEXT, 30), 0x3003 | open),
            (0x3000 + index(TEXT, 21), 0x4003 | open),
            (0x4000, 0x20_0101 | if fault == Fault::Writable { 2 } else { 0 }),
            (0x4008, 0x20_1103 | open | if fault == Fault::Executable { 0 } else { NO_EXECUTE }),
        ]);
        system.counter.arm(0, &mut system.guest);
        system
    }

    fn step(&mut self, privilege: Privilege, address: u64) {
        let chunk = Chunk::new(privilege, &[4], PerLine::default());
        self.counter.chunk(&chunk, address, self.executed, &mut self.guest);
        self.executed += 1;
    }

    fn kernel(&mut self, class: Class, operand: u64) {
        self.step(Privilege::Kernel, TEXT);
        self.counter.special(class, 0, operand);
    }

    fn access(&mut self, address: u64, write: bool) {
        self.counter.access(0, address, 8, write, || 0, &mut self.guest);
    }

    /// A system call and the way back.
    fn call(&mut self, act: impl FnOnce(&mut Self)) {
        self.step(Privilege::User, CODE);
        self.counter.special(Class::Syscall, 0, 0);
        self.step(Privilege::Kernel, TEXT);
        self.access(DATA + 8, true);
        act(self);
        self.kernel(Class::Sysret, 0);
        self.step(Privilege::User, CODE);
    }

    /// The kernel goes to a space, whose CR3 has these low bits.
    fn switch(&mut self, space: usize, low: u64) {
        self.kernel(Class::WriteCr3, 0);
        self.guest.root = ROOTS[space] | low;
        self.step(Privilege::Kernel, TEXT);
    }

    /// A page appears in space 0, or another in its place; the kernel writes its tables by its data.
    fn map(&mut self, frame: u64, flush: bool) {
        let entry = ROOTS[0] + 0x7000 + index(PAGE, 12);
        let global = if self.fault == Fault::Global { 0x100 } else { 0 };
        // The kernel's page 1 + n of data is physical page n.
        let place = TEXT + (1 + (entry >> 12)) * 0x1000;
        self.guest.words.insert(0x4000 + index(place, 12), entry & !0xfff | 0x103 | NO_EXECUTE);
        self.step(Privilege::Kernel, TEXT);
        self.access(place | entry & 0xfff, true);
        self.guest.words.insert(entry, if frame == 0 { 0 } else { frame | 7 | global });
        if flush && self.fault != Fault::PageFlush {
            self.kernel(Class::Invlpg, PAGE);
        }
    }

    fn run(mut self) -> Report {
        self.call(|_| {});
        self.call(|system| system.map(0x30_0000, false));
        self.access(PAGE, true);
        self.call(|system| system.map(0x30_1000, true));
        self.access(PAGE, false);
        self.call(|system| {
            system.map(0x30_2000, false);
            if system.fault != Fault::Reload {
                system.switch(0, 0);
            } else {
                system.step(Privilege::Kernel, TEXT);
            }
        });
        self.access(PAGE, false);
        self.call(|system| system.switch(1, 0));
        self.call(|system| system.switch(0, 0));
        self.access(PAGE, false);
        if self.fault == Fault::Open {
            self.access(DATA, false);
        }
        self.counter.report()
    }
}

/// What is broken with this fault.
fn broken(fault: Fault) -> Vec<String> {
    let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
    let report = System::new(setup, fault).run();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(report.checked.is_some_and(|checked| checked > 10));
    let mut rules: Vec<String> = report.violations.into_iter().map(|found| found.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn whatever_a_kernel_leaves_out_is_reported() {
    for (fault, rule) in [
        (Fault::Nothing, None),
        (Fault::PageFlush, Some(Rule::StaleTranslation)),
        (Fault::Reload, Some(Rule::StaleTranslation)),
        (Fault::Global, Some(Rule::GlobalUserPage)),
        (Fault::Writable, Some(Rule::WritableCode)),
        (Fault::Executable, Some(Rule::WritableCode)),
        (Fault::Open, Some(Rule::OutsideWindow)),
    ] {
        let found = broken(fault);
        let expected: Vec<String> = rule.iter().map(Rule::to_string).collect();
        assert!(expected.iter().all(|rule| found.contains(rule)), "{fault:?}: {found:?}");
        assert!(fault != Fault::Nothing || found.is_empty(), "{found:?}");
    }
}

#[test]
fn the_kernel_executes_no_page_of_users() {
    let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
    let mut system = System::new(setup, Fault::Nothing);
    system.call(|_| {});
    system.step(Privilege::Kernel, CODE);
    let report = system.counter.report();
    let [found] = &report.violations[..] else { panic!("{:?}", report.violations) };
    assert_eq!((&found.rule, &found.address[..]), (&Rule::WritableCode.to_string(), "0x00400000"));
}

/// What ring 1 reaches of the upper half is the entry area.
#[test]
fn a_server_reaches_nothing_of_the_kernel_but_the_entry_area() {
    for (address, rules) in [(DATA, vec![Rule::BeyondLimit.to_string()]), (mmu::area::BASE, vec![])]
    {
        let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
        let mut system = System::new(setup, Fault::Nothing);
        // The area is the last 2 MiB, which the last directory has.
        let table = 0xc000;
        system.guest.words.extend([
            (0x3000 + index(mmu::area::BASE, 21), table | 3),
            (table, 0x20_2001 | NO_EXECUTE),
        ]);
        system.call(|_| {});
        system.step(Privilege::Ring1, CODE);
        system.access(address, false);
        let report = system.counter.report();
        assert!(report.errors.is_empty(), "{:?}", report.errors);
        let found: Vec<String> = report.violations.into_iter().map(|found| found.rule).collect();
        assert_eq!(found, rules, "{address:#x}");
    }
}

/// An interval's events with a CPU model, by owner.
fn counted(act: impl Fn(&mut System)) -> ByOwner<Events> {
    let text = std::fs::read_to_string("../cpus/skylake-3400.toml").expect("a text");
    let cpu = Cpu::parse(&text).expect("a CPU model");
    let setup = Setup { machine: Some(Machine::new(&cpu.geometry)), ..Setup::default() };
    let mut system = System::new(setup, Fault::Nothing);
    // The first time nothing is in TLBs and caches.
    for _ in 0..3 {
        system.counter.mark(Marker::Begin(1), Privilege::User, system.executed, &mut system.guest);
        act(&mut system);
        system.counter.mark(Marker::End(1), Privilege::User, system.executed, &mut system.guest);
    }
    let report = system.counter.report();
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    report.intervals[&1].medians()
}

#[test]
fn a_system_call_is_an_entry_and_a_return() {
    let found = counted(|system| system.call(|_| {}));
    let kernel = Events { instructions: 2, sysenter_entries: 1, sysexits: 1, ..Events::default() };
    assert_eq!(found.kernel, kernel, "nothing is missed");
    assert_eq!(found.components, Events { instructions: 2, ..Events::default() });
}

#[test]
fn a_return_from_an_interrupt_is_to_user_mode_if_the_selector_says_so() {
    for (selector, entries) in [(CS_OF_USERS, 2), (8, 1)] {
        let found = counted(|system| {
            system.step(Privilege::User, CODE);
            for _ in 0..2 {
                system.kernel(Class::FarReturn, 0);
                for word in [CODE, selector, 0x202, 0, 0x1b] {
                    system.counter.access(0, DATA, 8, false, || word, &mut system.guest);
                }
            }
            system.step(Privilege::User, CODE);
        });
        assert_eq!((found.kernel.fault_entries, found.kernel.far_returns), (entries, 2));
    }
}

#[test]
fn a_process_is_nobodys_component_and_ring_1_is_the_servers() {
    let found = counted(|system| {
        system.guest.native = false;
        system.call(|system| system.switch(1, 0));
        system.step(Privilege::Ring1, CODE);
        system.call(|system| system.switch(0, 0));
    });
    assert_eq!((found.user.instructions, found.server.instructions), (4, 1));
    assert_eq!((found.components.instructions, found.kernel.space_switches), (0, 2));
}

/// With PCIDs that the kernel shows in CR3 nothing is flushed by a switch, unless a space has none.
#[test]
fn a_switch_flushes_only_who_has_no_pcid() {
    for (what, low, misses, flushes) in
        [("each has one", [1, 2], 0, 0), ("one has none", [1, 0], 1, 1), ("numbers", [0, 0], 0, 0)]
    {
        let found = counted(|system| {
            system.call(|system| system.switch(1, low[1]));
            system.call(|system| system.switch(0, low[0]));
        });
        let kernel = found.kernel;
        assert_eq!((kernel.space_switches, kernel.tlb_flushes), (2, flushes), "{what}");
        let user = found.components;
        assert_eq!((user.itlb_misses, user.walks), (misses, misses), "{what}");
        assert_eq!(kernel.itlb_misses, 0, "{what}: the kernel's are global");
    }
}
