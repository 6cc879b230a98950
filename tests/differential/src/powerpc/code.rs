// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code and the exit code, as they were built, and the tests in them.

use crate::elf::Elf;
use crate::processor::{Executed, Places};
use anyhow::{Result, ensure};
use interpreter::has_condition;
use std::ops::Range;

/// The branches with a condition in the entry by `sc` and the fast paths, in their order: the name
/// of a test, which is passed if the branch is not taken. The others decide whether both threads
/// have one space, and what kind of page it is.
pub const TESTS: [Option<&str>; 147] = [
    Some("T1, alien"),
    Some("T1"),
    Some("T2 of call"),
    Some("T3"),
    Some("T4"),
    Some("T5"),
    Some("T6 of call"),
    None,
    Some("T11 of call"),
    None,
    Some("T2 of reply_wait"),
    Some("T8"),
    Some("T9"),
    Some("T9, partner"),
    Some("T10"),
    Some("T6 of reply_wait"),
    None,
    Some("T11 of reply_wait"),
    Some("A2"),
    Some("A3"),
    Some("A3, partner"),
    Some("A4"),
    Some("A5, window"),
    Some("A5"),
    Some("R1"),
    Some("R3"),
    Some("R3, handle"),
    Some("R3, partner"),
    Some("R3, handler"),
    Some("R4"),
    Some("R5"),
    Some("R6"),
    Some("R7, window"),
    Some("R7"),
    Some("R7, another window"),
    Some("R7, server"),
    Some("M1 of map_run"),
    Some("M1 of map_run, count"),
    Some("R3 of map_run"),
    Some("R3 of map_run, handle"),
    Some("R3 of map_run, partner"),
    Some("R3 of map_run, handler"),
    Some("R4 of map_run"),
    Some("R5 of map_run"),
    Some("R6 of map_run"),
    None,
    Some("R7 of map_run"),
    Some("R7 of map_run, another window"),
    Some("R7 of map_run, server"),
    Some("M1 of map_reply_wait"),
    Some("T8 of map_reply_wait"),
    Some("T9 of map_reply_wait"),
    Some("T9 of map_reply_wait, partner"),
    Some("T10 of map_reply_wait"),
    Some("T6 of map_reply_wait"),
    None,
    Some("T11 of map_reply_wait"),
    Some("M3, none"),
    Some("M2"),
    Some("M3"),
    Some("M5"),
    Some("M4"),
    Some("M4, end"),
    Some("M4, page; M1"),
    Some("M5, kind"),
    Some("M5, right"),
    Some("M5, dying"),
    Some("M6"),
    Some("M6, table"),
    None,
    Some("M8"),
    Some("M7"),
    // The search in the tree; then what else is mapped, which thread continues, and in which space.
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    None,
    Some("M1 of map"),
    Some("M1 of map, count"),
    None,
    Some("M4 of several"),
    Some("M6 of several, area"),
    // They are not too many.
    None,
    Some("M1 of several, none"),
    Some("M6 of several"),
    Some("M8 of several"),
    None,
    None,
    Some("F1"),
    // Whether the directory has anything there.
    None,
    Some("F2"),
    Some("F3, store"),
    Some("F3"),
    Some("F4"),
    None,
    Some("F5"),
    Some("F6"),
    Some("F7"),
    None,
    Some("F8"),
    None,
    Some("A3 of a fault"),
    Some("A3 of a fault, partner"),
    Some("A4 of a fault"),
    Some("A5 of a fault, window"),
    Some("A5 of a fault"),
    Some("N1"),
    Some("N2"),
    Some("N3"),
    // Whether it waits.
    None,
    None,
    Some("N4, alien"),
    None,
    Some("N4"),
    // Whether it accepts a bit, and continues now; its queue.
    None,
    None,
    None,
    None,
    None,
    Some("T11 of notify"),
    Some("B3 of notify"),
    None,
    Some("B1 of notify"),
    Some("B2"),
    None,
    Some("W1"),
    Some("W2"),
    // Whether there are bits, and what else it takes.
    None,
    None,
    Some("W3"),
    None,
    Some("W4"),
    Some("W5"),
    Some("W5, state"),
    None,
    Some("T11 of receive"),
    Some("B3 of receive"),
    None,
    Some("B1 of receive"),
    // How it waits; the queue of the thread that continues, the space, the next priority.
    None,
    None,
    None,
    None,
    None,
];

/// The addresses at which exceptions enter: a data access, a fetch, `sc`.
pub const ENTRIES: [u32; 3] = [0x300, 0x400, 0xc00];
/// Bytes for an exception's code.
const VECTOR: u32 = 0x100;
/// `rfi`.
const RETURN: u32 = 0x4c00_0064;

