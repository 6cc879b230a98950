// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of slots with one producer and one consumer.

use image::protocol::net::{
    CONSUMED, CONSUMER_WAITS, FEWEST_BYTES, IN, MOST_BYTES, MOST_SLOTS, OUT, PRODUCED, PRODUCER_WAITS, SLOT, SLOT_FRAME, SLOTS,
};

/// Memory that two sides share. Offsets are bytes from its start, multiples of 4, and below [`Shared::bytes`]: whoever uses this
/// trait keeps to that.
pub trait Shared {
    /// How many bytes it has.
    fn bytes(&self) -> u32;
    /// Reads 32 bits. The other side may write them at the same time.
    fn read(&self, offset: u32) -> u32;
    /// Writes 32 bits.
    fn write(&self, offset: u32, value: u32);
    /// Copies bytes, a multiple of 4, from `from` on to `to` in other memory.
    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32);
    /// What was written before is seen by the other side before anything is read afterwards.
    fn fence(&self);
}

/// The other side wrote an index that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

/// Where the two rings of a port are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    slots: u32,
}

impl Layout {
    /// In so many bytes; `None` if not even one slot fits.
    #[must_use]
    pub fn of(bytes: u32) -> Option<Self> {
        let most = (bytes.checked_sub(SLOTS)? / (2 * SLOT)).min(MOST_SLOTS);
        most.checked_ilog2().map(|log| Self { slots: 1 << log })
    }

    /// Slots of each ring.
    #[must_use]
    pub const fn slots(self) -> u32 {
        self.slots
    }

    /// The ring in which the switch produces.
    #[must_use]
    pub const fn to_client(self) -> Ring {
        Ring::new(IN, SLOTS, self.slots, SLOT)
    }

    /// The ring in which the client produces.
    #[must_use]
    pub const fn from_client(self) -> Ring {
        Ring::new(OUT, SLOTS + self.slots * SLOT, self.slots, SLOT)
    }

    /// Sets all words of both rings to 0.
    pub fn clear(self, memory: &impl Shared) {
        self.to_client().clear(memory);
        self.from_client().clear(memory);
        memory.fence();
    }
}

/// Where a ring is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Offset of its words.
    words: u32,
    /// Offset of its first slot.
    first: u32,
    /// A power of two.
    slots: u32,
    /// Bytes of a slot.
    bytes: u32,
}

impl Ring {
    /// Its words are at the offset `words`, its first slot at `first`; it has so many slots, a power of two, of so many bytes.
    #[must_use]
    pub const fn new(words: u32, first: u32, slots: u32, bytes: u32) -> Self {
        Self { words, first, slots, bytes }
    }

    /// Sets its words to 0.
    pub fn clear(&self, memory: &impl Shared) {
        for word in [PRODUCED, CONSUMED, CONSUMER_WAITS, PRODUCER_WAITS] {
            memory.write(self.words + word, 0);
        }
    }

    const fn slot(&self, number: u32) -> u32 {
        self.first + number % self.slots * self.bytes
    }

    /// Writes `index` into a word. Whether the other side is to be notified, which said so in `waits`.
    fn advance(&self, memory: &impl Shared, (word, index): (u32, u32), waits: u32) -> bool {
        // What was done with the slots comes first: `fence` orders writes, too.
        memory.fence();
        memory.write(self.words + word, index);
        memory.fence();
        let waiting = memory.read(self.words + waits) != 0;
        if waiting {
            memory.write(self.words + waits, 0);
        }
        waiting
    }

    fn wait(&self, memory: &impl Shared, waits: u32) {
        memory.write(self.words + waits, 1);
        memory.fence();
    }
}

/// The side that fills slots.
#[derive(Debug)]
pub struct Producer {
    ring: Ring,
    produced: u32,
}

impl Producer {
    /// Of a ring whose words are 0.
    #[must_use]
    pub const fn new(ring: Ring) -> Self {
        Self { ring, produced: 0 }
    }

