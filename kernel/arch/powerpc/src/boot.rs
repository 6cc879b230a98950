// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the machine has. No firmware ran: the emulator put kernel and boot image into memory, and before the image a page of words, which
//! says how much RAM there is and how many bytes lie there. After the boot image come the kernel's symbols.

use crate::layout::{IMAGE, REACHED, WORDS};
use crate::panic::AmigaOne;
use crate::{hash, regs};
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::boot::Boot;
use arch_common::platform::refuse;
use arch_common::words;
use kcore::boot::Range;
use kcore::ram::Ram;
use plat_amigaone::RAM_END;

/// The words.
fn page() -> &'static [u8] {
    // SAFETY: RAM that is mapped one to one; nobody writes it.
    unsafe { core::slice::from_raw_parts(WORDS as *const u8, PAGE_SIZE as usize) }
}

/// The number after a name and `=`.
fn number(name: &str) -> u32 {
    let text = page().split(|byte| *byte == 0).next().and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default();
    let mut words = text.split_ascii_whitespace().filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    match words.next().and_then(|value| value.parse().ok()) {
        Some(value) => value,
        None => refuse::<AmigaOne>(format_args!(
            "the page before the boot image does not say `{name}=NUMBER`: start the kernel by `./macadamia run`"
        )),
    }
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Moves what lies after the words to the end of the RAM that the kernel reaches, so that free RAM is in one piece.
fn move_up(bytes: u32, ram_end: u32) -> Range {
    let base = ram_end.min(REACHED).saturating_sub(bytes) / PAGE_SIZE * PAGE_SIZE;
    if base < IMAGE {
        refuse::<AmigaOne>(format_args!("too little memory: the boot image has {bytes} bytes"));
    }
    // SAFETY: both are RAM that is mapped one to one, and nobody else runs; they may overlap.
    unsafe { core::ptr::copy(IMAGE as *const u8, base as *mut u8, bytes as usize) };
    Range { base: PhysAddr(base), bytes }
}

/// Checks the boot image.
fn check_image(place: Range) -> abi::boot::Header {
    // SAFETY: RAM that is mapped one to one; nobody writes it.
    let bytes = unsafe { core::slice::from_raw_parts(place.base.0 as *const u8, place.bytes as usize) };
    match abi::boot::check(bytes) {
        Ok(header) => header,
        Err(refusal) => refuse::<AmigaOne>(format_args!("boot image refused: {}", refusal.text())),
    }
}

/// Looks at what is there. With what the kernel starts with comes where the hashed table is, if the processor walks one.
pub fn find() -> (Boot, Option<Range>) {
    let (ram_end, bytes) = (number("memory"), number("image"));
    if ram_end > RAM_END || !ram_end.is_multiple_of(PAGE_SIZE) {
        refuse::<AmigaOne>(format_args!("there cannot be {ram_end} bytes of RAM: at most {RAM_END}, and whole pages"));
    }
    let mut ram = Ram::default();
    ram.add(PhysAddr(0), PhysAddr(ram_end));
    ram.exclude(Range { base: PhysAddr(0), bytes: (&raw const kernel_end) as u32 });
    let moved = move_up(bytes, ram_end);
    ram.exclude(moved);
    let header = check_image(moved);
    let image = Range { base: moved.base, bytes: header.total };
    let symbols = Range { base: image.end(), bytes: moved.bytes - image.bytes };
    if symbols.bytes != 0 {
        // SAFETY: mapped one to one, and taken out of RAM.
        unsafe { words::set_symbols(symbols.base.0, symbols.bytes) };
    }
    // An eighth of RAM, whole tables, and as much as there is room for.
    let pool = Range { base: PhysAddr(IMAGE), bytes: (ram_end / 8).next_multiple_of(abi::TABLE_SPAN).clamp(abi::TABLE_SPAN, 64 << 20) };
    let hash = (!regs::fills_tlb_by_software()).then(|| {
        let bytes = hash::bytes(ram_end);
        Range { base: pool.end().align_up(bytes), bytes }
    });
    let end = hash.map_or(pool.end(), |hash| hash.end());
    if end > moved.base {
        refuse::<AmigaOne>(format_args!(
            "too little memory: {} MiB are not enough for the kernel and a boot image of {bytes} bytes",
            ram_end >> 20
        ));
    }
    ram.exclude(pool);
    if let Some(hash) = hash {
        ram.exclude(hash);
    }
    (Boot { pool, image: image.base, header, ram, ram_end: PhysAddr(ram_end) }, hash)
}
