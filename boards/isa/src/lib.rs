// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a PC and boards that descend from it have in common: I/O ports, and the first serial line.
#![no_std]
#![cfg_attr(target_arch = "mips64", feature(asm_experimental_arch))]

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
pub mod io;

/// The first serial line, a 16550.
pub mod uart {
    /// The data register, the first of eight.
    pub const DATA: u16 = 0x3f8;
    /// The line status register.
    pub const LINE_STATUS: u16 = DATA + 5;
    /// In the line status: a byte can be written.
    pub const TRANSMITTER_EMPTY: u8 = 1 << 5;
}
