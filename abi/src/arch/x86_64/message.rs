// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on x86-64.

/// Words of a message that travel in registers: rsi, rdx, r8, r9, r10, r12, r13, r14.
pub const REGISTER_WORDS: u32 = 8;
