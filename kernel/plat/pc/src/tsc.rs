// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp counter as a clock.

use crate::pit;
use core::arch::asm;

/// How to make nanoseconds out of the counter (`abi::kip::scale`).
#[derive(Clone, Copy, Debug)]
pub struct TscScale {
    /// The counter at nanosecond 0.
    pub base: u64,
    /// Multiplier.
    pub mult: u32,
    /// Shift, at most 32.
    pub shift: u32,
}

/// The counter.
pub fn read() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter; boot checked that there is one.
    unsafe { asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags)) };
    u64::from(high) << 32 | u64::from(low)
}

/// Ticks of channel 2 that a measurement takes: 10 ms.
const RULER: u16 = (pit::FREQUENCY / 100) as u16;

/// Measures the counter against the timer, three times, and takes the median.
pub fn calibrate() -> TscScale {
    let mut frequencies = [0u64; 3];
    for frequency in &mut frequencies {
        let mut start = 0;
        pit::measure(RULER, || start = read());
        let ticks = read().wrapping_sub(start);
        *frequency = ticks * pit::FREQUENCY / u64::from(RULER);
    }
    frequencies.sort_unstable();
    let hertz = frequencies[1].max(1_000_000);
    // The largest shift whose multiplier fits 32 bits.
    let mut shift = 32;
    while shift > 0 && (1_000_000_000u128 << shift) / u128::from(hertz) > u128::from(u32::MAX) {
        shift -= 1;
    }
    let mult = ((1_000_000_000u128 << shift) / u128::from(hertz)) as u32;
    TscScale { base: read(), mult, shift }
}
