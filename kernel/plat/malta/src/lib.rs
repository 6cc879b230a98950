// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Malta board: how fast the processor counts, power, and what the board has in common with a
//! PC: the serial line for the kernel's messages, and the interrupt controllers.
//!
//! What servers know of the board, too, is in `boards/malta`.
#![cfg(target_arch = "mips64")]
#![no_std]

use isa::io;
use malta::reset;

pub use plat_isa::{pic, uart};

/// What Count counts a second: half of the clock of the processor that QEMU puts on the board.
pub const COUNTS: u32 = 160_000_000;

/// Where I/O port 0 is.
pub const PORTS: u64 = io::PORTS;

/// Makes an access to a port, of 1, 2 or 4 bytes: writes a value, or returns what was read.
pub fn access_port(port: u16, bytes: u32, written: Option<u32>) -> Option<u32> {
    match (bytes, written) {
        (1, None) => return Some(u32::from(io::read8(port))),
        (1, Some(value)) => io::write8(port, value as u8),
        // The functions have the value's low byte first, and who does without them has not.
        (2, None) => return Some(u32::from(io::read16(port).to_le())),
        (2, Some(value)) => io::write16(port, (value as u16).to_le()),
        (_, None) => return Some(io::read32(port).to_le()),
        (_, Some(value)) => io::write32(port, value.to_le()),
    }
    None
}

/// Ends the machine. If it cannot, it stops here.
pub fn power_off() -> ! {
    /// Where kseg1 shows physical address 0, past the caches.
    const KSEG1: usize = 0xffff_ffff_a000_0000;
    let register = KSEG1 + (reset::PAGE + reset::OFFSET) as usize;
    let register: *mut u32 = core::ptr::with_exposed_provenance_mut(register);
    // SAFETY: the board's register, which does nothing else.
    unsafe { register.write_volatile(reset::NOW) };
    loop {
        core::hint::spin_loop();
    }
}
