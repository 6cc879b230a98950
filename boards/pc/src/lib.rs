// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the PC: where its first serial line is, on which they speak when
//! nobody else can, how to end it, and how I/O ports are reached. What
//! else the kernel drives is in `kernel/plat/pc`, and what servers drive in `boards/pc.toml`.
#![no_std]

pub mod io;

/// The first serial line, a 16550.
pub mod uart {
    /// The data register, the first of eight.
    pub const DATA: u16 = 0x3f8;
    /// The line status register.
    pub const LINE_STATUS: u16 = DATA + 5;
    /// In the line status: a byte can be written.
    pub const TRANSMITTER_EMPTY: u8 = 1 << 5;
}

/// ACPI of QEMU's PIIX4: the control register of power management (PM1a), and "off" in it.
const PM1A_CONTROL: u16 = 0x604;
const SLEEP_OFF: u16 = 1 << 13;
/// Bochs and old QEMUs end when this word was written to this port.
const DEBUG_PORT: u16 = 0x8900;
const WORD: &[u8] = b"Shutdown";

/// Ends the machine, if it is QEMU's or Bochs's.
pub fn power_off() {
    io::write16(PM1A_CONTROL, SLEEP_OFF);
    WORD.iter().for_each(|byte| io::write8(DEBUG_PORT, *byte));
}
