// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on Alpha.

/// Words of a message that travel in registers: $17 to $21, $1 to $3.
pub const REGISTER_WORDS: u32 = 8;
