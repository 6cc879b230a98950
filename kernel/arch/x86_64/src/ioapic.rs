// SPDX-License-Identifier: MIT OR Apache-2.0
//! The I/O APIC (Intel 82093AA), by which interrupt lines come on a machine without the PC's
//! interrupt controllers. No table of the firmware's is read: there is one at the address that every
//! chip set has the first one at, and a line has the pin of its number.
//!
//! Pins are active as long as the line is high. An edge at a pin that is masked would be lost (it is
//! the 8259A that keeps one), and a device that holds its line until it is served, as all do that
//! components drive, is heard that way, too.

use crate::layout::{IO_APIC, wide};
use crate::paging;
use plat_pc::pic;

/// Where it is.
const PHYSICAL: u64 = 0xfec0_0000;
/// Offsets: the number of a register, and its value.
const SELECT: u64 = 0;
const VALUE: u64 = 0x10;

/// The register with its version, and in bits 16 to 23 the number of its last pin.
const VERSION: u32 = 1;
/// The first of the registers of pins: two for each.
const PINS: u32 = 0x10;
/// In the first of them, beside the vector: the pin is looked at by its level; it is not looked at.
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

/// Masks all lines, and leads them to the local APIC of this number; false: there is no I/O APIC.
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

/// Lets a line through, or not.
pub fn set_enabled(line: u32, enabled: bool) {
    let pin = LEVEL | (u32::from(pic::FIRST_VECTOR) + line);
    write(PINS + 2 * line, if enabled { pin } else { pin | MASKED });
}
