// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on RISC-V, 64 bits.

/// Words of a message that travel in registers.
pub const REGISTER_WORDS: u32 = 4;
