// SPDX-License-Identifier: MIT OR Apache-2.0
//! User addresses on ARMv5TE (docs/arm.md, *Virtual memory*).

/// Bytes of a page, the unit of mapping.
pub const PAGE_SIZE: u32 = 4096;
/// Bytes that one translation table spans: four of the processor's coarse tables, of 1 MiB each,
/// lie in a page.
pub const TABLE_SPAN: u32 = 4 << 20;
/// Where a Segment is attached at a multiple of this, spaces share of its translations what this
/// processor can share.
pub const SHARED_SPAN: u32 = TABLE_SPAN;
/// End (exclusive) of the addresses a space may map.
pub const USER_END: u32 = 0xC000_0000;
/// Start of the UTCBs of all native spaces: each space has [`AREA_END`] - `AREA_START` bytes of its
/// own there, one section of the processor, as the cache would have two copies of what the kernel
/// reaches by another address.
pub const AREA_START: u32 = 0xC000_0000;
/// End of the first space's.
pub const AREA_END: u32 = AREA_START + (1 << 20);
/// How many native spaces there can be.
pub const AREAS: u32 = 256;
/// Bytes of the kernel's memory, at most.
pub const MOST_POOL: u32 = 248 << 20;
/// Address of the kernel information page, the same in all spaces; aliens can read it, too.
pub const KIP_ADDRESS: u32 = 0xD000_0000;
/// Address of the first space's first page of UTCB slots.
pub const FIRST_SLOT: u32 = AREA_START;
/// Distance between UTCB slots of a page, of which [`FPU_OFFSET`] bytes are used. The caches' sets
/// repeat at each 1 KiB: by the two lines that are left out the slots of a page begin in seven
/// sets, not in two.
pub const SLOT_SIZE: u32 = 512 + 64;
/// Where the first one is in its page: in none of the sets that what begins with a page is in.
pub const SLOT_START: u32 = 96;
/// Offset of the FPU state in a slot: there is no FPU.
pub const FPU_OFFSET: u32 = 512;
/// Bytes of the FPU state.
pub const FPU_SIZE: u32 = 0;
/// Bytes of a slot of PID relocation: addresses below appear at a multiple of it
/// (fass-wombat-arm-2007, section 2.5).
pub const SLOT_BYTES: u32 = 32 << 20;
/// How many there are: the first such part of all addresses is for spaces that are not relocated.
pub const RELOCATION_SLOTS: u32 = 63;
/// How many ranges of lines can be locked in the data cache of an XScale core, of a page each: they
/// take half of it at most.
pub const LOCKED_RANGES: u32 = 4;
