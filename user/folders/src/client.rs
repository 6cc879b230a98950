// SPDX-License-Identifier: MIT OR Apache-2.0
//! The client's side.

use crate::layout::{Layout, Request, read_answer};
use frames::{Broken, Consumer, Producer, Shared};

/// A client that has attached. It has up to as many requests under way as there are slots, one for
/// each.
#[derive(Debug)]
pub struct Client {
    requests: Producer,
    answers: Consumer,
}

impl Client {
    /// Of memory whose rings were just begun again.
    #[must_use]
    pub const fn new(layout: Layout) -> Self {
        Self {
            requests: Producer::new(layout.requests()),
            answers: Consumer::new(layout.answers()),
        }
    }

    /// Asks for what the message in a slot says, which has no request under way. Whether the server
    /// is to be notified.
    ///
    /// # Errors
    /// [`Broken`] if the server does not take requests by the rules: attach again.
    pub fn submit(
        &mut self,
        memory: &impl Shared,
        slot: u32,
        request: Request,
    ) -> Result<bool, Broken> {
        if self.requests.room(memory)? == 0 {
            return Err(Broken);
        }
        request.write(memory, self.requests.slot(0), slot);
        Ok(self.requests.publish(memory, 1))
    }

    /// The next answer: a slot, and the bytes of the message in it.
    ///
    /// # Errors
    /// As [`Client::submit`].
    pub fn answer(&mut self, memory: &impl Shared) -> Result<Option<(u32, u32)>, Broken> {
        if self.answers.available(memory)? == 0 {
            return Ok(None);
        }
        let answer = read_answer(memory, self.answers.slot(0));
        // The server never waits for room: there is one place for each slot.
        let _ = self.answers.release(memory, 1);
        Ok(Some(answer))
    }

    /// Asks to be notified of an answer. Whether there is one already.
    ///
    /// # Errors
    /// As [`Client::submit`].
    pub fn wait(&self, memory: &impl Shared) -> Result<bool, Broken> {
        self.answers.wait(memory)
    }
}
