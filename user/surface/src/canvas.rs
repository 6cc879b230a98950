// SPDX-License-Identifier: MIT OR Apache-2.0
//! To draw with the crate `embedded-graphics` on pixels that are shared.

use crate::rectangle::Rectangle;
use core::convert::Infallible;
use embedded_graphics::Pixel;
use embedded_graphics::geometry::{Dimensions, Point, Size};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use embedded_graphics::prelude::DrawTarget;
use embedded_graphics::primitives;
use frames::Shared;

/// A colour, with red in bits 16 to 23.
#[must_use]
pub const fn colour(word: u32) -> Rgb888 {
    Rgb888::new((word >> 16) as u8, (word >> 8) as u8, word as u8)
}

/// The same the other way round.
fn word(colour: Rgb888) -> u32 {
    u32::from_be_bytes([0, colour.r(), colour.g(), colour.b()])
}

/// A part of a surface: nothing is drawn outside of it. Panics if the pixels are not in the memory.
#[derive(Debug)]
pub struct Canvas<'a, M> {
    memory: &'a M,
    /// Offset of the surface's first pixel.
    first: u32,
    /// Pixels in a row of the surface.
    columns: u32,
    part: Rectangle,
}

impl<'a, M: Shared> Canvas<'a, M> {
    /// The surface's pixels are in `memory` from the offset `first` on, `columns` in a row.
    #[must_use]
    pub const fn new(memory: &'a M, first: u32, columns: u32, part: Rectangle) -> Self {
        Self { memory, first, columns, part }
    }

    const fn at(&self, x: u32, y: u32) -> u32 {
        self.first + (y * self.columns + x) * 4
    }

    /// Gives all pixels of a rectangle that are in the part one colour, a word.
    pub fn fill(&self, area: Rectangle, colour: u32) {
        let area = area.intersection(self.part);
        for y in area.y..area.bottom() {
            let first = self.at(area.x, y);
            let (many, few) = (area.width / 8, area.width % 8);
            (0..many).for_each(|part| self.memory.write_words(first + part * 32, [colour; 8]));
            (0..few).for_each(|pixel| self.memory.write(first + (many * 8 + pixel) * 4, colour));
        }
    }

    /// Copies pixels of another surface to the same pixels of a rectangle, whose corner is at
    /// `[x, y]` there, as far as they are in the part.
    pub fn copy(&self, from: &M, first: u32, columns: u32, [x, y]: [u32; 2], area: Rectangle) {
        let part = area.intersection(self.part);
        let (x, y) = (x + (part.x - area.x.min(part.x)), y + (part.y - area.y.min(part.y)));
        for row in 0..part.height {
            let source = first + ((y + row) * columns + x) * 4;
            from.copy(source, self.memory, self.at(part.x, part.y + row), part.width * 4);
        }
    }
}

impl<M: Shared> Dimensions for Canvas<'_, M> {
    fn bounding_box(&self) -> primitives::Rectangle {
        let Rectangle { x, y, width, height } = self.part;
        primitives::Rectangle::new(Point::new(x as i32, y as i32), Size::new(width, height))
    }
}

impl<M: Shared> DrawTarget for Canvas<'_, M> {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(Point { x, y }, colour) in pixels {
            if let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y))
                && self.part.contains(x, y)
            {
                self.memory.write(self.at(x, y), word(colour));
            }
        }
        Ok(())
    }

    fn fill_solid(
        &mut self,
        area: &primitives::Rectangle,
        colour: Rgb888,
    ) -> Result<(), Infallible> {
        let seen = area.intersection(&self.bounding_box());
        let Point { x, y } = seen.top_left;
        let Size { width, height } = seen.size;
        // It is in the part, whose corner has no negative column or row.
        self.fill(Rectangle { x: x as u32, y: y as u32, width, height }, word(colour));
        Ok(())
    }
}
