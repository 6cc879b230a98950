// SPDX-License-Identifier: MIT OR Apache-2.0
//! Interrupt lines while the kernel runs.
//!
//! Interrupts are off in the kernel, except in [`open`]. One that comes there is only noted, by
//! `from_kernel` in `entry.S`.

use core::sync::atomic::{AtomicU32, Ordering};

/// Interrupt lines that came in [`open`], a bit each.
pub static PENDING: AtomicU32 = AtomicU32::new(0);

/// Vector of an alien's system call.
pub const ALIEN_CALL: u8 = 0x80;

/// Opens interrupts for a moment, or until one comes (`wait`). What came is in [`PENDING`].
pub fn open(wait: bool) {
    // SAFETY: in kernel mode an interrupt only sets a bit in `PENDING` and closes interrupts again
    // (`from_kernel`). `sti` takes effect behind the next instruction, so none can slip in before `hlt`.
    unsafe {
        if wait {
            core::arch::asm!("sti", "hlt", "cli");
        } else {
            core::arch::asm!("sti", "nop", "nop", "cli");
        }
    }
}

/// Whether lines came in [`open`].
pub fn is_pending() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// Takes the lines that came in [`open`].
pub fn take_pending() -> u32 {
    PENDING.swap(0, Ordering::Relaxed)
}
