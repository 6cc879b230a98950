// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on ARMv5TE.

/// Words of a message that travel in registers: r2 to r9.
pub const REGISTER_WORDS: u32 = 8;
