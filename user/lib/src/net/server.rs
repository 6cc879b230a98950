// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests to the IP server.

use super::error::{Error, Result};
use crate::ipc::{Message, call};
use crate::region::Region;
use crate::{Env, Thread, Word, utcb};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use frames::Shared;
use image::protocol::ip::{HELLO, NO_HELLO, PLACE, WORDS};

/// Words of a [`Message`] itself; the others are in the UTCB.
const REGISTERS: usize = 3;
/// Bytes of a part of the shared memory, of which one thread uses one at a time: as many as the
/// server's buffers have.
const PART: u32 = 8192;
/// Most parts: a word has a bit for each.
const PARTS: u32 = u32::BITS;

/// A request or a reply.
pub type Words = [u32; WORDS];

/// The server's capability; the memory's address and bytes; which life of the component this is.
/// Written at start-up.
static SERVER: AtomicUsize = AtomicUsize::new(0);
static MEMORY: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
static LIFE: AtomicU32 = AtomicU32::new(0);
/// Which parts of the memory are in use.
static USED: AtomicU32 = AtomicU32::new(0);

/// Remembers what the component was given: the server to call as `ip`, and the memory `sockets`.
pub fn settle(env: &Env) {
    if let (Some(server), Some(memory)) = (env.given("ip"), Region::find(env, "sockets")) {
        let (address, bytes) = memory.place();
        MEMORY
            .iter()
            .zip([address as usize, bytes as usize])
            .for_each(|(to, value)| to.store(value, Ordering::Relaxed));
        LIFE.store(env.start.restarts, Ordering::Relaxed);
        SERVER.store(server.slot as usize, Ordering::Relaxed);
    }
}

/// Asks, and says hello first to a life of the server that does not know the component.
pub fn ask(words: Words) -> Result<Words> {
    let server = match SERVER.load(Ordering::Relaxed) {
        0 => return Err(Error::NoServer),
        slot => Thread(slot as Word),
    };
    loop {
        match exchange(server, words)? {
            None => {}
            Some(reply @ [0, ..]) => return Ok(reply),
            Some([NO_HELLO, ..]) => {
                // If this fails the next attempt says so.
                exchange(server, [HELLO, LIFE.load(Ordering::Relaxed), 0, 0, 0, 0, 0, 0])?;
            }
            Some([error, ..]) => return Err(Error::of(error)),
        }
    }
}

/// One message and its reply; none if the server has died meanwhile. It lives again, and has not
/// taken this.
fn exchange(server: Thread, words: Words) -> Result<Option<Words>> {
    (REGISTERS..WORDS).for_each(|index| utcb::set_word(index, words[index] as Word));
    let [a, b, c, ..] = words.map(|word| word as Word);
    let reply = match call(server, Message { words: [a, b, c], count: WORDS as u32, caps: 0 }) {
        Err(crate::Error::PeerRestarted) => return Ok(None),
        reply => reply.map_err(Error::Kernel)?,
    };
    let word = |index: usize| match index {
        0..REGISTERS => reply.words[index] as u32,
        _ if index < reply.count as usize => utcb::word(index) as u32,
        _ => 0,
    };
    Ok(Some(core::array::from_fn(word)))
}

/// A part of the shared memory, for one request.
pub struct Part {
    memory: Region,
    number: u32,
}

impl Part {
    /// One that nobody uses.
    pub fn take() -> Result<Self> {
        let [address, bytes] = [&MEMORY[0], &MEMORY[1]].map(|value| value.load(Ordering::Relaxed));
        if bytes == 0 {
            return Err(Error::NoServer);
        }
        let memory = Region::of_place(address as Word, bytes as u32);
        let parts = (memory.bytes() / PART).min(PARTS);
        let free = |used: u32| Some(used.trailing_ones()).filter(|number| *number < parts);
        let mut number = 0;
        let take = |used| {
            number = free(used)?;
            Some(used | 1 << number)
        };
        USED.fetch_update(Ordering::Acquire, Ordering::Relaxed, take)
            .map_err(|_| Error::OutOfMemory)?;
        Ok(Self { memory, number })
    }

    /// Most bytes that fit.
    pub const fn most() -> usize {
        PART as usize
    }

    /// How a request names its first bytes.
    pub fn place(&self, bytes: usize) -> u32 {
        (self.number * PART / PLACE) << 16 | bytes as u32
    }

    /// Writes its first bytes.
    pub fn write(&self, from: &[u8]) {
        self.memory.write_bytes(self.number * PART, from);
    }

    /// Reads its first bytes.
    pub fn read(&self, to: &mut [u8]) {
        self.memory.read_bytes(self.number * PART, to);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        USED.fetch_and(!(1 << self.number), Ordering::Release);
    }
}
