// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. No firmware runs: the emulator puts the kernel and the boot image into
//! memory, and a page of words before the image (`options.rs`). The kernel's symbols follow the
//! boot image.

use crate::hash::Place;
use crate::layout::{IMAGE, REACHED};
use crate::options::{Options, number};
use crate::panic::AmigaOne;
use crate::regs;
use abi::PAGE_SIZE;
use abi::arch::powerpc::layout::MOST_POOL;
use arch_common::boot::{Boot, Mapping, is_free, look_at, pool_at};
use arch_common::platform::refuse;
use core::ops::{self, RangeInclusive};
use kcore::boot::Range;
use plat_amigaone::RAM_END;

unsafe extern "C" {
    static kernel_end: u8;
}

impl Mapping for AmigaOne {
    const PAGE: u32 = abi::TABLE_SPAN;
    const POOL: RangeInclusive<u32> = abi::TABLE_SPAN..=MOST_POOL;
    const IMAGE: ops::Range<u32> = 0..REACHED;
    const SYMBOLS: ops::Range<u32> = 0..REACHED;

    // The kernel sees RAM at its physical addresses.
    fn map(_: u32, range: Range) -> u32 {
        range.base.0
    }

    fn unmap(_: u32, _: Range) {}

    /// The pool's addresses are physical, and the address of the first Thread is a constant.
    fn place_pool(ram: &[Range]) -> Option<Range> {
        pool_at::<Self>(pool::BASE, ram)
    }
}

/// Reserves memory after the pool for a hashed table, and for a bit for each of this many contexts.
fn take_hash(boot: &mut Boot, contexts: u32) -> Place {
    let place = Place::new(boot.pool.end(), boot.ram_end.0, contexts);
    let range = place.range();
    if !is_free(boot.ram.ranges(), range) {
        refuse::<AmigaOne>(format_args!(
            "too little memory: no free {} KiB for the hashed table",
            range.bytes >> 10
        ));
    }
    boot.ram.exclude(range);
    place
}

/// Examines the machine. Returns what the kernel starts with, and where the hashed table is, if
/// there is one.
pub fn find(options: &Options) -> (Boot, Option<Place>) {
    let (ram_end, bytes) = (number("memory"), number("image"));
    if ram_end > RAM_END || !ram_end.is_multiple_of(PAGE_SIZE) {
        refuse::<AmigaOne>(format_args!(
            "there cannot be {ram_end} bytes of RAM: at most {RAM_END}, and whole pages"
        ));
    }
    let end = (&raw const kernel_end) as u32;
    // SAFETY: boot; the emulator put the image at this address, nobody else runs, and RAM is
    // mapped.
    let mut boot = unsafe { look_at::<AmigaOne>(ram_end, end, IMAGE, bytes) };
    let hash = (options.searches || !regs::fills_tlb_by_software())
        .then(|| take_hash(&mut boot, options.contexts));
    (boot, hash)
}
