// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual addresses of the kernel (docs/arm.md, *Virtual memory*). All lie above 32 MiB: below, the kernel's accesses would be
//! relocated by the process identifier, too.

use core::sync::atomic::AtomicU32;
use mmu::armv5::SECTION_BYTES;

/// Where physical address 0 appears, and behind it the kernel's image.
pub const KERNEL_BASE: u32 = 0xe000_0000;
/// Bytes of RAM that appear there.
pub const KERNEL_BYTES: u32 = pool::BASE - KERNEL_BASE;
/// Where the pool appears.
pub const POOL_BASE: u32 = pool::BASE;
/// Where the board's registers appear, and the pool ends at most.
pub const DEVICES: u32 = plat_versatilepb::registers::WINDOW;
/// Where the boot image appears while it is checked.
pub const IMAGE: u32 = 0xf100_0000;
/// The same while it is moved: there, and as far behind.
pub const IMAGE_ROOM: u32 = (SYMBOLS - IMAGE) / 2;
/// Where the kernel's symbols appear.
pub const SYMBOLS: u32 = 0xfe00_0000;
/// 32 KiB, and again 32 KiB, whose lines are taken to push all others out of the cache (`cache.rs`).
pub const CLEANING: u32 = 0xffe0_0000;
/// The section with the exception vectors, and their page.
pub const VECTORS: u32 = 0xffff_0000;
/// In that page: what the helper returns that tells the thread pointer.
pub const THREAD_POINTER: u32 = VECTORS + 0xff0;
/// UTCBs of all native spaces.
pub const UTCBS: u32 = abi::utcb::AREA_START;
/// Bytes of them.
pub const UTCB_BYTES: u32 = abi::arch::armv5::layout::AREAS * SECTION_BYTES;
/// The page behind the information page: the counter's.
pub const COUNTER_PAGE: u32 = abi::utcb::KIP_ADDRESS + abi::PAGE_SIZE;

/// Bits of a reply handle that are the index of a thread. The fast path reads it.
pub static INDEX_MASK: AtomicU32 = AtomicU32::new(0);

/// Physical minus virtual address of the pool.
pub static POOL_OFFSET: AtomicU32 = AtomicU32::new(0);

const _: () = assert!(UTCBS + UTCB_BYTES == abi::utcb::KIP_ADDRESS && abi::USER_END == UTCBS);

/// The section that an address is in.
pub const fn section(address: u32) -> usize {
    (address / SECTION_BYTES) as usize
}
