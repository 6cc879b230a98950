// SPDX-License-Identifier: MIT OR Apache-2.0
//! The PC.

mod bus;
mod off;

pub use super::ports::open;
pub use bus::Bus;
pub use off::power_off;

use super::ports;
use crate::resources::{RW, registers};
use abi::{PAGE_SIZE, Word};
use image::Places;
use macadamia::Result;
use macadamia::board::text::{self, PHYSICAL, Words};
use macadamia::map::Window;

/// Where the screen's text is seen: below where the root server looks at components.
const TEXT: Word = Places::LOW.own_end as Word - 2 * PAGE_SIZE;

struct Text(Window);

impl Words for Text {
    fn read(&self, offset: u32) -> u32 {
        self.0.read(offset as Word)
    }

    fn write(&self, offset: u32, value: u32) {
        self.0.write(offset as Word, value);
    }
}

/// The first serial line and the screen. A card that shows pixels just now shows no text, and what
/// is written to it changes nothing.
pub struct Line {
    line: ports::Line,
    text: Option<Text>,
}

impl Line {
    /// Maps the screen.
    pub fn open() -> Result<Self> {
        let window = registers(PHYSICAL as Word)
            .and_then(|(memory, offset)| Window::open(TEXT, memory, offset, PAGE_SIZE, RW));
        Ok(Self { line: ports::Line::open()?, text: window.ok().map(Text) })
    }

    /// Sends a byte.
    pub fn put(&self, byte: u8) {
        self.line.put(byte);
        self.text.iter().for_each(|memory| text::put(memory, byte));
    }
}
