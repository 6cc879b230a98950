// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the server itself paints: the bar, the list, the pointer, and the place of a client that has
//! nothing to show.

use crate::client::State;
use crate::list::{List, Row};
use core::fmt::{self, Write};
use embedded_graphics::Drawable;
use embedded_graphics::geometry::Point;
use embedded_graphics::mono_font::ascii::{FONT_8X13, FONT_9X15_BOLD};
use embedded_graphics::mono_font::{MonoFont, MonoTextStyle};
use embedded_graphics::text::{Baseline, Text};
use macadamia::region::Region;
use surface::{Canvas, Layout, Rectangle, colour};

/// Colours that are no client's.
const WHITE: u32 = 0xff_ffff;
const BLACK: u32 = 0;
const DARK: u32 = 0x20_2428;
const GREY: u32 = 0x50_5458;
const MARKED: u32 = 0x40_4850;
/// An area without a client.
pub const EMPTY: u32 = 0x10_1214;

/// Pixels of the list: at its edges, of a column of text and of a row.
const EDGE: u32 = 8;
const COLUMN: u32 = 8;
const ROW: u32 = 16;
/// Characters of its rows, and rows above the first component.
const CHARACTERS: u32 = 60;
const HEADS: u32 = 2;
/// Where it is.
const CORNER: [u32; 2] = [32, 40];

/// The pointer, a bit a pixel from the left: its edge and its inside.
const EDGES: [u16; 16] = [
    0x8000, 0xc000, 0xa000, 0x9000, 0x8800, 0x8400, 0x8200, 0x8100, 0x8080, 0x8040, 0x83e0, 0x9200,
    0xa900, 0xc900, 0x8480, 0x0780,
];
const INSIDE: [u16; 16] = [
    0, 0, 0x4000, 0x6000, 0x7000, 0x7800, 0x7c00, 0x7e00, 0x7f00, 0x7f80, 0x7c00, 0x6c00, 0x4600,
    0x0600, 0x0300, 0,
];
const POINTER: [u32; 2] = [11, 16];

/// A line of text of limited length.
struct Line {
    bytes: [u8; CHARACTERS as usize],
    length: usize,
}

impl Line {
    /// What is written. What is too long is cut off.
    fn of(text: fmt::Arguments<'_>) -> Self {
        let mut line = Self { bytes: [0; CHARACTERS as usize], length: 0 };
        // It fails where the line ends.
        let _ = line.write_fmt(text);
        line
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default()
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let next = self.bytes.get_mut(self.length).ok_or(fmt::Error)?;
            *next = if byte.is_ascii() { byte } else { b'?' };
            self.length += 1;
        }
        Ok(())
    }
}

fn write(
    canvas: &mut Canvas<'_, Region>,
    text: &str,
    at: [u32; 2],
    font: &MonoFont<'_>,
    word: u32,
) {
    let style = MonoTextStyle::new(font, colour(word));
    let at = Point::new(at[0] as i32, at[1] as i32);
    let Ok(_) = Text::with_baseline(text, at, style, Baseline::Top).draw(canvas);
}

/// The bar: which client has the keyboard, by its name and colour in the description.
pub fn bar(
    canvas: &mut Canvas<'_, Region>,
    area: Rectangle,
    layout: &Layout,
    focus: Option<usize>,
) {
    const HINT: &str = "F12: list";
    let place = focus.and_then(|index| layout.clients.get(index));
    canvas.fill(area, place.map_or(DARK, |place| place.colour));
    let name = place.map_or("choose by a digit, then let go of the key", |place| &place.name);
    write(canvas, name, [area.x + 8, area.y + 2], &FONT_9X15_BOLD, WHITE);
    if place.is_some() && layout.secure_key == surface::key::F12 {
        let width = HINT.len() as u32 * 9 + 8;
        write(
            canvas,
            HINT,
            [area.right().saturating_sub(width), area.y + 2],
            &FONT_9X15_BOLD,
            WHITE,
        );
    }
}

/// Where the list is, with this many components.
pub fn list_area(list: &List, screen: Rectangle) -> Rectangle {
    let [x, y] = CORNER;
    let rows = list.rows().len() as u32 + HEADS;
    let area =
        Rectangle { x, y, width: CHARACTERS * COLUMN + 2 * EDGE, height: rows * ROW + 2 * EDGE };
    area.intersection(screen)
}

/// The list of components: those that can have the keyboard with their digit.
pub fn list(
    canvas: &mut Canvas<'_, Region>,
    area: Rectangle,
    layout: &Layout,
    (list, chosen): (&List, Option<usize>),
) {
    canvas.fill(area, DARK);
    let mut y = area.y + EDGE;
    let mut row =
        |canvas: &mut Canvas<'_, Region>, marked: bool, word: u32, text: fmt::Arguments<'_>| {
            if marked {
                canvas.fill(Rectangle { y, height: ROW, ..area }, MARKED);
            }
            write(canvas, Line::of(text).text(), [area.x + EDGE, y + 1], &FONT_8X13, word);
            y += ROW;
        };
    row(
        canvas,
        false,
        WHITE,
        format_args!("  {:24} {:>9} {:>9} {:>8}", "component", "KiB", "of KiB", "restarts"),
    );
    row(canvas, false, WHITE, format_args!(""));
    for component in list.rows() {
        let Row { lives, restarts, memory: [used, most], .. } = *component;
        let index = layout.clients.iter().position(|place| place.name == component.name());
        let digit = match index {
            Some(index @ 0..=8) => char::from(b'1' + index as u8),
            Some(9) => '0',
            _ => ' ',
        };
        let word = if index.is_some() { WHITE } else { 0xa0_a4a8 };
        let name = component.name();
        let marked = index.is_some() && index == chosen;
        if lives {
            let text =
                format_args!("{digit} {name:24} {:>9} {:>9} {restarts:>8}", used >> 10, most >> 10);
            row(canvas, marked, word, text);
        } else {
            row(
                canvas,
                marked,
                word,
                format_args!("{digit} {name:24} {:>19} {restarts:>8}", "has ended"),
            );
        }
    }
}

/// The place of a client that is not attached.
pub fn gone(canvas: &mut Canvas<'_, Region>, area: Rectangle, name: &str, state: State) {
    canvas.fill(area, GREY);
    let what = if state == State::Ended { "has ended" } else { "shows nothing yet" };
    let line = Line::of(format_args!("{name} {what}"));
    let width = line.text().len() as u32 * COLUMN;
    let x = area.x + area.width.saturating_sub(width) / 2;
    let y = area.y + area.height.saturating_sub(ROW) / 2;
    write(canvas, line.text(), [x, y], &FONT_8X13, WHITE);
}

/// Where the pointer is painted.
pub fn pointer_area([x, y]: [u32; 2], screen: Rectangle) -> Rectangle {
    Rectangle { x, y, width: POINTER[0], height: POINTER[1] }.intersection(screen)
}

/// The pointer.
pub fn pointer(canvas: &Canvas<'_, Region>, [x, y]: [u32; 2]) {
    for (row, (edge, inside)) in (y..).zip(EDGES.into_iter().zip(INSIDE)) {
        for column in 0..POINTER[0] {
            let is_in = |bits: u16| bits << column & 0x8000 != 0;
            let pixel = Rectangle { x: x + column, y: row, width: 1, height: 1 };
            if is_in(edge) {
                canvas.fill(pixel, BLACK);
            } else if is_in(inside) {
                canvas.fill(pixel, WHITE);
            }
        }
    }
}
