// SPDX-License-Identifier: MIT OR Apache-2.0
//! User addresses on IA-32 (docs/manual.md, "Linear layout").

/// Bytes of a page, the unit of mapping.
pub const PAGE_SIZE: u32 = 4096;
/// Bytes that one translation table spans: the granule of a Segment's size and address.
pub const TABLE_SPAN: u32 = 4 << 20;
/// Where a Segment is attached at a multiple of this, spaces share of its translations what this
/// processor can share.
pub const SHARED_SPAN: u32 = TABLE_SPAN;
/// End (exclusive) of the addresses a space may map: above it lies the kernel.
pub const USER_END: u32 = 0xE000_0000;
/// Start of the area of the information page and the UTCBs, a multiple of `TABLE_SPAN`. In a native
/// space only the kernel maps there.
pub const AREA_START: u32 = 0;
/// End (exclusive) of that area, a multiple of `TABLE_SPAN`.
pub const AREA_END: u32 = 4 << 20;
/// How many native spaces there can be; 0: as many as kernel memory lasts for.
pub const AREAS: u32 = 0;
/// Bytes of the kernel's memory, at most.
pub const MOST_POOL: u32 = 248 << 20;
/// Address of the kernel information page in native spaces, in that area.
pub const KIP_ADDRESS: u32 = 0x1000;
/// Address of the first UTCB slot, a multiple of a page. They go up to the end of the area.
pub const FIRST_SLOT: u32 = 0x2000;
/// Bytes of one UTCB slot.
pub const SLOT_SIZE: u32 = 1024;
/// Where the first one is in its page.
pub const SLOT_START: u32 = 0;
/// Offset of the FPU state in a slot: 512 bytes in the format of `fxsave`, or 108 in that of
/// `fnsave` where the processor has no `fxsave`.
pub const FPU_OFFSET: u32 = 512;
/// Bytes of the FPU state.
pub const FPU_SIZE: u32 = 512;
