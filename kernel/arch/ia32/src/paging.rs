// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own translations: its half GiB, which is the same in every space, and what boot
//! maps temporarily. The tables of spaces belong to the portable kernel.

use crate::features::{self, Features};
use crate::layout::{CPU_AREA, KERNEL_BASE, POOL_BASE};
use crate::panic::Pc;
use crate::regs;
use abi::PAGE_SIZE;
use abi::arch::ia32::layout::MOST_POOL;
use arch_common::boot::{Mapping, map_pages, pages};
use arch_common::place;
use arch_common::shared::{Page, Shared};
use core::ops::{Range, RangeInclusive};
use kcore::boot;
use mmu::ia32::bits::{GLOBAL, LARGE, PRESENT, WRITABLE};

/// Bytes of a 4 MiB page.
pub const LARGE_PAGE: u32 = 4 << 20;
/// Where the boot image is mapped while it is checked.
const IMAGE: u32 = 0xF000_0000;
/// After it, the kernel's symbols. They stay mapped.
const SYMBOLS: u32 = 0xFF00_0000;
/// Where [`peek`] maps what it reads.
const PEEK: u32 = 0xFFC0_0000;
/// The upper-level entries of the kernel start here.
const KERNEL_ENTRIES: usize = (KERNEL_BASE / LARGE_PAGE) as usize;
/// More pages than this are flushed by reloading CR3.
const FLUSH_ALL: u32 = 32;

/// Boot's page directory: the kernel's part and nothing else.
pub static DIRECTORY: Shared<Page<[u32; 1024]>> = Shared::new(Page([0; 1024]));
static CPU_TABLE: Shared<Page<[u32; 1024]>> = Shared::new(Page([0; 1024]));
static CPU_PAGE: Shared<Page<[u8; 4096]>> = Shared::new(Page([0; 4096]));
static ONES_PAGE: Shared<Page<[u8; 4096]>> = Shared::new(Page([0xff; 4096]));

fn physical_of<T>(page: &Shared<Page<T>>) -> u32 {
    page.address() - KERNEL_BASE
}

/// Physical address of boot's directory.
pub fn directory_physical() -> u32 {
    physical_of(&DIRECTORY)
}

/// The bit of a page that all spaces have at the same address, if the processor supports it.
const fn global(features: Features) -> u32 {
    if features.pge { GLOBAL } else { 0 }
}

fn set_directory(index: u32, entry: u32) {
    // SAFETY: boot's directory is written at boot only, with interrupts off.
    unsafe { (*DIRECTORY.get()).0[index as usize] = entry };
}

/// Maps a page of the processor's area, in all spaces at once.
fn set_cpu_area(index: usize, physical: u32) {
    // SAFETY: the table is written only here, with interrupts off; its pages are the kernel's own.
    unsafe {
        (*CPU_TABLE.get()).0[index] = physical | PRESENT | WRITABLE | global(features::get())
    };
}

/// Maps the processor's page, and the page of ones after the I/O bitmap.
pub fn map_cpu_area() {
    set_cpu_area(0, physical_of(&CPU_PAGE));
    set_cpu_area(3, physical_of(&ONES_PAGE));
}

/// Maps the two pages of the I/O bitmap, from this address of the pool on.
pub fn map_io_bitmap(map: u32) {
    for page in 0..2 {
        set_cpu_area(1 + page as usize, place::physical(map + page * PAGE_SIZE));
        regs::invlpg(CPU_AREA + (1 + page) * PAGE_SIZE);
    }
}

/// Copies the kernel's part into a new directory.
pub fn copy_kernel_entries(directory: &mut [u32]) {
    // SAFETY: read only after boot.
    let boots = unsafe { &(*DIRECTORY.get()).0 };
    directory[KERNEL_ENTRIES..].copy_from_slice(&boots[KERNEL_ENTRIES..]);
}

/// Drops translations of a range from the TLB, whether they are global or not.
pub fn flush(range: Range<u32>, global: bool) {
    if range.end.wrapping_sub(range.start) / PAGE_SIZE > FLUSH_ALL {
        if global { flush_global() } else { flush_all() }
    } else {
        range.step_by(PAGE_SIZE as usize).for_each(regs::invlpg);
    }
}

/// Drops all translations but global ones.
pub fn flush_all() {
    // SAFETY: the same directory again.
    unsafe { regs::write_cr3(regs::read_cr3()) };
}

/// Drops all translations.
pub fn flush_global() {
    if features::get().pge {
        regs::flip_global();
    } else {
        flush_all();
    }
}

fn map_large(linear: u32, physical: u32, flags: u32) {
    set_directory(linear >> 22, physical & !(LARGE_PAGE - 1) | PRESENT | WRITABLE | LARGE | flags);
    regs::invlpg(linear);
}

/// A word of physical memory, at boot.
pub fn peek(physical: u32) -> u32 {
    let byte = |at: u32| {
        map_large(PEEK, at, 0);
        // SAFETY: the page was just mapped; reading what the loader left has no effect.
        u32::from(unsafe { ((PEEK + (at & (LARGE_PAGE - 1))) as *const u8).read_volatile() })
    };
    (0..4).fold(0, |word, i| word | byte(physical.wrapping_add(i)) << (8 * i))
}

// The pool ends where the boot image is mapped.
const _: () = assert!(MOST_POOL <= IMAGE - POOL_BASE);

impl Mapping for Pc {
    const PAGE: u32 = LARGE_PAGE;
    const POOL: RangeInclusive<u32> = 2 * LARGE_PAGE..=MOST_POOL;
    const IMAGE: Range<u32> = IMAGE..SYMBOLS;
    const SYMBOLS: Range<u32> = SYMBOLS..PEEK;

    fn map(linear: u32, range: boot::Range) -> u32 {
        map_pages::<Self>(linear, range, |linear, physical| map_large(linear, physical, 0))
    }

    fn unmap(linear: u32, range: boot::Range) {
        for page in (linear..linear + pages::<Self>(range).1).step_by(LARGE_PAGE as usize) {
            set_directory(page >> 22, 0);
            regs::invlpg(page);
        }
    }
}

/// Gives the kernel's part its final form: image, symbols, the processor's area, pool, and nothing
/// else.
pub fn map_kernel(pool: boot::Range, features: Features) {
    place::set(pool.base);
    map_large(KERNEL_BASE, 0, global(features));
    set_directory(CPU_AREA >> 22, physical_of(&CPU_TABLE) | PRESENT | WRITABLE);
    for offset in (0..pool.bytes).step_by(LARGE_PAGE as usize) {
        map_large(POOL_BASE + offset, pool.base.0 + offset, global(features));
    }
    set_directory(0, 0);
    set_directory(PEEK >> 22, 0);
    // SAFETY: the same directory; drops what was mapped for boot.
    unsafe { regs::write_cr3(directory_physical()) };
}
