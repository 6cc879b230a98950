// SPDX-License-Identifier: MIT OR Apache-2.0
//! Virtual addresses of the kernel (docs/arm.md, *Virtual memory*). All are above 32 MiB, because
//! the process identifier would relocate the kernel's own accesses below that, too.

use arch_common::shared::Shared;
use core::ops::Range;
use kcore::Cpu;
use mmu::armv5::SECTION_BYTES;
use pool::Link;

/// Where physical address 0 is mapped, and after it the kernel's image.
pub const KERNEL_BASE: u32 = 0xe000_0000;
/// Bytes of RAM that are mapped there.
pub const KERNEL_BYTES: u32 = pool::BASE - KERNEL_BASE;
/// Where the pool is mapped.
pub const POOL_BASE: u32 = pool::BASE;
/// Where the board's registers are mapped; the pool ends below that.
pub const DEVICES: u32 = plat_versatilepb::registers::WINDOW;
/// Where the boot image is mapped while it is checked, and moved.
pub const IMAGE: Range<u32> = 0xf100_0000..SYMBOLS.start;
/// Where the kernel's symbols are mapped.
pub const SYMBOLS: Range<u32> = 0xfe00_0000..CLEANING;
/// Twice 32 KiB, whose lines are allocated to displace all others from the cache (`cache.rs`).
pub const CLEANING: u32 = 0xffe0_0000;
/// The section with the exception vectors, and their page.
pub const VECTORS: u32 = 0xffff_0000;
/// In that page: the word that the helper for the thread pointer returns.
pub const THREAD_POINTER: u32 = VECTORS + 0xff0;
/// UTCBs of all native spaces.
pub const UTCBS: u32 = abi::utcb::AREA_START;
/// Bytes of them.
pub const UTCB_BYTES: u32 = abi::arch::armv5::layout::AREAS * SECTION_BYTES;
/// The page after the information page: the counter's.
pub const COUNTER_PAGE: u32 = abi::utcb::KIP_ADDRESS + abi::PAGE_SIZE;

/// The processor's words that fast paths read.
pub static CPU: Shared<Cpu> = Shared::new(Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL });

const _: () = assert!(UTCBS + UTCB_BYTES == abi::utcb::KIP_ADDRESS && abi::USER_END == UTCBS);

/// The section that an address is in.
pub const fn section(address: u32) -> usize {
    (address / SECTION_BYTES) as usize
}
