// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32: instructions of the processor's own, which looks at a map of the ports that a component
//! has.

use core::arch::asm;

/// Reads a byte.
#[must_use]
pub fn read8(port: u16) -> u8 {
    let value: u8;
    // SAFETY: touches no memory; the processor checks a component's port.
    unsafe {
        asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags))
    };
    value
}

/// Writes a byte.
pub fn write8(port: u16, value: u8) {
    // SAFETY: touches no memory (devices that do are given to components that the description
    // trusts); the processor checks a component's port.
    unsafe {
        asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags))
    };
}

/// Reads two bytes.
#[must_use]
pub fn read16(port: u16) -> u16 {
    let value: u16;
    // SAFETY: as `read8`.
    unsafe {
        asm!("in ax, dx", in("dx") port, out("ax") value, options(nomem, nostack, preserves_flags))
    };
    value
}

/// Writes two bytes.
pub fn write16(port: u16, value: u16) {
    // SAFETY: as `write8`.
    unsafe {
        asm!("out dx, ax", in("dx") port, in("ax") value, options(nomem, nostack, preserves_flags))
    };
}

/// Reads four bytes.
#[must_use]
pub fn read32(port: u16) -> u32 {
    let value: u32;
    // SAFETY: as `read8`.
    unsafe {
        asm!("in eax, dx", in("dx") port, out("eax") value, options(nomem, nostack, preserves_flags))
    };
    value
}

/// Writes four bytes.
pub fn write32(port: u16, value: u32) {
    // SAFETY: as `write8`.
    unsafe {
        asm!("out dx, eax", in("dx") port, in("eax") value, options(nomem, nostack, preserves_flags))
    };
}
