// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two directions: slots go from the switch to the card and back.

use crate::e1000::MOST;
use crate::measured::Measured;
use core::fmt;
use frames::{Broken, Receiver, Sender, Shared, bytes};
use image::protocol::net::{FEWEST_BYTES, MOST_BYTES};
use macadamia::Error;
use macadamia::card::{Card, Way};
use macadamia::net::port::Port;
use macadamia::pci::Failed;

/// Why the port has to be attached again.
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

/// From the network to the switch.
pub struct Receive {
    slots: Sender,
    /// How many slots the card has.
    under_way: u32,
}

impl Receive {
    /// Into slots that were just attached.
    pub const fn new(slots: Sender) -> Self {
        Self { slots, under_way: 0 }
    }

    /// Passes on what was received, and gives the card all free slots. Whether there is more to do
    /// already; of more frames the card tells by an interrupt, if the switch waits for some.
    pub fn turn(&mut self, card: &mut impl Card, port: &Port) -> Result<bool, Trouble> {
        let memory = port.memory();
        // Who has slots and does not wait for more has enough of them, and gives some back before
        // it waits again.
        let has_slots = self.slots.room(memory)? + self.under_way < self.slots.slots();
        let (tells, got) = (!has_slots || self.slots.is_awaited(memory), self.slots.got());
        card.interrupts(Way::Receive, tells);
        // A frame that comes from here on interrupts, if it is to; the others are found now.
        memory.fence();
        while let Some((slot, bytes)) = card.finish(Way::Receive)? {
            self.under_way = self.under_way.checked_sub(1).ok_or(Trouble::Card)?;
            // The switch counts a frame of no bytes as malformed.
            memory
                .write(slot, if (FEWEST_BYTES..=MOST_BYTES).contains(&bytes) { bytes } else { 0 });
            self.slots.push(memory, slot);
        }
        port.notify(self.slots.publish(memory))?;
        let given = self.under_way;
        while self.under_way < MOST
            && let Some(slot) = self.slots.take()
        {
            card.start(Way::Receive, slot, MOST_BYTES)?;
            self.under_way += 1;
        }
        if self.under_way > given {
            card.kick(Way::Receive);
        }
        // The next frame leads here again. If it does not, or the card has few slots, the switch
        // tells of those that it gives back.
        if tells && self.under_way >= MOST / 4 {
            return Ok(false);
        }
        self.slots.wait(memory)?;
        Ok(self.slots.got() != got)
    }
}

/// From the switch to the network.
pub struct Send {
    slots: Receiver,
    /// How many slots the card has.
    under_way: u32,
}

impl Send {
    /// Out of slots that were just attached.
    pub const fn new(slots: Receiver) -> Self {
        Self { slots, under_way: 0 }
    }

    /// Returns slots that were sent, and gives the card those that are to be sent. Whether there is
    /// more to do already.
    pub fn turn(
        &mut self,
        card: &mut impl Card,
        port: &Port,
        measured: Option<&Measured>,
    ) -> Result<bool, Trouble> {
        let memory = port.memory();
        // Who has many of the switch's slots returns them soon; a few have time until the next
        // frame.
        let many = MOST.min(self.slots.slots()) / 4;
        let had_many = self.under_way >= many;
        card.interrupts(Way::Send, had_many);
        while let Some((slot, _)) = card.finish(Way::Send)? {
            self.under_way = self.under_way.checked_sub(1).ok_or(Trouble::Card)?;
            self.slots.give_back(memory, slot);
        }
        let mut has_filled = false;
        while self.under_way < MOST && self.slots.available(memory)? > 0 {
            let slot = self.slots.slot(memory, 0)?;
            self.slots.take();
            if let Some(bytes) = bytes(memory, slot) {
                card.start(Way::Send, slot, bytes)?;
                self.under_way += 1;
                has_filled = true;
            } else {
                self.slots.give_back(memory, slot);
            }
        }
        port.notify(self.slots.publish(memory))?;
        if has_filled {
            card.kick(Way::Send);
            if let Some(measured) = measured {
                measured.sent();
            }
        }
        // If the card has many since, it is asked once more, then with interrupts.
        let has_more = self.slots.wait(memory)? && self.under_way < MOST;
        Ok(has_more || (self.under_way >= many && !had_many))
    }
}
