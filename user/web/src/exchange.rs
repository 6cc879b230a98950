// SPDX-License-Identifier: MIT OR Apache-2.0
//! What goes over one connection.

use crate::answer::{Answer, PAGE, Site, answer, too_long};
use alloc::vec::Vec;

const SECOND: u64 = 1_000_000_000;
/// How long a peer may wait until it begins a request, in nanoseconds.
pub const IDLE: u64 = 15 * SECOND;
/// How long a request may take, from its first byte to its last. Who sends a byte now and then has
/// no longer.
pub const TIME: u64 = 10 * SECOND;
/// How long a peer may take to read an answer.
pub const ANSWER: u64 = 60 * SECOND;
/// Most bytes of a request.
pub const REQUEST: usize = 8192;
/// Most bytes that are taken at once.
pub const PART: usize = 2048;
/// What an exchange takes of the heap at most: a request that is too long by a part, a page, and
/// what stands before that.
pub const MOST: usize = REQUEST + PART + PAGE + 1024;

/// What goes over one connection: one request is answered at a time, and nothing more is taken
/// before the peer has its answer. So what is kept of a peer has bounds, whatever it sends and
/// however little it reads.
pub struct Exchange {
    /// What was sent and not answered yet.
    input: Vec<u8>,
    /// The answer that was not taken yet, and how much of it was.
    output: Option<Answer>,
    taken: usize,
    /// Whether the peer has ended what it sends.
    is_at_end: bool,
    /// Whether no other request is answered.
    ends: bool,
    /// Since when it waits for a request, or for the rest of one, or for the answer to be taken.
    since: u64,
}

impl Exchange {
    /// One that begins now.
    #[must_use]
    pub const fn new(now: u64) -> Self {
        Self {
            input: Vec::new(),
            output: None,
            taken: 0,
            is_at_end: false,
            ends: false,
            since: now,
        }
    }

    /// Whether it takes bytes; if not it has some to be sent, or is over.
    #[must_use]
    pub const fn takes(&self) -> bool {
        self.output.is_none() && !self.ends
    }

    /// The peer has sent bytes, at most [`PART`]; none if it has ended.
    pub fn take(&mut self, bytes: &[u8], site: &impl Site, now: u64) {
        if self.input.is_empty() {
            self.since = now;
        }
        self.is_at_end |= bytes.is_empty();
        self.input.reserve_exact(bytes.len());
        self.input.extend_from_slice(bytes);
        self.go_on(site, now);
    }

    /// What is to be sent next; nothing if all was.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        let Some(Answer { head, body, .. }) = &self.output else { return &[] };
        let body = body.as_ref().map_or(&[][..], |body| body.bytes());
        head.get(self.taken..)
            .filter(|rest| !rest.is_empty())
            .or_else(|| body.get(self.taken.wrapping_sub(head.len())..))
            .unwrap_or_default()
    }

    /// So many of these bytes were sent.
    pub fn sent(&mut self, count: usize, site: &impl Site, now: u64) {
        self.taken += count;
        if self.pending().is_empty()
            && let Some(answer) = self.output.take()
        {
            (self.taken, self.since) = (0, now);
            self.ends |= answer.ends;
            self.go_on(site, now);
        }
    }

    /// Answers the next request that is whole.
    fn go_on(&mut self, site: &impl Site, now: u64) {
        if !self.takes() {
            return;
        }
        let next = answer(&self.input, site);
        let next =
            next.or_else(|| (self.input.len() > REQUEST).then(|| (self.input.len(), too_long())));
        match next {
            Some((bytes, answer)) => {
                self.input.drain(..bytes);
                (self.output, self.since) = (Some(answer), now);
            }
            None => self.ends = self.is_at_end,
        }
    }

    /// Whether the connection ends now.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.ends && self.output.is_none()
    }

    /// When it ends in any case, if nothing else happens.
    #[must_use]
    pub fn until(&self) -> u64 {
        let time = match self.output {
            Some(_) => ANSWER,
            None if self.input.is_empty() => IDLE,
            None => TIME,
        };
        self.since.saturating_add(time)
    }

    /// Since when no request is begun, if none is.
    #[must_use]
    pub fn idle_since(&self) -> Option<u64> {
        (self.output.is_none() && self.input.is_empty()).then_some(self.since)
    }

    /// Bytes that it keeps.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let answer = self.output.as_ref().map_or(0, |answer| {
            answer.head.len()
                + answer.body.as_ref().map_or(0, |body| {
                    if let crate::Body::Made(bytes) = body { bytes.len() } else { 0 }
                })
        });
        self.input.len() + answer
    }
}
