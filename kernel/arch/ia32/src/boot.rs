// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a Multiboot 1 boot loader left: memory, the boot image, the kernel's symbols.
//!
//! All of it (information, modules) is looked at through [`peek`], and the boot image is checked at
//! [`IMAGE`].

use crate::features::{self, Features, cpuid};
use crate::layout::{KERNEL_BASE, POOL_BASE};
use crate::paging::{IMAGE, LARGE_PAGE, SYMBOLS, map_range, peek};
use crate::{fpu, regs};
use abi::{PAGE_SIZE, PhysAddr};
use arch_common::words;
use core::fmt::Write;
use kcore::boot::Range;
use kcore::ram::Ram;
use plat_pc::uart::{self, Console};
use plat_pc::{Fault, TscScale, tsc};

/// What a Multiboot 1 loader leaves in EAX.
const MAGIC: u32 = 0x2BAD_B002;

/// Whether servers run at ring 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Spaces {
    /// If segment limits hold, which keep them off the kernel.
    Auto,
    /// In any case: for measurements on an emulator that does not check limits, or for servers that are trusted.
    Force,
    /// Never.
    No,
}

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
    /// End of RAM below 4 GiB.
    pub ram_end: PhysAddr,
    /// The processor.
    pub features: Features,
    /// The clock.
    pub tsc: TscScale,
    /// What the command line says of servers.
    pub spaces: Spaces,
}

/// Says why the kernel cannot start, and ends the machine.
fn refuse(reason: core::fmt::Arguments<'_>) -> ! {
    let _ = writeln!(Console, "{reason}");
    plat_pc::power_off()
}

fn check_processor() -> Features {
    if !features::has_cpuid() {
        refuse(format_args!("this processor is too old: it has no CPUID (a Pentium or later is needed)"));
    }
    let (signature, bits) = features::cpuid1();
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

/// What the command line says of servers.
fn spaces(info: u32) -> Spaces {
    const OPTION: &[u8] = b"smallspaces=";
    let mut line = [0; 256];
    if peek(info) & 1 << 2 != 0 {
        let start = peek(info + 16);
        // It ends with a zero. What does not fit is not looked at.
        for (at, byte) in (start..).zip(&mut line) {
            *byte = peek(at) as u8;
            if *byte == 0 {
                break;
            }
        }
    }
    let mut options = line.split(|byte| byte.is_ascii_whitespace() || *byte == 0).filter_map(|word| word.strip_prefix(OPTION));
    match options.next() {
        None => Spaces::Auto,
        Some(b"force") => Spaces::Force,
        Some(b"no") => Spaces::No,
        Some(_) => refuse(format_args!("the kernel's command line is wrong: smallspaces= takes force or no")),
    }
}

/// RAM below 4 GiB as the loader reports it, whole pages.
fn memory_map(info: u32) -> Ram {
    if peek(info) & 1 << 6 == 0 {
        refuse(format_args!("the boot loader gave no memory map: use a Multiboot loader such as GRUB"));
    }
    let mut ram = Ram::default();
    let (bytes, start) = (peek(info + 44), peek(info + 48));
    let mut at = start;
    while at < start + bytes {
        let (size, base, base_high, length, length_high, kind) =
            (peek(at), peek(at + 4), peek(at + 8), peek(at + 12), peek(at + 16), peek(at + 20));
        at += size + 4;
        if kind != 1 || base_high != 0 {
            continue;
        }
        let limit = 0xffff_f000 - base.min(0xffff_f000);
        let length = if length_high != 0 { limit } else { length.min(limit) };
        ram.add(PhysAddr(base), PhysAddr(base + length));
    }
    ram
}

/// A module that the loader left.
fn module(info: u32, index: u32) -> Option<Range> {
    if peek(info) & 1 << 3 == 0 || index >= peek(info + 20) {
        return None;
    }
    let entry = peek(info + 24) + index * 16;
    let (base, end) = (peek(entry), peek(entry + 4));
    (end > base).then_some(Range { base: PhysAddr(base), bytes: end - base })
}

/// Checks the boot image, which must start at a page.
fn check_image(image: Range) -> abi::boot::Header {
    if image.bytes > SYMBOLS - IMAGE - LARGE_PAGE {
        refuse(format_args!("boot image refused: {}", abi::boot::Refusal::TooLarge.text()));
    }
    let address = map_range(IMAGE, image);
    // SAFETY: mapped just now, and nobody writes it.
    let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, image.bytes as usize) };
    match abi::boot::check(bytes) {
        Ok(_) if !image.base.is_aligned(PAGE_SIZE) => refuse(format_args!("the boot loader did not align the boot image to a page")),
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

/// A place for the pool: an eighth of RAM, aligned to a large page, as high as it goes. It ends where the boot image is mapped, at most.
fn place_pool(ram: &[Range]) -> Range {
    let total: u64 = ram.iter().map(|r| u64::from(r.bytes)).sum();
    let bytes = ((total / 8) as u32).next_multiple_of(LARGE_PAGE).clamp(2 * LARGE_PAGE, IMAGE - POOL_BASE);
    let base = |r: &Range| r.end().align_down(LARGE_PAGE).0.checked_sub(bytes).map(PhysAddr).filter(|base| *base >= r.base);
    match ram.iter().filter_map(base).max() {
        Some(base) => Range { base, bytes },
        None => refuse(format_args!("too little memory: no free {} MiB for the kernel", bytes >> 20)),
    }
}

unsafe extern "C" {
    static kernel_end: u8;
}

/// Looks at the machine, and at what the loader left: `magic` was in EAX, `info` in EBX.
pub fn find(magic: u32, info: u32) -> Boot {
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
        features.mxcsr_bits = fpu::mxcsr_bits(features);
    }
    if magic != MAGIC {
        refuse(format_args!("started by something that is not a Multiboot 1 loader"));
    }
    let spaces = spaces(info);
    let mut ram = memory_map(info);
    let ram_end = ram.ranges().iter().map(Range::end).max().unwrap_or_default();
    let Some(image) = module(info, 0) else { refuse(format_args!("the boot loader gave no boot image: name it as the first module")) };
    let header = check_image(image);
    let kernel = (&raw const kernel_end) as u32 - KERNEL_BASE;
    ram.exclude(Range { base: PhysAddr(0), bytes: kernel.max(1 << 20) });
    ram.exclude(image);
    if let Some(symbols) = module(info, 1).filter(|s| s.bytes < 2 * LARGE_PAGE) {
        ram.exclude(symbols);
        // SAFETY: mapped for good, and taken out of RAM.
        unsafe { words::set_symbols(map_range(SYMBOLS, symbols), symbols.bytes) };
    }
    let pool = place_pool(ram.ranges());
    ram.exclude(pool);
    if ram.left_out() != 0 {
        let _ = writeln!(Console, "{} KiB of RAM are not used: it is in more pieces than can be told of", ram.left_out() >> 10);
    }
    Boot { pool, image: image.base, header, ram, ram_end, features, tsc: clock(), spaces }
}
