// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel prints when it panics on this processor.

use crate::layout::CPU;
use arch_common::platform::Platform;
use arch_common::words::{self, State};
use core::fmt::Display;
use plat_pc::vga::{self, Console};

/// The board.
pub struct Pc;

impl Platform for Pc {
    type Console = Console;

    fn power_off() -> ! {
        plat_pc::power_off()
    }
}

/// The frame pointer, to start a backtrace from.
#[inline(always)]
pub fn frame() -> u32 {
    let frame: u32;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!("mov {}, ebp", out(reg) frame, options(nomem, nostack, preserves_flags))
    };
    frame
}

/// Prints what happened and ends the machine. The thread of `state` is filled in here.
pub fn report(cause: &dyn Display, state: State<'_>) -> ! {
    vga::set_mode();
    // SAFETY: boot mapped the processor's page before anything that can panic with a thread; the
    // word is an integer.
    let thread = unsafe { (CPU as *const kcore::Cpu).read_volatile().current.value() };
    words::report::<Pc>(cause, State { thread, ..state })
}
