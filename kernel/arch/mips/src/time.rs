// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time: Count as a clock, and Compare as a timer.
//!
//! Count has 32 bits. The kernel knows how often it began again if it looks at it at least once in
//! [`LONGEST`] ticks, and so asks for an interrupt then.

use crate::regs;
use abi::kip::Clock;
use arch_common::start;
use core::sync::atomic::{AtomicU64, Ordering};
use mips_context::cause;
use plat_malta::COUNTS;

/// Longest time without a tick, in ticks of Count: half of what it counts before it begins again.
const LONGEST: u32 = i32::MAX as u32;
/// Nanoseconds of a tick of Count.
const NANOSECONDS: u64 = 1_000_000_000 / COUNTS as u64;

/// Count when it was last looked at, and how often it had begun again.
static LAST: AtomicU64 = AtomicU64::new(0);

/// How Count becomes time.
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

/// Asks for a tick in so many nanoseconds, or earlier.
pub fn tick_in(nanoseconds: u64) {
    set((nanoseconds / NANOSECONDS + 1).min(u64::from(LONGEST)) as u32);
}

/// Asks for none for as long as can be.
pub fn tick_late() {
    set(LONGEST);
}

/// Has the timer's line interrupt in so many ticks, or more if they pass while Compare is written:
/// it would interrupt only when Count comes there again.
fn set(mut ticks: u32) {
    loop {
        let at = regs::count().wrapping_add(ticks);
        regs::set_compare(at);
        let is_ahead = at.wrapping_sub(regs::count()) <= LONGEST;
        if is_ahead || is_up() {
            return;
        }
        ticks = ticks.saturating_mul(2).min(LONGEST);
    }
}

/// Whether Count has reached Compare since that was written.
pub fn is_up() -> bool {
    regs::cause() & cause::TIMER != 0
}
