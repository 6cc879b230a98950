// SPDX-License-Identifier: MIT OR Apache-2.0
//! The checker of ARM's caches against caches that hold data, by random operations.
//!
//! Whatever a processor's caches keep or displace, as long as the checker reports nothing, each
//! read finds what was written last.

use model_core::armv5::{Access, Checker, Controls, Operation, Which};
use model_core::{Physical, Rule};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// First-level table of two sections.
const ROOT: u32 = 0x4000;
const LINES: u32 = 2;

#[derive(Clone, Copy, Debug)]
enum Action {
    /// A section gets this frame, and may be cached or not.
    Map(u32, u32, bool),
    /// A line of a section is read.
    Read(u32, u32),
    Write(u32, u32),
    Fetch(u32, u32),
    /// The processor makes room.
    Evict(u32, u32),
    EvictCode(u32, u32),
    /// An operation with a line's address.
    Operate(Operation, u32, u32),
}

fn action() -> impl Strategy<Value = Action> {
    let operation = prop_oneof![
        Just(Operation::CleanLine(false)),
        Just(Operation::CleanLine(true)),
        Just(Operation::InvalidateLine(Which::Code)),
        Just(Operation::InvalidateLine(Which::Data)),
        Just(Operation::InvalidateCaches(Which::Code)),
        Just(Operation::TestClean(false)),
        Just(Operation::TestClean(true)),
    ];
    let place = (0..2_u32, 0..LINES);
    prop_oneof![
        2 => (0..2_u32, 0..2_u32, prop::bool::weighted(0.8)).prop_map(|(section, frame, cached)| Action::Map(section, frame, cached)),
        4 => place.clone().prop_map(|(section, line)| Action::Read(section, line)),
        4 => place.clone().prop_map(|(section, line)| Action::Write(section, line)),
        2 => place.clone().prop_map(|(section, line)| Action::Fetch(section, line)),
        1 => place.clone().prop_map(|(section, line)| Action::Evict(section, line)),
        1 => place.clone().prop_map(|(section, line)| Action::EvictCode(section, line)),
        5 => (operation, place).prop_map(|(operation, (section, line))| Action::Operate(operation, section, line)),
    ]
}

/// A processor's caches and memory, with data, and what a program expects.
#[derive(Default)]
struct Hardware {
    /// What was written last into a line of a frame.
    truth: BTreeMap<(u32, u32), u32>,
    memory: BTreeMap<(u32, u32), u32>,
    /// By line of a section: frame, contents, dirty.
    data: BTreeMap<(u32, u32), (u32, u32, bool)>,
    code: BTreeMap<(u32, u32), u32>,
    write_allocate: bool,
}

impl Hardware {
    fn clean(&mut self, place: (u32, u32)) {
        if let Some((frame, value, dirty)) = self.data.get_mut(&place)
            && std::mem::take(dirty)
        {
            self.memory.insert((*frame, place.1), *value);
        }
    }

    fn in_memory(&self, frame: u32, line: u32) -> u32 {
        self.memory.get(&(frame, line)).copied().unwrap_or(0)
    }

    fn read(&mut self, place: (u32, u32), frame: u32, cached: bool) -> u32 {
        let value = self.in_memory(frame, place.1);
        if cached { self.data.entry(place).or_insert((frame, value, false)).1 } else { value }
    }

    fn write(&mut self, place: (u32, u32), frame: u32, cached: bool, value: u32) {
        self.truth.insert((frame, place.1), value);
        if cached && self.write_allocate {
            self.data.entry(place).or_insert((frame, 0, false));
        }
        match self.data.get_mut(&place).filter(|_| cached) {
            Some(line) => (line.1, line.2) = (value, true),
            None => _ = self.memory.insert((frame, place.1), value),
        }
    }

    fn fetch(&mut self, place: (u32, u32), frame: u32, cached: bool) -> u32 {
        let value = self.in_memory(frame, place.1);
        if cached { *self.code.entry(place).or_insert(value) } else { value }
    }

