// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the processor can do: CPUID (Intel SDM, volume 2), read once at boot.

use arch_common::shared::Shared;
use core::arch::asm;
use core::mem::MaybeUninit;

/// What the processor can do beyond what is required.
#[derive(Clone, Copy, Debug, Default)]
pub struct Features {
    /// Global pages.
    pub pge: bool,
    /// `sysenter`.
    pub sep: bool,
    /// `fxsave`.
    pub fxsr: bool,
    /// SSE.
    pub sse: bool,
    /// Bits of MXCSR that can be set, where there is `fxsave`.
    pub mxcsr_bits: u32,
}

/// CPUID leaf 1, EDX.
pub mod cpuid {
    /// FPU on chip.
    pub const FPU: u32 = 1;
    /// 4 MiB pages.
    pub const PSE: u32 = 1 << 3;
    /// Time-stamp counter.
    pub const TSC: u32 = 1 << 4;
    /// `sysenter`.
    pub const SEP: u32 = 1 << 11;
    /// Global pages.
    pub const PGE: u32 = 1 << 13;
    /// `fxsave`.
    pub const FXSR: u32 = 1 << 24;
    /// SSE.
    pub const SSE: u32 = 1 << 25;
}

static FEATURES: Shared<MaybeUninit<Features>> = Shared::new(MaybeUninit::uninit());

/// Notes what boot found.
///
/// # Safety
/// Once, at boot, before the first thread exists.
pub unsafe fn set(features: Features) {
    // SAFETY: the caller's; nobody has a reference.
    unsafe { (*FEATURES.get()).write(features) };
}

/// What the processor can do.
pub fn get() -> Features {
    // SAFETY: boot wrote it (`set`) before the first thread could exist, and nobody writes it
    // again.
    unsafe { *(*FEATURES.get()).assume_init_ref() }
}

/// Whether the processor has CPUID: whether bit 21 of EFLAGS can be changed.
pub fn has_cpuid() -> bool {
    let changed: u32;
    // SAFETY: toggles a flag that has no effect and looks whether it stays.
    unsafe {
        asm!(
            "pushfd", "pop {0}", "mov {1}, {0}", "xor {0}, 0x200000", "push {0}", "popfd", "pushfd", "pop {0}", "xor {0}, {1}",
            out(reg) changed, out(reg) _
        );
    }
    changed & 0x20_0000 != 0
}

/// CPUID leaf 1: signature (EAX) and features (EDX).
pub fn cpuid1() -> (u32, u32) {
    let result = core::arch::x86::__cpuid(1);
    (result.eax, result.edx)
}
