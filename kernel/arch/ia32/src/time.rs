// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp counter as a clock, and the timer.

use crate::panic::Pc;
use abi::kip::Clock;
use arch_common::platform::refuse;
use plat_pc::{Fault, pit, tsc};

/// Sets how the counter is converted into time. A wrong clock would be worse than none.
pub fn clock() -> Clock {
    match tsc::calibrate() {
        Ok((mult, shift)) => Clock { base: ticks(), mult, shift },
        Err(Fault::Contradiction) => {
            refuse::<Pc>("no clock: the time-stamp counter and the timer do not run evenly")
        }
        Err(Fault::Vague) => {
            refuse::<Pc>("no clock: the time-stamp counter cannot be measured by the timer")
        }
    }
}

/// Ticks of the counter since the machine's start.
pub fn ticks() -> u64 {
    tsc::read()
}

/// Sets the timer to fire in this many nanoseconds, or earlier.
pub fn tick_in(nanoseconds: u64) {
    pit::one_shot(nanoseconds);
}
