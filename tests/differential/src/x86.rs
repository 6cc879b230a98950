// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code of IA-32 and x86-64, decoded, and the tests in it: its conditional jumps.

use crate::elf::Elf;
use crate::processor::Executed;
use anyhow::{Result, bail, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// The code of some parts, by the lower halves of addresses.
pub struct Decoded {
    start: u32,
    /// By address, from `start` on: an instruction, and the number of a conditional jump.
    instructions: Vec<Option<(Instruction, Option<usize>)>>,
    /// What conditional jumps look at, by number. Those that a macro makes in several places of a
    /// part have one number.
    pub tests: Vec<String>,
}

/// Whether an instruction accesses memory, or computes an address as if it did.
pub fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

impl Decoded {
    /// Nothing yet; the first part starts there.
    pub const fn new(start: u32) -> Self {
        Self { start, instructions: Vec::new(), tests: Vec::new() }
    }

    /// Adds the part between two symbols, after those before it. Its instructions have this many
    /// bits, and the upper half of its addresses is `above`. It ends before the first of which
    /// `look` says false.
    ///
    /// # Errors
    /// It is not in order, or `look` finds something in it that may not be there.
    pub fn add(
        &mut self,
        elf: &Elf,
        [part, end]: [&str; 2],
        (bits, above): (u32, u64),
        mut look: impl FnMut(&Instruction) -> Result<bool>,
    ) -> Result<()> {
        let (start, end) = (elf.symbol(part)?, elf.symbol(end)?);
        let labels: BTreeSet<u32> = elf.symbols().iter().map(|symbol| symbol.address).collect();
        // What sets flags, and how often jumps after a label have looked at it.
        let (mut setter, mut looked) = (String::new(), BTreeMap::<String, u32>::new());
        let bytes = elf.bytes(start, end)?;
        let place = above | u64::from(start);
        for instruction in Decoder::with_ip(bits, bytes, place, DecoderOptions::NONE) {
            let at = instruction.ip() as u32;
            if instruction.is_invalid() {
                bail!("no instruction at {at:#x}");
            }
            if !look(&instruction)? {
                break;
            }
            if labels.contains(&at) {
                looked.clear();
            }
            if instruction.rflags_modified() != 0 {
                // Addresses of statics are those of one build.
                let is_static =
                    has_memory(&instruction) && instruction.memory_base() == Register::None;
                setter = if is_static {
                    format!("{:?} of a static", instruction.mnemonic())
                } else {
                    instruction.to_string()
                };
            }
            let number =
                (instruction.flow_control() == FlowControl::ConditionalBranch).then(|| {
                    let mut name = format!("{part}: {setter}, {:?}", instruction.mnemonic());
                    let count = looked.entry(name.clone()).or_default();
                    *count += 1;
                    if *count > 1 {
                        name = format!("{name}, {count}");
                    }
                    self.tests.iter().position(|test| *test == name).unwrap_or_else(|| {
                        self.tests.push(name);
                        self.tests.len() - 1
                    })
                });
            ensure!(at >= self.start, "the parts are in another order");
            let index = (at - self.start) as usize;
            self.instructions.resize(self.instructions.len().max(index + 1), None);
            self.instructions[index] = Some((instruction, number));
        }
        Ok(())
    }

    /// The instruction at an address, and its number if it is a conditional jump.
    pub fn instruction(&self, at: u32) -> Option<&(Instruction, Option<usize>)> {
        self.instructions.get(at.wrapping_sub(self.start) as usize)?.as_ref()
    }

    /// Instructions that were never executed, as text. Padding is left out.
    pub fn missed(&self, executed: &Executed) -> Vec<String> {
        let all = self.instructions.iter().flatten().map(|(i, _)| i);
        let all = all.filter(|i| !matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3));
        all.filter(|i| !executed.contains_key(&(i.ip() as u32)))
            .map(|i| format!("{:#x} {i}", i.ip()))
            .collect()
    }
}
