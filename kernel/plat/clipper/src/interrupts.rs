// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the Cchip says of interrupts (*Tsunami/Typhoon 21272 Chipset Hardware Reference Manual*,
//! section 10.2; QEMU, hw/alpha/typhoon.c). The board's two controllers (`pic`) are one of its
//! devices.

use crate::{read, write};

/// MISC, in which an interval timer has a bit for each processor.
const MISC: u64 = 0x080;
/// Processor 0's bit: it is set when the timer fires, and writing it clears it.
const TIMER: u64 = 1 << 4;
/// DIM0: which devices interrupt processor 0.
const MASK: u64 = 0x200;
/// DIR0: those that do so now.
const WAITING: u64 = 0x280;
/// The bridge to ISA, and so the two controllers.
const ISA: u64 = 1 << 55;

/// Lets the two controllers through.
pub fn init() {
    write(MASK, ISA);
}

/// Whether a line that is let through waits to be taken.
pub fn line_waits() -> bool {
    read(WAITING) & ISA != 0
}

/// Whether the timer has fired.
pub fn timer_is_up() -> bool {
    read(MISC) & TIMER != 0
}

/// The timer has fired, and that is known.
pub fn acknowledge_timer() {
    write(MISC, TIMER);
}
