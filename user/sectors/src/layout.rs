// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is where in the memory that a client and the server share.

use frames::{Ring, Shared};
use image::protocol::disk::{
    ANSWER, ANSWER_STATUS, ANSWERS, DATA, FIRST_ANSWER, FIRST_REQUEST, FLUSH, MOST_SLOTS, READ,
    REQUEST, REQUEST_COUNT, REQUEST_FIRST, REQUEST_OPERATION, REQUESTS, SECTOR, SLOT, WRITE,
};

/// Where rings and data are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    slots: u32,
}

impl Layout {
    /// Most sectors of a request.
    pub const MOST: u32 = SLOT / SECTOR;

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

    /// Offset of a slot's data. There are [`Layout::slots`] of them.
    #[must_use]
    pub const fn data(self, slot: u32) -> u32 {
        DATA + slot * SLOT
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

/// What a client asks for. Sectors are counted from its range's start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Read sectors into the slot's data.
    Read {
        /// The first.
        first: u64,
        /// How many.
        count: u32,
    },
    /// Write sectors from the slot's data.
    Write {
        /// The first.
        first: u64,
        /// How many.
        count: u32,
    },
    /// What was written before is on the disk when this is done.
    Flush,
}

impl Request {
    /// Writes it into a ring, at this offset.
    pub(crate) fn write(self, memory: &impl Shared, at: u32, slot: u32) {
        let (operation, first, count) = match self {
            Self::Read { first, count } => (READ, first, count),
            Self::Write { first, count } => (WRITE, first, count),
            Self::Flush => (FLUSH, 0, 0),
        };
        memory.write(at, slot);
        memory.write(at + REQUEST_OPERATION, operation);
        memory.write(at + REQUEST_COUNT, count);
        memory.write(at + REQUEST_FIRST, first as u32);
        memory.write(at + REQUEST_FIRST + 4, (first >> 32) as u32);
    }

    /// Reads each word once: the slot that is written there, and the request, if it is one.
    pub(crate) fn read(memory: &impl Shared, at: u32) -> (u32, Option<Self>) {
        let slot = memory.read(at);
        let count = memory.read(at + REQUEST_COUNT);
        let first = u64::from(memory.read(at + REQUEST_FIRST))
            | u64::from(memory.read(at + REQUEST_FIRST + 4)) << 32;
        let request = match memory.read(at + REQUEST_OPERATION) {
            READ => Some(Self::Read { first, count }),
            WRITE => Some(Self::Write { first, count }),
            FLUSH => Some(Self::Flush),
            _ => None,
        };
        (slot, request)
    }
}

/// Writes an answer into a ring, at this offset.
pub(crate) fn write_answer(memory: &impl Shared, at: u32, (slot, status): (u32, u32)) {
    memory.write(at, slot);
    memory.write(at + ANSWER_STATUS, status);
}

/// Reads one: the slot, and 0 or an error.
pub(crate) fn read_answer(memory: &impl Shared, at: u32) -> (u32, u32) {
    (memory.read(at), memory.read(at + ANSWER_STATUS))
}
