// SPDX-License-Identifier: MIT OR Apache-2.0
//! A 16550 serial line: 115,200 baud, 8 bits, no parity.

use macadamia::Env;
use macadamia::port::{read8, write8};

/// Registers, and what they mean while the divisor is accessible.
mod register {
    pub const DATA: u16 = 0;
    pub const DIVISOR_LOW: u16 = 0;
    pub const INTERRUPTS: u16 = 1;
    pub const DIVISOR_HIGH: u16 = 1;
    pub const LINE: u16 = 3;
    pub const MODEM: u16 = 4;
    pub const STATUS: u16 = 5;
}
/// In the line register: the divisor is accessible.
const DIVISOR: u8 = 0x80;
/// In the line register: 8 bits, no parity, one stop bit.
const EIGHT_BITS: u8 = 3;
/// In the modem register: ready, and OUT2, which lets the interrupt out of the chip.
const READY: u8 = 3;
const OUT2: u8 = 8;
/// In the interrupt register: when a byte has arrived.
const ARRIVED: u8 = 1;
/// In the status register.
const DATA_READY: u8 = 1;
const TRANSMITTER_EMPTY: u8 = 0x20;

/// One line.
pub struct Uart {
    base: u16,
}

impl Uart {
    /// The line whose ports the description gives as `name`. Panics, naming it, if there are none.
    pub fn find(env: &Env, name: &str) -> Self {
        Self { base: env.ports(name) }
    }

    /// Programs it, with an interrupt for each arrival or without. The FIFOs stay on or off as they
    /// are: to change that empties them, and what has arrived already is to be read.
    pub fn set_up(&self, interrupts: bool) {
        self.write(register::INTERRUPTS, 0);
        self.write(register::LINE, DIVISOR);
        self.write(register::DIVISOR_LOW, 1);
        self.write(register::DIVISOR_HIGH, 0);
        self.write(register::LINE, EIGHT_BITS);
        self.write(register::MODEM, READY | OUT2);
        self.write(register::INTERRUPTS, if interrupts { ARRIVED } else { 0 });
    }

    fn read(&self, register: u16) -> u8 {
        read8(self.base + register)
    }

    fn write(&self, register: u16, value: u8) {
        write8(self.base + register, value);
    }

    /// Sends a byte, once the one before has left.
    pub fn put(&self, byte: u8) {
        while self.read(register::STATUS) & TRANSMITTER_EMPTY == 0 {}
        self.write(register::DATA, byte);
    }

    /// A byte that has arrived. When all are taken, so is the interrupt's cause.
    pub fn get(&self) -> Option<u8> {
        (self.read(register::STATUS) & DATA_READY != 0).then(|| self.read(register::DATA))
    }
}
