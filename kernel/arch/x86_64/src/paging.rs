// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's own translations: the last GiB, which is the same in every space, and what boot
//! maps temporarily. The tables of spaces belong to the portable kernel.

use crate::layout::{AREA, CPU_AREA, DIRECTORY_BASE, KERNEL_BASE, POOL_BASE, wide};
use crate::panic::Pc;
use crate::regs;
use abi::PAGE_SIZE;
use abi::arch::x86_64::layout::MOST_POOL;
use arch_common::boot::{Mapping, map_pages, pages};
use arch_common::place;
use arch_common::shared::{Page, Shared};
use core::ops::{Range, RangeInclusive};
use kcore::boot;
use mmu::x86_64::bits::{
    CACHE_DISABLE, GLOBAL, LARGE, NO_EXECUTE, PRESENT, WRITABLE, WRITE_THROUGH,
};

/// Bytes of a 2 MiB page.
pub const LARGE_PAGE: u32 = 2 << 20;
/// Where the boot image is mapped while it is checked.
const IMAGE: u32 = 0xf000_0000;
/// After it, the kernel's symbols. They stay mapped.
const SYMBOLS: u32 = 0xff00_0000;
/// Where [`peek`] maps what it reads.
const PEEK: u32 = 0xffc0_0000;
/// More pages than this are flushed by reloading CR3.
const FLUSH_ALL: u64 = 32;
/// Entries of a table.
const ENTRIES: usize = 512;
/// The entry of a highest table that is the kernel's, in every space: the last.
const KERNELS: usize = ENTRIES - 1;
/// The place of the task-state segment in the entry area.
const TASK: usize = mmu::area::Page::Task as usize;
/// Bits of pages of the kernel that are not executed.
const DATA: u64 = WRITABLE | NO_EXECUTE;

/// A table.
pub type Table = Shared<Page<[u64; ENTRIES]>>;

/// Boot's highest table: the kernel's part and nothing else.
pub static TOP: Table = Shared::new(Page([0; ENTRIES]));
/// The one below it: entries of GiB.
pub static UPPER: Table = Shared::new(Page([0; ENTRIES]));
/// The directory of the last GiB. The entries that lead to it do not have the user bit.
pub static DIRECTORY: Table = Shared::new(Page([0; ENTRIES]));
/// The table of the first 2 MiB, where the image is: pages that are executed cannot be written.
static IMAGE_TABLE: Table = Shared::new(Page([0; ENTRIES]));
static CPU_TABLE: Table = Shared::new(Page([0; ENTRIES]));
/// The kernel's table for the entry area's addresses.
static AREA_TABLE: Table = Shared::new(Page([0; ENTRIES]));
static CPU_PAGE: Shared<Page<[u8; 4096]>> = Shared::new(Page([0; 4096]));
static ONES_PAGE: Shared<Page<[u8; 4096]>> = Shared::new(Page([0xff; 4096]));

/// The physical address of one of the kernel's own pages.
pub fn physical_of<T>(page: &Shared<Page<T>>) -> u32 {
    page.address() - KERNEL_BASE
}

/// Physical address of boot's highest table.
pub fn top_physical() -> u32 {
    physical_of(&TOP)
}

/// The index of a kernel's address in its directory.
const fn index(address: u32) -> usize {
    ((address - DIRECTORY_BASE) / LARGE_PAGE) as usize
}

fn set(table: &Table, index: usize, entry: u64) {
    // SAFETY: the kernel's own tables are written only here, with interrupts off, and nobody has a
    // reference meanwhile.
    unsafe { (*table.get()).0[index] = entry };
}

/// Maps a page of the processor's area, in all spaces at once.
fn set_cpu_area(index: usize, physical: u32) {
    set(&CPU_TABLE, index, u64::from(physical) | PRESENT | DATA | GLOBAL);
}

/// Maps the processor's page, and the page of ones after the I/O bitmap.
pub fn map_cpu_area() {
    set_cpu_area(0, physical_of(&CPU_PAGE));
    map_area(TASK, physical_of(&CPU_PAGE), false);
    map_area(TASK + 3, physical_of(&ONES_PAGE), false);
}

/// Where the page of ones is that ends an I/O bitmap.
pub fn ones_physical() -> u32 {
    physical_of(&ONES_PAGE)
}

/// Maps a page at a place of the entry area, as code or read-only.
pub fn map_area(place: usize, physical: u32, is_code: bool) {
    let flags = PRESENT | GLOBAL | if is_code { 0 } else { NO_EXECUTE };
    set(&AREA_TABLE, place, u64::from(physical) | flags);
}

/// Maps a page of a device's registers at this address of the processor's area.
pub fn map_device(address: u32, physical: u64) {
    let index = ((address - CPU_AREA) / PAGE_SIZE as u32) as usize;
    let device = CACHE_DISABLE | WRITE_THROUGH;
    set(&CPU_TABLE, index, physical | PRESENT | DATA | GLOBAL | device);
}

