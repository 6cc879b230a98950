// SPDX-License-Identifier: MIT OR Apache-2.0
//! The real-time clock of a PC: an MC146818 or one of its successors.

use calendar::Date;
use macadamia::Env;
use macadamia::port::{read8, write8};

/// Registers of the clock.
mod register {
    pub const SECONDS: u8 = 0;
    pub const MINUTES: u8 = 2;
    pub const HOURS: u8 = 4;
    pub const DAY: u8 = 7;
    pub const MONTH: u8 = 8;
    pub const YEAR: u8 = 9;
    pub const STATUS_A: u8 = 10;
    pub const STATUS_B: u8 = 11;
}
/// In status A: the registers are about to change.
const UPDATING: u8 = 0x80;
/// In status B: hours count to 24.
const HOURS_24: u8 = 2;
/// In status B: binary, not two decimal digits.
const BINARY: u8 = 4;
/// In the hours, if they count to 12: after noon.
const AFTER_NOON: u8 = 0x80;
/// The clock has two digits of the year; this contract is younger than 2000.
const CENTURY: u32 = 2000;

/// The real-time clock: a register is chosen by the first port, and read by the one after.
pub struct Clock {
    index: u16,
}

impl Clock {
    /// The one whose two ports the description gives as `clock`. Panics, naming it, if there are
    /// none.
    pub fn find(env: &Env) -> Self {
        Self { index: env.ports("clock") }
    }

    /// Seconds since 1970-01-01 00:00 UTC.
    pub fn seconds(&self) -> u64 {
        calendar::seconds(&self.date())
    }

    fn register(&self, number: u8) -> u8 {
        write8(self.index, number);
        read8(self.index + 1)
    }

    /// The date as the clock has it: read until two readings agree, as it may change in
    /// the middle of one.
    fn date(&self) -> Date {
        let mut last = self.reading();
        loop {
            let next = self.reading();
            if next == last {
                return next;
            }
            last = next;
        }
    }

    fn reading(&self) -> Date {
        while self.register(register::STATUS_A) & UPDATING != 0 {}
        let format = self.register(register::STATUS_B);
        let number = |raw: u8| {
            u32::from(if format & BINARY != 0 { raw } else { (raw >> 4) * 10 + (raw & 15) })
        };
        let hours = self.register(register::HOURS);
        let hour = if format & HOURS_24 != 0 {
            number(hours)
        } else {
            number(hours & !AFTER_NOON) % 12 + if hours & AFTER_NOON != 0 { 12 } else { 0 }
        };
        Date {
            year: CENTURY + number(self.register(register::YEAR)),
            month: number(self.register(register::MONTH)),
            day: number(self.register(register::DAY)),
            hour,
            minute: number(self.register(register::MINUTES)),
            second: number(self.register(register::SECONDS)),
        }
    }
}
