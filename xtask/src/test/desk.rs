// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine with a screen, for tests: they talk at its terminal, type and move the mouse by its
//! monitor, and wait until the screen shows what they expect.

use crate::build::Built;
use crate::emulator;
use crate::machine::monitor::{Monitor, Picture};
use crate::process::patience::{Deadline, Limit};
use crate::process::session::Session;
use anyhow::{Result, bail};
use std::time::Duration;

/// The longest until a picture shows what it is to show, unless a test says another.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two pictures.
const LOOK: Duration = Duration::from_millis(20);

/// A machine whose screen is looked at.
pub struct Desk {
    /// Its terminal.
    pub session: Session,
    /// Its keyboard, its mouse, and its screen.
    pub monitor: Monitor,
    /// The longest until a picture shows what it is to show.
    pub patience: Duration,
}

/// A place on the screen, from the left and from above, and the colour that it is to have.
pub type Pixel = ((usize, usize), u32);

impl Desk {
    /// Starts a system.
    pub fn start(built: &Built) -> Result<Self> {
        Self::start_with(built, &[])
    }

    /// The same with more arguments for QEMU.
    pub fn start_with(built: &Built, arguments: &[&str]) -> Result<Self> {
        let (session, monitor) = emulator::session_with_screen(built, arguments)?;
        Ok(Self { session, monitor, patience: PATIENCE })
    }

    /// Has the tablet at a pixel of the screen.
    pub fn point(&mut self, x: usize, y: usize) -> Result<()> {
        let picture = self.monitor.picture()?;
        let of = |at: usize, most: usize| ((2 * at + 1) * 0x8000 / (2 * most.max(1))) as u32;
        self.monitor.pointed(of(x, picture.width()), of(y, picture.height()))
    }

    /// Clicks there.
    pub fn click(&mut self, x: usize, y: usize) -> Result<()> {
        self.point(x, y)?;
        self.monitor.button(true)?;
        self.monitor.button(false)
    }

    /// Gives the screen's client of this digit the keyboard, by the list of the secure key. While
    /// that is open the screen `shows` something.
    pub fn choose(&mut self, digit: &str, shows: &[Pixel]) -> Result<()> {
        self.monitor.key("f12", true)?;
        self.colours(shows)?;
        self.monitor.press(digit)?;
        self.monitor.key("f12", false)
    }

    /// Waits until the screen shows what is wanted.
    pub fn until(&mut self, what: &str, shows: impl Fn(&Picture) -> bool) -> Result<Picture> {
        let mut deadline = Deadline::new(self.session.process(), Limit::Own(self.patience));
        loop {
            let picture = self.monitor.picture()?;
            if shows(&picture) {
                return Ok(picture);
            }
            if deadline.is_over() {
                let said = self.session.said();
                bail!("the screen does not show {what}; the system said: {said}");
            }
            std::thread::park_timeout(LOOK);
        }
    }

    /// Waits until these places have these colours.
    pub fn colours(&mut self, wanted: &[Pixel]) -> Result<Picture> {
        let is_shown =
            |picture: &Picture, ((x, y), colour): &Pixel| picture.at(*x, *y) == Some(*colour);
        let text = |((x, y), colour): &Pixel| format!("{colour:06x} at {x},{y}");
        let texts: Vec<String> = wanted.iter().map(text).collect();
        self.until(&texts.join(", "), |picture| wanted.iter().all(|one| is_shown(picture, one)))
    }
}
