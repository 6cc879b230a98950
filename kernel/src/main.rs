// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's binary.
#![no_std]
#![no_main]

use arch_ia32 as arch;
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let frame: u32;
    // SAFETY: reads the frame pointer, to start the backtrace from.
    unsafe { core::arch::asm!("mov {}, ebp", out(reg) frame, options(nomem, nostack)) };
    arch::panic::report(info, None, frame)
}
