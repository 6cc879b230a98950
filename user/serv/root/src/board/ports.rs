// SPDX-License-Identifier: MIT OR Apache-2.0
//! What boards with I/O ports have in common: the first serial line, and the ports of the root
//! server itself.

use abi::boot::slot;
use macadamia::board::uart::{DATA, LINE_STATUS, TRANSMITTER_EMPTY};
use macadamia::{Memory, Result, Rights, Space, Word, map, port};

/// The first serial line, polled.
pub struct Line;

impl Line {
    /// It is always there: without ports the line is silent and the switch dead: the exception that
    /// the first use raises has no handler, and the kernel reports it.
    pub const fn open() -> Result<Self> {
        Ok(Self)
    }

    /// Sends a byte.
    pub fn put(&self, byte: u8) {
        while port::read8(LINE_STATUS) & TRANSMITTER_EMPTY == 0 {}
        port::write8(DATA, byte);
    }
}

/// Opens every port to the root server itself, for the serial line and the switch.
pub fn open(space: Space) -> Result<()> {
    map::map(space, 0, Memory(slot::PORTS as Word), 0, 1 << 16, Rights::WRITE)
}
