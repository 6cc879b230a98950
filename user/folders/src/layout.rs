// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is where in the memory that client and server share, and in the server's own.

use frames::{Ring, Shared};
use image::protocol::folder::{
    ANSWER, ANSWER_BYTES, ANSWERS, DATA, FIRST_ANSWER, FIRST_REQUEST, HEAD, MESSAGE, MOST_FOLDERS,
    MOST_SLOTS, REQUEST, REQUEST_BYTES, REQUEST_FOLDER, REQUEST_SERIAL, REQUESTS, SLOT,
};

/// Where rings and messages are in the memory that the two share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    slots: u32,
}

impl Layout {
    /// In so many bytes; `None` if not even one slot fits.
    #[must_use]
    pub fn of(bytes: u32) -> Option<Self> {
        let most = (bytes.checked_sub(DATA)? / SLOT).min(MOST_SLOTS);
        most.checked_ilog2().map(|log| Self { slots: 1 << log })
    }

    /// How many slots there are.
    #[must_use]
    pub const fn slots(self) -> u32 {
        self.slots
    }

    /// Offset of a slot's message to the server. There are [`Layout::slots`] of them.
    #[must_use]
    pub const fn message(self, slot: u32) -> u32 {
        DATA + slot * SLOT
    }

    /// Offset of the answer to it.
    #[must_use]
    pub const fn reply(self, slot: u32) -> u32 {
        self.message(slot) + MESSAGE
    }

    pub(crate) const fn answers(self) -> Ring {
        Ring::new(ANSWERS, FIRST_ANSWER, self.slots, ANSWER)
    }

    pub(crate) const fn requests(self) -> Ring {
        Ring::new(REQUESTS, FIRST_REQUEST, self.slots, REQUEST)
    }

    /// Sets all words of both rings to 0.
    pub(crate) fn clear(self, memory: &impl Shared) {
        self.answers().clear(memory);
        self.requests().clear(memory);
        memory.fence();
    }
}

/// What a client asks for by way of a slot: what is in the slot, for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The folder, from 0 on.
    pub folder: u32,
    /// A number that the slot's request before did not have.
    pub serial: u32,
    /// Bytes of the message.
    pub bytes: u32,
}

impl Request {
    /// Writes it into a ring, at this offset.
    pub(crate) fn write(self, memory: &impl Shared, at: u32, slot: u32) {
        memory.write(at, slot);
        memory.write(at + REQUEST_FOLDER, self.folder);
        memory.write(at + REQUEST_SERIAL, self.serial);
        memory.write(at + REQUEST_BYTES, self.bytes);
    }

    /// Reads each word once: the slot that is written there, and the request.
    pub(crate) fn read(memory: &impl Shared, at: u32) -> (u32, Self) {
        let word = |offset| memory.read(at + offset);
        let (folder, serial) = (word(REQUEST_FOLDER), word(REQUEST_SERIAL));
        (word(0), Self { folder, serial, bytes: word(REQUEST_BYTES) })
    }
}

/// Writes an answer into a ring, at this offset.
pub(crate) fn write_answer(memory: &impl Shared, at: u32, (slot, bytes): (u32, u32)) {
    memory.write(at, slot);
    memory.write(at + ANSWER_BYTES, bytes);
}

/// Reads one: the slot, and the bytes of the message.
pub(crate) fn read_answer(memory: &impl Shared, at: u32) -> (u32, u32) {
    (memory.read(at), memory.read(at + ANSWER_BYTES))
}

/// Where what is in the memory that only the server and its devices have: what is known of
/// requests, a queue for each folder, and the beginnings of messages as they were checked.
#[derive(Clone, Copy, Debug)]
pub struct Own;

impl Own {
    /// A page has what is known.
    const KNOWN: u32 = 4096;
    /// A page for each queue.
    const QUEUE: u32 = 4096;
    const HEADS: u32 = Self::KNOWN + MOST_FOLDERS * Self::QUEUE;

    /// All of it.
    pub const BYTES: u32 = Self::HEADS + MOST_SLOTS * HEAD;

    /// That what follows was written by a server.
    pub(crate) const MARK: u32 = 0;
    /// The folders that there are, a bit each.
    pub(crate) const THERE: u32 = 4;

    /// What is known of a folder: four words.
    pub(crate) const fn of_folder(folder: u32) -> u32 {
        64 + folder * 16
    }

    /// What is known of a slot: four words.
    pub(crate) const fn of_slot(slot: u32) -> u32 {
        256 + slot * 16
    }

    /// A folder's queue.
    pub(crate) const fn queue(folder: u32) -> u32 {
        Self::KNOWN + folder * Self::QUEUE
    }

    /// The beginning of a slot's message.
    pub(crate) const fn head(slot: u32) -> u32 {
        Self::HEADS + slot * HEAD
    }
}
