// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processor's only first-level table, and the kernel's part of it.
//!
//! The processor reads tables from memory, not through the data cache: so each write to a table is
//! cleaned.

use crate::cache;
use crate::layout::{
    CLEANING, COUNTER_PAGE, DEVICES, IMAGE, KERNEL_BASE, POOL_BASE, SYMBOLS, VECTORS, section,
};
use crate::panic::Versatile;
use crate::regs;
use abi::arch::armv5::layout::MOST_POOL;
use abi::utcb::KIP_ADDRESS;
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::boot::{Mapping, map_pages, pages};
use arch_common::place;
use arch_common::shared::Shared;
use core::ops::{Range, RangeInclusive};
use kcore::boot;
use mmu::armv5::{SECTION_BYTES, bits, coarse, kernel_section};
use mmu::fass::{GLOBAL, KERNEL, SECTIONS};
use plat_versatilepb::{counter, registers};

/// The first-level table.
#[repr(C, align(16384))]
pub struct First([u32; SECTIONS]);
/// A coarse table.
#[repr(C, align(1024))]
#[derive(Clone, Copy)]
pub struct Coarse(pub [u32; 256]);

/// The caching page directory.
pub static DIRECTORY: Shared<First> = Shared::new(First([0; SECTIONS]));
/// The coarse table of the vectors' section.
static VECTOR_TABLE: Shared<Coarse> = Shared::new(Coarse([0; 256]));
/// The coarse table of the information page's section.
static GLOBAL_TABLE: Shared<Coarse> = Shared::new(Coarse([0; 256]));

/// A page that users read and the kernel writes.
const READ_ONLY: u32 = bits::SMALL | bits::READ_ONLY;
/// The same, cached.
const CACHED: u32 = READ_ONLY | bits::CACHED | bits::BUFFERED;

unsafe extern "C" {
    static vectors: u8;
}

/// Physical address of something in the kernel's image.
pub const fn physical_of_image(address: u32) -> u32 {
    address - KERNEL_BASE
}

/// Writes an entry of the directory.
pub fn set(section: usize, entry: u32) {
    let at = DIRECTORY.address() + 4 * section as u32;
    // SAFETY: `section` is checked by the index; the table is written here only, one processor,
    // interrupts off.
    unsafe { (*DIRECTORY.get()).0[section] = entry };
    cache::clean(at..at + 4);
}

/// An entry of the directory.
pub fn get(section: usize) -> u32 {
    // SAFETY: as `set`.
    unsafe { (*DIRECTORY.get()).0[section] }
}

// The pool ends where the board's registers appear.
const _: () = assert!(MOST_POOL <= DEVICES - POOL_BASE);

impl Mapping for Versatile {
    const PAGE: u32 = SECTION_BYTES;
    const POOL: RangeInclusive<u32> = 4 * SECTION_BYTES..=MOST_POOL;
    const IMAGE: Range<u32> = IMAGE;
    const SYMBOLS: Range<u32> = SYMBOLS;

    fn map(address: u32, range: boot::Range) -> u32 {
        map_pages::<Self>(address, range, |address, physical| {
            set(section(address), kernel_section(physical, KERNEL, true))
        })
    }

    /// No line of it stays in the cache.
    fn unmap(address: u32, range: boot::Range) {
        let (_, bytes) = pages::<Self>(range);
        cache::clean_all();
        (section(address)..section(address + (bytes - 1)) + 1).for_each(|index| set(index, 0));
        regs::flush_all(0);
    }
}

fn set_coarse(table: &Shared<Coarse>, index: usize, entry: u32) {
    let at = table.address() + 4 * index as u32;
    // SAFETY: one processor, interrupts off; the table is static and written here only.
    unsafe { (*table.get()).0[index] = entry };
    cache::clean(at..at + 4);
}

/// Gives the kernel's part its final form: image, registers of the board, pool, vectors, and
/// nothing where the boot loader was. `start.S` has mapped the image. Entries in the same line of
/// the table are not written again, because the processor may read one before the line is cleaned.
pub fn map_kernel(pool: boot::Range) {
    place::set(pool.base);
    Versatile::map(POOL_BASE, pool);
    // Lines of it are taken and never written back: any RAM does.
    Versatile::map(CLEANING, boot::Range { base: PhysAddr(0), bytes: SECTION_BYTES });
    let page = (&raw const vectors) as u32;
    set_coarse(
        &VECTOR_TABLE,
        (VECTORS % SECTION_BYTES / PAGE_SIZE) as usize,
        physical_of_image(page) | CACHED,
    );
    // From now on it has the address that users see.
    cache::clean_and_drop(page..page + PAGE_SIZE);
    set(section(VECTORS), coarse(physical_of_image(VECTOR_TABLE.address()), GLOBAL));
    set(section(0), 0);
    regs::flush_all(0);
}

/// Whether an address is in a page that all spaces can read: the information page, the counter's,
/// or that of the vectors.
pub fn is_global(address: u32) -> bool {
    (KIP_ADDRESS..KIP_ADDRESS + 2 * PAGE_SIZE).contains(&address) || address >= VECTORS
}

/// Maps the board's registers, before the kernel prints anything.
pub fn map_devices() {
    for offset in (0..registers::BYTES).step_by(SECTION_BYTES as usize) {
        set(section(DEVICES + offset), kernel_section(registers::PHYSICAL + offset, KERNEL, false));
    }
}

/// Shows the information page, and the counter's page after it, to all spaces.
pub fn show_information_page(physical: u32) {
    let index = (KIP_ADDRESS % SECTION_BYTES / PAGE_SIZE) as usize;
    set_coarse(&GLOBAL_TABLE, index, physical | CACHED);
    set_coarse(&GLOBAL_TABLE, index + 1, counter::PHYSICAL & bits::ADDRESS | READ_ONLY);
    set(section(KIP_ADDRESS), coarse(physical_of_image(GLOBAL_TABLE.address()), GLOBAL));
    if !cache::is_arms_own() {
        lock_translations();
    }
}

/// Locks translations in the TLB of an XScale core: those that each entry into the kernel, and each
/// read of the clock, uses: vectors, the kernel's image, threads, the information page, the
/// counter. The TLB replaces its entries in turn, so the entries that spaces use one after the
/// other would displace those that all spaces use (Intel XScale Core Developer's Manual, section
/// 3.4.3).
fn lock_translations() {
    for address in [VECTORS, KERNEL_BASE, POOL_BASE, KIP_ADDRESS, COUNTER_PAGE] {
        regs::flush_data_page(address);
        regs::lock_data_page(address);
    }
}
