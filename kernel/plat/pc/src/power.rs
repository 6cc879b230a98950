// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the machine. A processor's port calls this when the kernel cannot go on; in an orderly
//! end the root server does the same by itself, as it has the I/O ports.

use crate::io;

/// ACPI of QEMU's PIIX4: the control register of power management (PM1a), and "off" in it.
const PM1A_CONTROL: u16 = 0x604;
const SLEEP_OFF: u16 = 1 << 13;
/// Bochs and old QEMUs end when this word was written to this port.
const DEBUG_PORT: u16 = 0x8900;
const WORD: &[u8] = b"Shutdown";

/// Ends the machine. On one that is neither QEMU nor Bochs it stops here.
pub fn power_off() -> ! {
    io::write16(PM1A_CONTROL, SLEEP_OFF);
    for byte in WORD {
        io::write8(DEBUG_PORT, *byte);
    }
    loop {
        // SAFETY: stops the processor for good: interrupts are off.
        unsafe { core::arch::asm!("cli", "hlt") };
    }
}
