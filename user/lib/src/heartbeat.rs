// SPDX-License-Identifier: MIT OR Apache-2.0
//! Heartbeats for the root server's watch-dog, which takes a component down that sends none for
//! as long as the description says (`heartbeat-ms`).
//!
//! A thread has one alarm. A server that needs it itself sets it by [`Heart::alarm`].

use crate::{Env, Result, Thread, Word, time};
use image::HEARTBEAT;

/// The sign, and when it is due.
#[derive(Debug)]
pub struct Heart {
    /// The watch-dog, and nanoseconds between two signs, if the description wants any.
    sign: Option<(Thread, u64)>,
    /// Notification bit of the alarm.
    bit: Word,
    /// When the next one is due.
    due: u64,
    /// When the alarm comes, if it was set.
    set: Option<u64>,
}

impl Heart {
    /// Of this component; `bit` is the notification bit of its alarm.
    #[must_use]
    pub fn new(env: &Env, bit: Word) -> Self {
        // Two signs and a half within the time: one that is late does no harm.
        let period = |ms: u32| u64::from(ms) * 1_000_000 * 2 / 5;
        let sign =
            env.given(HEARTBEAT).map(|given| (Thread(given.slot as Word), period(given.bytes)));
        Self { sign, bit, due: 0, set: None }
    }

    /// To be called before each wait: gives the sign if it is due, and sees to it that the alarm
    /// comes when it is due again, or at `other`, what the component wants the alarm for
    /// (nanoseconds since boot), if that is earlier. It may come sooner, too.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn alarm(&mut self, other: Option<u64>) -> Result<()> {
        if self.sign.is_none() && other.is_none() && self.set.is_none() {
            return Ok(());
        }
        let now = time::now();
        if let Some((watchdog, period)) = self.sign
            && now >= self.due
        {
            watchdog.notify()?;
            self.due = now + period;
        }
        let next = self.sign.map(|_| self.due).into_iter().chain(other).min();
        // One that comes too early does no harm, and takes no system call. One that has passed has
        // come.
        let set = self.set.filter(|at| *at > now);
        self.set = match next {
            Some(at) if set.is_none_or(|set| at < set) => {
                time::alarm(at, self.bit)?;
                next
            }
            _ => set,
        };
        Ok(())
    }
}
