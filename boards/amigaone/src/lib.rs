// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the AmigaOne SE: how to end it. What it has as
//! a PC has it is in `boards/isa`, what else the kernel drives in `kernel/plat/amigaone`, and what
//! servers drive in `boards/amigaone.toml`.
#![no_std]
#![forbid(unsafe_code)]

pub use isa::{io, uart};

/// The bridge to PCI, an Articia S: where the address of a word of a configuration space goes, and
/// the word. Both are memory.
pub mod pci {
    /// Physical address of the register that the address goes to, in a page of its own.
    pub const ADDRESS: u32 = 0xfec0_0cf8;
    /// Physical address of the word.
    pub const DATA: u32 = 0xfee0_0cfc;
    /// In the address: it counts.
    pub const ENABLE: u32 = 1 << 31;
    /// Physical addresses of devices' registers begin here, and a device sees RAM at its physical
    /// address.
    pub const MEMORY: u32 = 0x8000_0000;
    /// Which device the bridge to the bus of ISA is, a VT82C686B.
    pub const ISA_BRIDGE: u8 = 7;
}

/// ACPI of the VT82C686B: the control register of power management, and "off" in it.
const PM1_CONTROL: u16 = POWER_PORTS + 4;
const SLEEP_OFF: u16 = 1 << 13;

/// Where boot puts the ports of power management.
pub const POWER_PORTS: u16 = 0x4000;

/// Ends the machine, once boot has put these ports there.
pub fn power_off() {
    io::write16(PM1_CONTROL, SLEEP_OFF);
}
