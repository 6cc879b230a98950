// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel prints when it panics on this processor.

use crate::layout::CPU;
use crate::regs;
use arch_common::platform::Platform;
use arch_common::words::{self, State};
use core::fmt::Display;
use mmu::fass::ALL;
use plat_versatilepb::uart::Console;

/// The board.
pub struct Versatile;

impl Platform for Versatile {
    type Console = Console;

    fn power_off() -> ! {
        plat_versatilepb::power_off()
    }
}

/// The frame pointer, to start a backtrace from.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u32;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, r11", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    frame
}

/// Prints what happened and ends the machine. The thread of `state` is filled in here.
pub fn report(cause: &dyn Display, state: State<'_>) -> ! {
    regs::set_domains(ALL);
    // SAFETY: the word is an integer, and nothing else runs.
    let thread = unsafe { (*CPU.get()).current.value() };
    words::report::<Versatile>(cause, State { thread, ..state })
}
