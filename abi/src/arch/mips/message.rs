// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on MIPS, 64 bits, big-endian.

/// Words of a message that travel in registers: $5 to $12.
pub const REGISTER_WORDS: u32 = 8;
