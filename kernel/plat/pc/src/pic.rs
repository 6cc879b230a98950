// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two 8259A interrupt controllers.
//!
//! The master ends an interrupt by itself when the processor takes it (automatic end of interrupt), which saves an access to a port for
//! each, a microsecond. No line of it is in service ever, so a spurious interrupt looks like line 7: who has that is notified for
//! nothing. The slave cannot: if a second of its lines waits when the first one is taken, its output would stay as it is, and the master,
//! which waits for an edge, would never ask again.

use core::sync::atomic::{AtomicU16, Ordering};
use pc::io::{read8, write8};

const MASTER: u16 = 0x20;
const SLAVE: u16 = 0xa0;
/// The line of the master that the slave is behind.
pub const CASCADE: u32 = 2;
/// How many lines there are.
pub const LINES: usize = 16;
/// Initialisation word 1: edges, two controllers, word 4 follows.
const BEGIN: u8 = 0x11;
/// Initialisation word 4: 8086 mode; and automatic end of interrupt.
const MODE: u8 = 0x01;
const AUTOMATIC: u8 = 0x02;
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
    for (base, vector, wiring, mode) in
        [(MASTER, FIRST_VECTOR, 1 << CASCADE, MODE | AUTOMATIC), (SLAVE, FIRST_VECTOR + 8, CASCADE as u8, MODE)]
    {
        write8(base, BEGIN);
        write8(base + 1, vector);
        write8(base + 1, wiring);
        write8(base + 1, mode);
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

/// Ends the interrupt of a line. False: it is spurious, as no line is in service.
pub fn end(line: u32) -> bool {
    if line < 8 {
        return true;
    }
    if line == 15 {
        write8(SLAVE, READ_IN_SERVICE);
        if read8(SLAVE) & 0x80 == 0 {
            return false;
        }
    }
    write8(SLAVE, SPECIFIC_EOI | (line & 7) as u8);
    true
}
