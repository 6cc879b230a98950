// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a PS/2 mouse is sent, and how its packets become events (IBM Personal System/2 Hardware
//! Interface Technical Reference, *Auxiliary device*).

use macadamia::time;
use surface::{Input, Mouse, Moved, key};

/// How long a device may take for an answer, in nanoseconds.
const PATIENCE: u64 = 50_000_000;
/// Bytes that may lie before an answer: a device had sent them already.
const OLD: usize = 64;
/// Commands: report nothing; as after power-on; this many reports a second; who are you; report.
const QUIET: u8 = 0xf5;
const DEFAULTS: u8 = 0xf6;
const RATE: u8 = 0xf3;
const IDENTIFY: u8 = 0xf2;
const REPORT: u8 = 0xf4;
/// The answer to a command.
const DONE: u8 = 0xfa;
/// Rates that turn the wheel on, and who has one then.
const KNOCK: [u8; 3] = [200, 100, 80];
const HAS_WHEEL: u8 = 3;

/// A device at its line.
pub trait Line {
    /// Sends a byte, if the line takes it within a while.
    fn send(&self, byte: u8);
    /// A byte that has come.
    fn receive(&self) -> Option<u8>;

    /// The same, within a while.
    fn wait(&self) -> Option<u8> {
        let end = time::now() + PATIENCE;
        loop {
            let byte = self.receive();
            if byte.is_some() || time::now() > end {
                return byte;
            }
        }
    }

    /// Sends a command. Whether it was done.
    fn command(&self, byte: u8) -> bool {
        self.send(byte);
        (0..OLD).map_while(|_| self.wait()).any(|answer| answer == DONE)
    }

    /// Waits until `ready` says so, for a while.
    fn until(&self, ready: impl Fn() -> bool) {
        let end = time::now() + PATIENCE;
        while !ready() && time::now() <= end {}
    }
}

/// A mouse that reports.
pub struct Reports {
    mouse: Mouse,
    buttons: [bool; 3],
}

impl Reports {
    /// Lets the mouse at a line report. `None` if there is no mouse.
    pub fn begin(line: &impl Line) -> Option<Self> {
        if !line.command(QUIET) || !line.command(DEFAULTS) {
            return None;
        }
        KNOCK.iter().for_each(|rate| _ = line.command(RATE) && line.command(*rate));
        let has_wheel = line.command(IDENTIFY) && line.wait() == Some(HAS_WHEEL);
        line.command(REPORT).then(|| Self { mouse: Mouse::new(has_wheel), buttons: [false; 3] })
    }

    /// Takes a byte, and names what it says.
    pub fn take(&mut self, byte: u8, input: &mut impl FnMut(Input)) {
        let Some(Moved { right, down, wheel, buttons }) = self.mouse.take(byte) else { return };
        if (right, down) != (0, 0) {
            input(Input::Motion(right, down));
        }
        let before = core::mem::replace(&mut self.buttons, buttons);
        for ((pressed, code), was) in buttons.into_iter().zip(key::LEFT..).zip(before) {
            if pressed != was {
                input(Input::Key(code, pressed));
            }
        }
        if wheel != 0 {
            input(Input::Wheel(wheel));
        }
    }
}
