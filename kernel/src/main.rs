// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's binary: the one place that chooses a port.
#![no_std]
#![no_main]

#[cfg(target_arch = "arm")]
use arch_armv5 as arch;
#[cfg(target_arch = "x86")]
use arch_ia32 as arch;
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let frame: u32;
    // SAFETY: reads the frame pointer, to start the backtrace from.
    #[cfg(target_arch = "x86")]
    unsafe {
        core::arch::asm!("mov {}, ebp", out(reg) frame, options(nomem, nostack))
    };
    // SAFETY: as above.
    #[cfg(target_arch = "arm")]
    unsafe {
        core::arch::asm!("mov {}, r11", out(reg) frame, options(nomem, nostack))
    };
    arch::panic::report(info, None, frame)
}