    /// How many slots are free.
    ///
    /// # Errors
    /// [`Broken`] if the consumer has emptied more than were filled.
    pub fn room(&self, memory: &impl Shared) -> Result<u32, Broken> {
        let full = self.produced.wrapping_sub(memory.read(self.ring.words + CONSUMED));
        self.ring.slots.checked_sub(full).ok_or(Broken)
    }

    /// Offset of a free slot, counted from 0; there are [`Producer::room`] of them.
    #[must_use]
    pub const fn slot(&self, number: u32) -> u32 {
        self.ring.slot(self.produced.wrapping_add(number))
    }

    /// The first `count` of the free slots are filled. Whether the consumer is to be notified.
    #[must_use]
    pub fn publish(&mut self, memory: &impl Shared, count: u32) -> bool {
        self.produced = self.produced.wrapping_add(count);
        self.ring.advance(memory, (PRODUCED, self.produced), CONSUMER_WAITS)
    }

    /// Asks to be notified of a free slot. Whether there is one already.
    ///
    /// # Errors
    /// As [`Producer::room`].
    pub fn wait(&self, memory: &impl Shared) -> Result<bool, Broken> {
        self.ring.wait(memory, PRODUCER_WAITS);
        self.room(memory).map(|room| room > 0)
    }
}

/// The side that empties slots.
#[derive(Debug)]
pub struct Consumer {
    ring: Ring,
    consumed: u32,
}

impl Consumer {
    /// Of a ring whose words are 0.
    #[must_use]
    pub const fn new(ring: Ring) -> Self {
        Self { ring, consumed: 0 }
    }

    /// How many slots are filled.
    ///
    /// # Errors
    /// [`Broken`] if the producer has filled more than there are.
    pub fn available(&self, memory: &impl Shared) -> Result<u32, Broken> {
        let full = memory.read(self.ring.words + PRODUCED).wrapping_sub(self.consumed);
        memory.fence();
        if full <= self.ring.slots { Ok(full) } else { Err(Broken) }
    }

    /// Offset of a filled slot, counted from 0; there are [`Consumer::available`] of them.
    #[must_use]
    pub const fn slot(&self, number: u32) -> u32 {
        self.ring.slot(self.consumed.wrapping_add(number))
    }

    /// The first `count` of the filled slots are empty. Whether the producer is to be notified.
    #[must_use]
    pub fn release(&mut self, memory: &impl Shared, count: u32) -> bool {
        self.consumed = self.consumed.wrapping_add(count);
        self.ring.advance(memory, (CONSUMED, self.consumed), PRODUCER_WAITS)
    }

    /// Asks to be notified of a frame. Whether there is one already.
    ///
    /// # Errors
    /// As [`Consumer::available`].
    pub fn wait(&self, memory: &impl Shared) -> Result<bool, Broken> {
        self.ring.wait(memory, CONSUMER_WAITS);
        self.available(memory).map(|available| available > 0)
    }
}

/// Bytes of the frame in a slot, if they can be.
pub fn bytes(memory: &impl Shared, slot: u32) -> Option<u32> {
    let bytes = memory.read(slot);
    (FEWEST_BYTES..=MOST_BYTES).contains(&bytes).then_some(bytes)
}

/// Copies a frame of so many bytes from a slot to another one; its first three words are those given.
pub(crate) fn copy<M: Shared>((from, slot): (&M, u32), (to, other): (&M, u32), head: [u32; 3], bytes: u32) {
    const HEAD: u32 = 12;
    to.write(other, bytes);
    (0..).zip(head).for_each(|(word, value)| to.write(other + SLOT_FRAME + word * 4, value));
    let rest = bytes.saturating_sub(HEAD).next_multiple_of(4);
    from.copy(slot + SLOT_FRAME + HEAD, to, other + SLOT_FRAME + HEAD, rest);
}
