// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of entries with one producer and one consumer.

use image::protocol::net::{CONSUMED, CONSUMER_WAITS, PRODUCED, PRODUCER_WAITS};

/// Memory that two sides share. Offsets are bytes from its start, multiples of 4, and below
/// [`Shared::bytes`]: code that uses this trait keeps to that.
///
/// Components of one machine read each other's words as they are. What a device or a frame has
/// there is bytes in an order of its own: [`Shared::little`], or all of it by
/// [`Little`](crate::Little).
pub trait Shared {
    /// Whether the processor that reads and writes has the high byte of a word first. Tests have
    /// memory of other processors than their own.
    const HIGH_FIRST: bool = cfg!(target_endian = "big");
    /// How many bytes it has.
    fn bytes(&self) -> u32;
    /// Reads 32 bits. The other side may write them at the same time.
    fn read(&self, offset: u32) -> u32;
    /// Writes 32 bits.
    fn write(&self, offset: u32, value: u32);
    /// Reads words that lie side by side, each as [`Shared::read`] does.
    fn read_words<const N: usize>(&self, offset: u32) -> [u32; N] {
        core::array::from_fn(|word| self.read(offset + word as u32 * 4))
    }
    /// Writes words that lie side by side.
    fn write_words<const N: usize>(&self, offset: u32, values: [u32; N]) {
        (offset..).step_by(4).zip(values).for_each(|(at, value)| self.write(at, value));
    }
    /// The value of a word that was read and has its low byte first in memory; or what is to be
    /// written to make such a word of a value.
    #[must_use]
    #[inline(always)]
    fn little(word: u32) -> u32 {
        if Self::HIGH_FIRST { word.swap_bytes() } else { word }
    }
    /// Copies bytes, a multiple of 4, from `from` on to `to` in other memory.
    fn copy(&self, from: u32, other: &Self, to: u32, bytes: u32);
    /// What was written before is seen by the other side before anything is read afterwards.
    fn fence(&self);
}

/// The other side wrote an index that cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

/// Where a ring is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Offset of its words.
    words: u32,
    /// Offset of its first entry.
    first: u32,
    /// A power of two.
    slots: u32,
    /// Bytes of an entry.
    bytes: u32,
}

impl Ring {
    /// Its words are at the offset `words`, its first entry at `first`; it has so many entries, a
    /// power of two, of so many bytes.
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
        self.first + (number & (self.slots - 1)) * self.bytes
    }

    /// Writes `index` into a word. Whether the other side is to be notified, which said so in
    /// `waits`.
    fn advance(&self, memory: &impl Shared, (word, index): (u32, u32), waits: u32) -> bool {
        // What was done with the entries comes first: `fence` orders writes, too.
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

/// The side that writes entries.
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

    /// For how many entries there is room.
    ///
    /// # Errors
    /// [`Broken`] if the consumer has read more than were written.
    pub fn room(&self, memory: &impl Shared) -> Result<u32, Broken> {
        let full = self.produced.wrapping_sub(memory.read(self.ring.words + CONSUMED));
        self.ring.slots.checked_sub(full).ok_or(Broken)
    }

    /// Offset of an entry to write, counted from 0; there is [`Producer::room`] for so many.
    #[must_use]
    pub const fn slot(&self, number: u32) -> u32 {
        self.ring.slot(self.produced.wrapping_add(number))
    }

    /// The first `count` of them are written. Whether the consumer is to be notified.
    #[must_use]
    pub fn publish(&mut self, memory: &impl Shared, count: u32) -> bool {
        self.produced = self.produced.wrapping_add(count);
        self.ring.advance(memory, (PRODUCED, self.produced), CONSUMER_WAITS)
    }

    /// Whether the consumer waits for entries.
    #[must_use]
    pub fn is_awaited(&self, memory: &impl Shared) -> bool {
        memory.read(self.ring.words + CONSUMER_WAITS) != 0
    }

    /// Asks to be notified of room. Whether there is some already.
    ///
    /// # Errors
    /// As [`Producer::room`].
    pub fn wait(&self, memory: &impl Shared) -> Result<bool, Broken> {
        self.ring.wait(memory, PRODUCER_WAITS);
        self.room(memory).map(|room| room > 0)
    }
}

/// The side that reads entries.
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

    /// How many entries there are to read.
    ///
    /// # Errors
    /// [`Broken`] if the producer has written more than there is room for.
    pub fn available(&self, memory: &impl Shared) -> Result<u32, Broken> {
        let full = memory.read(self.ring.words + PRODUCED).wrapping_sub(self.consumed);
        memory.fence();
        if full <= self.ring.slots { Ok(full) } else { Err(Broken) }
    }

    /// Offset of an entry to read, counted from 0; there are [`Consumer::available`] of them.
    #[must_use]
    pub const fn slot(&self, number: u32) -> u32 {
        self.ring.slot(self.consumed.wrapping_add(number))
    }

    /// The first `count` of them were read, which the producer does not have to know: it never
    /// writes more than there is room for.
    pub const fn pass(&mut self, count: u32) {
        self.consumed = self.consumed.wrapping_add(count);
    }

    /// The first `count` of them were read. Whether the producer is to be notified.
    #[must_use]
    pub fn release(&mut self, memory: &impl Shared, count: u32) -> bool {
        self.pass(count);
        self.ring.advance(memory, (CONSUMED, self.consumed), PRODUCER_WAITS)
    }

    /// Asks to be notified of an entry. Whether there is one already.
    ///
    /// # Errors
    /// As [`Consumer::available`].
    pub fn wait(&self, memory: &impl Shared) -> Result<bool, Broken> {
        self.ring.wait(memory, CONSUMER_WAITS);
        self.available(memory).map(|available| available > 0)
    }
}
