// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses of the kernel (docs/alpha.md). An address of Rust is a physical one.

use arch_common::shared::{Lines, Shared};
use kcore::Cpu;
use pool::Link;

/// Physical address of the pool, and of the boot image before it is moved.
pub const POOL: u32 = pool::BASE;
/// End of RAM that the kernel uses.
pub const REACHED: u32 = 1 << 30;
/// Bytes of the words that the tool puts before the boot image.
pub const WORDS_BYTES: u32 = 4096;
/// Where they are.
pub const WORDS: u32 = POOL - WORDS_BYTES;

/// The hot words. PALcode has them in registers while a thread runs.
pub static HOT: Shared<Lines<Cpu>> =
    Shared::new(Lines(Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL }));
