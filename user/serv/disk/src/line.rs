// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk's interrupt line, waited for no longer than a while.

use macadamia::alloc::format;
use macadamia::alloc::string::String;
use macadamia::disk::TIMED_OUT;
use macadamia::{Env, Irq, ipc, time, utcb};

/// Notification bits of the interrupt (the description's `interrupt`) and of the alarm.
const INTERRUPT: u32 = 1;
const ALARM: u32 = 2;
/// The longest that a disk may take.
const PATIENCE: u64 = 30_000_000_000;

/// An interrupt line.
pub struct Line(Irq);

impl Line {
    /// The line of a grant, bound and open; a sentence if that is not possible.
    pub fn open(env: &Env, name: &str) -> Result<Self, String> {
        let slot = |name| env.given(name).map(|given| given.slot).filter(|slot| *slot != 0);
        let (Some(irq), Some(thread)) = (slot(name), slot("interrupt")) else {
            return Err(format!("it needs `{name}`, and `interrupt` to notify itself"));
        };
        let irq = Irq(irq);
        let bound = irq.bind(Some(macadamia::Thread(thread))).and_then(|()| irq.acknowledge());
        bound.map(|()| Self(irq)).map_err(|error| format!("no interrupt: {}", error.text()))
    }

    /// Waits until `done`, called at each interrupt, takes the device's interrupt back and says what came
    /// of it; [`TIMED_OUT`] if that takes too long.
    pub fn wait<T>(&self, mut done: impl FnMut() -> Option<T>) -> Result<T, u32> {
        let late = |_| TIMED_OUT;
        let deadline = time::now() + PATIENCE;
        time::alarm(deadline, ALARM).map_err(late)?;
        let result = loop {
            let bits = ipc::wait(INTERRUPT | ALARM).map_err(late)?;
            if bits & INTERRUPT != 0 {
                let result = done();
                self.0.acknowledge().map_err(late)?;
                if let Some(result) = result {
                    break Ok(result);
                }
            }
            if time::now() >= deadline {
                break Err(TIMED_OUT);
            }
        };
        time::alarm(0, 0).map_err(late)?;
        // Requests are no notifications.
        utcb::accept(0);
        result
    }
}
