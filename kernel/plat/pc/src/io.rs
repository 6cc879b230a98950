// SPDX-License-Identifier: MIT OR Apache-2.0
//! Access to I/O ports.

use core::arch::asm;

/// Reads a byte.
pub fn read8(port: u16) -> u8 {
    let value: u8;
    // SAFETY: the kernel owns the ports that this crate names; reading has no effect on memory.
    unsafe { asm!("in al, dx", in("dx") port, out("al") value, options(nomem, nostack, preserves_flags)) };
    value
}

/// Writes a byte.
pub fn write8(port: u16, value: u8) {
    // SAFETY: as `read8`.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) };
}

/// Writes two bytes.
pub fn write16(port: u16, value: u16) {
    // SAFETY: as `read8`.
    unsafe { asm!("out dx, ax", in("dx") port, in("ax") value, options(nomem, nostack, preserves_flags)) };
}
