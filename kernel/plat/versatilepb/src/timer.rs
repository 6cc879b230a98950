// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first SP804 timer (DDI 0271C), which counts down in microseconds, as a one-shot alarm.

use crate::registers::{at, read, write};

/// Its line at the interrupt controller.
pub const LINE: u32 = 4;

const LOAD: u32 = at(0x101e_2000);
const CONTROL: u32 = at(0x101e_2008);
const CLEAR: u32 = at(0x101e_200c);
/// It runs, interrupts, counts 32 bits, once.
const ONCE: u32 = 1 << 7 | 1 << 5 | 1 << 1 | 1;
/// Selects the clock of 1 MHz for the four timers of the board (DUI 0225D, section 4.4.2).
const SYSTEM_CONTROL: u32 = at(0x101e_0000);
const MEGAHERTZ: u32 = 1 << 15 | 1 << 17 | 1 << 19 | 1 << 21;

/// Chooses its clock; it does not run.
pub fn init() {
    write(SYSTEM_CONTROL, read(SYSTEM_CONTROL) | MEGAHERTZ);
    write(CONTROL, 0);
    write(CLEAR, 1);
}

/// Interrupts after so many nanoseconds, rounded up to a microsecond, or earlier if they are too
/// many.
pub fn one_shot(nanoseconds: u64) {
    let microseconds = (nanoseconds / 1000).saturating_add(1).min(u64::from(u32::MAX)) as u32;
    write(CONTROL, 0);
    write(LOAD, microseconds);
    write(CONTROL, ONCE);
}

/// Takes its interrupt back.
pub fn acknowledge() {
    write(CLEAR, 1);
}
