// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading and loading the lazily switched registers.

use crate::regs::Features;
use core::arch::asm;

/// FS (low half) and GS.
pub fn fs_gs() -> u32 {
    let (fs, gs): (u32, u32);
    // SAFETY: reads two registers.
    unsafe { asm!("mov {0:e}, fs", "mov {1:e}, gs", out(reg) fs, out(reg) gs, options(nomem, nostack, preserves_flags)) };
    fs & 0xffff | gs << 16
}

/// Loads FS and GS with selectors that the caller has checked (`lazy::checked_selector`) or 0.
pub fn set_fs_gs(fs_gs: u32) {
    // SAFETY: the kernel uses neither register, and the selectors are null or name present data segments.
    unsafe { asm!("mov fs, {0:x}", "mov gs, {1:x}", in(reg) fs_gs, in(reg) fs_gs >> 16, options(nostack, preserves_flags)) };
}

/// Loads debug registers 0 to 3, 6 and 7.
pub fn load_debug(values: &[u32; 6]) {
    let [a, b, c, d, status, control] = *values;
    // SAFETY: `Port::set_debug` lets no address of the kernel and no reserved bit in. DR7 is
    // cleared first, so that no half-set breakpoint is live.
    unsafe {
        asm!("mov dr7, {}", in(reg) 0);
        asm!("mov dr0, {}", in(reg) a);
        asm!("mov dr1, {}", in(reg) b);
        asm!("mov dr2, {}", in(reg) c);
        asm!("mov dr3, {}", in(reg) d);
        asm!("mov dr6, {}", in(reg) status);
        asm!("mov dr7, {}", in(reg) control);
    }
}

/// Takes the debug status register, and clears it.
pub fn take_debug_status() -> u32 {
    let status: u32;
    // SAFETY: reads and clears a status register.
    unsafe { asm!("mov {0}, dr6", "mov dr6, {1}", out(reg) status, in(reg) 0) };
    status
}

/// Where the image of `fxsave` has MXCSR.
const MXCSR: usize = 24;
/// And the bits of it that the processor has; 0 where it has those of the first SSE (Intel SDM volume 1, 11.6.6).
const MXCSR_MASK: usize = 28;
const FIRST_MXCSR_BITS: u32 = 0xffbf;

/// The image of `fxsave`.
#[repr(C, align(16))]
struct Image([u8; 512]);

/// Bits of MXCSR that can be set, where there is `fxsave`. CR4 says so already; the FPU does not trap.
pub fn mxcsr_bits(features: Features) -> u32 {
    let mut image = Image([0; 512]);
    save_fpu(features, &mut image.0);
    match dword(&image.0, MXCSR_MASK) {
        0 => FIRST_MXCSR_BITS,
        bits => bits,
    }
}

fn dword(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Saves the FPU's registers to an area in a UTCB slot.
pub fn save_fpu(features: Features, area: &mut [u8]) {
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
pub fn restore_fpu(features: Features, area: &mut [u8]) {
    let at = area.as_mut_ptr();
    assert!(area.len() >= 512 && at.addr().is_multiple_of(16), "bad FPU area");
    let mxcsr = dword(area, MXCSR) & features.mxcsr_bits;
    if let Some(bytes) = area.get_mut(MXCSR..MXCSR + 4).filter(|_| features.fxsr) {
        bytes.copy_from_slice(&mxcsr.to_le_bytes());
    }
    // What is in the FPU is nobody's. An exception that it holds would come here, as `frstor` waits for
    // it; and some processors' `fxrstor` leaves the last instruction's address (AMD64 manual, 11.5).
    // SAFETY: as above; with MXCSR's reserved bits clear no image faults.
    unsafe {
        if features.fxsr {
            asm!("fninit", "fxrstor [{}]", in(reg) at);
        } else {
            asm!("fninit", "frstor [{}]", in(reg) at);
        }
    }
}

/// The state of an FPU that was just initialised.
pub fn initial_fpu(features: Features, area: &mut [u8]) {
    area.fill(0);
    // Control word 0x37f: all exceptions masked, 64-bit precision; tag word: all empty.
    let words: &[(usize, u16)] = if features.fxsr { &[(0, 0x37f), (MXCSR, 0x1f80)] } else { &[(0, 0x37f), (8, 0xffff)] };
    for (offset, word) in words {
        if let Some(bytes) = area.get_mut(*offset..offset + 2) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}
