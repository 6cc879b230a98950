// SPDX-License-Identifier: MIT OR Apache-2.0
//! A marker instruction that the machine model recognises in user code.
//!
//! `lda $31, N($31)` changes nothing, and no compiler makes it. The model measures no intervals on
//! this processor, so there is one kind only.

/// A case begins, for the model's report. The two instructions after it are loads of a byte each,
/// the first one and the last one of its name: an emulator tells of addresses that are accessed,
/// and of no registers.
pub const CASE: u32 = 0x23ff_0000 | NUMBER as u32;

/// N of that instruction.
pub const NUMBER: u16 = 3;
