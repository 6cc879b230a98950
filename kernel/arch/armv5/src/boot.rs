// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the boot loader left: a list of tags, as Linux gets it (Linux's Documentation/arch/arm/booting.rst), with RAM and where the
//! boot image is: the initial RAM disk. The kernel's symbols may be behind the boot image, in the same RAM disk.

use crate::layout::{DEVICES, IMAGE, IMAGE_ROOM, KERNEL_BASE, KERNEL_BYTES, POOL_BASE, SYMBOLS};
use crate::paging::{map_range, sections_of, unmap_sections};
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::words;
use core::fmt::Write;
use kcore::boot::Range;
use kcore::ram::Ram;
use mmu::armv5::SECTION_BYTES;
use plat_versatilepb::uart::Console;

/// Kinds of tags.
mod tag {
    pub const NONE: u32 = 0;
    pub const CORE: u32 = 0x5441_0001;
    pub const MEMORY: u32 = 0x5441_0002;
    pub const RAM_DISK: u32 = 0x5442_0005;
}

/// Words of tags that are looked at, at most.
const MOST_WORDS: u32 = 4096;

/// What boot found.
pub struct Boot {
    /// Where the pool is.
    pub pool: Range,
    /// Where the boot image is.
    pub image: PhysAddr,
    /// Its checked header.
    pub header: abi::boot::Header,
    /// Free RAM.
    pub ram: Ram,
    /// End of RAM.
    pub ram_end: PhysAddr,
}

/// Says why the kernel cannot start, and ends the machine.
fn refuse(reason: core::fmt::Arguments<'_>) -> ! {
    let _ = writeln!(Console, "{reason}");
    plat_versatilepb::power_off()
}

/// A word of the first MiB of memory, which is mapped.
fn word(physical: u32) -> u32 {
    if physical >= SECTION_BYTES || !physical.is_multiple_of(4) {
        refuse(format_args!("the boot loader's list of tags is not in the first MiB: start the kernel as Linux is started"));
    }
    // SAFETY: mapped and aligned; reading what the loader left has no effect.
    unsafe { ((KERNEL_BASE + physical) as *const u32).read() }
}

/// RAM, and the RAM disk.
fn tags(list: u32) -> (Ram, Range) {
    let (mut ram, mut disk) = (Ram::default(), Range::default());
    if word(list + 4) != tag::CORE {
        refuse(format_args!("the boot loader left no list of tags: start the kernel as Linux is started"));
    }
    let mut at = list;
    while at < list + 4 * MOST_WORDS {
        let (words, kind) = (word(at), word(at + 4));
        let value = |index: u32| word(at + 8 + 4 * index);
        match kind {
            tag::NONE => break,
            tag::MEMORY => {
                let (bytes, start) = (value(0), value(1));
                ram.add(PhysAddr(start), PhysAddr(start.saturating_add(bytes)));
            }
            tag::RAM_DISK => disk = Range { base: PhysAddr(value(0)), bytes: value(1) },
            _ => {}
        }
        if words < 2 {
            refuse(format_args!("the boot loader's list of tags is damaged"));
        }
        at += 4 * words;
    }
    (ram, disk)
}

/// Checks the boot image, which is mapped at `address`, and has these bytes at most.
fn check_image(address: u32, disk: Range) -> abi::boot::Header {
    // SAFETY: `map_range` mapped it; it is RAM (`find`), and nobody writes it.
    let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, disk.bytes as usize) };
    match abi::boot::check(bytes) {
        Ok(_) if !disk.base.is_aligned(PAGE_SIZE) => refuse(format_args!("the boot loader did not align the boot image to a page")),
        Ok(header) => header,
        Err(refusal) => refuse(format_args!("boot image refused: {}", refusal.text())),
    }
}

/// A place for the pool: an eighth of RAM, aligned to a section, as high as it goes.
fn place_pool(ram: &[Range]) -> Range {
    let total: u64 = ram.iter().map(|r| u64::from(r.bytes)).sum();
    let bytes = ((total / 8) as u32).next_multiple_of(SECTION_BYTES).clamp(4 * SECTION_BYTES, DEVICES - POOL_BASE);
    let base = |r: &Range| r.end().align_down(SECTION_BYTES).0.checked_sub(bytes).map(PhysAddr).filter(|base| *base >= r.base);
    match ram.iter().filter_map(base).max() {
        Some(base) => Range { base, bytes },
        None => refuse(format_args!("too little memory: no free {} MiB for the kernel", bytes >> 20)),
    }
}

/// The RAM disk at the end of RAM, if there is room: a boot loader may put it in the middle, and free RAM is to be in one piece.
fn moved_up(ram: &[Range], disk: Range) -> Range {
    let Some(last) = ram.iter().max_by_key(|range| range.end()) else { return disk };
    let base = PhysAddr(last.end().0.saturating_sub(disk.bytes)).align_down(PAGE_SIZE);
    if !disk.base.is_aligned(PAGE_SIZE) || base < disk.end().max(last.base) {
        return disk;
    }
    let there = Range { base, ..disk };
    let (from, to) = (map_range(IMAGE, disk), map_range(IMAGE + IMAGE_ROOM, there));
    // SAFETY: both are mapped. Both are RAM and do not overlap (above), and nobody else runs.
    unsafe { core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, disk.bytes as usize) };
    unmap_sections(IMAGE, sections_of(disk).1);
    unmap_sections(IMAGE + IMAGE_ROOM, sections_of(there).1);
    there
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Looks at what the loader left, from the list of tags at this physical address on.
pub fn find(list: u32) -> Boot {
    let (mut ram, disk) = tags(list);
    let ram_end = ram.ranges().iter().map(Range::end).max().unwrap_or_default();
    let room = IMAGE_ROOM - SECTION_BYTES;
    let is_ram =
        ram.ranges().iter().any(|r| disk.base >= r.base && disk.bytes <= r.bytes && disk.base.0 - r.base.0 <= r.bytes - disk.bytes);
    if disk.bytes == 0 || !is_ram {
        refuse(format_args!("the boot loader gave no boot image: give it as the initial RAM disk"));
    }
    if disk.bytes > room {
        refuse(format_args!("the boot image is too large: {} MiB fit", room >> 20));
    }
    let disk = moved_up(ram.ranges(), disk);
    let address = map_range(IMAGE, disk);
    let header = check_image(address, disk);
    unmap_sections(IMAGE, sections_of(disk).1);
    let image = Range { base: disk.base, bytes: header.total };
    ram.exclude(Range { base: PhysAddr(0), bytes: (&raw const kernel_end) as u32 - KERNEL_BASE });
    ram.exclude(disk);
    let symbols = Range { base: image.end(), bytes: disk.bytes - image.bytes };
    if symbols.bytes != 0 && symbols.bytes < KERNEL_BYTES {
        // SAFETY: mapped for good, and taken out of RAM.
        unsafe { words::set_symbols(map_range(SYMBOLS, symbols), symbols.bytes) };
    }
    let pool = place_pool(ram.ranges());
    ram.exclude(pool);
    if ram.left_out() != 0 {
        let _ = writeln!(Console, "{} KiB of RAM are not used: it is in more pieces than can be told of", ram.left_out() >> 10);
    }
    Boot { pool, image: image.base, header, ram, ram_end }
}
