// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counter of 24 MHz (DUI 0225D, section 4.2.14): 32 bits that count up from the machine's
//! start.

use crate::registers::{at, read};

/// Its physical address. The page has registers that tell of the board, and some that lights hang
/// on.
pub const PHYSICAL: u32 = 0x1000_005c;
/// Ticks a second.
pub const FREQUENCY: u32 = 24_000_000;

const COUNTER: u32 = at(PHYSICAL);

/// Its value. It wraps around after 179 seconds.
pub fn now() -> u32 {
    read(COUNTER)
}