    fn operate(&mut self, operation: Operation, place: (u32, u32)) {
        let all: Vec<(u32, u32)> = self.data.keys().copied().collect();
        match operation {
            Operation::CleanLine(invalidates) => {
                self.clean(place);
                if invalidates {
                    self.data.remove(&place);
                }
            }
            Operation::InvalidateLine(Which::Data) => _ = self.data.remove(&place),
            Operation::InvalidateLine(_) => _ = self.code.remove(&place),
            Operation::InvalidateCaches(_) => self.code.clear(),
            Operation::TestClean(invalidates) => {
                all.into_iter().for_each(|place| self.clean(place));
                if invalidates {
                    self.data.clear();
                }
            }
            _ => unreachable!("not among the actions"),
        }
    }
}

/// The first-level table's first two entries.
struct Tables([u32; 2]);

impl Physical for Tables {
    fn read(&mut self, address: u32) -> Option<u32> {
        self.0.get((address.checked_sub(ROOT)? / 4) as usize).copied()
    }
}

const CONTROLS: Controls =
    Controls { control: 1 << 12 | 1 << 2 | 1, root: ROOT, domains: 1, process: 0 };

/// The checker, the hardware, and the tables.
struct Both {
    checker: Checker,
    hardware: Hardware,
    tables: Tables,
    frames: [(u32, bool); 2],
    found: Vec<Rule>,
    next: u32,
}

impl Both {
    fn new(write_allocate: bool) -> Self {
        let hardware = Hardware { write_allocate, ..Hardware::default() };
        let tables = Tables([0; 2]);
        let mut both = Self {
            checker: Checker::new(write_allocate),
            hardware,
            tables,
            frames: [(0, true); 2],
            found: Vec::new(),
            next: 1,
        };
        both.map(0, 0, true);
        both.map(1, 1, true);
        both
    }

    fn map(&mut self, section: u32, frame: u32, cached: bool) {
        self.frames[section as usize] = (frame, cached);
        self.tables.0[section as usize] = (frame + 1) << 20 | 0xc02 | if cached { 0xc } else { 0 };
        self.checker.operate(Operation::FlushTlb(Which::Both), 0, 0, |_| ());
    }

    fn check(&mut self, (section, line): (u32, u32), write: bool, fetch: bool) {
        let access = Access { address: section << 20 | line << 5, write, user: false, fetch };
        let found = &mut self.found;
        assert!(
            self.checker
                .access(access, 4, CONTROLS, 0x77, &mut self.tables, |(rule, ..)| found.push(rule))
        );
    }

