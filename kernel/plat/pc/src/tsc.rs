// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp counter as a clock.

use crate::pit;
use core::arch::asm;
use ruler::{Bounds, Fault, Look};

/// The counter.
pub fn read() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a counter; boot checked that there is one.
    unsafe {
        asm!("rdtsc", out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags))
    };
    u64::from(high) << 32 | u64::from(low)
}

/// Runs of a ruler, the timer's of 55 ms, after which what is known must do. An idle machine needs half a
/// run.
const RUNS: u32 = 16;
/// Looks in a run, at most: a timer that stands still never ends.
const LOOKS: u32 = 1 << 17;
/// A counter that is slower is none.
const SLOWEST: u64 = 1_000_000;

/// Measures the counter against the timer: by which multiplier and shift its ticks become
/// nanoseconds.
///
/// # Errors
/// If they cannot be compared: there is no clock then.
pub fn calibrate() -> Result<(u32, u32), Fault> {
    measure(pit::FREQUENCY, pit::begin, || pit::look(read))
}

/// The same against any ruler of so many ticks a second, at most 2^24: `begin` starts it, and
/// `look` has it between two readings of the counter, as long as it runs.
///
/// # Errors
/// As of [`calibrate`].
pub fn measure(
    rate: u64,
    begin: impl Fn(),
    look: impl Fn() -> Option<Look>,
) -> Result<(u32, u32), Fault> {
    let mut bounds = Bounds::new(rate);
    for _ in 0..RUNS {
        if bounds.frequency() == Err(Fault::Contradiction) {
            bounds = Bounds::new(rate);
        }
        bounds.begin();
        begin();
        let looks = (0..LOOKS).map_while(|_| look());
        for look in looks {
            bounds.add(look);
            if bounds.is_decided() {
                break;
            }
        }
        if bounds.is_decided() && bounds.frequency().is_ok() {
            break;
        }
    }
    let hertz = bounds.frequency()?;
    if hertz < SLOWEST {
        return Err(Fault::Vague);
    }
    Ok(ruler::scale(hertz))
}
