// SPDX-License-Identifier: MIT OR Apache-2.0
//! Count as a clock, and Compare as a timer.
//!
//! Count has 32 bits. The kernel knows how often Count has started again at 0 if it reads Count at
//! least once in [`LONGEST`] ticks: so it sets the timer to that at the latest.

use crate::regs;
use abi::kip::Clock;
use arch_common::start;
use core::sync::atomic::{AtomicU64, Ordering};
use mips_context::cause;
use plat_malta::COUNTS;

/// Longest time without a tick, in ticks of Count: half of its range.
const LONGEST: u32 = i32::MAX as u32;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// Count when it was last read, and how often it had started again at 0.
static LAST: AtomicU64 = AtomicU64::new(0);

/// How Count is converted into time.
pub fn clock() -> Clock {
    start::clock(ticks(), COUNTS)
}

/// Ticks of Count since the machine's start.
pub fn ticks() -> u64 {
    let last = LAST.load(Ordering::Relaxed);
    let now = last + u64::from(regs::count().wrapping_sub(last as u32));
    LAST.store(now, Ordering::Relaxed);
    now
}

/// Sets the timer to interrupt in this many nanoseconds, or earlier.
pub fn tick_in(nanoseconds: u64) {
    const MOST: u64 = LONGEST as u64 * SECOND / COUNTS as u64;
    set((nanoseconds.min(MOST) * u64::from(COUNTS) / SECOND) as u32 + 1);
}

/// Makes the time until the next tick as long as possible.
pub fn tick_late() {
    set(LONGEST);
}

/// Makes the timer's line interrupt in this many ticks. If Count passes that value while Compare is
/// written, the line would be quiet until Count has it again: so a later value is written then. (In
/// QEMU the same happens if both are equal.)
fn set(mut ticks: u32) {
    loop {
        let at = regs::count().wrapping_add(ticks);
        regs::set_compare(at);
        let left = at.wrapping_sub(regs::count());
        if (1..=LONGEST).contains(&left) || is_up() {
            return;
        }
        ticks = ticks.saturating_mul(2).min(LONGEST);
    }
}

/// Whether Count has reached Compare since Compare was written.
pub fn is_up() -> bool {
    regs::cause() & cause::TIMER != 0
}
