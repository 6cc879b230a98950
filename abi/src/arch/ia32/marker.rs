// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marker instructions that the machine model recognises in user code.
//!
//! `test eax, imm32` changes nothing but flags and is otherwise unused with
//! these values: bits 31 to 16 are [`MAGIC`], 15 to 12 the kind, 11 to 0 an
//! interval's number.

/// Upper half of a marker's immediate: "MA".
pub const MAGIC: u32 = 0x4d41;
/// Opcode byte of `test eax, imm32`.
pub const OPCODE: u8 = 0xa9;
/// Kind: an interval begins.
pub const BEGIN: u32 = 1;
/// Kind: an interval ends.
pub const END: u32 = 2;

/// Kind: an interval begins in which nobody may switch spaces or flush a TLB or cache: the model
/// reports it.
pub const BEGIN_FREE: u32 = 3;

/// Kind: a case begins, for the model's report; EAX has the address of its name, ECX the bytes. The
/// number is 0.
pub const CASE: u32 = 4;

/// The immediate of a marker.
#[must_use]
pub const fn immediate(kind: u32, id: u32) -> u32 {
    MAGIC << 16 | (kind & 15) << 12 | (id & 0xfff)
}
