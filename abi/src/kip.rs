// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel information page, mapped read-only at [`crate::utcb::KIP_ADDRESS`]
//! in every native space.

use bytemuck::{Pod, Zeroable};

/// First word of the page: "MKIP" in memory order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"MKIP");
/// Version of this contract; a library built for another refuses to start.
pub const VERSION: u32 = 1;

/// `features`: the kernel is entered by `sysenter`; otherwise by `int 0x30`.
pub const FEATURE_SYSENTER: u32 = 1;
/// `features`: FPU areas are in `fxsave` format.
pub const FEATURE_FXSR: u32 = 2;
/// `features`: the processor has SSE.
pub const FEATURE_SSE: u32 = 4;

/// Vector of the system-call gate where `sysenter` is missing.
pub const INT_VECTOR: u32 = 0x30;

/// What the page holds.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Kip {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// `FEATURE_*` bits.
    pub features: u32,
    /// Threads that the kernel can hold.
    pub max_threads: u32,
    /// Time-stamp counter at boot, that is at nanosecond 0.
    pub tsc_base: u64,
    /// Nanoseconds since boot = ((tsc - `tsc_base`) * `tsc_mult`) >> `tsc_shift`,
    /// computed with 96 bits.
    pub tsc_mult: u32,
    /// See `tsc_mult`; at most 32.
    pub tsc_shift: u32,
    /// Time slice in nanoseconds.
    pub slice_ns: u32,
    /// Bytes in the kernel pool.
    pub pool_bytes: u32,
    /// Kernel version, UTF-8, padded with zeros.
    pub text: [u8; 64],
}

impl Kip {
    /// Nanoseconds since boot at this value of the time-stamp counter.
    #[must_use]
    pub const fn nanoseconds(&self, tsc: u64) -> u64 {
        scale(tsc.wrapping_sub(self.tsc_base), self.tsc_mult, self.tsc_shift)
    }
}

/// `(ticks * mult) >> shift` without losing the upper bits; `shift` at most 32.
#[must_use]
pub const fn scale(ticks: u64, mult: u32, shift: u32) -> u64 {
    let low = (ticks & 0xffff_ffff).wrapping_mul(mult as u64);
    let high = (ticks >> 32).wrapping_mul(mult as u64);
    (low >> shift).wrapping_add(high << (32 - shift))
}
