// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the PC only: how to end it, and how to write on
//! its screen. What other boards
//! have, too, is in `boards/isa`, what else the kernel drives in `kernel/plat/pc`, and what servers
//! drive in `boards/pc.toml`.
#![no_std]
#![forbid(unsafe_code)]

pub mod text;

pub use isa::{io, uart};

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
