// SPDX-License-Identifier: MIT OR Apache-2.0
//! The AmigaOne SE: where devices are, how fast the time base runs, power, and what the board has
//! in common with a PC: the serial line for the kernel's messages, and the interrupt controllers.
//!
//! What servers know of the board, too, is in `boards/amigaone`.
#![cfg(target_arch = "powerpc")]
#![no_std]

mod bridge;

use isa::io;

pub use bridge::init;
pub use plat_isa::{pic, uart};

/// Physical address of the 256 MiB with all devices of the board itself.
pub const DEVICES: u32 = 0xf000_0000;
/// End (exclusive) of the addresses at which RAM can be.
pub const RAM_END: u32 = amigaone::pci::MEMORY;
/// What the time base counts a second: a quarter of the bus's clock.
pub const TIME_BASE: u32 = 25_000_000;

/// Physical address of I/O port 0.
pub const PORTS: u32 = io::PORTS;

/// Makes an access to a port, of 1, 2 or 4 bytes, from or to a register.
pub fn access_port(port: u16, bytes: u32, is_write: bool, register: &mut u32) {
    match (bytes, is_write) {
        (1, false) => *register = u32::from(io::read8(port)),
        (1, true) => io::write8(port, *register as u8),
        (2, false) => *register = u32::from(io::read16(port)),
        (2, true) => io::write16(port, *register as u16),
        (_, false) => *register = io::read32(port),
        (_, true) => io::write32(port, *register),
    }
}

/// Ends the machine. If it cannot, it stops here.
pub fn power_off() -> ! {
    amigaone::power_off();
    loop {
        core::hint::spin_loop();
    }
}
