// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first serial line, a PL011 (DDI 0183), polled: for the kernel's own messages.

use crate::registers::{at, read, write};
use versatilepb::uart;

/// Registers of the first line.
const DATA: u32 = at(uart::FIRST + uart::DATA);
const FLAGS: u32 = at(uart::FIRST + uart::FLAGS);
const LINE: u32 = at(uart::FIRST + uart::LINE);
/// 115,200 baud of a clock of 24 MHz: 13 + 1/64.
const DIVISOR: (u32, u32) = (13, 1);

/// 115,200 baud, 8 bits, no parity, one stop bit, no interrupts. The FIFOs stay on or off as they
/// are: to change that empties them, and what was typed already is the console server's.
pub fn init() {
    let fifos = read(LINE) & uart::FIFOS;
    for (register, value) in [
        (uart::CONTROL, 0),
        (uart::INTERRUPTS, 0),
        (uart::DIVISOR, DIVISOR.0),
        (uart::FRACTION, DIVISOR.1),
        (uart::LINE, uart::EIGHT_BITS | fifos),
        (uart::CONTROL, uart::ON),
    ] {
        write(at(uart::FIRST + register), value);
    }
}

/// Sends a byte; waits until there is room, but not for a line that is not there.
pub fn put(byte: u8) {
    for _ in 0..100_000 {
        if read(FLAGS) & uart::FULL == 0 {
            break;
        }
    }
    write(DATA, u32::from(byte));
}

/// The serial line as a place to write to.
#[derive(Default)]
pub struct Console;

impl core::fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                put(b'\r');
            }
            put(byte);
        }
        Ok(())
    }
}
