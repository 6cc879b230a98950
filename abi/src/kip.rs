// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel information page, mapped read-only at [`crate::utcb::KIP_ADDRESS`]
//! in every native space.

use bytemuck::{Pod, Zeroable};

/// First word of the page: "MKIP" in memory order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"MKIP");
/// Version of this contract; a library built for another refuses to start.
pub const VERSION: u32 = 2;

/// What the page holds.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Kip {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// What the processor has, as bits of its `arch::*::kip`.
    pub features: u32,
    /// Threads that the kernel can hold.
    pub max_threads: u32,
    /// How the processor's counter becomes time.
    pub clock: Clock,
    /// Time slice in nanoseconds.
    pub slice_ns: u32,
    /// Bytes in the kernel pool.
    pub pool_bytes: u32,
    /// Kernel version, UTF-8, padded with zeros.
    pub text: [u8; 64],
}

/// How the processor's counter (on IA-32 the time-stamp counter) becomes time.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug)]
pub struct Clock {
    /// The counter at boot, that is at nanosecond 0.
    pub base: u64,
    /// Nanoseconds since boot = ((counter - `base`) * `mult`) >> `shift`, computed with 96 bits.
    pub mult: u32,
    /// See `mult`; at most 32.
    pub shift: u32,
}

impl Clock {
    /// Nanoseconds since boot at this value of the counter.
    #[must_use]
    pub const fn nanoseconds(&self, counter: u64) -> u64 {
        scale(counter.wrapping_sub(self.base), self.mult, self.shift)
    }
}

/// `(ticks * mult) >> shift` without losing the upper bits; `shift` at most 32.
#[must_use]
pub const fn scale(ticks: u64, mult: u32, shift: u32) -> u64 {
    let low = (ticks & 0xffff_ffff).wrapping_mul(mult as u64);
    let high = (ticks >> 32).wrapping_mul(mult as u64);
    (low >> shift).wrapping_add(high << (32 - shift))
}
