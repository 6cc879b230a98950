// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the boot loader left: a list of tags, as Linux gets it (Linux's
//! Documentation/arch/arm/booting.rst). It says where RAM is, and where the initial RAM disk is,
//! which is the boot image. The kernel's symbols may follow the boot image in the same RAM disk.

use crate::layout::KERNEL_BASE;
use crate::panic::Versatile;
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::boot::{Boot, Found, Mapping, fits, look};
use arch_common::platform::refuse;
use core::ops;
use kcore::boot::Range;
use kcore::ram::Ram;
use mmu::armv5::SECTION_BYTES;

/// Kinds of tags.
mod tag {
    pub const NONE: u32 = 0;
    pub const CORE: u32 = 0x5441_0001;
    pub const MEMORY: u32 = 0x5441_0002;
    pub const RAM_DISK: u32 = 0x5442_0005;
}

/// The most words of tags that are read.
const MOST_WORDS: u32 = 4096;

/// A word of the first MiB of memory, which is mapped.
fn word(physical: u32) -> u32 {
    if physical >= SECTION_BYTES || !physical.is_multiple_of(4) {
        refuse::<Versatile>(format_args!(
            "the boot loader's list of tags is not in the first MiB: start the kernel as Linux is started"
        ));
    }
    // SAFETY: mapped and aligned; reading what the loader left has no effect.
    unsafe { ((KERNEL_BASE + physical) as *const u32).read() }
}

/// RAM, and the RAM disk.
fn tags(list: u32) -> (Ram, Range) {
    let (mut ram, mut disk) = (Ram::default(), Range::default());
    if word(list + 4) != tag::CORE {
        refuse::<Versatile>(format_args!(
            "the boot loader left no list of tags: start the kernel as Linux is started"
        ));
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
            refuse::<Versatile>(format_args!("the boot loader's list of tags is damaged"));
        }
        at += 4 * words;
    }
    (ram, disk)
}

/// Moves the RAM disk to the end of RAM, if there is room: a boot loader may put it into the
/// middle, and free RAM has to be in one piece.
fn moved_up(ram: &[Range], disk: Range) -> Range {
    let Some(last) = ram.iter().max_by_key(|range| range.end()) else { return disk };
    let base = PhysAddr(last.end().0.saturating_sub(disk.bytes)).align_down(PAGE_SIZE);
    let (here, above) = rooms();
    let fits = fits::<Versatile>(disk, &here) && fits::<Versatile>(disk, &above);
    if !fits || !disk.base.is_aligned(PAGE_SIZE) || base < disk.end().max(last.base) {
        return disk;
    }
    let there = Range { base, ..disk };
    let (from, to) = (Versatile::map(here.start, disk), Versatile::map(above.start, there));
    // SAFETY: both are mapped. Both are RAM and do not overlap (above), and nobody else runs.
    unsafe {
        core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, disk.bytes as usize)
    };
    Versatile::unmap(here.start, disk);
    Versatile::unmap(above.start, there);
    there
}

/// Where the image is mapped, in two halves: the old and the new place while it is moved.
fn rooms() -> (ops::Range<u32>, ops::Range<u32>) {
    let all = Versatile::IMAGE;
    let middle = all.start.midpoint(all.end).next_multiple_of(SECTION_BYTES);
    (all.start..middle, middle..all.end)
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Reads what the loader left, from the list of tags at this physical address on.
pub fn find(list: u32) -> Boot {
    let (ram, disk) = tags(list);
    let is_ram = ram.ranges().iter().any(|r| {
        disk.base >= r.base
            && disk.bytes <= r.bytes
            && disk.base.0 - r.base.0 <= r.bytes - disk.bytes
    });
    if disk.bytes == 0 || !is_ram {
        refuse::<Versatile>(format_args!(
            "the boot loader gave no boot image: give it as the initial RAM disk"
        ));
    }
    let image = moved_up(ram.ranges(), disk);
    let kernel = Range { base: PhysAddr(0), bytes: (&raw const kernel_end) as u32 - KERNEL_BASE };
    // SAFETY: boot; the image is RAM, and nobody else runs.
    unsafe { look::<Versatile>(Found { ram, kernel, image, symbols: None }) }
}
