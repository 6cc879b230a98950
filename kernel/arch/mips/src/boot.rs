// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. No firmware runs: the emulator puts the kernel and the boot image into
//! memory, and a page of words before the image (`options.rs`). The kernel's symbols follow the
//! boot image.

use crate::layout::{POOL, REACHED, physical, reached};
use crate::options::number;
use crate::panic::Malta;
use abi::arch::mips::layout::MOST_POOL;
use arch_common::boot::{Boot, Mapping, look_at, pool_at};
use core::ops::{self, RangeInclusive};
use kcore::boot::Range;

unsafe extern "C" {
    static kernel_end: u8;
}

impl Mapping for Malta {
    const PAGE: u32 = 2 << 20;
    const POOL: RangeInclusive<u32> = 4 << 20..=MOST_POOL;
    const IMAGE: ops::Range<u32> = 0..REACHED;
    const SYMBOLS: ops::Range<u32> = 0..REACHED;

    // The kernel sees RAM in kseg0.
    fn map(_: u32, range: Range) -> u32 {
        reached(range.base.0 as u32)
    }

    fn unmap(_: u32, _: Range) {}

    /// The pool's address is a constant, and so is its physical address.
    fn place_pool(ram: &[Range]) -> Option<Range> {
        pool_at::<Self>(POOL, ram)
    }
}

/// Examines the machine.
pub fn find() -> Boot {
    let (ram_end, bytes) = (number("memory").min(REACHED), number("image"));
    let end = physical((&raw const kernel_end) as u32);
    // SAFETY: boot; the emulator put the image at this address, nobody else runs, and RAM is
    // mapped.
    unsafe { look_at::<Malta>(ram_end, end, POOL, bytes) }
}
