// SPDX-License-Identifier: MIT OR Apache-2.0
//! Input that nobody would write: correct input with random changes, and random bytes. Code that
//! reads such input must neither panic nor hang.
//!
//! A few thousand cases are part of the host tests; [`CASES`] asks for more (`./macadamia test
//! host.fuzz`).

mod frames;
mod images;
mod texts;

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The environment variable that says how many cases there are.
pub const CASES: &str = "MACADAMIA_FUZZ_CASES";
/// As many as that if it is absent.
const FEW: u64 = 2000;
/// The longest that a case may take, with room for a busy host.
const LONGEST: Duration = Duration::from_secs(20);

/// Numbers by chance (splitmix64), the same in each run.
pub struct Chance(u64);

impl Chance {
    /// A word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A number at a limit, or any.
    pub fn number(&mut self) -> u32 {
        let at = [
            0,
            1,
            2,
            20,
            255,
            256,
            4095,
            4096,
            65_535,
            65_536,
            1 << 20,
            1 << 22,
            16 << 20,
            1 << 31,
            0xe000_0000,
            0xffff_f000,
            u32::MAX,
        ];
        let number = *self.of(&at);
        match self.below(4) {
            0 => self.word() as u32,
            1 => number.wrapping_add(self.below(3) as u32).wrapping_sub(1),
            2 => 4096 * self.below(1 << 20) as u32,
            _ => number,
        }
    }
}

/// Says which case it was if it panics.
struct Shown<'a, T: Debug>(u64, &'a T);

impl<T: Debug> Drop for Shown<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("case {}: {:?}", self.0, self.1);
        }
    }
}

/// Checks so many cases; ends the process if one takes too long.
fn all<T: Debug>(make: impl Fn(&mut Chance) -> T, check: impl Fn(&T)) {
    let cases = std::env::var(CASES).map_or(FEW, |cases| cases.parse().expect("a number of cases"));
    let current = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (over, watch) = channel::<()>();
        let current = &current;
        scope.spawn(move || {
            let mut last = u64::MAX;
            while watch.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
                let case = current.load(Ordering::Relaxed);
                if case == last {
                    eprintln!("case {case} takes more than {} s", LONGEST.as_secs());
                    std::process::exit(1);
                }
                last = case;
            }
        });
        // The watch ends with this.
        let _over = over;
        for case in 0..cases {
            current.store(case, Ordering::Relaxed);
            let input = make(&mut Chance(case << 20));
            let shown = Shown(case, &input);
            check(&input);
            drop(shown);
        }
    });
}

/// Changes bytes in one place: a bit, a byte, a piece that is missing, twice there, or of a limit's
/// bytes.
fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len());
    let end = (at + 1 + chance.below(16)).min(bytes.len());
    match chance.below(7) {
        _ if bytes.is_empty() => bytes.push(chance.word() as u8),
        0 => bytes[at] ^= 1 << chance.below(8),
        1 => bytes[at] = *chance.of(&[0, 1, 0x7f, 0x80, 0xff]),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
        5 => {
            let number = chance.number().to_le_bytes();
            bytes.splice(at..(at + 4).min(end), number);
        }
        // The largest number in postcard's form.
        _ => drop(bytes.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0x0f])),
    }
}
