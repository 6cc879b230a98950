// SPDX-License-Identifier: MIT OR Apache-2.0
//! What firmware would do, if the machine had any: it assigns the ports of power management to the
//! bridge to ISA.

use amigaone::POWER_PORTS;
use amigaone::pci::{ADDRESS, DATA, ENABLE, ISA_BRIDGE};

/// The function of the bridge that is power management.
const POWER: u32 = 4;
/// Of its configuration space: where its ports are, and that they are there (VT82C686B, registers
/// 48 and 41).
const BASE: u32 = 0x48;
const GENERAL: u32 = 0x40;
const PORTS_ARE_THERE: u32 = 0x80 << 8;

/// A word of the bridge's configuration space.
fn word(offset: u32) -> *mut u32 {
    let address = ENABLE | u32::from(ISA_BRIDGE) << 11 | POWER << 8 | offset;
    // SAFETY: the kernel's devices are mapped one to one; this register holds an address and does
    // nothing.
    unsafe { (ADDRESS as *mut u32).write_volatile(address.to_le()) };
    DATA as *mut u32
}

/// Puts the ports of power management where [`power_off`](crate::power_off) looks for them.
pub fn init() {
    // SAFETY: as `word`; the register holds an address of ports, of which nobody has any yet.
    unsafe { word(BASE).write_volatile((u32::from(POWER_PORTS) | 1).to_le()) };
    let general = word(GENERAL);
    // SAFETY: as above.
    unsafe { general.write_volatile(general.read_volatile() | PORTS_ARE_THERE.to_le()) };
}
