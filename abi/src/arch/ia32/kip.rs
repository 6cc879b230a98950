// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel information page says of an IA-32 processor.

use bytemuck::{Pod, Zeroable};

/// Feature: the kernel is entered by `sysenter`; otherwise by `int 0x30`.
pub const FEATURE_SYSENTER: u32 = 1;
/// Feature: FPU areas are in `fxsave` format.
pub const FEATURE_FXSR: u32 = 2;
/// Feature: the processor has SSE.
pub const FEATURE_SSE: u32 = 4;

/// Vector of the system-call gate where `sysenter` is missing.
pub const INT_VECTOR: u32 = 0x30;

/// How the time-stamp counter becomes time.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Clock {
    /// Time-stamp counter at boot, that is at nanosecond 0.
    pub base: u64,
    /// Nanoseconds since boot = ((counter - `base`) * `mult`) >> `shift`, computed with 96 bits.
    pub mult: u32,
    /// See `mult`; at most 32.
    pub shift: u32,
}

impl Clock {
    /// Nanoseconds since boot at this value of the time-stamp counter.
    #[must_use]
    pub const fn nanoseconds(&self, tsc: u64) -> u64 {
        scale(tsc.wrapping_sub(self.base), self.mult, self.shift)
    }
}

/// `(ticks * mult) >> shift` without losing the upper bits; `shift` at most 32.
#[must_use]
pub const fn scale(ticks: u64, mult: u32, shift: u32) -> u64 {
    let low = (ticks & 0xffff_ffff).wrapping_mul(mult as u64);
    let high = (ticks >> 32).wrapping_mul(mult as u64);
    (low >> shift).wrapping_add(high << (32 - shift))
}
