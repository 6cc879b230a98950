// SPDX-License-Identifier: MIT OR Apache-2.0
//! One direction of a port: slots that one side fills and the other empties.
//!
//! By one ring the side that fills slots says which it has filled, by the other it learns which are
//! free, in whatever order. At first the other side has them all. The slot that became free last is
//! filled first, as it is the likeliest to be in the cache still.

use crate::ring::{Broken, Consumer, Producer, Ring, Shared};
use alloc::vec;
use alloc::vec::Vec;
use image::protocol::net::{ENTRY, FREE, SLOT};

/// Where the rings and slots of a direction are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    filled: Ring,
    free: Ring,
    /// Offset of the first slot.
    first: u32,
    slots: u32,
}

impl Lane {
    /// With its words at one offset, the entries of its rings at another, and so many slots from a
    /// third on.
    pub(crate) const fn new(words: u32, entries: u32, first: u32, slots: u32) -> Self {
        let filled = Ring::new(words, entries, slots, ENTRY);
        let free = Ring::new(words + FREE, entries + slots * ENTRY, slots, ENTRY);
        Self { filled, free, first, slots }
    }

    /// Sets all words of both rings to 0.
    pub(crate) fn clear(&self, memory: &impl Shared) {
        self.filled.clear(memory);
        self.free.clear(memory);
    }

    /// Offset of a slot; there are [`Lane::slots`] of them.
    const fn slot(&self, number: u32) -> u32 {
        self.first + number * SLOT
    }

    /// The number of the slot at an offset.
    const fn number(&self, slot: u32) -> u32 {
        slot.wrapping_sub(self.first) / SLOT
    }
}

/// The side that fills slots.
#[derive(Debug)]
pub struct Sender {
    lane: Lane,
    filled: Producer,
    free: Consumer,
    /// Numbers of slots that it may fill; the last became free last.
    own: Vec<u32>,
    /// By number: whether the other side has the slot.
    away: Vec<bool>,
    /// Slots that were filled and are not published.
    pushed: u32,
    /// How many slots it has got, modulo 2^32.
    got: u32,
}

impl Sender {
    /// Of a direction whose words are 0.
    #[must_use]
    pub fn new(lane: Lane) -> Self {
        let (own, away) =
            (Vec::with_capacity(lane.slots as usize), vec![true; lane.slots as usize]);
        Self {
            lane,
            filled: Producer::new(lane.filled),
            free: Consumer::new(lane.free),
            own,
            away,
            pushed: 0,
            got: 0,
        }
    }

    /// How many slots the direction has.
    #[must_use]
    pub const fn slots(&self) -> u32 {
        self.lane.slots
    }

    /// How many slots may be filled, as far as it knows.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.own.len() as u32
    }

    /// How many slots may be filled.
    ///
    /// # Errors
    /// [`Broken`] if the other side returns what it does not have.
    pub fn room(&mut self, memory: &impl Shared) -> Result<u32, Broken> {
        let returned = self.free.available(memory)?;
        for entry in 0..returned {
            let number = memory.read(self.free.slot(entry));
            let away = self.away.get_mut(number as usize).ok_or(Broken)?;
            if !core::mem::replace(away, false) {
                return Err(Broken);
            }
            self.own.push(number);
        }
        self.free.pass(returned);
        self.got = self.got.wrapping_add(returned);
        Ok(self.free())
    }

    /// How many slots it has got from the other side so far, modulo 2^32: those that were free at
    /// first, too.
    #[must_use]
    pub const fn got(&self) -> u32 {
        self.got
    }

    /// Offset of a slot to fill, as long as there is [`Sender::room`]. Nobody else has it until it
    /// is pushed.
    pub fn take(&mut self) -> Option<u32> {
        self.own.pop().map(|number| self.lane.slot(number))
    }

    /// The slot, which was taken, is filled. The other side gets slots in the order in which they
    /// are pushed, when they are published.
    pub fn push(&mut self, memory: &impl Shared, slot: u32) {
        let number = self.lane.number(slot);
        if let Some(away) = self.away.get_mut(number as usize) {
            *away = true;
            memory.write(self.filled.slot(self.pushed), number);
            self.pushed += 1;
        }
    }

    /// Lets the other side see what was pushed. Whether it is to be notified.
    #[must_use]
    pub fn publish(&mut self, memory: &impl Shared) -> bool {
        match core::mem::take(&mut self.pushed) {
            0 => false,
            pushed => self.filled.publish(memory, pushed),
        }
    }

    /// Whether the other side waits for slots that are filled.
    #[must_use]
    pub fn is_awaited(&self, memory: &impl Shared) -> bool {
        self.filled.is_awaited(memory)
    }

    /// Asks to be notified when a slot becomes free. Whether there is one already.
    ///
    /// # Errors
    /// As [`Sender::room`].
    pub fn wait(&mut self, memory: &impl Shared) -> Result<bool, Broken> {
        self.free.wait(memory)?;
        self.room(memory).map(|room| room > 0)
    }
}

