// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's binary: the one place that chooses a port.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
use arch_alpha as arch;
#[cfg(target_arch = "arm")]
use arch_armv5 as arch;
use arch_common::words::State;
#[cfg(target_arch = "x86")]
use arch_ia32 as arch;
#[cfg(target_arch = "mips64")]
use arch_mips as arch;
#[cfg(target_arch = "powerpc")]
use arch_powerpc as arch;
#[cfg(target_arch = "x86_64")]
use arch_x86_64 as arch;
use core::panic::PanicInfo;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    arch::panic::report(info, State { frame: arch::panic::frame(), ..State::default() })
}
