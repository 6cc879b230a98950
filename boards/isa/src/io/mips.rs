// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS: the bridge to PCI shows ports as memory, from [`PORTS`] on, which is in kseg1: the kernel
//! reaches it past the caches. To a component it is no address: the access is an exception, and the
//! kernel makes it for who was given the port. It knows the instructions here, and no others.

use core::arch::asm;

/// Where port 0 is.
pub const PORTS: u64 = 0xffff_ffff_b800_0000;

/// Where a port is.
const fn address(port: u16) -> u64 {
    PORTS + port as u64
}

/// Reads a byte.
#[must_use]
pub fn read8(port: u16) -> u8 {
    let value: u64;
    // SAFETY: touches no memory but a device's register; the kernel checks a component's port.
    unsafe {
        asm!(".set noat", "lbu {}, 0({})", out(reg) value, in(reg) address(port), options(nostack, preserves_flags))
    };
    value as u8
}

/// Writes a byte.
pub fn write8(port: u16, value: u8) {
    // SAFETY: touches no memory (devices that do are given to whom the description trusts); the
    // kernel checks a component's port.
    unsafe {
        asm!(".set noat", "sb {}, 0({})", in(reg) u64::from(value), in(reg) address(port), options(nostack, preserves_flags))
    };
}

/// Reads two bytes, the low one first.
#[must_use]
pub fn read16(port: u16) -> u16 {
    let value: u64;
    // SAFETY: as `read8`.
    unsafe {
        asm!(".set noat", "lhu {}, 0({})", out(reg) value, in(reg) address(port), options(nostack, preserves_flags))
    };
    u16::from_le(value as u16)
}

/// Writes two bytes, the low one first.
pub fn write16(port: u16, value: u16) {
    // SAFETY: as `write8`.
    unsafe {
        asm!(".set noat", "sh {}, 0({})", in(reg) u64::from(value.to_le()), in(reg) address(port), options(nostack, preserves_flags))
    };
}

/// Reads four bytes, the lowest first.
#[must_use]
pub fn read32(port: u16) -> u32 {
    let value: u64;
    // SAFETY: as `read8`.
    unsafe {
        asm!(".set noat", "lwu {}, 0({})", out(reg) value, in(reg) address(port), options(nostack, preserves_flags))
    };
    u32::from_le(value as u32)
}

/// Writes four bytes, the lowest first.
pub fn write32(port: u16, value: u32) {
    // SAFETY: as `write8`.
    unsafe {
        asm!(".set noat", "sw {}, 0({})", in(reg) u64::from(value.to_le()), in(reg) address(port), options(nostack, preserves_flags))
    };
}
