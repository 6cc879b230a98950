// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter of MIPS against a small kernel. A kernel that does everything that it must do is not
//! reported; each one that leaves something out is.

use mmu::mips::{Mips as Tables, pair};
use mmu::{Attributes, Format, Leaf};
use model_core::mips::{Accessed, Checker, Counter, Machine, Pair, RETURN, Setup, walk};
use model_core::{Chunk, Cpu, Events, Marker, PerLine, Physical, Privilege, Report};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The upper half of the kernel's addresses.
const ONES: u64 = 0xffff_ffff_0000_0000;
/// Where it has the address of the highest table.
const HOT: u32 = 0x8030_0000;
/// Where other data of it is.
const DATA: u32 = 0x8030_1000;
const MISS: u32 = 0x8000_0080;
const EXCEPTION: u32 = 0x8000_0180;
const KERNEL: u32 = 0x8020_0000;
/// The highest tables of three spaces; the two others follow.
const TOPS: [u32; 3] = [0x8000_1000, 0x8000_4000, 0x8000_7000];
const PAGE: u64 = 4096;
const FRAMES: [u32; 3] = [0x10_0000, 0x10_1000, 0x10_2000];
/// Entries of a TLB.
const ENTRIES: u32 = 48;

/// `nop`; `lw $14, 0($25)`; `dmtc0 $14, $10`; `sw $25, 0($27)`; `lw $27, 0($27)`.
const NOP: u32 = 0;
const LOAD_ASID: u32 = 0x8f2e_0000;
const WRITE_ASID: u32 = 0x40ae_5000;
const STORE_TOP: u32 = 0xaf79_0000;
const LOAD_TOP: u32 = 0x8f7b_0000;
/// `ld $4, 0($25)`; `dmtc0 $4, $10`; `lui $5, 0x8000`; `dmtc0 $5, $10`.
const LOAD_PAGE: u32 = 0xdf24_0000;
const WRITE_PAGE: u32 = 0x40a4_5000;
const NOTHING: u32 = 0x3c05_8000;
const WRITE_NOTHING: u32 = 0x40a5_5000;
/// `mfc0 $2, $0`; `mtc0 $2, $0`; `ori $2, $0, N`.
const READ_INDEX: u32 = 0x4002_0000;
const WRITE_INDEX: u32 = 0x4082_0000;
const NUMBER: u32 = 0x3402_0000;
/// `tlbp`, `tlbwi`, `tlbwr`.
const PROBE: u32 = 0x4200_0008;
const WRITE_ENTRY: u32 = 0x4200_0002;
const WRITE_RANDOM: u32 = 0x4200_0006;

/// Physical memory.
#[derive(Default)]
struct Memory(BTreeMap<u32, u32>);

impl Physical for Memory {
    fn read(&mut self, address: u32) -> Option<u32> {
        Some(self.0.get(&address).copied().unwrap_or(0))
    }
}

impl Memory {
    /// An entry of a table in kseg0.
    fn set(&mut self, table: u32, index: u32, entry: u64) {
        let at = (table & 0x1fff_ffff) + index * 8;
        self.0.insert(at, (entry >> 32) as u32);
        self.0.insert(at + 4, entry as u32);
    }
}

/// What the kernel leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    Nothing,
    /// The ASID stays when another space is entered.
    Tag,
    /// The handler of misses goes on to read the last space's tables.
    Tables,
    /// What the TLB has of a page stays when the page goes.
    Drop,
    /// A new space gets the ASID of one that ended, and the TLB stays.
    Flush,
}

/// A page that all may use, in the kernel's format.
fn leaf(frame: u32) -> u64 {
    Tables::leaf(Leaf {
        physical: abi::PhysAddr(frame),
        rights: abi::Rights::RWX,
        most: abi::Rights::RWX,
        attributes: Attributes::Cached,
        global: false,
    })
}

/// A machine with that kernel.
struct System {
    counter: Counter,
    memory: Memory,
    executed: u64,
    fault: Fault,
}

impl System {
    fn new(setup: Setup, fault: Fault) -> Self {
        let mut memory = Memory::default();
        for top in TOPS {
            for (above, below) in [(top, top + 0x1000), (top + 0x1000, top + 0x2000)] {
                memory.set(above, 0, Tables::table(abi::PhysAddr(below & 0x1fff_ffff)));
            }
        }
        Self { counter: Counter::new(setup), memory, executed: 0, fault }
    }

