// SPDX-License-Identifier: MIT OR Apache-2.0
//! Physical addresses of the kernel (docs/powerpc.md, *Memory*), and statics that assembly uses.

use arch_common::shared::{Lines, Shared};
use core::ops::Range;
use kcore::Cpu;
use kcore::port::CONTEXT_WORDS;
use pool::Link;

/// Where the handlers of a 603's misses lie that boot words select (`words.S`). The machine model
/// recognises them by their addresses.
pub const HANDLERS: Range<u32> = 0x3000..0x3800;
/// Where windows of servers may begin. They end where users' addresses do.
pub const WINDOWS: u32 = 0x8000_0000;
/// RAM that the kernel can access: what one BAT maps.
pub const REACHED: u32 = 256 << 20;
/// Where the kernel accesses that RAM past the cache: where users have nothing.
pub const UNCACHED: u32 = abi::USER_END;
/// The page that says how much RAM there is, and where the boot image is.
pub const WORDS: u32 = IMAGE - abi::PAGE_SIZE;
/// The boot image, where the loader put it.
pub const IMAGE: u32 = pool::BASE;

/// The hot words. They lie below 32 KiB, so assembly names them by an offset from 0.
#[unsafe(link_section = ".hot")]
pub static CPU: Shared<Cpu> = Shared::new(Cpu { loaded: 0, top: 0, port: 0, current: Link::NULL });

/// Words for the misses of the hashed table (`hash.S`). They lie where the hot words do.
#[repr(C)]
pub struct Reload {
    /// r25 to r31 of the code that missed.
    saved: [u32; 7],
    /// The bits of an address in the table that select the group.
    pub mask: u32,
    /// Which entry of a full group is replaced next.
    pub hand: usize,
    /// How often an entry of a full group was replaced.
    pub evicts: u32,
}

/// See [`Reload`].
#[unsafe(link_section = ".hot")]
pub static RELOAD: Shared<Reload> =
    Shared::new(Reload { saved: [0; 7], mask: 0, hand: 0, evicts: 0 });

/// The registers of an interrupt that comes while no thread runs. A reference to them points to
/// their end, as one to a Thread does.
pub static IDLE: Shared<Lines<[u32; CONTEXT_WORDS]>> = Shared::new(Lines([0; CONTEXT_WORDS]));