/// Addresses of the kernel that its entry code uses.
pub struct Symbols {
    /// The way out of the portable kernel.
    pub leave: u32,
    /// Where it goes if it leaves an event to the portable kernel.
    pub slow: u32,
    /// The bits of a handle that are an index.
    pub index_mask: u32,
    /// The kernel's stack, from its start to the next symbol.
    pub stack: Range<u32>,
    /// The fast paths' words about the window of a server.
    pub shown: u32,
    /// The words that the misses of the hashed table use.
    pub reload: Range<u32>,
}

/// A part of the code.
struct Part {
    start: u32,
    words: Vec<u32>,
    /// All of it has to be executed: it is not the hashed table's code, which another test
    /// executes.
    is_whole: bool,
}

impl Part {
    /// Reads the part in this range of addresses.
    fn read(elf: &Elf, range: Range<u32>, is_whole: bool) -> Result<Self> {
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        Ok(Self {
            start: range.start,
            words: elf.bytes(range.start, range.end)?.chunks_exact(4).map(word).collect(),
            is_whole,
        })
    }
}

/// The code, in parts.
pub struct Code {
    parts: Vec<Part>,
    /// Addresses of what [`TESTS`] lists.
    tests: Vec<u32>,
    /// Addresses that it uses.
    pub symbols: Symbols,
    /// The words that each port has.
    pub places: Places,
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let at = |name: &str| elf.symbol(name);
        let (fast, leave, restore) = (at("switch")?, at("leave_kernel")?, at("restore")?);
        let [data, fetch, call] = ENTRIES;
        let vector = |start: u32| Part::read(elf, start..start + VECTOR, start == call);
        let mut last = Part::read(elf, fast..restore + VECTOR, true)?;
        let restores = ((restore - fast) / 4) as usize;
        let end = last
            .words
            .iter()
            .skip(restores)
            .position(|word| *word == RETURN)
            .map_or(0, |length| restores + length + 1);
        last.words.truncate(end);
        // Exceptions of the kernel itself are not tested.
        let to_rust = Part::read(elf, at("insert_failed")?..at("from_kernel")?, true)?;
        let stack = elf.find("5stack12KERNEL_STACK")?;
        let reload = elf.find("6layout6RELOAD")?;
        let symbols = Symbols {
            leave,
            slow: at("trap5enter")?,
            // `PoolPlace`: the offset, and the bits of a handle that are an index.
            index_mask: at("10POOL_PLACE")? + 4,
            stack: stack.address..stack.address + stack.bytes,
            shown: at("6window5SHOWN")?,
            reload: reload.address..reload.address + reload.bytes,
        };
        let places = Places { cpu: at("6layout3CPU")?, scheduler: at("8contract6KERNEL")? };
        let parts = vec![vector(data)?, vector(fetch)?, vector(call)?, to_rust, last];
        let mut code = Self { parts, tests: Vec::new(), symbols, places };
        let is_test = |at: &u32| code.instruction(*at).is_some_and(has_condition);
        code.tests = (call..call + VECTOR).chain(fast..leave).step_by(4).filter(is_test).collect();
        ensure!(
            code.tests.len() == TESTS.len(),
            "the fast path has {} tests, not those that are known",
            code.tests.len()
        );
        Ok(code)
    }

    /// The number of the test at an address.
    pub fn test(&self, at: u32) -> Option<usize> {
        self.tests.binary_search(&at).ok()
    }

    /// The instruction at an address; none in a vector's padding.
    pub fn instruction(&self, at: u32) -> Option<u32> {
        let word =
            |part: &Part| part.words.get((at.checked_sub(part.start)? / 4) as usize).copied();
        self.parts.iter().find_map(word).filter(|word| *word != 0)
    }

    /// Instructions that were never executed, or, if they have a condition, not both ways. Entries
    /// from user mode take only one way.
    pub fn missed(&self, executed: &Executed) -> Vec<String> {
        let of = |part: &Part| (part.start..).step_by(4).zip(part.words.clone());
        let all = self
            .parts
            .iter()
            .filter(|part| part.is_whole)
            .flat_map(of)
            .filter(|(_, word)| *word != 0);
        let tell = |(at, instruction): (u32, u32)| {
            let [met, not_met] = executed.get(&at).copied().unwrap_or_default();
            let is_missed =
                if self.test(at).is_some() { met == 0 || not_met == 0 } else { met + not_met == 0 };
            is_missed.then(|| format!("{instruction:#010x} at {at:#x}: {met} and {not_met}"))
        };
        all.filter_map(tell).collect()
    }
}
