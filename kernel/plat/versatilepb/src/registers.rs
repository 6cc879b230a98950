// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board's registers: all that the kernel drives lies in two MiB, which the port maps before
//! anything here is called.

/// Physical address of the first.
pub const PHYSICAL: u32 = 0x1000_0000;
/// How many bytes there are, a multiple of a section.
pub const BYTES: u32 = 2 << 20;
/// Where the port maps them.
pub const WINDOW: u32 = 0xf000_0000;

/// A register that the kernel drives, by its physical address.
pub(crate) const fn at(physical: u32) -> u32 {
    assert!(physical >= PHYSICAL && physical - PHYSICAL < BYTES && physical.is_multiple_of(4));
    physical - PHYSICAL + WINDOW
}

/// Reads a register.
pub(crate) fn read(register: u32) -> u32 {
    // SAFETY: only called with the board's registers (`at`), which the port maps first of all and
    // nobody else drives.
    unsafe { (register as *const u32).read_volatile() }
}

/// Writes a register.
pub(crate) fn write(register: u32, value: u32) {
    // SAFETY: as `read`.
    unsafe { (register as *mut u32).write_volatile(value) };
}
