// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages on x86-64.

/// Words of a message that travel in registers.
pub const REGISTER_WORDS: u32 = 4;
