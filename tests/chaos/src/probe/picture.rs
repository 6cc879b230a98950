// SPDX-License-Identifier: MIT OR Apache-2.0
//! A part of the screen: each question is another colour, and the answer is that it is shown.

use super::{ALARM, PATIENCE, Probe};
use macadamia::screen::Screen;
use macadamia::{Env, Result, Word, println, time};

/// The part.
pub struct Picture {
    screen: Screen,
    shown: u32,
}

impl Picture {
    /// The one that the description gives; `None` if it gives none.
    pub fn find(env: &Env) -> Option<Self> {
        let screen =
            Screen::open(env, false).unwrap_or_else(|error| panic!("no screen: {}", error.text()));
        Some(Self { screen: screen?, shown: 0 })
    }
}

impl Probe for Picture {
    fn ask(&mut self, number: u32) -> Result<bool> {
        let end = time::now() + PATIENCE;
        self.screen.fill(self.screen.area(), number);
        self.screen.show()?;
        while !self.screen.is_shown()? {
            if time::now() >= end {
                return Ok(false);
            }
            time::alarm(end, ALARM as Word)?;
            self.screen.wait(ALARM)?;
            while self.screen.event()?.is_some() {}
        }
        self.shown += 1;
        Ok(true)
    }

    fn wrong(&self) -> u32 {
        0
    }

    fn report(&self) {
        println!("the screen: {} colours shown", self.shown);
    }
}
