// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha: ports are at physical addresses. The kernel accesses these; a component asks the kernel by a
//! `CALL_PAL` of its own. WebAssembly has neither, so both are functions that are linked elsewhere
//! (`kernel/plat/clipper`, `user/lib/src/arch/alpha`).

unsafe extern "C" {
    /// Reads a port, of 1, 2 or 4 bytes.
    safe fn isa_read(port: u32, bytes: u32) -> u32;
    /// Writes one.
    safe fn isa_write(port: u32, bytes: u32, value: u32);
}

/// Reads a byte.
#[must_use]
pub fn read8(port: u16) -> u8 {
    isa_read(port.into(), 1) as u8
}

/// Writes a byte.
pub fn write8(port: u16, value: u8) {
    isa_write(port.into(), 1, value.into());
}

/// Reads two bytes, the low one first.
#[must_use]
pub fn read16(port: u16) -> u16 {
    isa_read(port.into(), 2) as u16
}

/// Writes two bytes, the low one first.
pub fn write16(port: u16, value: u16) {
    isa_write(port.into(), 2, value.into());
}

/// Reads four bytes, the lowest first.
#[must_use]
pub fn read32(port: u16) -> u32 {
    isa_read(port.into(), 4)
}

/// Writes four bytes, the lowest first.
pub fn write32(port: u16, value: u32) {
    isa_write(port.into(), 4, value);
}