    /// Whether what was read is what was written last.
    fn act(&mut self, action: Action) -> bool {
        let frames = self.frames;
        match action {
            Action::Map(section, frame, cached) => self.map(section, frame, cached),
            Action::Read(section, line) => {
                self.check((section, line), false, false);
                let (frame, cached) = frames[section as usize];
                let value = self.hardware.read((section, line), frame, cached);
                return value == self.hardware.truth.get(&(frame, line)).copied().unwrap_or(0);
            }
            Action::Write(section, line) => {
                self.check((section, line), true, false);
                let (frame, cached) = frames[section as usize];
                self.next += 1;
                self.hardware.write((section, line), frame, cached, self.next);
            }
            Action::Fetch(section, line) => {
                self.check((section, line), false, true);
                let (frame, cached) = frames[section as usize];
                // Fetches that may not be cached read memory, which the checker does not follow.
                let value = self.hardware.fetch((section, line), frame, cached);
                return !cached
                    || value == self.hardware.truth.get(&(frame, line)).copied().unwrap_or(0);
            }
            Action::Evict(section, line) => {
                self.hardware.clean((section, line));
                self.hardware.data.remove(&(section, line));
            }
            Action::EvictCode(section, line) => _ = self.hardware.code.remove(&(section, line)),
            Action::Operate(operation, section, line) => {
                let found = &mut self.found;
                self.checker.operate(operation, section << 20 | line << 5, 0x78, |(rule, ..)| {
                    found.push(rule)
                });
                self.hardware.operate(operation, (section, line));
            }
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn what_is_read_wrongly_was_reported(allocate in any::<bool>(), actions in prop::collection::vec(action(), 1..40)) {
        let mut both = Both::new(allocate);
        for action in actions {
            let right = both.act(action);
            prop_assert!(right || !both.found.is_empty(), "{:?} reads what was not written last", action);
            if !both.found.is_empty() {
                // From here on the checker supposes what the kernel should have done.
                break;
            }
        }
    }

    /// A kernel that cleans and invalidates a section before it changes it, and code before it is
    /// fetched, is not accused, if no two sections have the same frame.
    #[test]
    fn a_careful_kernel_is_not_accused(allocate in any::<bool>(), actions in prop::collection::vec(action(), 1..60)) {
        let mut both = Both::new(allocate);
        let lines = |section: u32| (0..LINES).map(move |line| (section, line));
        for action in actions {
            match action {
                Action::Map(section, frame, _) if both.frames[1 - section as usize].0 == frame => continue,
                Action::Map(section, ..) => {
                    for (section, line) in lines(section) {
                        both.act(Action::Operate(Operation::CleanLine(true), section, line));
                        both.act(Action::Operate(Operation::InvalidateLine(Which::Code), section, line));
                    }
                }
                Action::Fetch(section, line) => {
                    both.act(Action::Operate(Operation::CleanLine(false), section, line));
                    both.act(Action::Operate(Operation::InvalidateLine(Which::Code), section, line));
                }
                Action::Operate(Operation::InvalidateLine(Which::Data), section, line) => {
                    both.act(Action::Operate(Operation::CleanLine(false), section, line));
                }
                _ => {}
            }
            prop_assert!(both.act(action), "{:?}", action);
            prop_assert_eq!(&both.found, &[]);
        }
    }
}

#[test]
fn each_rule_has_its_case() {
    use Action::{Fetch, Map, Operate, Read, Write};
    let found = |actions: &[Action]| {
        let mut both = Both::new(false);
        actions.iter().for_each(|action| _ = both.act(*action));
        both.found
    };
    let clean = |section| Operate(Operation::CleanLine(false), section, 0);
    assert_eq!(
        found(&[Read(0, 0), Write(0, 0), Map(1, 0, true), Read(1, 0)]),
        [Rule::DirtyElsewhere]
    );
    assert_eq!(
        found(&[Read(0, 0), Write(0, 0), Map(1, 0, false), Read(1, 0)]),
        [Rule::DirtyElsewhere],
        "past the cache"
    );
    assert_eq!(found(&[Write(0, 0), Map(1, 0, true), Read(1, 0)]), [], "no line was made");
    assert_eq!(found(&[Read(0, 0), Write(0, 0), clean(0), Map(1, 0, true), Read(1, 0)]), []);
    assert_eq!(
        found(&[Read(0, 0), Write(0, 0), Map(1, 0, true), Write(1, 0)]),
        [Rule::LateWriteBack]
    );
    assert_eq!(found(&[Read(0, 0), Map(1, 0, true), Write(1, 0), Read(0, 0)]), [Rule::OldLine]);
    assert_eq!(found(&[Read(0, 0), Map(0, 1, true), Read(0, 0)]), [Rule::CacheAlias]);
    assert_eq!(found(&[Fetch(0, 0), Map(0, 1, true), Fetch(0, 0)]), [Rule::CacheAlias], "of code");
    assert_eq!(found(&[Read(0, 0), Write(0, 0), Fetch(0, 0)]), [Rule::DirtyCode]);
    assert_eq!(found(&[Fetch(0, 0), Write(0, 0), Fetch(0, 0)]), [Rule::OldCode]);
    let invalidate = Operate(Operation::InvalidateLine(Which::Data), 0, 0);
    assert_eq!(found(&[Read(0, 0), Write(0, 0), invalidate]), [Rule::DroppedWrite]);
    assert_eq!(
        found(&[Read(0, 0), Write(0, 0), Operate(Operation::InvalidateCaches(Which::Data), 0, 0)]),
        [Rule::DroppedWrite]
    );
}

/// The kernel's helper for the thread pointer has that word in its own line.
#[test]
fn code_and_data_may_share_a_line() {
    let mut both = Both::new(true);
    let at = |both: &mut Both, offset: u32, write: bool, fetch: bool| {
        let access = Access { address: offset, write, user: false, fetch };
        let found = &mut both.found;
        assert!(
            both.checker
                .access(access, 4, CONTROLS, 0x77, &mut both.tables, |(rule, ..)| found.push(rule))
        );
    };
    at(&mut both, 0x10, true, false);
    at(&mut both, 0, false, true);
    at(&mut both, 0x10, true, false);
    at(&mut both, 0xc, false, true);
    assert_eq!(both.found, []);
    at(&mut both, 0x10, false, true);
    assert_eq!(both.found, [Rule::OldCode], "the word itself");
    both.checker.operate(Operation::InvalidateLine(Which::Code), 0, 0, |_| ());
    at(&mut both, 0x10, false, true);
    assert_eq!(both.found, [Rule::OldCode, Rule::DirtyCode]);
}

/// XScale cleans its cache by making as many lines as it has, of two regions in turn.
#[test]
fn making_all_lines_cleans_the_cache() {
    const REGIONS: [u32; 2] = [0xe100_0000, 0xe100_8000];
    let found = |sweeps: &[(u32, u32)]| {
        let mut both = Both::new(false);
        let sweep = |both: &mut Both, region, lines| {
            (0..lines).for_each(|line| {
                both.checker.operate(Operation::AllocateLine, region + line * 32, 0, |_| ())
            });
        };
        sweep(&mut both, REGIONS[0], 1024);
        both.act(Action::Read(0, 0));
        both.act(Action::Write(0, 0));
        for &(region, lines) in sweeps {
            sweep(&mut both, region, lines);
        }
        both.act(Action::Map(0, 1, true));
        both.act(Action::Map(1, 0, true));
        both.act(Action::Write(1, 0));
        both.found
    };
    assert_eq!(found(&[(REGIONS[1], 1024)]), []);
    assert_eq!(found(&[(REGIONS[1], 1023)]), [Rule::LateWriteBack], "one too few");
    assert_eq!(found(&[(REGIONS[0], 1024)]), [Rule::LateWriteBack], "lines that were there");
    assert_eq!(found(&[(REGIONS[0], 1000), (REGIONS[1], 1024)]), []);
}

/// XScale's locked lines are there for ever, and dirty, until all are unlocked.
#[test]
fn locked_lines_stay_when_all_are_dropped() {
    const REGION: u32 = 0xe100_0000;
    let found = |locks: bool, unlocks: bool| {
        let mut both = Both::new(false);
        let operate = |both: &mut Both, operation, operand| {
            both.checker.operate(operation, operand, 0, |_| ())
        };
        operate(&mut both, Operation::LockLines, u32::from(locks));
        both.act(Action::Read(0, 0));
        operate(&mut both, Operation::LockLines, 0);
        both.act(Action::Write(0, 0));
        if unlocks {
            operate(&mut both, Operation::UnlockLines, 0);
        }
        (0..1024).for_each(|line| operate(&mut both, Operation::AllocateLine, REGION + line * 32));
        operate(&mut both, Operation::InvalidateCaches(Which::Data), 0);
        both.act(Action::Map(0, 1, true));
        both.act(Action::Map(1, 0, true));
        both.act(Action::Write(1, 0));
        both.found
    };
    assert_eq!(found(false, false), []);
    assert_eq!(found(true, true), []);
    assert_eq!(found(true, false), [Rule::LateWriteBack]);
}
