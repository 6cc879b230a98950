// SPDX-License-Identifier: MIT OR Apache-2.0
//! User addresses on x86-64.

/// Bytes of a page, the unit of mapping.
pub const PAGE_SIZE: u64 = 4096;
/// Bytes that one translation table spans: the granule of a Segment's size and address.
pub const TABLE_SPAN: u64 = 2 << 20;
/// Where a Segment is attached at a multiple of this, spaces share of its translations what this
/// processor can share.
pub const SHARED_SPAN: u64 = TABLE_SPAN;
/// End (exclusive) of the addresses a space may map. What one entry of the highest table spans is
/// left before what is no address: what follows a user's last instruction is one.
pub const USER_END: u64 = (1 << 47) - (1 << 39);
/// Start of the area of the information page and the UTCBs in native spaces.
pub const AREA_START: u64 = 0;
/// End of that area: users map above it.
pub const AREA_END: u64 = 8 << 20;
/// How many native spaces there can be; 0: as many as kernel memory lasts for.
pub const AREAS: u32 = 0;
/// Bytes of the kernel's memory, at most.
pub const MOST_POOL: u32 = 248 << 20;
/// Address of the kernel information page in native spaces.
pub const KIP_ADDRESS: u64 = 0x1000;
/// Address of the first UTCB slot.
pub const FIRST_SLOT: u64 = 0x2000;
/// Bytes of one UTCB slot.
pub const SLOT_SIZE: u32 = 4096;
/// Where the first one is in its page.
pub const SLOT_START: u32 = 0;
/// Offset of the FPU state in a slot: in the standard form of `xsave`, or in that of `fxsave` where
/// the processor has no other.
pub const FPU_OFFSET: u32 = 1024;
/// Bytes of the FPU state: at least what `xsave` writes of AVX-512, which is 2,688 with the largest
/// gaps between parts (Intel SDM volume 1, 13.4).
pub const FPU_SIZE: u32 = 3072;
