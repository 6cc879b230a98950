// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two 8259A interrupt controllers.
//!
//! Both end an interrupt by themselves when the processor takes it (automatic end of interrupt; all slaves since 1985 can, as Intel's
//! data sheet says). It saves two of the four accesses to ports that an interrupt of a device takes. A line whose device goes on
//! asking is masked before the processor takes the next interrupt. None is in service ever, so a spurious interrupt of line 7 or 15
//! looks like one of these lines: who has it is notified for nothing.

use core::sync::atomic::{AtomicU16, Ordering};
use pc::io::write8;

const MASTER: u16 = 0x20;
const SLAVE: u16 = 0xa0;
/// The line of the master that the slave is behind.
pub const CASCADE: u32 = 2;
/// How many lines there are.
pub const LINES: usize = 16;
/// Initialisation word 1: edges, two controllers, word 4 follows.
const BEGIN: u8 = 0x11;
/// Initialisation word 4: 8086 mode, automatic end of interrupt.
const MODE: u8 = 0x03;

/// Vector of line 0.
pub const FIRST_VECTOR: u8 = 0x20;
/// Vector of the last line.
pub const LAST_VECTOR: u8 = FIRST_VECTOR + (LINES as u8 - 1);

static MASKED: AtomicU16 = AtomicU16::new(0xffff);

/// Starts both, vectors from [`FIRST_VECTOR`], every line masked but the cascade.
pub fn init() {
    for (base, vector, wiring) in [(MASTER, FIRST_VECTOR, 1 << CASCADE), (SLAVE, FIRST_VECTOR + 8, CASCADE as u8)] {
        write8(base, BEGIN);
        write8(base + 1, vector);
        write8(base + 1, wiring);
        write8(base + 1, MODE);
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
