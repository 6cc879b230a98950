// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first serial line, a PL011 (DDI 0183), polled: what the kernel itself has to say.

use crate::registers::{at, read, write};

const DATA: u32 = at(0x101f_1000);
const FLAGS: u32 = at(0x101f_1018);
const INTEGER_DIVISOR: u32 = at(0x101f_1024);
const FRACTIONAL_DIVISOR: u32 = at(0x101f_1028);
const LINE_CONTROL: u32 = at(0x101f_102c);
const CONTROL: u32 = at(0x101f_1030);
const MASK: u32 = at(0x101f_1038);
/// The FIFO to send from is full.
const FULL: u32 = 1 << 5;
/// 115,200 baud of a clock of 24 MHz: 13 + 1/64.
const DIVISOR: (u32, u32) = (13, 1);
/// 8 bits, FIFOs on.
const FORMAT: u32 = 3 << 5 | 1 << 4;
/// It sends and receives.
const ON: u32 = 1 << 9 | 1 << 8 | 1;

/// 115,200 baud, 8 bits, no parity, one stop bit, FIFOs on, no interrupts.
pub fn init() {
    write(CONTROL, 0);
    write(MASK, 0);
    write(INTEGER_DIVISOR, DIVISOR.0);
    write(FRACTIONAL_DIVISOR, DIVISOR.1);
    write(LINE_CONTROL, FORMAT);
    write(CONTROL, ON);
}

/// Sends a byte; waits until there is room, but not for a line that is not there.
pub fn put(byte: u8) {
    for _ in 0..100_000 {
        if read(FLAGS) & FULL == 0 {
            break;
        }
    }
    write(DATA, u32::from(byte));
}

/// The serial line as a place to write to.
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
