// SPDX-License-Identifier: MIT OR Apache-2.0
//! The I/O APIC (Intel 82093AA), by which interrupt lines come on a machine without the PC's
//! interrupt controllers. The kernel reads no table of the firmware: it uses the first I/O APIC,
//! which has the same address in every chip set, and the pin with the line's number.
//!
//! Pins are level-triggered, and active high. An edge at a masked pin would be lost (only the 8259A
//! keeps it), and all devices that components drive hold their lines until they are served.

use crate::layout::{IO_APIC, wide};
use crate::paging;
use plat_pc::pic;

/// Its physical address.
const PHYSICAL: u64 = 0xfec0_0000;
/// Offsets: the number of a register, and its value.
const SELECT: u64 = 0;
const VALUE: u64 = 0x10;

/// The register with its version, and in bits 16 to 23 the number of its last pin.
const VERSION: u32 = 1;
/// The first of the registers of pins: two for each.
const PINS: u32 = 0x10;
/// In the first of them, next to the vector: the pin is level-triggered; it is masked.
const LEVEL: u32 = 1 << 15;
const MASKED: u32 = 1 << 16;

fn at(register: u64) -> *mut u32 {
    (wide(IO_APIC) + register) as *mut u32
}

fn select(register: u32) {
    // SAFETY: `init` mapped the registers; it only chooses what the other one shows.
    unsafe { at(SELECT).write_volatile(register) };
}

fn write(register: u32, value: u32) {
    select(register);
    // SAFETY: as `select`; what is written names a vector that has a handler.
    unsafe { at(VALUE).write_volatile(value) };
}

/// Masks all lines, and routes them to the local APIC with this number. Returns false if there is
/// no I/O APIC.
pub fn init(destination: u8) -> bool {
    paging::map_device(IO_APIC, PHYSICAL);
    select(VERSION);
    // SAFETY: as `select`; reading has no effect.
    let version = unsafe { at(VALUE).read_volatile() };
    // Where nothing is, all bits are the same.
    if version == u32::MAX || (version >> 16 & 0xff) + 1 < pic::LINES as u32 {
        return false;
    }
    // What firmware led to other vectors has no handler here.
    for pin in pic::LINES as u32..=(version >> 16 & 0xff) {
        write(PINS + 2 * pin, MASKED);
    }
    for line in 0..pic::LINES as u32 {
        set_enabled(line, false);
        write(PINS + 2 * line + 1, u32::from(destination) << 24);
    }
    true
}

/// Unmasks a line, or masks it.
pub fn set_enabled(line: u32, enabled: bool) {
    let pin = LEVEL | (u32::from(pic::FIRST_VECTOR) + line);
    write(PINS + 2 * line, if enabled { pin } else { pin | MASKED });
}
