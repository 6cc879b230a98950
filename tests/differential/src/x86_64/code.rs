// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code, decoded, and the tests in it: its conditional jumps.

use crate::elf::Elf;
use crate::processor::{Executed, Places};
use anyhow::{Result, bail, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// Where the parts of the fast paths begin and end, in the order of addresses.
const PARTS: [(&str, &str); 5] = [
    ("syscall_entry", "ipc_end"),
    ("try_notify", "notify_end"),
    ("loaded_call", "alien_end"),
    ("native_fault", "native_fault_end"),
    ("map_reply", "map_end"),
];

/// Address of the processor's hot words, as in the kernel's layout: its lower half.
pub const CPU: u32 = 0xe040_0f80;
/// Address of the words in which an entry keeps registers, likewise.
pub const SCRATCH: u32 = 0xe040_0f00;
/// Of the kernel's addresses the upper half.
pub const ONES: u64 = 0xffff_ffff_0000_0000;

/// Addresses outside of the fast paths that they go to, and of words that they know. All are lower
/// halves.
pub struct Symbols {
    /// `PoolPlace`: the offset, and the bits of a handle that are an index.
    pub pool_place: u32,
    /// Entries by `syscall` and by a page fault.
    pub entries: [u32; 2],
    /// Where users' addresses end: two words.
    pub user_end: u32,
    /// Where the code goes with what it leaves to the portable kernel: with all as the user had it,
    /// with the vector and what is before it saved, and with all registers saved.
    pub slow: [u32; 3],
    /// Where it goes so that all registers of the current thread come from its context.
    pub restores: u32,
}

/// The code.
pub struct Code {
    start: u32,
    /// By address, from `start` on: an instruction, and the number of a conditional jump.
    instructions: Vec<Option<(Instruction, Option<usize>)>>,
    /// What conditional jumps look at, by number. Those that a macro makes in several places of a
    /// part have one number.
    pub tests: Vec<String>,
    /// See [`Symbols`].
    pub symbols: Symbols,
    /// The words that each port has.
    pub places: Places,
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let mut code = Self {
            start: elf.symbol(PARTS[0].0)?,
            instructions: Vec::new(),
            tests: Vec::new(),
            symbols: Symbols {
                pool_place: elf.symbol("10POOL_PLACE")?,
                entries: [elf.symbol("syscall_entry")?, elf.symbol("page_fault")?],
                user_end: elf.symbol("user_end")?,
                slow: [
                    elf.symbol("save_call")?,
                    elf.symbol("entered")?,
                    elf.symbol("entered_saved")?,
                ],
                restores: elf.symbol("leave_kernel")?,
            },
            places: Places { cpu: CPU, scheduler: elf.symbol("8contract6KERNEL")? },
        };
        for (start, end) in PARTS {
            code.add(elf, start, end)?;
        }
        Ok(code)
    }

    /// Adds a part.
    fn add(&mut self, elf: &Elf, part: &str, end: &str) -> Result<()> {
        let (start, end) = (elf.symbol(part)?, elf.symbol(end)?);
        let labels: BTreeSet<u32> = elf.symbols().iter().map(|symbol| symbol.address).collect();
        // What sets flags, and how often jumps after a label have looked at it.
        let (mut setter, mut looked) = (String::new(), BTreeMap::<String, u32>::new());
        let bytes = elf.bytes(start, end)?;
        for instruction in
            Decoder::with_ip(64, bytes, ONES | u64::from(start), DecoderOptions::NONE)
        {
            let at = instruction.ip() as u32;
            if instruction.is_invalid() {
                bail!("no instruction at {at:#x}");
            }
            // The others are the user's.
            let memory = (0..instruction.op_count())
                .any(|operand| instruction.op_kind(operand) == OpKind::Memory);
            if memory && matches!(instruction.memory_segment(), Register::FS | Register::GS) {
                bail!("`{instruction}` at {at:#x} goes through a segment");
            }
            if labels.contains(&at) {
                looked.clear();
            }
            if instruction.rflags_modified() != 0 {
                // Addresses of statics are those of one build.
                let is_static = memory && instruction.memory_base() == Register::None;
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
