// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two rings of a client: rectangles to the server, events from it. Each side writes one region
//! and reads the other; it says in its own that it sleeps, and nobody takes that back for it.

use crate::event::{Event, Packet};
use crate::rectangle::Rectangle;
use frames::{Broken, Shared};
use image::protocol::screen::{
    CLIENT_WAITS, DAMAGE_CONSUMED, DAMAGE_PRODUCED, EVENT, EVENTS, EVENTS_CONSUMED,
    EVENTS_PRODUCED, MOST_EVENTS, MOST_RECTANGLES, RECTANGLE, RECTANGLES, SERVER_WAITS,
};

const fn rectangle_at(number: u32) -> u32 {
    RECTANGLES + number % MOST_RECTANGLES * RECTANGLE
}

const fn event_at(number: u32) -> u32 {
    EVENTS + number % MOST_EVENTS * EVENT
}

/// How far the index in a word is before `from`, if that can be.
fn ahead(memory: &impl Shared, word: u32, from: u32, most: u32) -> Result<u32, Broken> {
    let count = memory.read(word).wrapping_sub(from);
    memory.fence();
    if count <= most { Ok(count) } else { Err(Broken) }
}

/// The server's side.
#[derive(Debug)]
pub struct Server<M> {
    surface: M,
    events: M,
    /// Rectangles that it is done with, events that it wrote.
    consumed: u32,
    produced: u32,
    /// Whether one of them is not in memory yet.
    is_due: bool,
    /// Whether it says that it sleeps.
    sleeps: bool,
    /// Events were lost since the last that was written.
    has_dropped: bool,
}

impl<M: Shared> Server<M> {
    /// Of the client's surface, which it reads, and its events, which it writes. Nothing is in
    /// them before [`Server::begin`].
    #[must_use]
    pub const fn new(surface: M, events: M) -> Self {
        Self {
            surface,
            events,
            consumed: 0,
            produced: 0,
            is_due: false,
            sleeps: false,
            has_dropped: false,
        }
    }

    /// The client's surface.
    #[must_use]
    pub const fn surface(&self) -> &M {
        &self.surface
    }

    /// The region that only the server writes.
    #[must_use]
    pub const fn events(&self) -> &M {
        &self.events
    }

    /// Both rings are empty.
    pub fn begin(&mut self) {
        (self.consumed, self.produced) = (0, 0);
        (self.is_due, self.sleeps, self.has_dropped) = (false, false, false);
        for word in [EVENTS_PRODUCED, DAMAGE_CONSUMED, SERVER_WAITS] {
            self.events.write(word, 0);
        }
        self.events.fence();
    }

    /// How many rectangles the client has published that the server is not done with.
    ///
    /// # Errors
    /// [`Broken`] if there are more than the ring has.
    pub fn waiting(&self) -> Result<u32, Broken> {
        ahead(&self.surface, DAMAGE_PRODUCED, self.consumed, MOST_RECTANGLES)
    }

    /// The next rectangle: four words of the client's.
    ///
    /// # Errors
    /// As [`Server::waiting`].
    pub fn next(&self) -> Result<Option<[u32; 4]>, Broken> {
        let waiting = self.waiting()?;
        Ok((waiting > 0).then(|| self.surface.read_words(rectangle_at(self.consumed))))
    }

    /// The server is done with it.
    pub const fn done(&mut self) {
        self.consumed = self.consumed.wrapping_add(1);
        self.is_due = true;
    }

    fn room(&self) -> Result<u32, Broken> {
        let taken = self.surface.read(EVENTS_CONSUMED);
        MOST_EVENTS.checked_sub(self.produced.wrapping_sub(taken)).ok_or(Broken)
    }

    fn write(&mut self, event: Event) {
        self.events.write_words(event_at(self.produced), event.words());
        self.produced = self.produced.wrapping_add(1);
        self.is_due = true;
    }

    /// Writes a packet, or drops it if it does not fit. Whether it was written.
    ///
    /// # Errors
    /// [`Broken`] if the client has taken more events than were written.
    pub fn push(&mut self, packet: &Packet) -> Result<bool, Broken> {
        let room = self.room()?;
        let count = packet.events().len() as u32 + u32::from(self.has_dropped);
        if count > room {
            self.has_dropped = true;
            return Ok(false);
        }
        if core::mem::take(&mut self.has_dropped) {
            self.write(Event::Dropped);
        }
        packet.events().iter().for_each(|event| self.write(*event));
        Ok(true)
    }

    /// Whether packets were dropped and there is room again.
    ///
    /// # Errors
    /// As [`Server::push`].
    pub fn may_resume(&self) -> Result<bool, Broken> {
        Ok(self.has_dropped && self.room()? >= MOST_EVENTS / 2)
    }

