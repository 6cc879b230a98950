// SPDX-License-Identifier: MIT OR Apache-2.0
//! User addresses on Alpha.

/// Bytes of a page, the unit of mapping.
pub const PAGE_SIZE: u64 = 8192;
/// Bytes that one translation table spans: the granule of a Segment's size and address.
pub const TABLE_SPAN: u64 = 8 << 20;
/// Where a Segment is attached at a multiple of this, spaces share of its translations what this
/// processor can share.
pub const SHARED_SPAN: u64 = TABLE_SPAN;
/// End (exclusive) of the addresses a space may map: half of 43 bits, which three levels of tables
/// with pages of 8 KiB translate.
pub const USER_END: u64 = 1 << 42;
/// Start of the area of the information page and the UTCBs in native spaces.
pub const AREA_START: u64 = 0;
/// End of that area: users map above it.
pub const AREA_END: u64 = 8 << 20;
/// How many native spaces there can be; 0: as many as kernel memory lasts for.
pub const AREAS: u32 = 0;
/// Bytes of the kernel's memory, at most.
pub const MOST_POOL: u32 = 64 << 20;
/// Address of the kernel information page in native spaces.
pub const KIP_ADDRESS: u64 = 0x2000;
/// Address of the first UTCB slot.
pub const FIRST_SLOT: u64 = 0x4000;
/// Bytes of one UTCB slot.
pub const SLOT_SIZE: u32 = 2048;
/// Where the first one is in its page.
pub const SLOT_START: u32 = 0;
/// Offset of the FPU state in a slot.
pub const FPU_OFFSET: u32 = 1024;
/// Bytes of the FPU state: 32 registers, the last of which is the control register.
pub const FPU_SIZE: u32 = 256;
