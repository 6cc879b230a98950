// SPDX-License-Identifier: MIT OR Apache-2.0
//! Physical addresses of the kernel (docs/powerpc.md, *Memory*), and statics that assembly knows.

use arch_common::shared::{Lines, Shared};
use kcore::Cpu;
use kcore::port::CONTEXT_WORDS;
use pool::Link;

/// RAM that the kernel reaches: what one BAT shows.
pub const REACHED: u32 = 256 << 20;
/// The page that says how much RAM there is, and where the boot image is.
pub const WORDS: u32 = IMAGE - abi::PAGE_SIZE;
/// The boot image, where the loader put it.
pub const IMAGE: u32 = pool::BASE;

/// The hot words. They lie below 32 KiB, where assembly names them by an offset from nothing.
#[unsafe(link_section = ".hot")]
pub static CPU: Shared<Cpu> = Shared::new(Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL });

/// What an interrupt saves that comes while no thread runs. A reference to it points to its end, as one to a Thread does.
pub static IDLE: Shared<Lines<[u32; CONTEXT_WORDS]>> = Shared::new(Lines([0; CONTEXT_WORDS]));
