// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. No firmware runs: the emulator puts the kernel and the boot image into
//! memory, and a page of words before the image (`options.rs`). The kernel's symbols follow the
//! boot image.

use crate::hash::Place;
use crate::layout::{IMAGE, REACHED};
use crate::options::{Options, number};
use crate::panic::AmigaOne;
use crate::regs;
use abi::arch::powerpc::layout::MOST_POOL;
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::boot::{Boot, Found, Mapping, look, pool_bytes};
use arch_common::platform::refuse;
use core::ops::{self, RangeInclusive};
use kcore::boot::Range;
use kcore::ram::Ram;
use plat_amigaone::RAM_END;

unsafe extern "C" {
    static kernel_end: u8;
}

/// Moves the boot image and the symbols to the end of the RAM that the kernel can access, so that
/// free RAM is in one piece.
fn move_up(bytes: u32, ram_end: u32) -> Range {
    let base = ram_end.min(REACHED).saturating_sub(bytes) / PAGE_SIZE * PAGE_SIZE;
    if base < IMAGE {
        refuse::<AmigaOne>(format_args!("too little memory: the boot image has {bytes} bytes"));
    }
    // SAFETY: both are RAM that is mapped one to one, and nobody else runs; they may overlap.
    unsafe { core::ptr::copy(IMAGE as *const u8, base as *mut u8, bytes as usize) };
    Range { base: PhysAddr(base), bytes }
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
        let pool = Range { base: PhysAddr(pool::BASE), bytes: pool_bytes::<Self>(ram) };
        is_free(ram, pool).then_some(pool)
    }
}

/// Whether a range lies completely in one of these.
fn is_free(ram: &[Range], range: Range) -> bool {
    ram.iter().any(|free| free.base <= range.base && range.end() <= free.end())
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
    let mut ram = Ram::default();
    ram.add(PhysAddr(0), PhysAddr(ram_end));
    let kernel = Range { base: PhysAddr(0), bytes: (&raw const kernel_end) as u32 };
    let image = move_up(bytes, ram_end);
    // SAFETY: boot; the image is RAM, and nobody else runs.
    let mut boot = unsafe { look::<AmigaOne>(Found { ram, kernel, image, symbols: None }) };
    let hash = (options.searches || !regs::fills_tlb_by_software())
        .then(|| take_hash(&mut boot, options.contexts));
    (boot, hash)
}
