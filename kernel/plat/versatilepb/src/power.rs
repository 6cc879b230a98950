// SPDX-License-Identifier: MIT OR Apache-2.0
//! The end of the machine.

use crate::registers::{at, write};
use versatilepb::system::{KEY, LOCK, REGISTERS, RESET, RESET_ALL};

/// Resets the board: it has no switch to turn itself off by. QEMU ends then, if it is told not to
/// reboot.
pub fn power_off() -> ! {
    write(const { at(REGISTERS + LOCK) }, KEY);
    write(const { at(REGISTERS + RESET) }, RESET_ALL);
    loop {
        core::hint::spin_loop();
    }
}
