// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time base as a clock, and the decrementer as a timer.

use crate::regs;
use abi::kip::Clock;
use arch_common::start;
use plat_amigaone::TIME_BASE;

/// Longest time without a tick, in ticks of the time base: the decrementer counts down from it.
const LONGEST: u32 = i32::MAX as u32;
/// Nanoseconds of a tick of the time base.
const NANOSECONDS: u64 = 1_000_000_000 / TIME_BASE as u64;

/// How the time base is converted into time.
pub fn clock() -> Clock {
    start::clock(ticks(), TIME_BASE)
}

/// Ticks of the time base since the machine's start.
pub fn ticks() -> u64 {
    regs::time_base()
}

/// Sets the decrementer to interrupt in this many nanoseconds, or earlier.
pub fn tick_in(nanoseconds: u64) {
    let ticks = nanoseconds / NANOSECONDS + 1;
    regs::set_decrementer(ticks.min(u64::from(LONGEST)) as u32);
}

/// Makes the time until the next tick as long as possible.
pub fn tick_late() {
    regs::set_decrementer(LONGEST);
}

/// Whether the decrementer has passed 0.
pub fn is_up() -> bool {
    regs::decrementer() > LONGEST
}
