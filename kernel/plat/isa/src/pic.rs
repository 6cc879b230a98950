// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two 8259A interrupt controllers.
//!
//! The master ends an interrupt by itself when the processor takes it (automatic end of interrupt),
//! which saves an access to a port for each, a microsecond. No line of it is in service ever, so a
//! spurious interrupt looks like line 7: its owner is notified without a cause. The slave cannot:
//! if a second of its lines waits when the first one is taken, its output would stay as it is, and
//! the master, which waits for an edge, would never ask again. So the kernel ends an interrupt of
//! the slave, and when it does is in `lines`.

use crate::lines::{Controller, Lines};
use core::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use isa::io::{read8, write8};

const MASTER: u16 = 0x20;
const SLAVE: u16 = 0xa0;
/// The line of the master that the slave is connected to.
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

/// The lines of the master that are masked.
static MASTER_MASKED: AtomicU8 = AtomicU8::new(0xff);
/// The slave's [`Lines`].
static SLAVE_LINES: AtomicU16 = AtomicU16::new(Lines::MASKED.bits());

/// Whether there are such controllers: one keeps the mask that it is told. Where nothing is, all bits
/// are 1. Before [`init`], with interrupts off.
pub fn is_there() -> bool {
    const MASK: u8 = !(1 << CASCADE);
    write8(MASTER + 1, MASK);
    read8(MASTER + 1) == MASK
}

/// Starts both, vectors from [`FIRST_VECTOR`], every line masked but the cascade.
pub fn init() {
    for (base, vector, wiring, mode) in [
        (MASTER, FIRST_VECTOR, 1 << CASCADE, MODE | AUTOMATIC),
        (SLAVE, FIRST_VECTOR + 8, CASCADE as u8, MODE),
    ] {
        write8(base, BEGIN);
        write8(base + 1, vector);
        write8(base + 1, wiring);
        write8(base + 1, mode);
    }
    Slave.set_mask(Lines::MASKED.mask());
    set_enabled(CASCADE, true);
}

/// Lets a line through, or not.
pub fn set_enabled(line: u32, enabled: bool) {
    if line < 8 {
        let bit = 1 << line;
        let masked = MASTER_MASKED.load(Ordering::Relaxed);
        let masked = if enabled { masked & !bit } else { masked | bit };
        MASTER_MASKED.store(masked, Ordering::Relaxed);
        write8(MASTER + 1, masked);
    } else {
        with_lines(|lines| lines.set(line - 8, enabled, &mut Slave));
    }
}

/// The processor has taken a line. A line of the slave is quiet from then on, until it is enabled.
/// False: it is spurious, as the line is not in service.
pub fn take(line: u32) -> bool {
    if line < 8 {
        return true;
    }
    if line == 15 && is_spurious() {
        return false;
    }
    with_lines(|lines| lines.take(line - 8, &mut Slave));
    true
}

/// Operation word 3: the next read takes the line that is due, as the processor's acknowledgement
/// does.
const POLL: u8 = 0x0c;

/// Takes the line that is due, of a processor that acknowledges nothing itself; nothing if there is
/// none. A line of the slave is quiet from then on, until it is enabled.
pub fn poll() -> Option<u32> {
    let line = polled(MASTER)?;
    if line != CASCADE {
        return Some(line);
    }
    let line = polled(SLAVE)?;
    with_lines(|lines| lines.take(line, &mut Slave));
    Some(line + 8)
}

/// Whether a line that is let through waits to be taken. The master shows its request register:
/// nobody tells it to show another one.
pub fn is_pending() -> bool {
    read8(MASTER) & !MASTER_MASKED.load(Ordering::Relaxed) != 0
}

fn polled(controller: u16) -> Option<u32> {
    write8(controller, POLL);
    let answer = read8(controller);
    (answer & 0x80 != 0).then_some(u32::from(answer & 7))
}

/// Whether what looks like the slave's last line is none: it has not been in service since it was
/// taken.
fn is_spurious() -> bool {
    if Lines::from_bits(SLAVE_LINES.load(Ordering::Relaxed)).is_held(7) {
        return true;
    }
    write8(SLAVE, READ_IN_SERVICE);
    read8(SLAVE) & 0x80 == 0
}

/// Changes what is known of the slave's lines.
fn with_lines(change: impl FnOnce(&mut Lines)) {
    let mut lines = Lines::from_bits(SLAVE_LINES.load(Ordering::Relaxed));
    change(&mut lines);
    SLAVE_LINES.store(lines.bits(), Ordering::Relaxed);
}

/// The second controller.
struct Slave;

impl Controller for Slave {
    fn set_mask(&mut self, mask: u8) {
        write8(SLAVE + 1, mask);
    }

    fn end(&mut self, line: u32) {
        write8(SLAVE, SPECIFIC_EOI | line as u8);
    }
}
