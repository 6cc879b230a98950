// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the machine.

use crate::registers::{at, write};

const LOCK: u32 = at(0x1000_0020);
const RESET: u32 = at(0x1000_0040);
/// What unlocks the register that resets.
const UNLOCK: u32 = 0xa05f;
/// Resets the board. QEMU ends then if it is told not to reboot (`-no-reboot`).
const RESET_NOW: u32 = 0x104;

/// Resets the board: it has no switch to turn itself off by.
pub fn power_off() -> ! {
    write(LOCK, UNLOCK);
    write(RESET, RESET_NOW);
    loop {
        core::hint::spin_loop();
    }
}
