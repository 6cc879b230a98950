// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a Multiboot 1 boot loader to [`crate::start`].
//!
//! Paging goes on at once, with the first 4 MiB seen at 0 (until the jump) and at
//! `KERNEL_BASE`. Everything that the loader left (information, modules) is looked at
//! through [`peek`], a 4 MiB window; the boot image is checked through [`IMAGE`].

use crate::layout::{KERNEL_BASE, POOL_BASE, WINDOW};
use crate::regs::{self, Features, cpuid};
use crate::{panic, state};
use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::fmt::Write;
use mmu::ia32::bits::{GLOBAL, LARGE, PRESENT, WRITABLE};
use plat_pc::uart::Console;
use plat_pc::{Fault, TscScale, tsc, uart};

/// Bytes of a 4 MiB page.
const LARGE_PAGE: u32 = 4 << 20;
/// Where the boot image is mapped while it is checked; the symbols stay mapped at its end.
const IMAGE: u32 = 0xF000_0000;
const SYMBOL_AREA: u32 = 0xFF00_0000;
const PEEK: u32 = 0xFFC0_0000;
const MAGIC: u32 = 0x2BAD_B002;
const STACK_BYTES: usize = 16384;

/// A table at a fixed place, written at boot.
#[repr(C, align(4096))]
pub struct Page<T>(UnsafeCell<T>);
// SAFETY: one processor; see each use.
unsafe impl<T> Sync for Page<T> {}

/// The kernel's stack: there is one.
pub static KERNEL_STACK: Page<[u8; STACK_BYTES]> = Page(UnsafeCell::new([0; STACK_BYTES]));
/// Where the kernel says its last words.
pub static PANIC_STACK: Page<[u8; 4096]> = Page(UnsafeCell::new([0; 4096]));
static DIRECTORY: Page<[u32; 1024]> = Page(UnsafeCell::new([0; 1024]));
static WINDOW_TABLE: Page<[u32; 1024]> = Page(UnsafeCell::new([0; 1024]));
static CPU_PAGE: Page<[u8; 4096]> = Page(UnsafeCell::new([0; 4096]));
static ONES_PAGE: Page<[u8; 4096]> = Page(UnsafeCell::new([0xff; 4096]));

global_asm!(
    ".section .multiboot, \"a\", @progbits",
    ".balign 4",
    ".long 0x1BADB002, 3, -(0x1BADB002 + 3)",
    ".section .text.boot, \"ax\", @progbits",
    ".global _start",
    "_start:",
    "cld",
    "mov ecx, offset {directory} - {base}",
    "mov dword ptr [ecx], {large}",
    "mov dword ptr [ecx + {kernel_entry}], {large}",
    "mov edx, cr4",
    "or edx, {pse}",
    "mov cr4, edx",
    "mov cr3, ecx",
    "mov edx, cr0",
    "or edx, 0x80000000",
    "mov cr0, edx",
    "mov edx, offset high",
    "jmp edx",
    "high:",
    "mov esp, offset {stack} + {stack_bytes}",
    "xor ebp, ebp",
    "push ebx",
    "push eax",
    "call {entry}",
    "ud2",
    ".text",
    directory = sym DIRECTORY,
    base = const KERNEL_BASE,
    large = const PRESENT | WRITABLE | LARGE,
    kernel_entry = const (KERNEL_BASE >> 22) * 4,
    pse = const regs::CR4_PSE,
    stack = sym KERNEL_STACK,
    stack_bytes = const STACK_BYTES,
    entry = sym boot_entry,
);

/// A range of physical addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Range {
    /// First.
    pub base: u32,
    /// How many.
    pub bytes: u32,
}

impl Range {
    const fn end(self) -> u32 {
        self.base + self.bytes
    }
}

