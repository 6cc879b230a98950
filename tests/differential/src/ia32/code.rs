// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code, decoded, and the tests in it: its conditional jumps.

use super::spaces::Ways;
use crate::elf::Elf;
use crate::processor::{Executed, Places};
use anyhow::{Result, bail, ensure};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// Where the parts of the fast paths begin and end, in the order of addresses.
const PARTS: [(&str, &str); 8] = [
    ("enter_server", "event_small_end"),
    ("resume_small", "small_end"),
    ("alien_entry", "alien_end"),
    ("map_reply", "map_reply_end"),
    ("ipc_start", "ipc_end"),
    ("native_fault", "native_fault_end"),
    ("try_notify", "notify_end"),
    ("leave_kernel_with_care", "not_from_user"),
];

/// Address of the processor's hot words, as in the kernel's layout.
pub const CPU: u32 = 0xe040_0f80;

/// Addresses outside of the fast paths that they go to, and of words that they know.
pub struct Symbols {
    /// Segment descriptors.
    pub gdt: u32,
    /// `PoolPlace`: the offset, and the bits of a handle that are an index.
    pub pool_place: u32,
    /// Entries by `sysenter`, `int 0x80` and a page fault.
    pub entries: [u32; 3],
    /// Where the code goes with what it leaves to the portable kernel: after `sysenter`, before and
    /// after `pushad`.
    pub slow: [u32; 3],
    /// Where all that was saved comes back.
    pub restores: u32,
    /// Where `leave_kernel_with_care` begins to call Rust.
    pub calls_rust: u32,
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
    /// See [`Ways`].
    pub ways: Ways,
    /// The words that each port has.
    pub places: Places,
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let of = |names: [&str; 2]| -> Result<[u32; 2]> {
            Ok([elf.symbol(names[0])?, elf.symbol(names[1])?])
        };
        let mut code = Self {
            start: elf.symbol(PARTS[0].0)?,
            instructions: Vec::new(),
            tests: Vec::new(),
            symbols: Symbols {
                gdt: elf.symbol("3gdt3GDT")?,
                pool_place: elf.symbol("10POOL_PLACE")?,
                entries: [
                    elf.symbol("sysenter_entry")?,
                    elf.symbol("alien_entry")?,
                    elf.symbol("alien_fault")?,
                ],
                slow: [
                    elf.symbol("save_registers")?,
                    elf.symbol("entered")?,
                    elf.symbol("entered_saved")?,
                ],
                restores: elf.symbol("leave_kernel")?,
                calls_rust: 0,
            },
            ways: Ways {
                large: of(["enter_large", "event_large"])?,
                server: of(["enter_server", "event_server"])?,
                small: of(["enter_small", "event_small"])?,
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
        for instruction in
            Decoder::with_ip(32, elf.bytes(start, end)?, u64::from(start), DecoderOptions::NONE)
        {
            let at = instruction.ip32();
            if instruction.is_invalid() {
                bail!("no instruction at {at:#x}");
            }
            // So begins the way to Rust.
            if instruction.mnemonic() == Mnemonic::Cld {
                self.symbols.calls_rust = at;
                break;
            }
            // The others may be the user's, and this machine does not know of their bases.
            let memory = (0..instruction.op_count())
                .any(|operand| instruction.op_kind(operand) == OpKind::Memory);
            if memory
                && instruction.mnemonic() != Mnemonic::Lea
                && instruction.memory_segment() != Register::SS
            {
                bail!("`{instruction}` at {at:#x} goes through another segment than SS");
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
        let all = self
            .instructions
            .iter()
            .flatten()
            .map(|(i, _)| i)
            .filter(|i| i.mnemonic() != Mnemonic::Nop);
        all.filter(|i| !executed.contains_key(&i.ip32()))
            .map(|i| format!("{:#x} {i}", i.ip32()))
            .collect()
    }
}
