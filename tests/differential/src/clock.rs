// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter that a processor's fast paths read.

use fastrand::Rng;

/// The counter, and how the kernel makes nanoseconds of it (`abi::kip::Clock`).
#[derive(Clone, Copy)]
pub struct Clock {
    /// What the counter said at boot.
    pub base: u64,
    /// Nanoseconds are the ticks since then times this, and 2 to the power of `shift` times fewer.
    pub mult: u32,
    /// See `mult`.
    pub shift: u32,
    /// What the counter says.
    pub counter: u64,
}

impl Clock {
    /// A random one that says what the time is, or a little more.
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
