// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk's interrupt line: a wait with a limit.

use macadamia::alloc::string::String;
use macadamia::disk::{BIT_REQUESTS, TIMED_OUT};
use macadamia::heartbeat::Heart;
use macadamia::{Env, Error, Irq, Word, ipc, time, utcb};

/// Notification bits of the interrupt (the description's `interrupt`), of the alarm, and of
/// clients.
pub const INTERRUPT: u32 = 1;
pub const ALARM: u32 = 2;
pub const REQUESTS: u32 = 1 << BIT_REQUESTS;
/// The longest that a disk may take, in nanoseconds.
pub const PATIENCE: u64 = 30_000_000_000;
/// What people are told when it takes longer.
pub const GIVEN_UP: &str = "the device does not answer; it is reset and not used any more";

/// What the server is woken by, besides calls.
pub fn accept_all() {
    utcb::accept(INTERRUPT | ALARM | REQUESTS);
}

/// An interrupt line, and the heartbeats: the thread has one alarm.
pub struct Line {
    irq: Irq,
    heart: Heart,
}

impl Line {
    /// The line of a grant, bound and open; a sentence if that is not possible.
    pub fn open(env: &Env, name: &str) -> Result<Self, String> {
        let irq = env.open_irq(name, "interrupt")?;
        Ok(Self { irq, heart: Heart::new(env, ALARM as Word) })
    }

    /// To be called before each wait: the alarm comes at this time, or before it.
    pub fn alarm(&mut self, due: Option<u64>) -> Result<(), Error> {
        self.heart.alarm(due)
    }

    /// Waits until `done`, called at each interrupt, takes the device's interrupt back and says
    /// what came of it; [`TIMED_OUT`] if that does not come before `deadline`. It is the device that
    /// is slow: the server sends its heartbeats.
    pub fn wait<T>(&mut self, deadline: u64, done: impl FnMut() -> Option<T>) -> Result<T, u32> {
        let result = self.before(deadline, done);
        accept_all();
        result.ok().flatten().ok_or(TIMED_OUT)
    }

    /// The same, which hears only what it waits for, also when it returns.
    fn before<T>(
        &mut self,
        deadline: u64,
        mut done: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        loop {
            self.alarm(Some(deadline))?;
            if ipc::wait(INTERRUPT | ALARM)? & INTERRUPT != 0 {
                let result = done();
                self.irq.acknowledge()?;
                if result.is_some() {
                    return Ok(result);
                }
            }
            if time::now() >= deadline {
                return Ok(None);
            }
        }
    }

    /// The next interrupt may come.
    pub fn acknowledge(&self) {
        // The line is open.
        let _ = self.irq.acknowledge();
    }
}
