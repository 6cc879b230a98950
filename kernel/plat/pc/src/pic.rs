// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two 8259A interrupt controllers.

use core::sync::atomic::{AtomicU16, Ordering};
use pc::io::{read8, write8};

const MASTER: u16 = 0x20;
const SLAVE: u16 = 0xa0;
/// The line of the master that the slave is behind.
pub const CASCADE: u32 = 2;
/// How many lines there are.
pub const LINES: usize = 16;
/// Operation word 2: specific end of interrupt.
const SPECIFIC_EOI: u8 = 0x60;
/// Operation word 3: read the in-service register.
const READ_IN_SERVICE: u8 = 0x0b;

/// Vector of line 0.
pub const FIRST_VECTOR: u8 = 0x20;
/// Vector of the last line.
pub const LAST_VECTOR: u8 = FIRST_VECTOR + (LINES as u8 - 1);

static MASKED: AtomicU16 = AtomicU16::new(0xffff);

/// Starts both, vectors from [`FIRST_VECTOR`], every line masked but the cascade.
pub fn init() {
    for (base, vector, wiring) in [(MASTER, FIRST_VECTOR, 1 << CASCADE), (SLAVE, FIRST_VECTOR + 8, CASCADE as u8)] {
        write8(base, 0x11);
        write8(base + 1, vector);
        write8(base + 1, wiring);
        write8(base + 1, 0x01);
    }
    set_enabled(CASCADE, true);
}

/// Lets a line through, or not.
pub fn set_enabled(line: u32, enabled: bool) {
    let bit = 1u16 << (line & 15);
    let masked = MASKED.load(Ordering::Relaxed);
    let masked = if enabled { masked & !bit } else { masked | bit };
    MASKED.store(masked, Ordering::Relaxed);
    if line < 8 { write8(MASTER + 1, masked as u8) } else { write8(SLAVE + 1, (masked >> 8) as u8) }
}

/// Whether an interrupt on line 7 or 15 is spurious: no line is in service then. What the slave has
/// spuriously raised is a real interrupt of the cascade to the master, and is ended there.
pub fn is_spurious(line: u32) -> bool {
    let base = match line {
        7 => MASTER,
        15 => SLAVE,
        _ => return false,
    };
    write8(base, READ_IN_SERVICE);
    let spurious = read8(base) & 0x80 == 0;
    if spurious && line == 15 {
        write8(MASTER, SPECIFIC_EOI | CASCADE as u8);
    }
    spurious
}

/// Ends the interrupt of a line.
pub fn acknowledge(line: u32) {
    if line >= 8 {
        write8(SLAVE, SPECIFIC_EOI | (line & 7) as u8);
        write8(MASTER, SPECIFIC_EOI | CASCADE as u8);
    } else {
        write8(MASTER, SPECIFIC_EOI | line as u8);
    }
}
