// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the FPU and of SSE: saving, loading, initial values.

use crate::features::Features;
use core::arch::asm;

/// Where the image of `fxsave` has MXCSR.
const MXCSR: usize = 24;
/// And the bits of it that the processor has; 0 where it has those of the first SSE (Intel SDM
/// volume 1, 11.6.6).
const MXCSR_MASK: usize = 28;
const FIRST_MXCSR_BITS: u32 = 0xffbf;

/// The image of `fxsave`.
#[repr(C, align(16))]
struct Image([u8; 512]);

/// Bits of MXCSR that can be set, where there is `fxsave`. CR4 enables it already, and the FPU does
/// not trap.
pub fn mxcsr_bits(features: Features) -> u32 {
    let mut image = Image([0; 512]);
    save(features, &mut image.0);
    match dword(&image.0, MXCSR_MASK) {
        0 => FIRST_MXCSR_BITS,
        bits => bits,
    }
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Saves the FPU's registers to an area in a UTCB slot.
pub fn save(features: Features, area: &mut [u8]) {
    let at = area.as_mut_ptr();
    assert!(area.len() >= 512 && at.addr().is_multiple_of(16), "bad FPU area");
    // SAFETY: the area is large enough and aligned, and TS is clear (the callers' `clts`).
    unsafe {
        if features.fxsr {
            asm!("fxsave [{}]", in(reg) at);
        } else {
            asm!("fnsave [{}]", in(reg) at);
        }
    }
}

/// Loads the FPU's registers from an area that user level may have written.
pub fn restore(features: Features, area: &mut [u8]) {
    let at = area.as_mut_ptr();
    assert!(area.len() >= 512 && at.addr().is_multiple_of(16), "bad FPU area");
    let mxcsr = dword(area, MXCSR) & features.mxcsr_bits;
    if let Some(bytes) = area.get_mut(MXCSR..MXCSR + 4).filter(|_| features.fxsr) {
        bytes.copy_from_slice(&mxcsr.to_le_bytes());
    }
    // What is in the FPU belongs to no thread. An exception that it holds would come here, as
    // `frstor` waits for it; and some processors' `fxrstor` leaves the last instruction's address
    // (AMD64 manual, 11.5). SAFETY: as above; with MXCSR's reserved bits clear no image faults.
    unsafe {
        if features.fxsr {
            asm!("fninit", "fxrstor [{}]", in(reg) at);
        } else {
            asm!("fninit", "frstor [{}]", in(reg) at);
        }
    }
}

/// The state of an FPU that was just initialised.
pub fn initial(features: Features, area: &mut [u8]) {
    area.fill(0);
    // Control word 0x37f: all exceptions masked, 64-bit precision; tag word: all empty.
    let words: &[(usize, u16)] =
        if features.fxsr { &[(0, 0x37f), (MXCSR, 0x1f80)] } else { &[(0, 0x37f), (8, 0xffff)] };
    for (offset, word) in words {
        if let Some(bytes) = area.get_mut(*offset..offset + 2) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}
