// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the PC only: how to end it, and how to write on
//! its screen. What other boards
//! have, too, is in `boards/isa`, what else the kernel drives in `kernel/plat/pc`, and what servers
//! drive in `boards/pc.toml`.
#![no_std]
#![forbid(unsafe_code)]

pub mod text;

pub use isa::{io, uart};

/// Configuration mechanism 1 of PCI: where the address of a word goes, and the word.
const ADDRESS: u16 = 0xcf8;
const DATA: u16 = 0xcfc;
const ENABLE: u32 = 1 << 31;

/// Functions of a chip set that have ACPI's power management: the address of their configuration
/// space, what they are, and the bits of the word at [`BASE`] that are an address of I/O ports
/// (82371AB, 7.1.26; Intel ICH9, 13.1.13). Where it is, the firmware says.
const CHIPS: [(u32, u32, u32); 2] =
    [(1 << 11 | 3 << 8, 0x7113_8086, 0xffc0), (31 << 11, 0x2918_8086, 0xff80)];
const BASE: u32 = 0x40;
/// From that address on: the control register (PM1a), and "off" in it as these chips' emulators have
/// it.
const PM1A_CONTROL: u16 = 4;
const SLEEP_OFF: u16 = 1 << 13;
/// Bochs ends when this word was written to this port.
const DEBUG_PORT: u16 = 0x8900;
const WORD: &[u8] = b"Shutdown";

/// Reads a word of a configuration space.
fn configuration(function: u32, offset: u32) -> u32 {
    io::write32(ADDRESS, ENABLE | function | offset);
    io::read32(DATA)
}

/// Ends the machine, if it is QEMU's or Bochs's.
pub fn power_off() {
    WORD.iter().for_each(|byte| io::write8(DEBUG_PORT, *byte));
    for (function, identity, ports) in CHIPS {
        if configuration(function, 0) == identity {
            let base = (configuration(function, BASE) & ports) as u16;
            io::write16(base + PM1A_CONTROL, SLEEP_OFF);
        }
    }
}