/// What boot found.
pub struct Boot {
    /// Where the pool is.
    pub pool_physical: u32,
    /// Its size.
    pub pool_bytes: u32,
    /// Where the boot image is.
    pub image_physical: u32,
    /// Its checked header.
    pub header: abi::boot::Header,
    /// Free RAM.
    pub ram: [Range; 16],
    /// Entries of `ram` in use.
    pub ram_count: usize,
    /// End of RAM below 4 GiB.
    pub ram_end: u32,
    /// The processor.
    pub features: Features,
    /// The clock.
    pub tsc: TscScale,
}

/// Says why the kernel cannot start, and ends the machine.
fn refuse(reason: core::fmt::Arguments<'_>) -> ! {
    let _ = writeln!(Console, "{reason}");
    plat_pc::power_off()
}

fn physical_of<T>(page: &Page<T>) -> u32 {
    page.0.get() as u32 - KERNEL_BASE
}

/// Physical address of boot's directory.
pub fn directory_physical() -> u32 {
    physical_of(&DIRECTORY)
}
/// Physical address of the processor's page.
pub fn cpu_page_physical() -> u32 {
    physical_of(&CPU_PAGE)
}
/// Physical address of a page of ones.
pub fn ones_page_physical() -> u32 {
    physical_of(&ONES_PAGE)
}

/// Maps a page of the window, in all spaces at once: the processor's page is touched at every entry.
pub fn set_window(index: usize, physical: u32) {
    let global = if crate::features().pge { GLOBAL } else { 0 };
    // SAFETY: the table is written only here, with interrupts off; its pages are the kernel's own.
    unsafe { (*WINDOW_TABLE.0.get())[index] = physical | PRESENT | WRITABLE | global };
}

fn set_directory(index: u32, entry: u32) {
    // SAFETY: boot's directory is written at boot only, with interrupts off.
    unsafe { (*DIRECTORY.0.get())[index as usize] = entry };
}

/// Copies the kernel's part into a new directory.
pub fn copy_kernel_entries(top: &mut [u32; 1024]) {
    // SAFETY: read only after boot.
    let directory = unsafe { &*DIRECTORY.0.get() };
    top[crate::port::KERNEL_ENTRIES..].copy_from_slice(&directory[crate::port::KERNEL_ENTRIES..]);
}

fn map_large(linear: u32, physical: u32, flags: u32) {
    set_directory(linear >> 22, physical & !(LARGE_PAGE - 1) | PRESENT | WRITABLE | LARGE | flags);
    regs::invlpg(linear);
}

/// The two words at a place of the kernel's stack, if it is one.
pub fn stack_words(address: u32) -> Option<[u32; 2]> {
    let start = KERNEL_STACK.0.get() as u32;
    let inside = address >= start && address.checked_add(8)? <= start + STACK_BYTES as u32 && address.is_multiple_of(4);
    // SAFETY: inside the stack and aligned.
    inside.then(|| unsafe { (address as *const [u32; 2]).read() })
}

/// A word of physical memory.
fn peek(physical: u32) -> u32 {
    let byte = |at: u32| {
        map_large(PEEK, at, 0);
        // SAFETY: the page was just mapped; reading what the loader left has no effect.
        u32::from(unsafe { ((PEEK + (at & (LARGE_PAGE - 1))) as *const u8).read_volatile() })
    };
    (0..4).fold(0, |word, i| word | byte(physical.wrapping_add(i)) << (8 * i))
}

/// Maps a physical range at `linear`, which has room for it; returns its address.
fn map_range(linear: u32, range: Range) -> u32 {
    let first = range.base & !(LARGE_PAGE - 1);
    for (i, page) in (first..=(range.end() - 1) & !(LARGE_PAGE - 1)).step_by(LARGE_PAGE as usize).enumerate() {
        map_large(linear + i as u32 * LARGE_PAGE, page, 0);
    }
    linear + (range.base - first)
}

