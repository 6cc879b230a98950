// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on PowerPC, 32 bits, big-endian.

/// Words of a message that travel in registers: r5 to r10, r14, r15.
pub const REGISTER_WORDS: u32 = 8;