/// The side that empties slots.
#[derive(Debug)]
pub struct Receiver {
    lane: Lane,
    filled: Consumer,
    free: Producer,
    /// Filled slots that it knows of and has not taken.
    known: u32,
    /// Slots that were given back, and that is not published.
    returned: u32,
}

impl Receiver {
    /// Of a direction whose words are 0. All slots are free when that is published.
    #[must_use]
    pub fn new(lane: Lane, memory: &impl Shared) -> Self {
        let free = Producer::new(lane.free);
        (0..lane.slots).for_each(|number| memory.write(free.slot(number), number));
        Self { lane, filled: Consumer::new(lane.filled), free, known: 0, returned: lane.slots }
    }

    /// How many slots there are.
    #[must_use]
    pub const fn slots(&self) -> u32 {
        self.lane.slots
    }

    /// How many slots are filled. More may have been since it was 0.
    ///
    /// # Errors
    /// [`Broken`] if the other side has filled more than there are.
    pub fn available(&mut self, memory: &impl Shared) -> Result<u32, Broken> {
        if self.known == 0 {
            self.known = self.filled.available(memory)?;
        }
        Ok(self.known)
    }

    /// Offset of a filled slot, counted from 0; there are [`Receiver::available`] of them.
    ///
    /// # Errors
    /// [`Broken`] if the other side names none.
    pub fn slot(&self, memory: &impl Shared, number: u32) -> Result<u32, Broken> {
        let slot = memory.read(self.filled.slot(number));
        if slot < self.lane.slots { Ok(self.lane.slot(slot)) } else { Err(Broken) }
    }

    /// The first of the filled slots is this side's, until it gives it back.
    pub const fn take(&mut self) {
        self.filled.pass(1);
        self.known = self.known.saturating_sub(1);
    }

    /// The slot, which was taken, is empty. The other side gets it when that is published.
    pub fn give_back(&mut self, memory: &impl Shared, slot: u32) {
        memory.write(self.free.slot(self.returned), self.lane.number(slot));
        self.returned += 1;
    }

    /// How many slots were given back that the other side does not see yet.
    #[must_use]
    pub const fn returned(&self) -> u32 {
        self.returned
    }

    /// Lets the other side see what was given back. Whether it is to be notified.
    #[must_use]
    pub fn publish(&mut self, memory: &impl Shared) -> bool {
        match core::mem::take(&mut self.returned) {
            0 => false,
            returned => self.free.publish(memory, returned),
        }
    }

    /// Asks to be notified of the next filled slot. Whether there is one already.
    ///
    /// # Errors
    /// As [`Receiver::available`].
    pub fn wait(&mut self, memory: &impl Shared) -> Result<bool, Broken> {
        self.filled.wait(memory)?;
        self.available(memory).map(|available| available > 0)
    }
}
