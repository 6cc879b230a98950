// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code.
//!
//! `pld [Rn, #imm]` changes nothing: it is a hint on some processors and nothing on the others. The register tells the kind of marker,
//! the immediate an interval's number. Programs prefetch by r0 to r11.

/// An instruction without register and immediate: `pld [r0, #0]`.
pub const OPCODE: u32 = 0xf5d0_f000;
/// Kind: an interval begins. (r12)
pub const BEGIN: u32 = 12;
/// Kind: an interval ends. (sp)
pub const END: u32 = 13;
/// Kind: an interval begins in which nobody may switch spaces in a way that flushes a TLB or cache: the model reports it. (lr)
pub const BEGIN_FREE: u32 = 14;
/// Kind: a case begins, for the model's report; r0 has the address of its name, r1 the bytes. The number is 0. (pc)
pub const CASE: u32 = 15;

/// The instruction that is a marker.
#[must_use]
pub const fn instruction(kind: u32, id: u32) -> u32 {
    OPCODE | (kind & 15) << 16 | (id & 0xfff)
}
