// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entry code, and the addresses of the rest of the kernel that it uses.

use crate::elf::Elf;
use crate::processor::Places;
use crate::x86::{Decoded, has_memory};
use anyhow::{Result, ensure};
use iced_x86::{Instruction, Register};

/// Start and end of the parts of the fast paths, in the order of addresses.
const PARTS: [[&str; 2]; 5] = [
    ["syscall_entry", "ipc_end"],
    ["try_notify", "notify_end"],
    ["loaded_call", "alien_end"],
    ["native_fault", "native_fault_end"],
    ["map_reply", "map_end"],
];

/// Address of the processor's hot words, as in the kernel's layout: its lower half.
pub const CPU: u32 = 0xe040_0f80;
/// Address of the words in which an entry keeps registers, likewise.
pub const SCRATCH: u32 = 0xe040_0f00;
/// The upper half of the kernel's addresses.
pub const ONES: u64 = 0xffff_ffff_0000_0000;

/// Addresses outside of the fast paths to which they jump, and of words that they access. All are
/// lower halves.
pub struct Symbols {
    /// `PoolPlace`: the offset, and the bits of a handle that are an index.
    pub pool_place: u32,
    /// Entries by `syscall` and by a page fault.
    pub entries: [u32; 2],
    /// The end of users' addresses: two words.
    pub user_end: u32,
    /// Where the code goes if it leaves an event to the portable kernel: with all registers as the
    /// user had them, with the vector and the words above it saved, and with all registers saved.
    pub slow: [u32; 3],
    /// Where it goes so that all registers of the current thread come from its context.
    pub restores: u32,
}

/// The code.
pub struct Code {
    /// Its instructions.
    pub decoded: Decoded,
    /// See [`Symbols`].
    pub symbols: Symbols,
    /// The words that each port has.
    pub places: Places,
}

impl Code {
    /// Reads it from the kernel's file.
    pub fn read(elf: &Elf) -> Result<Self> {
        let mut code = Self {
            decoded: Decoded::new(elf.symbol(PARTS[0][0])?),
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
        for part in PARTS {
            code.decoded.add(elf, part, (64, ONES), look)?;
        }
        Ok(code)
    }
}

/// Whether an instruction may be there: yes, or an error.
fn look(instruction: &Instruction) -> Result<bool> {
    // Other segments are the user's.
    let is_users = matches!(instruction.memory_segment(), Register::FS | Register::GS);
    ensure!(
        !has_memory(instruction) || !is_users,
        "`{instruction}` at {:#x} goes through a segment",
        instruction.ip()
    );
    Ok(true)
}