fn check_processor() -> Features {
    if !regs::has_cpuid() {
        refuse(format_args!("this processor is too old: it has no CPUID (a Pentium or later is needed)"));
    }
    let (signature, bits) = regs::cpuid1();
    for (bit, what) in [(cpuid::FPU, "FPU"), (cpuid::PSE, "4 MiB pages (PSE)"), (cpuid::TSC, "time-stamp counter (TSC)")] {
        if bits & bit == 0 {
            refuse(format_args!("this processor lacks what the kernel needs: {what}"));
        }
    }
    // The first Pentium Pros announce sysenter but do not have it (Intel SDM, CPUID).
    let early = signature & 0xff0 == 0x610 && signature & 0xf < 3;
    Features {
        pge: bits & cpuid::PGE != 0,
        sep: bits & cpuid::SEP != 0 && !early,
        fxsr: bits & cpuid::FXSR != 0,
        sse: bits & cpuid::SSE != 0 && bits & cpuid::FXSR != 0,
        mxcsr_bits: 0,
    }
}

/// RAM below 4 GiB as the loader reports it, whole pages.
fn memory_map(info: u32) -> ([Range; 16], usize) {
    if peek(info) & 1 << 6 == 0 {
        refuse(format_args!("the boot loader gave no memory map: use a Multiboot loader such as GRUB"));
    }
    let (mut ram, mut count) = ([Range::default(); 16], 0);
    let (bytes, start) = (peek(info + 44), peek(info + 48));
    let mut at = start;
    while at < start + bytes && count < ram.len() {
        let (size, base, base_high, length, length_high, kind) =
            (peek(at), peek(at + 4), peek(at + 8), peek(at + 12), peek(at + 16), peek(at + 20));
        at += size + 4;
        if kind != 1 || base_high != 0 {
            continue;
        }
        let limit = 0xffff_f000 - base.min(0xffff_f000);
        let length = if length_high != 0 { limit } else { length.min(limit) };
        let first = base.next_multiple_of(abi::PAGE_SIZE);
        let end = (base + length) & !(abi::PAGE_SIZE - 1);
        if first < end {
            ram[count] = Range { base: first, bytes: end - first };
            count += 1;
        }
    }
    (ram, count)
}

/// Takes `hole` out of the ranges.
fn exclude(ram: &mut [Range; 16], count: &mut usize, hole: Range) {
    let hole_start = hole.base & !(abi::PAGE_SIZE - 1);
    let hole_end = hole.end().next_multiple_of(abi::PAGE_SIZE);
    for i in 0..*count {
        let range = ram[i];
        let (low, high) = (range.base.max(hole_start), range.end().min(hole_end));
        if low >= high {
            continue;
        }
        ram[i] = Range { base: range.base, bytes: low - range.base };
        if high < range.end() && *count < ram.len() {
            ram[*count] = Range { base: high, bytes: range.end() - high };
            *count += 1;
        }
    }
    let mut kept = 0;
    for i in 0..*count {
        if ram[i].bytes != 0 {
            ram[kept] = ram[i];
            kept += 1;
        }
    }
    *count = kept;
}

/// A module that the loader left.
fn module(info: u32, index: u32) -> Option<Range> {
    if peek(info) & 1 << 3 == 0 || index >= peek(info + 20) {
        return None;
    }
    let entry = peek(info + 24) + index * 16;
    let (base, end) = (peek(entry), peek(entry + 4));
    (end > base).then_some(Range { base, bytes: end - base })
}

/// Checks the boot image, which must start at a page.
fn check_image(image: Range) -> abi::boot::Header {
    if image.bytes > SYMBOL_AREA - IMAGE - LARGE_PAGE {
        refuse(format_args!("boot image refused: {}", abi::boot::Refusal::TooLarge.text()));
    }
    let address = map_range(IMAGE, image);
    // SAFETY: mapped just now, and nobody writes it.
    let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, image.bytes as usize) };
    match abi::boot::check(bytes) {
        Ok(_) if !image.base.is_multiple_of(abi::PAGE_SIZE) => {
            refuse(format_args!("the boot loader did not align the boot image to a page"))
        }
        Ok(header) => header,
        Err(refusal) => refuse(format_args!("boot image refused: {}", refusal.text())),
    }
}

