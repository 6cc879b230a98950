// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where clients are on the screen, as the tool says it in the server's arguments.

use crate::event::key;
use crate::rectangle::Rectangle;
use alloc::string::String;
use alloc::vec::Vec;
use image::protocol::screen::{BAR, PIXELS};

/// A client's part of the screen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The component's name.
    pub name: String,
    /// Where it is.
    pub area: Rectangle,
    /// Its colour, red in bits 16 to 23.
    pub colour: u32,
    /// Whether it is one of those that share the screen below the bar; the others are in front.
    pub is_full: bool,
}

impl Place {
    /// What an argument says, as `paint 0,20 1024x748 3b6ea5 full`.
    fn of(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut word = || words.next().filter(|word| !word.is_empty());
        let (name, at, size, colour, kind) = (word()?, word()?, word()?, word()?, word()?);
        let [x, y] = pair(at, ',')?;
        let [width, height] = pair(size, 'x')?;
        let is_full = match kind {
            "full" => true,
            "corner" => false,
            _ => return None,
        };
        let colour = u32::from_str_radix(colour, 16).ok().filter(|colour| *colour < 1 << 24)?;
        let area = Rectangle { x, y, width, height };
        Some(Self { name: name.into(), area, colour, is_full })
    }

    /// Bytes of its surface.
    const fn bytes(&self) -> u64 {
        PIXELS as u64 + self.area.pixels() * 4
    }
}

/// Two numbers.
fn pair(text: &str, between: char) -> Option<[u32; 2]> {
    let (first, second) = text.split_once(between)?;
    Some([first.parse().ok()?, second.parse().ok()?])
}

/// The screen, and who has which part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Its pixels in a row, and its rows.
    pub size: [u32; 2],
    /// The code of the key that is never a client's.
    pub secure_key: u16,
    /// The clients, from number 1 on.
    pub clients: Vec<Place>,
}

impl Layout {
    /// What the server's arguments say; each is asked for by its name. Of client number N from 1 on
    /// the surface has `bytes` of N.
    ///
    /// # Errors
    /// A sentence that says which argument is wrong.
    pub fn of<'a>(
        argument: impl Fn(&str) -> Option<&'a str>,
        bytes: impl Fn(u32) -> Option<u32>,
    ) -> Result<Self, String> {
        let said = |name: &str| argument(name).unwrap_or_default();
        let size: [u32; 2] = pair(said("size"), 'x')
            .filter(|[width, height]| {
                (1..=1 << 14).contains(width) && (BAR..=1 << 14).contains(height)
            })
            .ok_or_else(|| alloc::format!("`size={}` is no size", said("size")))?;
        let secure_key = key::of_name(said("secure-key")).ok_or_else(|| {
            alloc::format!("`secure-key={}` is no function key", said("secure-key"))
        })?;
        let mut clients = Vec::new();
        for number in 1.. {
            let name = alloc::format!("client-{number}");
            let Some(text) = argument(&name) else { break };
            let below = Rectangle { x: 0, y: BAR, width: size[0], height: size[1] - BAR };
            let is_sound = |place: &Place| {
                !place.area.is_empty()
                    && place.area.intersection(below) == place.area
                    && bytes(number).is_some_and(|bytes| u64::from(bytes) >= place.bytes())
            };
            let place = Place::of(text).filter(is_sound);
            clients.push(place.ok_or_else(|| {
                alloc::format!("`{name}={text}` is no part of the screen below the bar, or its surface is too small")
            })?);
        }
        Ok(Self { size, secure_key, clients })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(client: &str, bytes: u32) -> Result<Layout, String> {
        let arguments = [("size", "640x480"), ("secure-key", "F12"), ("client-1", client)];
        let find = |name: &str| arguments.iter().find(|one| one.0 == name).map(|one| one.1);
        Layout::of(find, |_| Some(bytes))
    }

    #[test]
    fn arguments_are_read() {
        let bytes = PIXELS + 100 * 50 * 4;
        let layout_of = |client| layout(client, bytes);
        let good = layout_of("one 540,20 100x50 4070c0 corner").expect("good");
        assert_eq!((good.size, good.secure_key), ([640, 480], key::F12));
        let area = Rectangle { x: 540, y: 20, width: 100, height: 50 };
        let place = Place { name: "one".into(), area, colour: 0x40_70c0, is_full: false };
        assert_eq!(good.clients, [place]);
        for bad in [
            "",
            "one",
            "one 540,20 100x50 4070c0",
            "one 540,20 100x50 4070c0 side",
            "one 541,20 100x50 4070c0 corner",
            "one 540,19 100x50 4070c0 corner",
            "one 0,431 100x50 4070c0 full",
            "one 4294967295,20 100x50 4070c0 corner",
            "one 0,20 0x50 4070c0 corner",
            "one 0,20 101x50 4070c0 corner",
            "one 0,20 100x50 14070c0 corner",
        ] {
            assert!(layout_of(bad).is_err(), "{bad}");
        }
        assert!(layout("one 540,20 100x50 4070c0 corner", bytes - 1).is_err());
    }
}
