// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who gets which key, and where the pointer is. The secure key is looked at before anything else,
//! and no client gets it.

use crate::event::{Event, Packet, key};
use crate::layout::Layout;
use crate::rectangle::Rectangle;
use alloc::vec::Vec;

/// Buttons of a mouse, in the order of their codes.
const BUTTONS: u16 = 3;

/// What a keyboard or a mouse says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// A key or a button is pressed, or released.
    Key(u16, bool),
    /// The mouse was moved to the right and down.
    Motion(i32, i32),
    /// The pointer is at this column and row.
    Position([u32; 2]),
    /// The wheel has turned by so much, up if it is positive.
    Wheel(i32),
}

/// What of it is to be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Index of the client that has the keyboard; none while the list is open.
    pub focus: Option<usize>,
    /// Index of the full client that is in front of the others.
    pub shown: Option<usize>,
    /// Index of the client that is chosen in the list, if that is open.
    pub list: Option<usize>,
    /// Where the pointer is.
    pub pointer: [u32; 2],
}

/// Keyboard, mouse, and whose they are.
#[derive(Debug)]
pub struct Desk {
    size: [u32; 2],
    secure_key: u16,
    clients: Vec<(Rectangle, bool)>,
    view: View,
    /// Keys that are down for the client that has the keyboard: a bit each.
    keys: [u32; key::END as usize / 32],
    /// The client that has the pointer until all buttons are released, and the buttons that are
    /// down for it.
    holder: Option<usize>,
    buttons: u32,
}

impl Desk {
    /// Of a screen with this layout: its first full client has the keyboard, or else its first one.
    #[must_use]
    pub fn new(layout: &Layout) -> Self {
        let shown = layout.clients.iter().position(|place| place.is_full);
        let focus = shown.or((!layout.clients.is_empty()).then_some(0));
        Self {
            size: layout.size,
            secure_key: layout.secure_key,
            clients: layout.clients.iter().map(|place| (place.area, place.is_full)).collect(),
            view: View { focus, shown, list: None, pointer: layout.size.map(|side| side / 2) },
            keys: [0; key::END as usize / 32],
            holder: None,
            buttons: 0,
        }
    }

    /// What is to be seen.
    #[must_use]
    pub const fn view(&self) -> View {
        self.view
    }

    /// Gives the keyboard to a client, and shows one, as it was in a life before this one.
    pub fn restore(&mut self, focus: Option<usize>, shown: Option<usize>) {
        let is_full = |index: &usize| self.clients.get(*index).is_some_and(|client| client.1);
        self.view.shown = shown.filter(is_full).or(self.view.shown);
        self.view.focus = focus.filter(|index| *index < self.clients.len()).or(self.view.focus);
        if let Some(focus) = self.view.focus.filter(is_full) {
            self.view.shown = Some(focus);
        }
    }

    /// A client begins: it knows of nothing that is down.
    pub fn begin(&mut self, client: usize, send: &mut impl FnMut(usize, Packet)) {
        let has_focus = self.view.focus == Some(client);
        if has_focus {
            self.keys.fill(0);
        }
        if self.holder == Some(client) {
            (self.holder, self.buttons) = (None, 0);
        }
        send(client, Packet::one(Event::Focus(has_focus)));
    }

    /// Events for a client were lost, and it was told so: it takes nothing to be down.
    pub fn resume(&mut self, client: usize, send: &mut impl FnMut(usize, Packet)) {
        self.begin(client, send);
    }

    /// The client at a place of the screen, if no other is in front of it there.
    #[must_use]
    pub fn under(&self, [x, y]: [u32; 2]) -> Option<usize> {
        let mut corners = self.clients.iter().enumerate().filter(|(_, (_, is_full))| !is_full);
        let has = |area: &Rectangle| area.contains(x, y);
        let corner = corners.find(|(_, (area, _))| has(area)).map(|(index, _)| index);
        let full = || {
            self.view
                .shown
                .filter(|index| self.clients.get(*index).is_some_and(|client| has(&client.0)))
        };
        corner.or_else(full)
    }

    /// Who gets what the mouse does.
    fn pointed(&self) -> Option<usize> {
        if self.view.list.is_some() {
            return None;
        }
        self.holder.or_else(|| self.under(self.view.pointer))
    }

