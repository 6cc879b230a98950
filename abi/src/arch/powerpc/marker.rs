// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code.
//!
//! `rlwimi rA, rA, 0, MB, ME` inserts bits of a register into themselves: it changes nothing, and
//! no compiler makes it. The kind of a marker is in rA, r28 to r31, an interval's number in MB and
//! ME: ten bits.

/// `rlwimi`, without registers and fields.
pub const OPCODE: u32 = 20 << 26;
/// The bits that all have in common: operation, a rotation by 0, no record of the result.
pub const FIXED: u32 = 0xfc00_f801;
/// Kind: an interval begins.
pub const BEGIN: u32 = 0;
/// Kind: an interval ends.
pub const END: u32 = 1;
/// Kind: an interval begins in which nobody may switch spaces in a way that flushes a TLB or cache:
/// the model reports it.
pub const BEGIN_FREE: u32 = 2;
/// Kind: a case begins, for the model's report; r3 has the address of its name, r4 the bytes. The
/// number is 0.
pub const CASE: u32 = 3;

/// The first register that stands for a kind; the others follow.
const FIRST: u32 = 28;

/// The instruction that is a marker, of a number below 1024.
#[must_use]
pub const fn instruction(kind: u32, id: u32) -> u32 {
    let register = FIRST + (kind & 3);
    OPCODE | register << 21 | register << 16 | (id & 0x3ff) << 1
}

/// Kind and number of a marker; nothing if the instruction is none.
#[must_use]
pub const fn decode(word: u32) -> Option<(u32, u32)> {
    let (to, from) = (word >> 16 & 31, word >> 21 & 31);
    if word & FIXED == OPCODE && to == from && to >= FIRST {
        Some((to - FIRST, word >> 1 & 0x3ff))
    } else {
        None
    }
}
