// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code, and the addresses of the rest of the kernel that it uses.

use super::spaces::Ways;
use crate::elf::Elf;
use crate::processor::Places;
use crate::x86::{Decoded, has_memory};
use anyhow::{Result, ensure};
use iced_x86::{Instruction, Mnemonic, Register};

/// Start and end of the parts of the fast paths, in the order of addresses.
const PARTS: [[&str; 2]; 8] = [
    ["enter_server", "event_small_end"],
    ["resume_small", "small_end"],
    ["alien_entry", "alien_end"],
    ["map_reply", "map_reply_end"],
    ["ipc_start", "ipc_end"],
    ["native_fault", "native_fault_end"],
    ["try_notify", "notify_end"],
    ["leave_kernel_with_care", "not_from_user"],
];

/// Address of the processor's hot words, as in the kernel's layout.
pub const CPU: u32 = 0xe040_0f80;

/// Addresses outside of the fast paths to which they jump, and of words that they access.
pub struct Symbols {
    /// Segment descriptors.
    pub gdt: u32,
    /// `PoolPlace`: the offset, and the bits of a handle that are an index.
    pub pool_place: u32,
    /// Entries by `sysenter`, `int 0x80` and a page fault.
    pub entries: [u32; 3],
    /// Where the code goes if it leaves an event to the portable kernel: after `sysenter`, before
    /// and after `pushad`.
    pub slow: [u32; 3],
    /// The code that restores all saved registers.
    pub restores: u32,
    /// Where `leave_kernel_with_care` begins to call Rust.
    pub calls_rust: u32,
}

/// The code.
pub struct Code {
    /// Its instructions.
    pub decoded: Decoded,
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
            decoded: Decoded::new(elf.symbol(PARTS[0][0])?),
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
        for part in PARTS {
            let calls_rust = &mut code.symbols.calls_rust;
            code.decoded.add(elf, part, (32, 0), |instruction| look(instruction, calls_rust))?;
        }
        Ok(code)
    }
}

/// Whether an instruction belongs to its part. Records where Rust is called.
fn look(instruction: &Instruction, calls_rust: &mut u32) -> Result<bool> {
    // The way to Rust begins with this instruction.
    if instruction.mnemonic() == Mnemonic::Cld {
        *calls_rust = instruction.ip32();
        return Ok(false);
    }
    // Other segments may be the user's, and this machine does not model their bases.
    ensure!(
        !has_memory(instruction)
            || instruction.mnemonic() == Mnemonic::Lea
            || instruction.memory_segment() == Register::SS,
        "`{instruction}` at {:#x} goes through another segment than SS",
        instruction.ip32()
    );
    Ok(true)
}
