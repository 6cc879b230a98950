// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter that a processor's fast paths read.

use fastrand::Rng;

/// The counter, and how the kernel makes nanoseconds of it (`abi::kip::Clock`).
#[derive(Clone, Copy)]
pub struct Clock {
    /// The counter at boot.
    pub base: u64,
    /// Nanoseconds are the ticks since then, times this, divided by 2 to the power of `shift`.
    pub mult: u32,
    /// See `mult`.
    pub shift: u32,
    /// The counter now.
    pub counter: u64,
}

impl Clock {
    /// A random clock that shows the time, or a little more.
    pub fn random(now: u64, rng: &mut Rng) -> Self {
        let (base, mult, shift) = (rng.u64(..), rng.u32(1 << 20..), rng.u32(22..=31));
        let ticks = (u128::from(now) << shift).div_ceil(u128::from(mult)) as u64;
        Self { base, mult, shift, counter: base.wrapping_add(ticks) }
    }

    /// The time.
    pub fn now(self) -> u64 {
        abi::kip::scale(self.counter.wrapping_sub(self.base), self.mult, self.shift)
    }
}
