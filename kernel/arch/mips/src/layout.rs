// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses of the kernel (docs/mips.md, *Memory*), and statics that assembly uses. A constant of
//! 32 bits is the lower half of an address whose upper half is ones, as references to objects are
//! (`pool`).

use arch_common::shared::{Lines, Shared};
use kcore::Cpu;
use pool::Link;

/// Where the first 512 MiB of physical memory are, cached.
pub const KSEG0: u32 = 0x8000_0000;
/// How much of that is RAM on a Malta: devices follow.
pub const REACHED: u32 = 256 << 20;
/// Physical address of the pool, and of the boot image before it is moved.
pub const POOL: u32 = pool::BASE - KSEG0;
/// The page that says how much RAM there is, and where the boot image is.
pub const WORDS: u32 = pool::BASE - abi::PAGE_SIZE as u32;

/// The hot words, and what the handler of misses reads.
#[repr(C)]
pub struct Hot {
    /// The processor's.
    pub cpu: Cpu,
    /// The address in kseg0 of the highest table of the space that is entered.
    pub top: u32,
}

/// See [`Hot`].
pub static HOT: Shared<Lines<Hot>> = Shared::new(Lines(Hot {
    cpu: Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL },
    top: 0,
}));

/// The physical address of an address in kseg0.
pub const fn physical(address: u32) -> u32 {
    address.wrapping_sub(KSEG0)
}

/// The address in kseg0 of a physical address below 512 MiB.
pub const fn reached(physical: u32) -> u32 {
    physical.wrapping_add(KSEG0)
}
