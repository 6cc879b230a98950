// SPDX-License-Identifier: MIT OR Apache-2.0
//! The time of a frame and its answer, for the machine model (docs/model.md): from the card's
//! interrupt until the card was given the next frame to send. Only a driver with the argument
//! `measured` marks it.

use core::cell::Cell;
use macadamia::{Env, interval};

/// The interval's number.
const ANSWER: u32 = 620;

pub struct Measured {
    /// Whether an interval has begun.
    open: Cell<bool>,
}

impl Measured {
    /// If the description wants it.
    pub fn of(env: &Env) -> Option<Self> {
        let is_wanted = env.start.arguments.iter().any(|argument| argument == "measured");
        is_wanted.then(|| Self { open: Cell::new(false) })
    }

    /// The card has interrupted.
    pub fn interrupted(&self) {
        if !self.open.replace(true) {
            interval::begin::<ANSWER>();
        }
    }

    /// The card was given frames.
    pub fn sent(&self) {
        if self.open.replace(false) {
            interval::end::<ANSWER>();
        }
    }
}