/// Maps the two pages of the I/O bitmap, from this address of the pool on.
pub fn map_io_bitmap(map: u32) {
    for page in 0..2 {
        let offset = page * PAGE_SIZE as u32;
        let physical = place::physical(map + offset);
        map_area(TASK + 1 + page as usize, physical, false);
        regs::invlpg(wide(AREA + (TASK as u32 + 1) * PAGE_SIZE as u32 + offset));
    }
}

/// Copies the kernel's part into a new highest table.
pub fn copy_kernel_entries(top: &mut [u64]) {
    // SAFETY: read only after boot.
    let boots = unsafe { &(*TOP.get()).0 };
    top[KERNELS] = boots[KERNELS];
}

/// Drops translations of a range of users' addresses from the TLB, of the space that is entered.
pub fn flush(range: Range<u64>) {
    if (range.end - range.start) / PAGE_SIZE > FLUSH_ALL {
        // SAFETY: the same table again. What is read has no bit that would keep translations.
        unsafe { regs::write_cr3(regs::read_cr3()) };
    } else {
        range.step_by(PAGE_SIZE as usize).for_each(regs::invlpg);
    }
}

fn map_large(address: u32, physical: u32, flags: u64) {
    let page = u64::from(physical & !(LARGE_PAGE - 1));
    set(&DIRECTORY, index(address), page | PRESENT | LARGE | GLOBAL | flags);
    regs::invlpg(wide(address));
}

/// A word of physical memory, at boot.
pub fn peek(physical: u32) -> u32 {
    let byte = |at: u32| {
        map_large(PEEK, at, DATA);
        let address = wide(PEEK + (at & (LARGE_PAGE - 1)));
        // SAFETY: the page was just mapped; reading what the loader left has no effect.
        u32::from(unsafe { (address as *const u8).read_volatile() })
    };
    (0..4).fold(0, |word, i| word | byte(physical.wrapping_add(i)) << (8 * i))
}

// The pool ends where the boot image is mapped.
const _: () = assert!(MOST_POOL <= IMAGE - POOL_BASE);

impl Mapping for Pc {
    const PAGE: u32 = LARGE_PAGE;
    const POOL: RangeInclusive<u32> = 4 * LARGE_PAGE..=MOST_POOL;
    const IMAGE: Range<u32> = IMAGE..SYMBOLS;
    const SYMBOLS: Range<u32> = SYMBOLS..PEEK;

    fn map(address: u32, range: boot::Range) -> u32 {
        map_pages::<Self>(address, range, |address, physical| map_large(address, physical, DATA))
    }

    fn unmap(address: u32, range: boot::Range) {
        for page in (address..address + pages::<Self>(range).1).step_by(LARGE_PAGE as usize) {
            set(&DIRECTORY, index(page), 0);
            regs::invlpg(wide(page));
        }
    }
}

unsafe extern "C" {
    /// The first byte of the image's code that is linked high.
    static text_start: u8;
    /// The end of its code, where read-only data begins.
    static text_end: u8;
    /// The end of the read-only data.
    static data_start: u8;
}

/// Each page of the first 2 MiB with the rights that it needs.
fn map_image() {
    let [text, constants, data] =
        [&raw const text_start, &raw const text_end, &raw const data_start]
            .map(|symbol| symbol as u32 - KERNEL_BASE);
    for page in 0..ENTRIES {
        let physical = page as u32 * PAGE_SIZE as u32;
        let flags = match physical {
            _ if (text..constants).contains(&physical) => 0,
            _ if (constants..data).contains(&physical) => NO_EXECUTE,
            _ => DATA,
        };
        set(&IMAGE_TABLE, page, u64::from(physical) | PRESENT | GLOBAL | flags);
    }
}

/// Gives the kernel's part its final form: image, symbols, the processor's area, pool, and nothing
/// else.
pub fn map_kernel(pool: boot::Range) {
    place::set(pool.base);
    map_image();
    for (address, table) in
        [(KERNEL_BASE, &IMAGE_TABLE), (CPU_AREA, &CPU_TABLE), (AREA, &AREA_TABLE)]
    {
        set(&DIRECTORY, index(address), u64::from(physical_of(table)) | PRESENT | WRITABLE);
    }
    map_large(KERNEL_BASE + LARGE_PAGE, LARGE_PAGE, DATA);
    for offset in (0..pool.bytes as u32).step_by(LARGE_PAGE as usize) {
        map_large(POOL_BASE + offset, pool.base.0 as u32 + offset, DATA);
    }
    set(&DIRECTORY, index(PEEK), 0);
    // What `start.S` needed to turn paging on.
    set(&DIRECTORY, 0, 0);
    set(&UPPER, 0, 0);
    set(&TOP, 0, 0);
    regs::invlpg(wide(PEEK));
    regs::invlpg(wide(DIRECTORY_BASE));
    // SAFETY: the same table; drops what was mapped for boot.
    unsafe { regs::write_cr3(top_physical().into()) };
}
