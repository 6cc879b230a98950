// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code, and the tests in it: its conditional branches.

use crate::elf::Elf;
use crate::processor::{Executed, Places};
use anyhow::{Result, ensure};

/// The branches with a condition, in their order: the name of a test, which is passed if the branch
/// is not taken.
pub const TESTS: [&str; 27] = [
    "T1, delay slot",
    "T1, exception",
    "T1",
    "T2 of call",
    "T3",
    "T4",
    "T5",
    "T6 of call",
    "T11 of call",
    "T2 of reply_wait",
    "T8 to T10",
    "T6 of reply_wait",
    "T11 of reply_wait",
    "N1",
    "N2",
    "N3",
    "N4, waits for anybody",
    "N4, waits for notifications",
    "N4, alien",
    "N4, ready",
    "N4",
    "N5, accepts",
    "N5",
    "the queue is empty",
    "the queue is the most urgent",
    "W1, W2",
    "W3",
];

/// The upper half of the kernel's addresses.
pub const ONES: u64 = 0xffff_ffff_0000_0000;

/// Addresses that the entry code uses. All are lower halves.
pub struct Symbols {
    /// `PoolPlace`: the offset, and the bits of a handle that are an index.
    pub pool_place: u32,
    /// Where all exceptions but misses enter.
    pub entry: u32,
    /// Where misses enter.
    pub misses: u32,
    /// Where the code goes if it leaves an event to the portable kernel.
    pub slow: u32,
}

/// The code.
pub struct Code {
    start: u32,
    words: Vec<u32>,
    /// The vectors before this code.
    vectors: (u32, Vec<u32>),
    /// Addresses of what [`TESTS`] lists.
    tests: Vec<u32>,
    /// See [`Symbols`].
    pub symbols: Symbols,
    /// The words that each port has.
    pub places: Places,
}

/// The offset of the misses' vector.
const MISSES: u32 = 0x80;

/// Whether an instruction is a branch with a condition: `b` compares $0 with itself.
const fn has_condition(word: u32) -> bool {
    match word >> 26 {
        1 | 5 => true,
        4 => word >> 16 & 0x3ff != 0,
        _ => false,
    }
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let [vectors, start, end] = ["vectors", "general", "vectors_end"].map(|at| elf.symbol(at));
        let (vectors, start, end) = (vectors?, start?, end?);
        let word = |bytes: &[u8]| bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
        let words = |start, end| -> Result<Vec<u32>> {
            Ok(elf.bytes(start, end)?.chunks_exact(4).map(word).collect())
        };
        let (before, words) = (words(vectors, start)?, words(start, end)?);
        let tests: Vec<u32> = (start..)
            .step_by(4)
            .zip(&words)
            .filter(|(_, word)| has_condition(**word))
            .map(|(at, _)| at)
            .collect();
        ensure!(
            tests.len() == TESTS.len(),
            "the fast path has {} tests, not those that are known",
            tests.len()
        );
        Ok(Self {
            start,
            words,
            vectors: (vectors, before),
            tests,
            symbols: Symbols {
                pool_place: elf.symbol("10POOL_PLACE")?,
                entry: start,
                misses: vectors + MISSES,
                slow: elf.symbol("save_all")?,
            },
            places: Places {
                cpu: elf.symbol("6layout3HOT")?,
                scheduler: elf.symbol("8contract6KERNEL")?,
            },
        })
    }

    /// The number of the test at an address.
    pub fn test(&self, at: u32) -> Option<usize> {
        self.tests.binary_search(&at).ok()
    }

    /// The instruction at an address.
    pub fn instruction(&self, at: u32) -> Option<u32> {
        let (start, words) = if at < self.start {
            (self.vectors.0, &self.vectors.1)
        } else {
            (self.start, &self.words)
        };
        words.get((at.checked_sub(start)? / 4) as usize).copied()
    }

    /// Instructions that were never executed, or, if they have a condition, not both ways.
    pub fn missed(&self, executed: &Executed) -> Vec<String> {
        let tell = |(at, word): (u32, &u32)| {
            let [met, not_met] = executed.get(&at).copied().unwrap_or_default();
            let is_missed =
                if self.test(at).is_some() { met == 0 || not_met == 0 } else { met + not_met == 0 };
            is_missed.then(|| format!("{word:#010x} at {at:#x}: {met} and {not_met}"))
        };
        (self.start..).step_by(4).zip(&self.words).filter_map(tell).collect()
    }
}
