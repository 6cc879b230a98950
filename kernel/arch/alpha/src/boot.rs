// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. The kernel is its firmware: the emulator puts it and the boot image into
//! memory, and a page of words before the image (`options.rs`). The kernel's symbols follow the
//! boot image.

use crate::layout::{POOL, REACHED};
use crate::options::number;
use crate::panic::Clipper;
use crate::regs;
use abi::arch::alpha::layout::MOST_POOL;
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::boot::{Boot, Found, Mapping, look, pool_bytes};
use arch_common::platform::refuse;
use arch_common::shared;
use core::ops::{self, RangeInclusive};
use kcore::boot::Range;
use kcore::ram::Ram;

/// Moves what lies after the words to the end of RAM, so that free RAM is in one piece.
fn move_up(bytes: u32, ram_end: u32) -> Range {
    let page = PAGE_SIZE as u32;
    let base = ram_end.saturating_sub(bytes) / page * page;
    if base < POOL {
        refuse::<Clipper>(format_args!("too little memory: the boot image has {bytes} bytes"));
    }
    let [from, to] = [POOL, base].map(shared::at::<u8>);
    // SAFETY: both are RAM, and nobody else runs; they may overlap.
    unsafe { from.copy_to(to, bytes as usize) };
    Range { base: PhysAddr(base.into()), bytes: bytes.into() }
}

impl Mapping for Clipper {
    const PAGE: u32 = 2 << 20;
    const POOL: RangeInclusive<u32> = 4 << 20..=MOST_POOL;
    const IMAGE: ops::Range<u32> = 0..REACHED;
    const SYMBOLS: ops::Range<u32> = 0..REACHED;

    // The kernel sees RAM at its addresses.
    fn map(_: u32, range: Range) -> u32 {
        range.base.0 as u32
    }

    fn unmap(_: u32, _: Range) {}

    /// Its address is a constant, and a physical one.
    fn place_pool(ram: &[Range]) -> Option<Range> {
        let bytes = pool_bytes::<Self>(ram).into();
        let pool = Range { base: PhysAddr(POOL.into()), bytes };
        let is_free = ram.iter().any(|free| free.base <= pool.base && pool.end() <= free.end());
        is_free.then_some(pool)
    }
}

/// Looks at what is there.
pub fn find() -> Boot {
    let (ram_end, bytes) = (number("memory").min(REACHED), number("image"));
    let mut ram = Ram::default();
    ram.add(PhysAddr(0), PhysAddr(ram_end.into()));
    let kernel = Range { base: PhysAddr(0), bytes: regs::kernel_end().into() };
    let image = move_up(bytes, ram_end);
    // SAFETY: boot; the image is RAM, and nobody else runs.
    unsafe { look::<Clipper>(Found { ram, kernel, image, symbols: None }) }
}
