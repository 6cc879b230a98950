// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk's interrupt line, waited for no longer than a while.

use macadamia::alloc::string::String;
use macadamia::disk::{BIT_REQUESTS, TIMED_OUT};
use macadamia::heartbeat::Heart;
use macadamia::{Env, Error, Irq, Word, ipc, time, utcb};

/// Notification bits of the interrupt (the description's `interrupt`), of the alarm, and of
/// clients.
pub const INTERRUPT: u32 = 1;
pub const ALARM: u32 = 2;
pub const REQUESTS: u32 = 1 << BIT_REQUESTS;
/// The longest that a disk may take.
pub const PATIENCE: u64 = 30_000_000_000;

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
    /// what came of it; [`TIMED_OUT`] if that takes too long. It is the device that is slow: the
    /// server sends its heartbeats.
    pub fn wait<T>(&mut self, mut done: impl FnMut() -> Option<T>) -> Result<T, u32> {
        let late = |_| TIMED_OUT;
        let deadline = time::now() + PATIENCE;
        let result = loop {
            self.alarm(Some(deadline)).map_err(late)?;
            let bits = ipc::wait(INTERRUPT | ALARM).map_err(late)?;
            if bits & INTERRUPT != 0 {
                let result = done();
                self.irq.acknowledge().map_err(late)?;
                if let Some(result) = result {
                    break Ok(result);
                }
            }
            if time::now() >= deadline {
                break Err(TIMED_OUT);
            }
        };
        accept_all();
        result
    }

    /// The next interrupt may come.
    pub fn acknowledge(&self) {
        // The line is open.
        let _ = self.irq.acknowledge();
    }
}