    /// Takes what was done, and sends to clients what is for them.
    pub fn take(&mut self, input: Input, send: &mut impl FnMut(usize, Packet)) {
        match input {
            Input::Key(code, pressed) if code == self.secure_key => self.secure(pressed, send),
            Input::Key(code, pressed) if (key::LEFT..key::LEFT + BUTTONS).contains(&code) => {
                self.button(code, pressed, send);
            }
            Input::Key(code, pressed) if self.view.list.is_some() => {
                if pressed {
                    self.choose(code);
                }
            }
            Input::Key(code, pressed) => self.key(code, pressed, send),
            Input::Motion(right, down) => {
                let [x, y] = self.view.pointer;
                self.point([x.saturating_add_signed(right), y.saturating_add_signed(down)], send);
            }
            Input::Position(at) => self.point(at, send),
            Input::Wheel(by) => {
                if let Some(client) = self.pointed() {
                    send(client, Packet::one(Event::Wheel(by)));
                }
            }
        }
    }

    /// The list is open as long as the secure key is down. A keyboard repeats that it is pressed.
    fn secure(&mut self, pressed: bool, send: &mut impl FnMut(usize, Packet)) {
        if pressed && self.view.list.is_none() {
            self.release(send);
            let had = self.view.focus.take();
            if let Some(client) = had {
                send(client, Packet::one(Event::Focus(false)));
            }
            self.view.list = had.or((!self.clients.is_empty()).then_some(0));
        } else if !pressed && let Some(chosen) = self.view.list.take() {
            self.view.focus = Some(chosen);
            if self.clients.get(chosen).is_some_and(|client| client.1) {
                self.view.shown = Some(chosen);
            }
            send(chosen, Packet::one(Event::Focus(true)));
        }
    }

    /// All that is down is released.
    fn release(&mut self, send: &mut impl FnMut(usize, Packet)) {
        let down = core::mem::replace(&mut self.keys, [0; key::END as usize / 32]);
        let codes = (0..key::END).filter(|code| has(&down, *code));
        if let Some(client) = self.view.focus {
            codes.for_each(|code| send(client, Packet::one(Event::Key(code, false))));
        }
        let buttons = core::mem::take(&mut self.buttons);
        if let Some(client) = self.holder.take() {
            (0..BUTTONS).filter(|button| buttons >> button & 1 != 0).for_each(|button| {
                send(client, Packet::one(Event::Key(key::LEFT + button, false)))
            });
        }
    }

    fn choose(&mut self, code: u16) {
        let Some(chosen) = self.view.list else { return };
        let other = match code {
            key::DIGIT_1..=key::DIGIT_0 => Some(usize::from(code - key::DIGIT_1)),
            key::UP => chosen.checked_sub(1),
            key::DOWN => Some(chosen + 1),
            _ => None,
        };
        self.view.list = Some(other.filter(|index| *index < self.clients.len()).unwrap_or(chosen));
    }

    /// A client that is clicked on gets the keyboard.
    fn give(&mut self, client: usize, send: &mut impl FnMut(usize, Packet)) {
        if self.view.focus == Some(client) {
            return;
        }
        self.release(send);
        if let Some(had) = self.view.focus.replace(client) {
            send(had, Packet::one(Event::Focus(false)));
        }
        send(client, Packet::one(Event::Focus(true)));
    }

    fn key(&mut self, code: u16, pressed: bool, send: &mut impl FnMut(usize, Packet)) {
        // It is the client that repeats keys.
        let Some(client) = self.view.focus.filter(|_| has(&self.keys, code) != pressed) else {
            return;
        };
        let Some(word) = self.keys.get_mut(usize::from(code / 32)) else { return };
        *word ^= 1 << (code % 32);
        send(client, Packet::one(Event::Key(code, pressed)));
    }

    fn button(&mut self, code: u16, pressed: bool, send: &mut impl FnMut(usize, Packet)) {
        let bit = 1 << (code - key::LEFT);
        if pressed
            && self.holder.is_none()
            && let Some(client) = self.pointed()
        {
            self.give(client, send);
        }
        let Some(client) = self.pointed().filter(|_| (self.buttons & bit != 0) != pressed) else {
            return;
        };
        self.buttons ^= bit;
        self.holder = (self.buttons != 0).then_some(client);
        send(client, Packet::one(Event::Key(code, pressed)));
    }

    /// The pointer is there, or at the edge of the screen.
    fn point(&mut self, at: [u32; 2], send: &mut impl FnMut(usize, Packet)) {
        let [x, y] = [0, 1].map(|axis: usize| at[axis].min(self.size[axis].saturating_sub(1)));
        self.view.pointer = [x, y];
        let Some(client) = self.pointed() else { return };
        let Some((area, _)) = self.clients.get(client) else { return };
        let inside = |at: u32, first: u32, count: u32| at.saturating_sub(first).min(count - 1);
        let column = inside(x, area.x, area.width);
        let row = inside(y, area.y, area.height);
        send(client, Packet::two(Event::Column(column), Event::Row(row)));
    }
}

fn has(keys: &[u32], code: u16) -> bool {
    keys.get(usize::from(code / 32)).is_some_and(|word| word >> (code % 32) & 1 != 0)
}
