// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end after a bug: the kernel's last words.

use crate::layout::CPU;
use arch_common::words::{self, Registers};
use core::fmt::Display;
use plat_amigaone::uart::Console;

pub use crate::regs::frame;

/// Prints what happened and ends the machine. `frame` is the frame pointer to start from.
pub fn report(cause: &dyn Display, registers: Option<Registers<'_>>, frame: u32) -> ! {
    let registers = registers.unwrap_or(&[]);
    let pc = registers.iter().find(|(name, _)| *name == "pc").map(|(_, value)| *value);
    // SAFETY: the word is an integer, and nothing else runs.
    let thread = unsafe { (*CPU.get()).current.value() };
    words::print(&mut Console, cause, thread, (registers, pc), frame);
    plat_amigaone::power_off()
}
