// SPDX-License-Identifier: MIT OR Apache-2.0
//! QEMU's clock, which counts nanoseconds, and its alarm.

use crate::regs;
use abi::kip::Clock;
use arch_common::start;
use plat_clipper::interrupts;

/// What the clock counts a second.
const FREQUENCY: u32 = 1_000_000_000;

/// How the clock becomes time.
pub fn clock() -> Clock {
    start::clock(ticks(), FREQUENCY)
}

/// The clock.
pub fn ticks() -> u64 {
    regs::nanoseconds()
}

/// Asks for a tick when the clock is there. QEMU's clock has a sign: a time beyond it would have been
/// already, and the timer would interrupt again and again.
pub fn tick_at(ticks: u64) {
    regs::set_alarm(ticks.min(i64::MAX as u64));
}

/// Asks for none.
pub fn tick_never() {
    regs::set_alarm(0);
}

/// Whether the timer has fired; then it will fire again when it is set again.
pub fn took_tick() -> bool {
    let is_up = interrupts::timer_is_up();
    if is_up {
        interrupts::acknowledge_timer();
    }
    is_up
}
