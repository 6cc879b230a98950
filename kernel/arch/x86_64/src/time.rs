// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time-stamp counter as a clock, and the timer.

use crate::apic::{self, Apic};
use crate::panic::Pc;
use abi::kip::Clock;
use arch_common::platform::refuse;
use plat_pc::{Fault, pit, tsc};

/// Measures how the counter is converted into time: by the PC's timer, or if there is none, by the
/// local APIC's. A wrong clock would be worse than none.
pub fn clock(apic: Option<&Apic>) -> Clock {
    let measured = match (tsc::calibrate(), apic) {
        (Err(Fault::Vague), Some(apic)) => apic.measure(),
        (measured, _) => measured,
    };
    match measured {
        Ok((mult, shift)) => Clock { base: ticks(), mult, shift },
        Err(Fault::Contradiction) => {
            refuse::<Pc>("no clock: the time-stamp counter and the timer do not run evenly")
        }
        Err(Fault::Vague) => {
            refuse::<Pc>("no clock: the time-stamp counter cannot be measured by a timer")
        }
    }
}

/// Ticks of the counter since the machine's start.
pub fn ticks() -> u64 {
    tsc::read()
}

/// Sets the timer to fire in this many nanoseconds, or earlier: the local APIC's, if that is used.
pub fn tick_in(nanoseconds: u64) {
    if !apic::tick_in(nanoseconds) {
        pit::one_shot(nanoseconds);
    }
}
