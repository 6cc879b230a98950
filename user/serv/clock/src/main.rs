// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock server: the time of day, from the real-time clock (MC146818 and its
//! successors; its two ports are the grant `clock`). It reads that once; from then on it adds the
//! kernel's count of nanoseconds. Alarms are the kernel's.
//!
//! From time to time it holds that count against the real-time clock, and says so if
//! they disagree.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use calendar::Date;
use macadamia::clock::NOW;
use macadamia::port::{read8, write8};
use macadamia::{Env, MessageKind, ipc, println, time, utcb};

macadamia::main!(serve);

const SECOND: u64 = 1_000_000_000;

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

/// Seconds from the start to the first check; each later one comes after twice the time.
const FIRST_CHECK: u64 = 8;
/// Notification bit of the alarm.
const ALARM: u32 = 1;

fn serve(env: Env) {
    let clock = Clock { index: env.ports("clock") };
    let read = calendar::seconds(&clock.date());
    let start = time::now();
    let boot = read * SECOND - start;
    let mut check = FIRST_CHECK;
    utcb::accept(ALARM);
    alarm(start + check * SECOND);
    ipc::serve(|received| {
        if received.kind == MessageKind::Notification {
            let (seconds, nanoseconds) = (calendar::seconds(&clock.date()).wrapping_sub(read), time::now() - start);
            if calendar::agrees(seconds, nanoseconds) {
                check *= 2;
                alarm(start + check * SECOND);
            } else {
                let counted = nanoseconds / SECOND;
                println!("time is wrong: {counted} s by the time-stamp counter, {} s by the real-time clock", seconds as i64);
            }
            return None;
        }
        let [request, ..] = received.words;
        let now = boot + time::now();
        let seconds = now / SECOND;
        Some(if request == NOW { [seconds as u32, (seconds >> 32) as u32, (now % SECOND) as u32] } else { [u32::MAX; 3] })
    });
}

fn alarm(at: u64) {
    if let Err(error) = time::alarm(at, ALARM) {
        println!("no alarm: {}; the time is not checked", error.text());
    }
}

/// The real-time clock: a register is chosen by the first port, and read by the one behind.
struct Clock {
    index: u16,
}

impl Clock {
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
        let number = |raw: u8| u32::from(if format & BINARY != 0 { raw } else { (raw >> 4) * 10 + (raw & 15) });
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
