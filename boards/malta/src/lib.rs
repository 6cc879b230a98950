// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the Malta board: how to end it. What it has as a
//! PC has it is in `boards/isa`, what else the kernel drives in `kernel/plat/malta`, and what servers
//! drive in `boards/malta.toml`.
#![no_std]
#![forbid(unsafe_code)]

pub use isa::{io, uart};

/// The register of the board that resets it (*MIPS Malta User's Manual*, section 4.2: SOFTRES). An
/// emulator that does not start again ends then.
pub mod reset {
    /// Physical address of the page that it is in.
    pub const PAGE: u32 = 0x1f00_0000;
    /// Where it is there. It has 32 bits.
    pub const OFFSET: u32 = 0x500;
    /// What is written to it.
    pub const NOW: u32 = 0x42;
}
