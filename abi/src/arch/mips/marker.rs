// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code.
//!
//! `xori $0, $0, N` changes nothing, and no compiler makes it. The kind of a marker is in the upper
//! four bits of N, an interval's number in the others.

/// `xori $0, $0`, without N.
pub const OPCODE: u32 = 14 << 26;
/// Kind: an interval begins.
pub const BEGIN: u32 = 0;
/// Kind: an interval ends.
pub const END: u32 = 1;
/// Kind: an interval begins in which nobody may switch spaces in a way that flushes a TLB or cache:
/// the model reports it.
pub const BEGIN_FREE: u32 = 2;
/// Kind: a case begins, for the model's report. The two instructions after it are loads of a byte
/// each, the first one and the last one of its name: an emulator tells of addresses that are
/// accessed, and of no registers. The number is 0.
pub const CASE: u32 = 3;

/// Bits of an interval's number.
const NUMBER: u32 = 12;

/// The instruction that is a marker, of a number below 4096.
#[must_use]
pub const fn instruction(kind: u32, id: u32) -> u32 {
    OPCODE | (kind & 15) << NUMBER | id & ((1 << NUMBER) - 1)
}

/// Kind and number of a marker; nothing if the instruction is none.
#[must_use]
pub const fn decode(word: u32) -> Option<(u32, u32)> {
    if word & 0xffff_0000 == OPCODE {
        Some((word >> NUMBER & 15, word & ((1 << NUMBER) - 1)))
    } else {
        None
    }
}
