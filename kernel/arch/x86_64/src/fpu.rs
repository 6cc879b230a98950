// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers of the FPU and of SSE: saving, loading, initial values. An area has the image of
//! `fxsave`.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the image.
const BYTES: usize = 512;
/// Where it has MXCSR.
const MXCSR: usize = 24;
/// And the bits of it that the processor has; 0 where it has those of the first SSE (Intel SDM
/// volume 1, 11.6.6).
const MXCSR_MASK: usize = 28;
const FIRST_MXCSR_BITS: u32 = 0xffbf;

/// Bits of MXCSR that can be set.
static MXCSR_BITS: AtomicU32 = AtomicU32::new(0);

#[repr(C, align(16))]
struct Image([u8; BYTES]);

/// Notes what the processor has of MXCSR. CR4 allows `fxsave` already; the FPU does not trap.
pub fn init() {
    let mut image = Image([0; BYTES]);
    save(&mut image.0);
    let bits = match dword(&image.0, MXCSR_MASK) {
        0 => FIRST_MXCSR_BITS,
        bits => bits,
    };
    MXCSR_BITS.store(bits, Ordering::Relaxed);
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn place(area: &mut [u8]) -> *mut u8 {
    let at = area.as_mut_ptr();
    assert!(area.len() >= BYTES && at.addr().is_multiple_of(16), "bad FPU area");
    at
}

/// Saves the registers to an area in a UTCB slot.
pub fn save(area: &mut [u8]) {
    let at = place(area);
    // SAFETY: the area is large enough and aligned, and TS is clear (the callers' `clts`).
    unsafe { asm!("fxsave64 [{}]", in(reg) at) };
}

/// Loads the registers from an area that user level may have written.
pub fn restore(area: &mut [u8]) {
    let at = place(area);
    let mxcsr = dword(area, MXCSR) & MXCSR_BITS.load(Ordering::Relaxed);
    if let Some(bytes) = area.get_mut(MXCSR..MXCSR + 4) {
        bytes.copy_from_slice(&mxcsr.to_le_bytes());
    }
    // What is in the FPU is nobody's. Some processors' `fxrstor` leaves the last instruction's
    // address (AMD64 manual, 11.5). SAFETY: as above; with MXCSR's reserved bits clear no image
    // faults.
    unsafe { asm!("fninit", "fxrstor64 [{}]", in(reg) at) };
}

/// The state of an FPU that was just initialised.
pub fn initial(area: &mut [u8]) {
    area.fill(0);
    // Control word 0x37f: all exceptions masked, 64-bit precision; tag word: all empty.
    for (offset, word) in [(0, 0x37f_u16), (MXCSR, 0x1f80)] {
        if let Some(bytes) = area.get_mut(offset..offset + 2) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}