    fn arm(&mut self) {
        self.counter.arm(self.executed, &mut self.memory);
    }

    fn chunk(&mut self, address: u64, code: Option<&Rc<[u32]>>, count: usize) {
        let privilege = if code.is_some() { Privilege::Kernel } else { Privilege::User };
        self.counter.begins_at(address, code);
        if self.counter.is_armed() {
            let chunk = Chunk::new(privilege, &vec![4; count], PerLine::default());
            self.counter.chunk(&chunk, address as u32, self.executed, &mut self.memory);
        }
        self.executed += count as u64;
    }

    /// The kernel executes this, and makes these accesses: of which instruction, where, and what is
    /// read, or written.
    fn kernel(&mut self, address: u32, code: &[u32], accesses: &[(usize, u32, u64, bool)]) {
        self.chunk(ONES | u64::from(address), Some(&code.into()), code.len());
        for (index, address, value, write) in accesses.iter().copied() {
            let accessed = Accessed {
                offset: index as u16 * 4,
                address: ONES | u64::from(address),
                bytes: if code[index] == LOAD_PAGE { 8 } else { 4 },
                write,
                value,
                physical: None,
            };
            self.counter.access(accessed, &mut self.memory);
        }
    }

    /// User code executes an instruction at 0 that accesses an address, which the emulator has in
    /// a frame.
    fn user(&mut self, address: u64, write: bool, physical: Option<u32>) {
        self.chunk(0, None, 1);
        let accessed = Accessed { offset: 0, address, bytes: 4, write, value: 0, physical };
        self.counter.access(accessed, &mut self.memory);
    }

    /// The handler of misses runs, of a space.
    fn miss(&mut self, space: usize) {
        let top = (0, HOT, TOPS[space].into(), false);
        self.kernel(MISS, &[LOAD_TOP, WRITE_RANDOM, NOP, RETURN], &[top]);
    }

    /// The kernel leaves to a space, by an ASID.
    fn leave(&mut self, space: usize, asid: u64) {
        self.leave_by(space, asid, Fault::Nothing);
    }

    /// The same by a path that has this fault.
    fn leave_by(&mut self, space: usize, asid: u64, has: Fault) {
        let [tag, tables] = [(Fault::Tag, WRITE_ASID), (Fault::Tables, STORE_TOP)]
            .map(|(fault, word)| if has == fault { NOP } else { word });
        let mut accesses = vec![(0, DATA, asid, false)];
        if tables != NOP {
            accesses.push((2, HOT, TOPS[space].into(), true));
        }
        self.kernel(KERNEL, &[LOAD_ASID, tag, tables, RETURN], &accesses);
    }

    /// The first space is entered, and its handler of misses tells where the tables are.
    fn begin(&mut self) {
        self.kernel(KERNEL, &[LOAD_ASID, WRITE_ASID, RETURN], &[(0, DATA, 1, false)]);
        self.miss(0);
        self.user(0, false, None);
    }

    fn enter(&mut self) {
        self.counter.system_call();
        self.kernel(EXCEPTION, &[NOP], &[]);
    }

    fn set(&mut self, space: usize, page: u64, entry: u64) {
        self.memory.set(TOPS[space] + 0x2000, page as u32, entry);
    }

    /// The kernel drops what the TLB has of a page of an ASID; the emulator has it.
    fn drop_page(&mut self, page: u64, asid: u64) {
        if self.fault == Fault::Drop {
            return;
        }
        let code = [
            LOAD_PAGE,
            WRITE_PAGE,
            PROBE,
            READ_INDEX,
            WRITE_INDEX,
            NOTHING,
            WRITE_NOTHING,
            WRITE_ENTRY,
        ];
        self.kernel(KERNEL, &code, &[(0, DATA, (page * PAGE) & !0x1fff | asid, false)]);
    }

    fn flush(&mut self) {
        if self.fault == Fault::Flush {
            return;
        }
        let one = |index| [NUMBER | index, WRITE_INDEX, NOTHING, WRITE_NOTHING, WRITE_ENTRY];
        let code: Vec<u32> = (0..ENTRIES).flat_map(one).collect();
        self.kernel(KERNEL, &code, &[]);
    }
}

