// SPDX-License-Identifier: MIT OR Apache-2.0
//! Dates of the Gregorian calendar, in UTC without leap seconds, and seconds since
//! 1970-01-01 00:00. A crate of its own, so that it is tested on the host.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use core::fmt;

const DAY: u64 = 86_400;

/// A date and a time of day, from 1970 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Date {
    /// Year.
    pub year: u32,
    /// Month, 1 to 12.
    pub month: u32,
    /// Day, 1 to 31.
    pub day: u32,
    /// Hour, 0 to 23.
    pub hour: u32,
    /// Minute, 0 to 59.
    pub minute: u32,
    /// Second, 0 to 59.
    pub second: u32,
}

const fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

const fn days_of_year(year: u32) -> u64 {
    365 + is_leap(year) as u64
}

const fn days_of_month(year: u32, month: u32) -> u64 {
    match month {
        2 => 28 + is_leap(year) as u64,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Seconds since 1970-01-01 00:00.
#[must_use]
pub fn seconds(date: &Date) -> u64 {
    let years: u64 = (1970..date.year).map(days_of_year).sum();
    let months: u64 = (1..date.month).map(|month| days_of_month(date.year, month)).sum();
    let days = years + months + u64::from(date.day.saturating_sub(1));
    days * DAY + u64::from(date.hour * 3600 + date.minute * 60 + date.second)
}

/// Whether a clock that shows whole seconds may have gone on by `seconds` in so many nanoseconds of
/// another one: either reading hides up to a second. They may drift apart by a thousandth, and one
/// be read a second late.
#[must_use]
pub const fn agrees(seconds: u64, nanoseconds: u64) -> bool {
    const SECOND: u64 = 1_000_000_000;
    nanoseconds.abs_diff(seconds.saturating_mul(SECOND)) <= 2 * SECOND + nanoseconds / 1000
}

/// The date at so many seconds since 1970-01-01 00:00.
#[must_use]
pub fn date(seconds: u64) -> Date {
    let (mut days, rest) = (seconds / DAY, (seconds % DAY) as u32);
    let (mut year, mut month) = (1970, 1);
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    Date {
        year,
        month,
        day: days as u32 + 1,
        hour: rest / 3600,
        minute: rest / 60 % 60,
        second: rest % 60,
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs from `date -u -d @SECONDS`.
    const KNOWN: [(u64, [u32; 6]); 6] = [
        (0, [1970, 1, 1, 0, 0, 0]),
        (951_782_399, [2000, 2, 28, 23, 59, 59]),
        (951_782_400, [2000, 2, 29, 0, 0, 0]),
        (1_709_251_200, [2024, 3, 1, 0, 0, 0]),
        (4_102_444_799, [2099, 12, 31, 23, 59, 59]),
        (4_107_542_400, [2100, 3, 1, 0, 0, 0]),
    ];

    #[test]
    fn knows_these_dates() {
        for (at, [year, month, day, hour, minute, second]) in KNOWN {
            let known = Date { year, month, day, hour, minute, second };
            assert_eq!((seconds(&known), date(at)), (at, known));
        }
    }

    #[test]
    fn clocks_agree() {
        let second = 1_000_000_000;
        for seconds in [0, 8, 3600, 86_400 * 3650] {
            assert!(agrees(seconds, seconds * second));
            assert!(
                agrees(seconds + 1, seconds * second + 1)
                    && agrees(seconds, (seconds + 1) * second - 1)
            );
            assert!(!agrees(seconds, seconds * second * 21 / 20 + 3 * second));
            assert!(!agrees(seconds + 3, seconds * second * 19 / 20));
        }
        assert!(!agrees(u64::MAX, 8 * second) && !agrees(8, u64::MAX));
    }

    #[test]
    fn is_its_own_inverse() {
        for at in (0..5_000_000_000).step_by(999_983) {
            assert_eq!(seconds(&date(at)), at);
        }
    }
}
