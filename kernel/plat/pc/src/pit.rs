// SPDX-License-Identifier: MIT OR Apache-2.0
//! The 8254 timer: channel 0 as a one-shot alarm on line 0, channel 2 as a ruler
//! for the time-stamp counter.

use isa::io::{read8, write8};
use ruler::Look;

/// Ticks a second.
pub const FREQUENCY: u64 = 1_193_182;
const CHANNEL0: u16 = 0x40;
const CHANNEL2: u16 = 0x42;
const COMMAND: u16 = 0x43;
/// Gate of channel 2 (bit 0), speaker (bit 1), output of channel 2 (bit 5).
const GATE: u16 = 0x61;
const OUTPUT2: u8 = 1 << 5;

/// Interrupts on line 0 after about this many nanoseconds, at most 54.9 ms.
pub fn one_shot(nanoseconds: u64) {
    let ticks = (nanoseconds.min(54_900_000) * FREQUENCY / 1_000_000_000 + 1).min(0xffff) as u16;
    write8(COMMAND, 0x30);
    write8(CHANNEL0, ticks as u8);
    write8(CHANNEL0, (ticks >> 8) as u8);
}

/// Starts channel 2 as a ruler for [`look`].
pub fn begin() {
    write8(GATE, read8(GATE) & !3);
    write8(COMMAND, 0xb0);
    write8(CHANNEL2, 0xff);
    write8(CHANNEL2, 0xff);
    // These two accesses take longer than the tick at which the count is taken over.
    write8(GATE, read8(GATE) | 1);
}

/// Reads the ruler between two readings of `counter`. Nothing after 54.9 ms: then it begins again.
pub fn look(counter: impl Fn() -> u64) -> Option<Look> {
    let before = counter();
    write8(COMMAND, 0x80);
    let after = counter();
    let left = u32::from(read8(CHANNEL2)) | u32::from(read8(CHANNEL2)) << 8;
    (read8(GATE) & OUTPUT2 == 0).then_some(Look { before, ruler: 0xffff - left, after })
}