/// Two spaces run and use a page, which goes from the first and another takes its place; the second
/// ends, and a third gets its ASID.
fn scene(fault: Fault) -> Report {
    let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
    let mut system = System::new(setup, fault);
    system.arm();
    for (space, frame) in FRAMES.into_iter().enumerate() {
        system.set(space, 0, leaf(frame));
    }
    system.set(0, 3, leaf(FRAMES[2]));
    system.begin();
    system.user(3 * PAGE, true, Some(FRAMES[2]));
    system.enter();
    system.leave_by(1, 2, fault);
    system.user(4, false, None);
    system.enter();
    system.leave(1, 2);
    system.user(4, false, None);
    system.enter();
    system.set(0, 3, leaf(FRAMES[1]));
    system.drop_page(3, 1);
    system.leave(0, 1);
    system.user(3 * PAGE + 8, false, None);
    system.enter();
    system.flush();
    system.leave(2, 2);
    system.user(0, false, None);
    system.counter.report()
}

fn rules(report: &Report) -> Vec<&str> {
    let mut rules: Vec<&str> = report.violations.iter().map(|found| &*found.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn a_kernel_that_does_all_is_not_accused() {
    let report = scene(Fault::Nothing);
    assert_eq!((rules(&report), &report.errors[..]), (vec![], &[][..]));
    assert!(report.checked.is_some_and(|checked| checked > 8));
}

#[test]
fn what_a_kernel_leaves_out_is_found() {
    let (tag, stale) = ("ASID of another space used", "stale translation used");
    for (fault, rule) in
        [(Fault::Tag, tag), (Fault::Tables, tag), (Fault::Drop, stale), (Fault::Flush, tag)]
    {
        let report = scene(fault);
        assert!(rules(&report).contains(&rule), "{fault:?}: {:?}", report.violations);
    }
}

/// What the emulator accessed is not what the tables have, although no entry of theirs was dropped.
#[test]
fn memory_that_is_not_the_tables_is_found() {
    for (physical, found) in [(FRAMES[2], 0), (FRAMES[1], 1)] {
        let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
        let mut system = System::new(setup, Fault::Nothing);
        system.arm();
        system.set(0, 0, leaf(FRAMES[0]));
        system.set(0, 3, leaf(FRAMES[2]));
        system.begin();
        system.user(3 * PAGE, false, Some(physical));
        let report = system.counter.report();
        assert_eq!(report.violations.len(), found, "{:?}", report.violations);
    }
}

/// An entry that allows less than the tables is replaced by the kernel.
#[test]
fn rights_may_grow_without_a_flush() {
    let setup = Setup { checker: Some(Checker::default()), ..Setup::default() };
    let mut system = System::new(setup, Fault::Nothing);
    system.arm();
    system.set(0, 0, leaf(FRAMES[0]));
    system.begin();
    system.enter();
    system.set(0, 1, leaf(FRAMES[1]));
    system.leave(0, 1);
    system.user(PAGE, true, Some(FRAMES[1]));
    assert_eq!(rules(&system.counter.report()), [""; 0]);
}

fn events(system: &System, id: u16) -> Events {
    system.counter.report().intervals[&id].medians().total()
}

/// Misses of the model's TLB, each with the handler that was seen, and none of the kernel's.
#[test]
fn misses_are_the_models() {
    let text = std::fs::read_to_string("../cpus/r4600-100.toml").expect("a text");
    let cpu = Cpu::parse(&text).expect("a CPU model");
    let setup = Setup { machine: Some(Machine::new(&cpu.geometry)), ..Setup::default() };
    let mut system = System::new(setup, Fault::Nothing);
    (0..200).for_each(|page| system.set(0, page, leaf(FRAMES[0])));
    system.begin();
    let mark = |system: &mut System, marker| {
        system.counter.mark(marker, Privilege::User, system.executed, &mut system.memory);
    };
    // Forty pairs of pages, cold and warm, then more than there are entries.
    for (id, pairs) in [(1, 0..40), (2, 0..40), (3, 40..90)] {
        mark(&mut system, Marker::Begin(id));
        if id == 1 {
            system.miss(0);
        }
        for pair in pairs {
            system.user(pair * 2 * PAGE, false, None);
            system.user((pair * 2 + 1) * PAGE, false, None);
        }
        mark(&mut system, Marker::End(id));
    }
    // By the handler, which the emulator enters at another time.
    mark(&mut system, Marker::Begin(4));
    system.user(0, false, None);
    system.enter();
    system.leave(1, 2);
    system.miss(1);
    system.set(1, 0, leaf(FRAMES[1]));
    system.user(0, false, None);
    mark(&mut system, Marker::End(4));
    let [cold, warm, more, switch] = [1, 2, 3, 4].map(|id| events(&system, id));
    // The pair at 0 has the code, too.
    assert_eq!((cold.itlb_misses, cold.dtlb_misses), (1, 39));
    assert_eq!((warm.itlb_misses, warm.dtlb_misses), (0, 0));
    assert!(more.dtlb_misses >= 50, "{}", more.dtlb_misses);
    for found in [cold, warm, more, switch] {
        assert_eq!(found.software_reloads, found.itlb_misses + found.dtlb_misses);
    }
    let report = system.counter.report();
    let kernel = report.intervals[&4].medians().kernel;
    assert_eq!((kernel.itlb_misses, kernel.dtlb_misses), (0, 0));
    assert_eq!((kernel.trap_entries, kernel.far_returns), (1, 1));
    assert_eq!(kernel.instructions, 5, "the handler is no visit");
    assert_eq!(report.errors, [""; 0]);
    // Of four instructions.
    assert!(switch.software_reloads > 0);
    assert_eq!(switch.reload_instructions, switch.software_reloads * 4);
}

/// A handler that fills nothing is an entry.
#[test]
fn a_miss_that_the_kernel_answers_is_an_entry() {
    let mut system = System::new(Setup::default(), Fault::Nothing);
    system.begin();
    system.counter.mark(Marker::Begin(1), Privilege::User, system.executed, &mut system.memory);
    system.user(0, false, None);
    system.kernel(MISS, &[LOAD_TOP, NOP], &[(0, HOT, TOPS[0].into(), false)]);
    system.kernel(KERNEL, &[NOP; 3], &[]);
    system.leave(0, 1);
    system.user(0, false, None);
    system.counter.mark(Marker::End(1), Privilege::User, system.executed, &mut system.memory);
    let kernel = system.counter.report().intervals[&1].medians().kernel;
    assert_eq!((kernel.fault_entries, kernel.trap_entries), (1, 0));
    assert_eq!(kernel.instructions, 2 + 3 + 4);
}

proptest! {
    /// The walk finds what the kernel's own says of its tables.
    #[test]
    fn a_walk_is_the_kernels(
        frame in 0u32..1 << 15,
        page in 0u64..1 << 18,
        kind in 0u32..4,
        rights in 0u32..8,
        cached: bool,
    ) {
        let (address, top) = (page * PAGE, TOPS[0]);
        let attributes = if cached { Attributes::Cached } else { Attributes::Device };
        let rights = abi::Rights(rights);
        let physical = abi::PhysAddr(frame << 12);
        let made = Leaf { physical, rights, most: abi::Rights::RWX, attributes, global: false };
        let index = |shift: u32| (address >> shift & 511) as u32;
        let (mut memory, mut leaves) = (Memory::default(), [0; 2]);
        let table = |below: u32| Tables::table(abi::PhysAddr(below & 0x1fff_ffff));
        memory.set(top, index(30), table(top + 0x1000));
        let directory = match kind {
            0 => Tables::large(made),
            1 => Tables::shared(table(top + 0x2000), abi::Rights::READ),
            2 => table(top + 0x2000),
            _ => 0,
        };
        memory.set(top + 0x1000, index(21), directory);
        if kind == 1 || kind == 2 {
            leaves[(page & 1) as usize] = Tables::leaf(made);
            memory.set(top + 0x2000, index(12), Tables::leaf(made));
        }
        let found = walk(&mut memory, top, address, |_| ()).unwrap_or_default();
        prop_assert_eq!(found, Pair(pair(directory, leaves, address)));
    }
}
