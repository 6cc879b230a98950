// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast path, and the tests in it: its conditional branches.

use crate::elf::Elf;
use crate::processor::Executed;
use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// Its parts, each from one symbol to another.
const PARTS: [(&str, &str); 2] = [("entry", "call_end"), ("reply_wait", "reply_wait_end")];

/// Names of conditional branches, by the upper six bits.
const BRANCHES: [(u32, &str); 3] = [(0x39, "beq"), (0x3a, "blt"), (0x3d, "bne")];

/// The code.
pub struct Code {
    /// Where it begins.
    pub entry: u32,
    /// Where it goes if it leaves an event to the portable kernel.
    pub slow: u32,
    /// By address: an instruction, and the number of a conditional branch.
    instructions: BTreeMap<u32, (u32, Option<usize>)>,
    /// The names of conditional branches, by number.
    pub tests: Vec<String>,
}

impl Code {
    /// Reads it from the file that `alpha-ipc` makes.
    pub fn read(elf: &Elf) -> Result<Self> {
        let mut code = Self {
            entry: elf.symbol("entry")?,
            slow: elf.symbol("slow")?,
            instructions: BTreeMap::new(),
            tests: Vec::new(),
        };
        for (part, end) in PARTS {
            let (start, end) = (elf.symbol(part)?, elf.symbol(end)?);
            let words = elf.bytes(start, end)?.chunks_exact(4);
            for (at, bytes) in (start..).step_by(4).zip(words) {
                let word =
                    bytes.try_into().map(u32::from_le_bytes).context("half an instruction")?;
                let branch = BRANCHES.iter().find(|(opcode, _)| *opcode == word >> 26);
                let number = branch.map(|(_, name)| {
                    let first = code.tests.iter().filter(|test| test.starts_with(part)).count();
                    code.tests.push(format!("{part}: branch {}, {name}", first + 1));
                    code.tests.len() - 1
                });
                code.instructions.insert(at, (word, number));
            }
        }
        Ok(code)
    }

    /// The instruction at an address, and its number if it is a conditional branch.
    pub fn instruction(&self, at: u32) -> Option<(u32, Option<usize>)> {
        self.instructions.get(&at).copied()
    }

    /// Instructions that were never executed, as text.
    pub fn missed(&self, executed: &Executed) -> Vec<String> {
        let all = self.instructions.iter().filter(|(at, _)| !executed.contains_key(at));
        all.map(|(at, (word, _))| format!("{at:#x}: {word:08x}")).collect()
    }
}
