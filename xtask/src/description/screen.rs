// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a description says about the screen: `screen = true`, or which part a component has; and
//! the size and the keys of the screen itself.

use super::key::Braces;
use anyhow::{Result, anyhow};
use image::protocol::screen::BAR;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// The device of a board that is its screen: card, keyboard and pointer.
pub(super) const DEVICES: [&str; 1] = [SCREEN];
/// Its name.
pub(super) const SCREEN: &str = "screen";
/// The key that is never a client's, unless the description says another.
pub(super) const SECURE_KEY: &str = "F12";
/// The size, unless the description says another.
const USUAL: Size = Size { width: 1024, height: 768 };
/// The least that there is room for something on, and the most that a page table is made for.
const LEAST: Size = Size { width: 320, height: 200 };
/// Colours of clients that the description gives none, in their order.
const COLOURS: [u32; 6] = [0x3b_6ea5, 0x8f_5a9e, 0x4c_8c4a, 0xb8_7333, 0xa8_4448, 0x4a_8a8c];

/// What is said of the board's screen.
#[derive(Deserialize, Serialize, Clone, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Display {
    /// Its size in pixels, as `1024x768`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Spanned<String>>,
    /// The key that is never a client's: its name is one of F1 to F12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secure_key: Option<Spanned<String>>,
    /// Where the pointer comes from.
    #[serde(default)]
    pub input: Input,
    /// What the keys type at the terminal: the name of a layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) keyboard: Option<Spanned<String>>,
}

/// Where the pointer comes from.
#[derive(Deserialize, Serialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// A mouse at the controller of the keyboard: it knows how far it was moved.
    #[default]
    Ps2,
    /// A virtio device that knows where it is, so that an emulator's window need not grab the
    /// host's. It reads and writes memory by itself.
    Tablet,
}

impl Input {
    /// As the screen server's arguments have it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Ps2 => "ps2",
            Self::Tablet => "tablet",
        }
    }
}

/// A part of the screen.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Where it is, if it is always in front.
    pub(super) corner: Option<Spanned<Corner>>,
    /// Its pixels in a row, then.
    pub(super) width: Option<Spanned<u32>>,
    /// Its rows, then.
    pub(super) height: Option<Spanned<u32>>,
    /// What the bar shows when the component has the keyboard, as `#4070c0`.
    pub(super) colour: Option<Spanned<String>>,
}

impl Braces for Part {
    const FORMS: &'static str = "`screen = true`, `screen = { colour = \"#4070c0\" }`, or `screen = { corner = \"top-right\", width = 160, height = 60 }`";
}

/// A corner of the screen, below the bar.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Corner {
    TopLeft,
    TopRight,
    BottomLeft,
    BottomRight,
}

/// Pixels in a row, and rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub width: u32,
    pub height: u32,
}

/// A rectangle of the screen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub x: u32,
    pub y: u32,
    pub size: Size,
}

impl Size {
    /// The size that a text says; `None` if it says none.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (width, height) = text.split_once('x')?;
        let digits = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        };
        Some(Self { width: digits(width)?, height: digits(height)? })
    }

    /// As [`of`](Self::of) reads it.
    pub(super) fn text(self) -> String {
        format!("{}x{}", self.width, self.height)
    }

    /// Bytes of its pixels.
    pub(super) const fn bytes(self) -> u32 {
        self.width * self.height * 4
    }

    /// The screen's size that a description says, on a card that shows at most `most`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of_screen(said: Option<&str>, most: Self) -> Result<Self> {
        let Some(said) = said else { return Ok(USUAL) };
        let size = Self::of(said)
            .ok_or_else(|| anyhow!("`{said}` is no size: write one as `{}`", USUAL.text()))?;
        let fits = |least: u32, pixels: u32, most: u32| (least..=most).contains(&pixels);
        if !fits(LEAST.width, size.width, most.width)
            || !fits(LEAST.height, size.height, most.height)
        {
            return Err(anyhow!(
                "the board's card shows {} to {}, and no `{said}`",
                LEAST.text(),
                most.text()
            ));
        }
        // Cards count in units of 16 pixels (ARM PrimeCell PL110, 3.5.1).
        if !size.width.is_multiple_of(16) {
            return Err(anyhow!("the width must be a multiple of 16: that of `{said}` is not"));
        }
        Ok(size)
    }

    /// Where a full client is on a screen of this size.
    pub(super) const fn full(self) -> Place {
        Place { x: 0, y: BAR, size: Self { width: self.width, height: self.height - BAR } }
    }

    /// Where a client of this size is in a corner of the screen; `None` if it has no room there, or
    /// no pixels.
    pub(super) fn corner(self, corner: Corner, of: Self) -> Option<Place> {
        let (right, bottom) = (
            self.width.checked_sub(of.width)?,
            self.height.checked_sub(of.height).filter(|y| *y >= BAR)?,
        );
        let x = if matches!(corner, Corner::TopLeft | Corner::BottomLeft) { 0 } else { right };
        let y = if matches!(corner, Corner::TopLeft | Corner::TopRight) { BAR } else { bottom };
        (of.width > 0 && of.height > 0).then_some(Place { x, y, size: of })
    }
}

/// The colour that a text says, red in bits 16 to 23; `None` if it says none.
pub(super) fn colour(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('#').filter(|digits| {
        digits.len() == 6 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })?;
    u32::from_str_radix(digits, 16).ok()
}

/// The colour of a client, counted from 1, that the description gives none.
pub(super) const fn usual_colour(client: u32) -> u32 {
    COLOURS[(client as usize - 1) % COLOURS.len()]
}

/// Whether a key of this name can be the secure one.
pub(super) fn is_function_key(name: &str) -> bool {
    (1..=12).any(|number| name == format!("F{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_and_read() {
        assert_eq!(Size::of("640x480"), Some(Size { width: 640, height: 480 }));
        for text in
            ["", "x", "640", "640x", "x480", "+640x480", "640x480x1", "640 x 480", "99999999999x1"]
        {
            assert_eq!(Size::of(text), None, "{text}");
        }
        assert_eq!(Size::of(&USUAL.text()), Some(USUAL));
    }

    #[test]
    fn corners_are_below_the_bar() {
        let screen = Size { width: 640, height: 480 };
        let of = Size { width: 100, height: 50 };
        let place = |corner| screen.corner(corner, of).map(|place| (place.x, place.y));
        assert_eq!(place(Corner::TopLeft), Some((0, BAR)));
        assert_eq!(place(Corner::TopRight), Some((540, BAR)));
        assert_eq!(place(Corner::BottomLeft), Some((0, 430)));
        assert_eq!(place(Corner::BottomRight), Some((540, 430)));
        let highest = Size { width: 640, height: 480 - BAR };
        assert_eq!(screen.corner(Corner::BottomLeft, highest), Some(screen.full()));
        for (width, height) in
            [(640, 480 - BAR + 1), (641, 1), (0, 1), (1, 0), (u32::MAX, u32::MAX)]
        {
            assert_eq!(
                screen.corner(Corner::TopLeft, Size { width, height }),
                None,
                "{width}x{height}"
            );
        }
    }

    #[test]
    fn colours_are_six_digits() {
        assert_eq!(colour("#4070c0"), Some(0x0040_70c0));
        for text in ["4070c0", "#4070c", "#4070c00", "#4070cg", "#+070c0", ""] {
            assert_eq!(colour(text), None, "{text}");
        }
    }
}
