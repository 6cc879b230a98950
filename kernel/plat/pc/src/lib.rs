// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC board: serial line for the kernel's own words, interrupt controller,
//! timer, time-stamp counter, power.
#![no_std]

pub mod pic;
pub mod pit;
pub mod port;
pub mod tsc;
pub mod uart;

pub use ruler::Fault;
pub use tsc::TscScale;

/// Ends the machine: by ACPI in QEMU (PIIX4, PM1a control), by the debug port in
/// Bochs; on anything else it stops here.
pub fn power_off() -> ! {
    port::write16(0x604, 0x2000);
    for byte in b"Shutdown" {
        port::write8(0x8900, *byte);
    }
    loop {
        // SAFETY: stops the processor for good: interrupts are off.
        unsafe { core::arch::asm!("cli", "hlt") };
    }
}
