// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. The kernel is its firmware: the emulator puts it and the boot image into
//! memory, and a page of words before the image (`options.rs`). The kernel's symbols follow the
//! boot image.

use crate::layout::{POOL, REACHED};
use crate::options::number;
use crate::panic::Clipper;
use crate::regs;
use abi::arch::alpha::layout::MOST_POOL;
use arch_common::boot::{Boot, Mapping, look_at, pool_at};
use core::ops::{self, RangeInclusive};
use kcore::boot::Range;

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
        pool_at::<Self>(POOL, ram)
    }
}

/// Looks at what is there.
pub fn find() -> Boot {
    let (ram_end, bytes) = (number("memory").min(REACHED), number("image"));
    let end = regs::kernel_end();
    // SAFETY: boot; the emulator put the image at this address, nobody else runs, and RAM is
    // mapped.
    unsafe { look_at::<Clipper>(ram_end, end, POOL, bytes) }
}
