// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel and the root server both know of the board clipper: how to end it. What it has as
//! a PC has it is in `boards/isa`, what else the kernel drives in `kernel/plat/clipper`, and what
//! servers drive in `boards/clipper.toml`.
#![no_std]
#![forbid(unsafe_code)]

pub use isa::{io, uart};

/// The keyboard controller, which resets the board. An emulator that does not start again ends then.
pub mod reset {
    /// The port of its commands.
    pub const PORT: u16 = 0x64;
    /// The one that resets.
    pub const NOW: u8 = 0xfe;
}
