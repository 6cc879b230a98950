// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures how fast a counter runs, against a *ruler*: a timer whose rate is known. It accesses no
//! hardware, so the host can test it.
//!
//! The ruler is read between two readings of the counter. If the program is stopped between these
//! (an emulator that does not run, firmware), the readings are further apart, but the ruler was
//! still read between them. Two such looks give a lower and an upper bound of the frequency. No
//! bound is ever wrong; an interruption only makes one wider. The frequency lies within all bounds.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

/// A reading of the ruler between two of the counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The counter before.
    pub before: u64,
    /// Ticks of the ruler since it began.
    pub ruler: u32,
    /// The counter after.
    pub after: u64,
}

/// Ticks by which two readings of the ruler may be wrong together: each shows whole
/// ticks, and Bochs moves its timer on by whole microseconds.
const SLACK: u64 = 4;
/// Looks of a run that all later ones are held against: one of them is narrow.
const ANCHORS: usize = 8;
/// A measurement is good enough if its bounds are closer than this part of it: some 120
/// millionths to either side.
const FINE: u64 = 4096;
/// It still serves if they are closer than this part.
const FAIR: u64 = 1024;

/// Why there is no frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bounds are too far apart, or there are none.
    Vague,
    /// They exclude each other: one of the two does not run evenly.
    Contradiction,
}

/// Bounds of a counter's frequency.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Ticks of the ruler a second.
    rate: u64,
    anchors: [Look; ANCHORS],
    count: usize,
    low: u64,
    high: u64,
}

impl Bounds {
    /// Nothing is known. `rate` is the ruler's: ticks a second, at most 2^24.
    #[must_use]
    pub const fn new(rate: u64) -> Self {
        let nothing = Look { before: 0, ruler: 0, after: 0 };
        Self { rate, anchors: [nothing; ANCHORS], count: 0, low: 0, high: u64::MAX }
    }

    /// The ruler begins again: looks from before say nothing about later ones.
    pub fn begin(&mut self) {
        self.count = 0;
    }

    /// Takes a look, later than those before it.
    pub fn add(&mut self, look: Look) {
        for anchor in &self.anchors[..self.count] {
            let ticks = u64::from(look.ruler.saturating_sub(anchor.ruler));
            let (least, most) = (
                look.before.saturating_sub(anchor.after),
                look.after.saturating_sub(anchor.before),
            );
            self.low = self.low.max(least.saturating_mul(self.rate) / (ticks + SLACK));
            if ticks > SLACK {
                self.high = self.high.min(most.saturating_mul(self.rate).div_ceil(ticks - SLACK));
            }
        }
        if self.count < ANCHORS {
            self.anchors[self.count] = look;
            self.count += 1;
        }
    }

    /// Whether more looks are of no use.
    #[must_use]
    pub const fn is_decided(&self) -> bool {
        self.low > self.high || self.high - self.low <= self.high / FINE
    }

    /// The frequency in Hz, as exactly as it is known.
    ///
    /// # Errors
    /// If that is not exact enough for a clock.
    pub const fn frequency(&self) -> Result<u64, Fault> {
        if self.low > self.high {
            Err(Fault::Contradiction)
        } else if self.high - self.low > self.high / FAIR {
            Err(Fault::Vague)
        } else {
            Ok(self.low + (self.high - self.low) / 2)
        }
    }
}

/// Multiplier and shift that make nanoseconds of ticks (`abi::kip::scale`), for a counter of
/// 1 MHz or more: the largest shift whose multiplier fits 32 bits, at most 31: the instructions of
/// IA-32 shift no further.
#[must_use]
pub const fn scale(hertz: u64) -> (u32, u32) {
    let mut shift = 31;
    while shift > 0 && (1_000_000_000u128 << shift) / hertz as u128 > u32::MAX as u128 {
        shift -= 1;
    }
    (((1_000_000_000u128 << shift) / hertz as u128) as u32, shift)
}
