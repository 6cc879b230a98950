// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC: the bridge to PCI shows ports as memory, from [`PORTS`] on. To the kernel it is there.
//! To a component nothing is, as all ports that matter are in one page: the access faults, and the
//! kernel makes it for who was given the port. It knows the instructions here, and no others.

use core::arch::asm;

/// Physical address of port 0.
pub const PORTS: u32 = 0xfe00_0000;
/// How many ports there are.
pub const COUNT: u32 = 1 << 16;

/// Reads a byte.
#[must_use]
pub fn read8(port: u16) -> u8 {
    let value: u32;
    // SAFETY: touches no memory but a device's register; the kernel checks a component's port.
    unsafe {
        asm!("lbzx {}, {}, {}", "eieio", out(reg) value, in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
    value as u8
}

/// Writes a byte.
pub fn write8(port: u16, value: u8) {
    // SAFETY: touches no memory (devices that do are given to components that the description
    // trusts); the kernel checks a component's port.
    unsafe {
        asm!("stbx {}, {}, {}", "eieio", in(reg) u32::from(value), in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
}

/// Reads two bytes, the low one first.
#[must_use]
pub fn read16(port: u16) -> u16 {
    let value: u32;
    // SAFETY: as `read8`.
    unsafe {
        asm!("lhbrx {}, {}, {}", "eieio", out(reg) value, in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
    value as u16
}

/// Writes two bytes, the low one first.
pub fn write16(port: u16, value: u16) {
    // SAFETY: as `write8`.
    unsafe {
        asm!("sthbrx {}, {}, {}", "eieio", in(reg) u32::from(value), in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
}

/// Reads four bytes, the lowest first.
#[must_use]
pub fn read32(port: u16) -> u32 {
    let value: u32;
    // SAFETY: as `read8`.
    unsafe {
        asm!("lwbrx {}, {}, {}", "eieio", out(reg) value, in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
    value
}

/// Writes four bytes, the lowest first.
pub fn write32(port: u16, value: u32) {
    // SAFETY: as `write8`.
    unsafe {
        asm!("stwbrx {}, {}, {}", "eieio", in(reg) value, in(reg_nonzero) PORTS, in(reg) u32::from(port), options(nostack, preserves_flags))
    };
}