/// The time-stamp counter as a clock. A wrong one would be worse than none.
fn clock() -> TscScale {
    match tsc::calibrate() {
        Ok(scale) => scale,
        Err(Fault::Contradiction) => refuse(format_args!("no clock: the time-stamp counter and the timer do not run evenly")),
        Err(Fault::Vague) => refuse(format_args!("no clock: the time-stamp counter cannot be measured by the timer")),
    }
}

/// A place for the pool: an eighth of RAM, aligned to a large page, as high as it goes.
fn place_pool(ram: &[Range]) -> Range {
    let total: u64 = ram.iter().map(|r| u64::from(r.bytes)).sum();
    let bytes = ((total / 8) as u32).next_multiple_of(LARGE_PAGE).clamp(2 * LARGE_PAGE, 64 * LARGE_PAGE);
    let base = |r: &Range| Some((r.end() & !(LARGE_PAGE - 1)).checked_sub(bytes)?).filter(|base| *base >= r.base);
    match ram.iter().filter_map(base).max() {
        Some(base) => Range { base, bytes },
        None => refuse(format_args!("too little memory: no free {} MiB for the kernel", bytes >> 20)),
    }
}

unsafe extern "C" {
    static kernel_end: u8;
}

extern "C" fn boot_entry(magic: u32, info: u32) -> ! {
    uart::init();
    let mut features = check_processor();
    // SAFETY: paging is on, and the bits set are those of features that are there.
    unsafe {
        regs::init_cr0();
        let pge = if features.pge { regs::CR4_PGE } else { 0 };
        let fxsr = if features.fxsr { regs::CR4_FXSR } else { 0 };
        regs::set_cr4(pge | fxsr);
    }
    if features.fxsr {
        features.mxcsr_bits = state::mxcsr_bits(features);
    }
    if magic != MAGIC {
        refuse(format_args!("started by something that is not a Multiboot 1 loader"));
    }
    let (mut ram, mut count) = memory_map(info);
    let ram_end = ram[..count].iter().map(|r| r.end()).max().unwrap_or(0);
    let Some(image) = module(info, 0) else { refuse(format_args!("the boot loader gave no boot image: name it as the first module")) };
    let header = check_image(image);
    let end = (&raw const kernel_end) as u32 - KERNEL_BASE;
    exclude(&mut ram, &mut count, Range { base: 0, bytes: end.max(1 << 20) });
    exclude(&mut ram, &mut count, image);
    if let Some(symbols) = module(info, 1).filter(|s| s.bytes < 2 * LARGE_PAGE) {
        exclude(&mut ram, &mut count, symbols);
        // SAFETY: mapped for good, and taken out of RAM.
        unsafe { panic::set_symbols(map_range(SYMBOL_AREA, symbols), symbols.bytes) };
    }
    let pool = place_pool(&ram[..count]);
    exclude(&mut ram, &mut count, pool);
    map_kernel(pool, features);
    crate::start(Boot {
        pool_physical: pool.base,
        pool_bytes: pool.bytes,
        image_physical: image.base,
        header,
        ram,
        ram_count: count,
        ram_end,
        features,
        tsc: clock(),
    })
}

/// The final shape of the kernel's part: image, window, pool; nothing else.
fn map_kernel(pool: Range, features: Features) {
    let global = if features.pge { GLOBAL } else { 0 };
    map_large(KERNEL_BASE, 0, global);
    set_directory(WINDOW >> 22, physical_of(&WINDOW_TABLE) | PRESENT | WRITABLE);
    for offset in (0..pool.bytes).step_by(LARGE_PAGE as usize) {
        map_large(POOL_BASE + offset, pool.base + offset, global);
    }
    set_directory(0, 0);
    (IMAGE >> 22..SYMBOL_AREA >> 22).chain(core::iter::once(PEEK >> 22)).for_each(|index| set_directory(index, 0));
    // SAFETY: the same directory; drops what was mapped for boot.
    unsafe { regs::write_cr3(directory_physical()) };
}
