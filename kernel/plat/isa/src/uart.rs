// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first serial line, polled: for the kernel's own messages.

use isa::io::{read8, write8};
use isa::uart::{DATA, LINE_STATUS, TRANSMITTER_EMPTY};

const DATA_READY: u8 = 1 << 0;
const BREAK: u8 = 1 << 4;
/// Its line at the interrupt controller.
pub const IRQ: u32 = 4;

/// 115,200 baud, 8 bits, no parity, one stop bit, no interrupts. The FIFOs stay on or off as they
/// are: to change that empties them, and what was typed already is the console server's.
pub fn init() {
    for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (4, 3)] {
        write8(DATA + register, value);
    }
}

/// Sends a byte; waits until there is room, but not for a line that is not there.
pub fn put(byte: u8) {
    for _ in 0..100_000 {
        if read8(LINE_STATUS) & TRANSMITTER_EMPTY != 0 {
            break;
        }
    }
    write8(DATA, byte);
}

/// Waits for a byte.
pub fn get() -> u8 {
    while read8(LINE_STATUS) & DATA_READY == 0 {}
    read8(DATA)
}

/// Whether a break came. If so, takes it and all that was received so far.
pub fn took_break() -> bool {
    let came = read8(LINE_STATUS) & BREAK != 0;
    while came && read8(LINE_STATUS) & DATA_READY != 0 {
        let _ = read8(DATA);
    }
    came
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
