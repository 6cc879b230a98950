// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the FPU, of SSE, of AVX and of AVX-512: saving, loading, initial values. The area for them has
//! the image of `xsave` in its standard form, or that of `fxsave` where the processor has no
//! `xsave`; the second is the first part of the first (Intel SDM volume 1, chapter 13).

use abi::utcb::FPU_SIZE;
use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the image of `fxsave`.
const BYTES: usize = 512;
/// The header that follows it: a word that says which parts are not in their initial state, and
/// seven words that are zero.
const PARTS: usize = BYTES;
const PARTS_END: usize = PARTS + 64;
/// Where MXCSR is.
const MXCSR: usize = 24;
/// And the bits of it that the processor has; 0 where it has those of the first SSE (Intel SDM
/// volume 1, 11.6.6).
const MXCSR_MASK: usize = 28;
const FIRST_MXCSR_BITS: u32 = 0xffbf;

/// Parts: the FPU and SSE, which each processor has; the upper halves of AVX; what AVX-512 adds, which
/// is masks, the upper halves of its first 16 registers, and 16 more registers.
const LEAST: u32 = 1 | 2;
const AVX: u32 = 4;
const AVX_512: u32 = 7 << 5;

/// Bits of MXCSR that can be set.
static MXCSR_BITS: AtomicU32 = AtomicU32::new(0);
/// Parts that `xsave` saves; 0: the processor has none.
static XSAVE: AtomicU32 = AtomicU32::new(0);

#[repr(C, align(64))]
struct Image<const SIZE: usize>([u8; SIZE]);

/// Records what the processor has, and enables it for users. CR4 enables `fxsave` already, and
/// `xsave` if the processor has it (`has_xsave`); the FPU does not trap.
pub fn init(has_xsave: bool) {
    if has_xsave {
        let has = __cpuid_count(0xd, 0).eax;
        // XCR0 takes AVX-512 only as a whole and with AVX.
        for parts in [LEAST | AVX | AVX_512, LEAST | AVX, LEAST] {
            if has & parts == parts {
                set_parts(parts);
                // The bytes that these need.
                if __cpuid_count(0xd, 0).ebx <= FPU_SIZE {
                    break;
                }
            }
        }
    }
    let mut image = Image([0; FPU_SIZE as usize]);
    save(&mut image.0);
    let bits = match dword(&image.0, MXCSR_MASK) {
        0 => FIRST_MXCSR_BITS,
        bits => bits,
    };
    MXCSR_BITS.store(bits, Ordering::Relaxed);
}

fn set_parts(parts: u32) {
    // SAFETY: CR4 allows it, the processor has these parts, and the kernel uses none of them.
    unsafe { asm!("xsetbv", in("ecx") 0, in("eax") parts, in("edx") 0, options(nostack)) };
    XSAVE.store(parts, Ordering::Relaxed);
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn put(area: &mut [u8], at: usize, value: &[u8]) {
    if let Some(bytes) = area.get_mut(at..at + value.len()) {
        bytes.copy_from_slice(value);
    }
}

/// Where an area is, which has at least so many bytes.
fn place(area: &mut [u8], bytes: usize) -> *mut u8 {
    let at = area.as_mut_ptr();
    assert!(area.len() >= bytes && at.addr().is_multiple_of(64), "bad FPU area");
    at
}

/// Saves the registers to an area in a UTCB slot.
pub fn save(area: &mut [u8]) {
    let at = place(area, FPU_SIZE as usize);
    let parts = XSAVE.load(Ordering::Relaxed);
    // SAFETY: the area is large enough and aligned, and TS is clear (the callers' `clts`).
    unsafe {
        if parts == 0 {
            asm!("fxsave64 [{}]", in(reg) at);
        } else {
            asm!("xsave64 [{}]", in(reg) at, in("eax") parts, in("edx") 0);
        }
    }
}

/// Loads the registers from an area that user level may have written.
pub fn restore(area: &mut [u8]) {
    let parts = XSAVE.load(Ordering::Relaxed);
    // What is there of the FPU and SSE counts, whichever thread wrote it.
    load(area, dword(area, PARTS) & parts | LEAST);
}

/// Loads these parts, and gives the others their initial values.
fn load(area: &mut [u8], named: u32) {
    let at = place(area, if named & !LEAST == 0 { PARTS_END } else { FPU_SIZE as usize });
    let mxcsr = dword(area, MXCSR) & MXCSR_BITS.load(Ordering::Relaxed);
    put(area, MXCSR, &mxcsr.to_le_bytes());
    let parts = XSAVE.load(Ordering::Relaxed);
    if parts != 0 {
        if let Some(bytes) = area.get_mut(PARTS..PARTS_END) {
            bytes.fill(0);
        }
        put(area, PARTS, &named.to_le_bytes());
    }
    // What is in the FPU belongs to no thread. Some processors leave the last instruction's address
    // (AMD64 manual, 11.5). SAFETY: the area has room for the parts that are named, and is aligned; TS
    // is clear; with MXCSR's reserved bits clear, no parts that the processor has not, and zeros after
    // them no image faults.
    unsafe {
        if parts == 0 {
            asm!("fninit", "fxrstor64 [{}]", in(reg) at);
        } else {
            asm!("fninit", "xrstor64 [{}]", in(reg) at, in("eax") parts, in("edx") 0);
        }
    }
}

/// The state of an FPU that was just initialised.
pub fn initial(area: &mut [u8]) {
    area.fill(0);
    // Control word 0x37f: all exceptions masked, 64-bit precision; tag word: all empty.
    put(area, 0, &0x37f_u16.to_le_bytes());
    put(area, MXCSR, &0x1f80_u16.to_le_bytes());
}

/// Gives all registers the values that they have in an FPU that was just initialised.
pub fn clear() {
    // It has no bytes for other parts.
    let mut image = Image([0; PARTS_END]);
    initial(&mut image.0);
    load(&mut image.0, LEAST);
}
