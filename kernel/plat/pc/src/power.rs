// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the machine. A processor's port calls this when the kernel cannot go on; in an
//! orderly end the root server does the same by itself, as it has the I/O ports.

/// Ends the machine. On one that is neither QEMU nor Bochs it stops here.
pub fn power_off() -> ! {
    pc::power_off();
    loop {
        // SAFETY: stops the processor for good: interrupts are off.
        unsafe { core::arch::asm!("cli", "hlt") };
    }
}
