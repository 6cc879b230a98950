// SPDX-License-Identifier: MIT OR Apache-2.0
//! The board's counter as a clock, and what the information page says about it.

use crate::layout::COUNTER_PAGE;
use abi::arch::armv5::kip::{TIMER_OFFSET, Timer};
use abi::kip::Clock;
use abi::utcb::KIP_ADDRESS;
use arch_common::start;
use core::mem::offset_of;
use plat_versatilepb::{counter, timer};

/// Longest time without a tick: the counter must be read in each half of its range, which lasts 89
/// seconds.
pub const LONGEST: u64 = 60_000_000_000;

/// How the counter is converted into time.
pub fn clock() -> Clock {
    start::clock(u64::from(counter::now()), counter::FREQUENCY)
}

/// What the information page says of the counter, at boot.
fn timer() -> Timer {
    Timer { address: COUNTER_PAGE + counter::PHYSICAL % abi::PAGE_SIZE, half: counter::now() >> 31 }
}

const HALF: *mut u32 = (KIP_ADDRESS + TIMER_OFFSET + offset_of!(Timer, half) as u32) as *mut u32;

/// Ticks of the counter since the machine's start. Not before the information page is shown.
pub fn ticks() -> u64 {
    // SAFETY: the port shows the page at this address, and only the kernel writes it.
    let half = unsafe { HALF.read_volatile() };
    Timer::extend(half, counter::now())
}

/// Notes which half of its range the counter is in.
pub fn note_half() {
    // SAFETY: as `ticks`.
    unsafe { HALF.write_volatile((ticks() >> 31) as u32) };
}

/// Sets the timer to fire in this many nanoseconds, or earlier.
pub fn tick_in(nanoseconds: u64) {
    timer::one_shot(nanoseconds.min(LONGEST));
}

/// Writes into the information page, which is mapped already, how to read the counter.
pub fn write_timer() {
    // SAFETY: as `ticks`; the place is after what the portable kernel wrote.
    unsafe { ((KIP_ADDRESS + TIMER_OFFSET) as *mut Timer).write_volatile(timer()) };
}