    /// Shows the client what was done and written. Whether it is to be notified.
    #[must_use]
    pub fn publish(&mut self) -> bool {
        if !core::mem::take(&mut self.is_due) {
            return false;
        }
        // The events come before the index that says so.
        self.events.fence();
        self.events.write(EVENTS_PRODUCED, self.produced);
        self.events.write(DAMAGE_CONSUMED, self.consumed);
        self.events.fence();
        self.surface.read(CLIENT_WAITS) != 0
    }

    /// Says that the server sleeps. Whether there is a rectangle already.
    ///
    /// # Errors
    /// As [`Server::waiting`].
    pub fn sleep(&mut self) -> Result<bool, Broken> {
        if !core::mem::replace(&mut self.sleeps, true) {
            self.events.write(SERVER_WAITS, 1);
        }
        self.events.fence();
        self.waiting().map(|count| count > 0)
    }

    /// Says that it does not.
    pub fn wake(&mut self) {
        if core::mem::take(&mut self.sleeps) {
            self.events.write(SERVER_WAITS, 0);
        }
    }
}

/// The client's side.
#[derive(Debug)]
pub struct Client<M> {
    surface: M,
    events: M,
    /// Rectangles that it wrote, events that it took.
    produced: u32,
    consumed: u32,
    /// Rectangles that were on the screen when it looked last.
    painted: u32,
    /// What is damaged and was not written to the ring.
    damage: Rectangle,
    sleeps: bool,
}

impl<M: Shared> Client<M> {
    /// Of its surface, which it writes, and its events.
    #[must_use]
    pub const fn new(surface: M, events: M) -> Self {
        let damage = Rectangle::of_size(0, 0);
        Self { surface, events, produced: 0, consumed: 0, painted: 0, damage, sleeps: false }
    }

    /// Its surface.
    #[must_use]
    pub const fn surface(&self) -> &M {
        &self.surface
    }

    /// To be called before the server is asked to attach: both rings are empty.
    pub fn begin(&mut self) {
        (self.produced, self.consumed, self.painted, self.sleeps) = (0, 0, 0, false);
        self.damage = Rectangle::default();
        for word in [DAMAGE_PRODUCED, EVENTS_CONSUMED, CLIENT_WAITS] {
            self.surface.write(word, 0);
        }
        self.surface.fence();
    }

    /// These pixels have changed.
    pub fn damage(&mut self, rectangle: Rectangle) {
        self.damage = self.damage.union(rectangle);
    }

    /// How many rectangles are not on the screen yet.
    ///
    /// # Errors
    /// [`Broken`] if the server says what cannot be.
    pub fn under_way(&mut self) -> Result<u32, Broken> {
        self.painted = self.events.read(DAMAGE_CONSUMED);
        let count = self.produced.wrapping_sub(self.painted);
        if count <= MOST_RECTANGLES { Ok(count) } else { Err(Broken) }
    }

    /// Publishes what is damaged, if the ring has room for it. Whether the server is to be notified.
    ///
    /// # Errors
    /// As [`Client::under_way`].
    pub fn publish(&mut self) -> Result<bool, Broken> {
        if self.damage.is_empty() || self.under_way()? == MOST_RECTANGLES {
            return Ok(false);
        }
        let words = core::mem::take(&mut self.damage).words();
        self.surface.write_words(rectangle_at(self.produced), words);
        self.produced = self.produced.wrapping_add(1);
        // The pixels and the rectangle come before the index that says so.
        self.surface.fence();
        self.surface.write(DAMAGE_PRODUCED, self.produced);
        self.surface.fence();
        Ok(self.events.read(SERVER_WAITS) != 0)
    }

    /// Takes the next event. What this version of the protocol does not have is passed over.
    ///
    /// # Errors
    /// As [`Client::under_way`].
    pub fn event(&mut self) -> Result<Option<Event>, Broken> {
        while ahead(&self.events, EVENTS_PRODUCED, self.consumed, MOST_EVENTS)? > 0 {
            let event = Event::of_words(self.events.read_words(event_at(self.consumed)));
            self.consumed = self.consumed.wrapping_add(1);
            self.surface.fence();
            self.surface.write(EVENTS_CONSUMED, self.consumed);
            if event.is_some() {
                return Ok(event);
            }
        }
        Ok(None)
    }

    /// Says that the client sleeps. Whether there is something to do already: an event, or more is
    /// on the screen than when it looked last.
    ///
    /// # Errors
    /// As [`Client::under_way`].
    pub fn sleep(&mut self) -> Result<bool, Broken> {
        if !core::mem::replace(&mut self.sleeps, true) {
            self.surface.write(CLIENT_WAITS, 1);
        }
        self.surface.fence();
        let has_events = ahead(&self.events, EVENTS_PRODUCED, self.consumed, MOST_EVENTS)? > 0;
        let before = self.painted;
        self.under_way()?;
        Ok(has_events || self.painted != before)
    }

    /// Says that it does not.
    pub fn wake(&mut self) {
        if core::mem::take(&mut self.sleeps) {
            self.surface.write(CLIENT_WAITS, 0);
        }
    }
}
