// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code.
//!
//! `pld [Rn, ±Rm, ror #n]`, or `asr`, changes nothing: it is a hint on some processors and nothing
//! on the others. Programs and compilers prefetch by other addresses: an index is shifted to the
//! left. The two low bits of Rm tell the kind of marker; an interval's number is in Rn, n, the
//! shift, the sign, and the third bit of Rm.

/// What all have in common.
pub const OPCODE: u32 = 0xf750_f040;
/// The bits that all have in common.
pub const FIXED: u32 = 0xff70_f058;
/// Kind: an interval begins.
pub const BEGIN: u32 = 0;
/// Kind: an interval ends.
pub const END: u32 = 1;
/// Kind: an interval begins in which nobody may switch spaces in a way that flushes a TLB or cache:
/// the model reports it.
pub const BEGIN_FREE: u32 = 2;
/// Kind: a case begins, for the model's report; r0 has the address of its name, r1 the bytes. The
/// number is 0.
pub const CASE: u32 = 3;

/// Where a number's bits are: the first in the number, in the instruction, and how many.
const FIELDS: [(u32, u32, u32); 5] = [(0, 16, 4), (4, 7, 5), (9, 5, 1), (10, 23, 1), (11, 2, 1)];

/// The instruction that is a marker, of a number below 4096.
#[must_use]
#[expect(clippy::indexing_slicing, reason = "the loop ends before")]
pub const fn instruction(kind: u32, id: u32) -> u32 {
    let (mut word, mut field) = (OPCODE | kind & 3, 0);
    while field < FIELDS.len() {
        let (from, to, bits) = FIELDS[field];
        word |= (id >> from & ((1 << bits) - 1)) << to;
        field += 1;
    }
    word
}

/// Kind and number of a marker; nothing if the instruction is none.
#[must_use]
pub fn decode(word: u32) -> Option<(u32, u32)> {
    let number =
        || FIELDS.iter().map(|(from, to, bits)| (word >> to & ((1 << bits) - 1)) << from).sum();
    (word & FIXED == OPCODE).then(|| (word & 3, number()))
}
