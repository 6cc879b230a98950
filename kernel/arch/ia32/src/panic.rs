// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end after a bug: the kernel's last words.

use crate::layout::CPU;
use arch_common::words::{self, Registers};
use core::fmt::Display;
use plat_pc::uart::Console;

/// The frame pointer, to start a backtrace from.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u32;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, ebp", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    frame
}

/// Prints what happened and ends the machine. `frame` is the frame pointer to start from.
pub fn report(cause: &dyn Display, registers: Option<Registers<'_>>, frame: u32) -> ! {
    let registers = registers.unwrap_or(&[]);
    let eip = registers.iter().find(|(name, _)| *name == "eip").map(|(_, value)| *value);
    // SAFETY: boot mapped the processor's page before anything that can panic with a thread; the
    // word is an integer.
    let thread = unsafe { (CPU as *const kcore::Cpu).read_volatile().current.value() };
    words::print(&mut Console, cause, thread, (registers, eip), frame);
    plat_pc::power_off()
}
