// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two directions: slots go to the card in the order of the ring, and return to the switch in that order,
//! whatever order the card is done with them in.

use crate::card::MOST;
use crate::measured::Measured;
use core::fmt;
use frames::{Broken, Consumer, Producer, Shared, bytes};
use image::protocol::net::{FEWEST_BYTES, MOST_BYTES};
use macadamia::Error;
use macadamia::alloc::collections::VecDeque;
use macadamia::card::{Card, Way};
use macadamia::net::port::Port;
use macadamia::pci::Failed;

/// Why the port has to be attached anew.
#[derive(Clone, Copy, Debug)]
pub enum Trouble {
    /// The switch wrote an index that cannot be.
    Ring,
    /// The card returned what it was not given.
    Card,
    /// The kernel or the switch refused something.
    Refused(Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring => f.write_str("the switch broke the ring"),
            Self::Card => f.write_str("the card returned what it was not given"),
            Self::Refused(error) => f.write_str(error.text()),
        }
    }
}

impl From<Broken> for Trouble {
    fn from(_: Broken) -> Self {
        Self::Ring
    }
}

impl From<Failed> for Trouble {
    fn from(_: Failed) -> Self {
        Self::Card
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// Slots that the card has, in the order of the ring, with the bytes of those that it is done with.
#[derive(Default)]
struct Order(VecDeque<(u32, Option<u32>)>);

impl Order {
    fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Notes what the card is done with.
    fn collect(&mut self, card: &mut impl Card, way: Way) -> Result<(), Trouble> {
        while let Some((slot, bytes)) = card.finish(way)? {
            // Mostly the first that it still has.
            let entry = self.0.iter_mut().find(|(known, done)| *known == slot && done.is_none());
            entry.ok_or(Trouble::Card)?.1 = Some(bytes);
        }
        Ok(())
    }

    /// The first slot, if the card is done with it, and its bytes.
    fn take(&mut self) -> Option<(u32, u32)> {
        let bytes = self.0.front()?.1?;
        self.0.pop_front().map(|(slot, _)| (slot, bytes))
    }
}

/// From the network to the switch.
pub struct Receive {
    ring: Producer,
    order: Order,
}

impl Receive {
    /// Into a ring that was just attached.
    pub fn new(ring: Producer) -> Self {
        Self { ring, order: Order::default() }
    }

    /// Passes on what was received, and gives the card all free slots. Whether there is more to do already; of more frames the card
    /// tells by an interrupt.
    pub fn turn(&mut self, card: &mut impl Card, port: &Port) -> Result<bool, Trouble> {
        let memory = port.memory();
        self.order.collect(card, Way::Receive)?;
        let mut filled = 0;
        while let Some((slot, bytes)) = self.order.take() {
            // The switch counts a frame of no bytes as malformed.
            memory.write(slot, if (FEWEST_BYTES..=MOST_BYTES).contains(&bytes) { bytes } else { 0 });
            filled += 1;
        }
        if filled > 0 {
            port.notify(self.ring.publish(memory, filled))?;
        }
        let room = self.ring.room(memory)?.min(MOST);
        let free = self.order.len()..room;
        let has_free = !free.is_empty();
        for number in free {
            let slot = self.ring.slot(number);
            card.start(Way::Receive, slot, MOST_BYTES)?;
            self.order.0.push_back((slot, None));
        }
        if has_free {
            card.kick(Way::Receive);
        }
        // The next frame leads here again. Only a card that has few slots is given more at once.
        Ok(room < MOST / 4 && self.ring.wait(memory)? && self.ring.room(memory)? > room)
    }
}

/// From the switch to the network.
pub struct Send {
    ring: Consumer,
    order: Order,
}

impl Send {
    /// Out of a ring that was just attached.
    pub fn new(ring: Consumer) -> Self {
        Self { ring, order: Order::default() }
    }

    /// Returns slots that were sent, and gives the card those that are to be sent. Whether there is more to do already.
    pub fn turn(&mut self, card: &mut impl Card, port: &Port, measured: Option<&Measured>) -> Result<bool, Trouble> {
        let memory = port.memory();
        // Who has many of the switch's slots returns them soon; a few have time until the next frame.
        card.interrupts(Way::Send, self.order.len() >= MOST / 4);
        self.order.collect(card, Way::Send)?;
        let mut sent = 0;
        while self.order.take().is_some() {
            sent += 1;
        }
        if sent > 0 {
            port.notify(self.ring.release(memory, sent))?;
        }
        let filled = self.order.len()..self.ring.available(memory)?.min(MOST);
        let has_filled = !filled.is_empty();
        for number in filled {
            let slot = self.ring.slot(number);
            let bytes = bytes(memory, slot);
            if let Some(bytes) = bytes {
                card.start(Way::Send, slot, bytes)?;
            }
            // A frame of a length that cannot be is returned as if it had been sent.
            self.order.0.push_back((slot, bytes.is_none().then_some(0)));
        }
        if has_filled {
            card.kick(Way::Send);
            if let Some(measured) = measured {
                measured.sent();
            }
        }
        Ok(self.ring.wait(memory)? && self.ring.available(memory)?.min(MOST) > self.order.len())
    }
}
