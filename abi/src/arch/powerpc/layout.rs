// SPDX-License-Identifier: MIT OR Apache-2.0
//! User addresses on PowerPC, 32 bits, big-endian.

/// Bytes of a page, the unit of mapping.
pub const PAGE_SIZE: u32 = 4096;
/// Bytes that one translation table spans: the granule of a Segment's size and address.
pub const TABLE_SPAN: u32 = 4 << 20;
/// Where a Segment is attached at a multiple of this, and nothing else is within the same bytes,
/// all spaces that have it so share the processor's translations of it: a segment of the
/// processor's.
pub const SHARED_SPAN: u32 = 256 << 20;
/// End (exclusive) of the addresses a space may map.
pub const USER_END: u32 = 0xC000_0000;
/// Start of the area of the information page and the UTCBs in native spaces.
pub const AREA_START: u32 = 0;
/// End of that area: users map above it.
pub const AREA_END: u32 = 4 << 20;
/// How many native spaces there can be; 0: as many as kernel memory lasts for.
pub const AREAS: u32 = 0;
/// Bytes of the kernel's memory, at most.
pub const MOST_POOL: u32 = 64 << 20;
/// Address of the kernel information page in native spaces.
pub const KIP_ADDRESS: u32 = 0x1000;
/// Address of the first UTCB slot.
pub const FIRST_SLOT: u32 = 0x2000;
/// Bytes of one UTCB slot.
pub const SLOT_SIZE: u32 = 1024;
/// Where the first one is in its page.
pub const SLOT_START: u32 = 0;
/// Offset of the FPU state in a slot.
pub const FPU_OFFSET: u32 = 512;
/// Bytes of the FPU state.
pub const FPU_SIZE: u32 = 512;
