// SPDX-License-Identifier: MIT OR Apache-2.0
//! A ring of legacy descriptors of the network card 82540EM (PCI/PCI-X Family of Gigabit Ethernet
//! Controllers Software Developer's Manual, 317453, 3.2.3 and 3.3.3). The card is done with them in
//! the order of the ring.

use crate::little::Little;
use crate::ring::Shared;
use alloc::vec;
use alloc::vec::Vec;

/// Bytes of a descriptor. Rings begin at multiples of it.
const DESCRIPTOR: u32 = 16;
/// Offsets in a descriptor: the frame's physical address, length and command, status.
const ADDRESS: u32 = 0;
const ADDRESS_HIGH: u32 = 4;
const LENGTH: u32 = 8;
const STATUS: u32 = 12;
/// To send: end of the frame, add a checksum, report.
const COMMAND: u32 = (1 | 1 << 1 | 1 << 3) << 24;
/// In the status: done; the frame ends here; errors.
const DONE: u32 = 1;
const END: u32 = 1 << 1;
const ERRORS: u32 = 0xff << 8;

/// A frame's place for the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// To receive into.
    Empty,
    /// A frame of so many bytes to send.
    Filled(u32),
}

/// The ring, and what the card has of it.
#[derive(Debug)]
pub struct Descriptors {
    /// Offset of its first descriptor in the memory for descriptors.
    start: u32,
    /// The numbers of the next descriptor that the card will be done with, and of the next that it
    /// will be given.
    head: u32,
    tail: u32,
    /// By descriptor: the slot's offset.
    slots: Vec<u32>,
}

impl Descriptors {
    /// How many there are, a multiple of 8. The card has one less at most: a ring whose head is its
    /// tail is empty (3.2.6).
    pub const COUNT: u32 = 264;
    /// Bytes of a ring.
    pub const BYTES: u32 = Self::COUNT * DESCRIPTOR;

    /// An empty ring from an offset on, a multiple of 16.
    #[must_use]
    pub fn new(start: u32) -> Self {
        Self { start, head: 0, tail: 0, slots: vec![0; Self::COUNT as usize] }
    }

    /// Offset of the ring.
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// The number after that of the last descriptor that the card was given.
    #[must_use]
    pub const fn tail(&self) -> u32 {
        self.tail
    }

    /// Whether the card has as many as it can.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        (self.tail + Self::COUNT - self.head) % Self::COUNT == Self::COUNT - 1
    }

    /// Writes the next descriptor: a frame's place in the slot at the offset `slot`, at this
    /// physical address. The ring is not full.
    pub fn give<M: Shared>(
        &mut self,
        memory: &Little<M>,
        (slot, physical): (u32, u64),
        what: Given,
    ) {
        let at = self.place(self.tail);
        let length = match what {
            Given::Empty => 0,
            Given::Filled(bytes) => bytes | COMMAND,
        };
        let [low, high] = [physical as u32, (physical >> 32) as u32];
        for (word, value) in [(ADDRESS, low), (ADDRESS_HIGH, high), (LENGTH, length), (STATUS, 0)] {
            memory.write(at + word, value);
        }
        self.slots[self.tail as usize] = slot;
        self.tail = next(self.tail);
    }

    /// Takes back the next that the card is done with: the slot, and the frame's bytes, none of a
    /// damaged one.
    pub fn take<M: Shared>(&mut self, memory: &Little<M>) -> Option<(u32, u32)> {
        let at = self.place(self.head);
        let status = if self.head == self.tail { 0 } else { memory.read(at + STATUS) };
        if status & DONE == 0 {
            return None;
        }
        memory.fence();
        let bytes = if status & END != 0 && status & ERRORS == 0 {
            memory.read(at + LENGTH) & 0xffff
        } else {
            0
        };
        let slot = self.slots[self.head as usize];
        self.head = next(self.head);
        Some((slot, bytes))
    }

    /// Where a descriptor is.
    const fn place(&self, number: u32) -> u32 {
        self.start + number * DESCRIPTOR
    }
}

/// The number of the descriptor after this one.
const fn next(number: u32) -> u32 {
    (number + 1) % Descriptors::COUNT
}
