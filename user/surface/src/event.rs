// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, as a client gets them.

use image::protocol::screen::{ABSOLUTE, DROPPED, FOCUS, KEY, RELATIVE, SYNC, WHEEL};

/// Codes of keys that the server itself knows, and of buttons (Linux's
/// `linux/input-event-codes.h`).
pub mod key {
    /// The digit 1; the others up to 0 follow.
    pub const DIGIT_1: u16 = 2;
    /// The digit 0.
    pub const DIGIT_0: u16 = 11;
    /// F1; the others up to F10 follow.
    pub const F1: u16 = 59;
    /// F11.
    pub const F11: u16 = 87;
    /// F12.
    pub const F12: u16 = 88;
    /// The cursor key up.
    pub const UP: u16 = 103;
    /// The cursor key down.
    pub const DOWN: u16 = 108;
    /// Escape.
    pub const ESCAPE: u16 = 1;
    /// The left button; right and middle follow.
    pub const LEFT: u16 = 0x110;
    /// The right button.
    pub const RIGHT: u16 = 0x111;
    /// The middle button.
    pub const MIDDLE: u16 = 0x112;
    /// No code is as large.
    pub const END: u16 = 0x300;

    /// The code of a function key, by a name as `F12`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<u16> {
        match name.strip_prefix('F')?.parse::<u16>().ok()? {
            number @ 1..=10 => Some(F1 + number - 1),
            11 => Some(F11),
            12 => Some(F12),
            _ => None,
        }
    }
}

/// An event as both sides know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The packet has ended.
    End,
    /// Events were lost: no key is down any more as far as the client knows.
    Dropped,
    /// The client has the keyboard, or has it no more.
    Focus(bool),
    /// A key or a button is pressed, or released.
    Key(u16, bool),
    /// The column of the pointer on the surface.
    Column(u32),
    /// Its row.
    Row(u32),
    /// The wheel has turned by so much, up if it is positive.
    Wheel(i32),
}

impl Event {
    /// As it lies in the ring.
    #[must_use]
    pub const fn words(self) -> [u32; 2] {
        let (kind, code, value) = match self {
            Self::End => (SYNC, 0, 0),
            Self::Dropped => (SYNC, DROPPED, 0),
            Self::Focus(has) => (FOCUS, 0, has as u32),
            Self::Key(code, pressed) => (KEY, code as u32, pressed as u32),
            Self::Column(x) => (ABSOLUTE, 0, x),
            Self::Row(y) => (ABSOLUTE, 1, y),
            Self::Wheel(by) => (RELATIVE, WHEEL, by as u32),
        };
        [kind | code << 16, value]
    }

    /// What words of a ring say; `None` if this version of the protocol has no such event.
    #[must_use]
    pub const fn of_words([head, value]: [u32; 2]) -> Option<Self> {
        Some(match (head & 0xffff, head >> 16) {
            (SYNC, 0) => Self::End,
            (SYNC, DROPPED) => Self::Dropped,
            (FOCUS, 0) => Self::Focus(value != 0),
            (KEY, code) => Self::Key(code as u16, value != 0),
            (ABSOLUTE, 0) => Self::Column(value),
            (ABSOLUTE, 1) => Self::Row(value),
            (RELATIVE, WHEEL) => Self::Wheel(value as i32),
            _ => return None,
        })
    }
}

/// Events that a client gets together, or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    events: [Event; 3],
    count: usize,
}

impl Packet {
    /// Of one event, and its end.
    #[must_use]
    pub const fn one(event: Event) -> Self {
        Self { events: [event, Event::End, Event::End], count: 2 }
    }

    /// Of two.
    #[must_use]
    pub const fn two(first: Event, second: Event) -> Self {
        Self { events: [first, second, Event::End], count: 3 }
    }

    /// All of them.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        self.events.get(..self.count).unwrap_or_default()
    }
}
