// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end after a bug: the kernel's last words.

use crate::regs;
use arch_common::shared::Shared;
use arch_common::words::{self, Registers};
use core::fmt::Display;
use kcore::Cpu;
use mmu::fass::ALL;
use plat_versatilepb::uart::Console;
use pool::Link;

/// The processor's words that fast paths read.
pub static CPU: Shared<Cpu> = Shared::new(Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL });

/// The frame pointer, to start a backtrace from.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u32;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mov {}, r11", out(reg) frame, options(nomem, nostack, preserves_flags)) };
    frame
}

/// Prints what happened and ends the machine. `frame` is the frame pointer to start from.
pub fn report(cause: &dyn Display, registers: Option<Registers<'_>>, frame: u32) -> ! {
    regs::set_domains(ALL);
    let registers = registers.unwrap_or(&[]);
    let pc = registers.iter().find(|(name, _)| *name == "pc").map(|(_, value)| *value);
    // SAFETY: the word is an integer, and nothing else runs.
    let thread = unsafe { (*CPU.get()).current.value() };
    words::print(&mut Console, cause, thread, (registers, pc), frame);
    plat_versatilepb::power_off()
}
