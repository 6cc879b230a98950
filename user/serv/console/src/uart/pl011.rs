// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PL011 serial line: 115,200 baud, 8 bits, no parity.

use macadamia::Env;
use macadamia::board::uart::{
    ARRIVED, ARRIVED_LAST, CONTROL, DATA, DIVISOR, EIGHT_BITS, FIFOS, FLAGS, FRACTION, FULL,
    INTERRUPTS, LINE, NOTHING_ARRIVED, ON,
};
use macadamia::region::{Region, Shared};

/// 24 MHz / (16 * 115,200) is 13 and 1/64.
const BAUD: [u32; 2] = [13, 1];

/// One line.
pub struct Uart {
    registers: Region,
}

impl Uart {
    /// The line whose registers the description gives as `name`. Panics, naming it, if there are
    /// none.
    pub fn find(env: &Env, name: &str) -> Self {
        let registers = Region::find(env, name)
            .unwrap_or_else(|| panic!("the system description gives no registers `{name}`"));
        Self { registers }
    }

    /// Programs it, with an interrupt for what arrives or without. The FIFOs stay on or off as they
    /// are: to change that empties them, and what has arrived already is to be read.
    pub fn set_up(&self, interrupts: bool) {
        let fifos = self.registers.read(LINE) & FIFOS;
        self.registers.write(CONTROL, 0);
        self.registers.write(DIVISOR, BAUD[0]);
        self.registers.write(FRACTION, BAUD[1]);
        self.registers.write(LINE, EIGHT_BITS | fifos);
        self.registers.write(INTERRUPTS, if interrupts { ARRIVED | ARRIVED_LAST } else { 0 });
        self.registers.write(CONTROL, ON);
    }

    /// Sends a byte, once there is room for it.
    pub fn put(&self, byte: u8) {
        while self.registers.read(FLAGS) & FULL != 0 {}
        self.registers.write(DATA, u32::from(byte));
    }

    /// A byte that has arrived. When all are taken, so is the interrupt's cause.
    pub fn get(&self) -> Option<u8> {
        (self.registers.read(FLAGS) & NOTHING_ARRIVED == 0).then(|| self.registers.read(DATA) as u8)
    }
}
