// SPDX-License-Identifier: MIT OR Apache-2.0
//! The console on a part of the screen (docs/screen.md). It shows what the console server sends to
//! the first serial line, from the beginning of the system as far as there is room. What is typed
//! while it has the keyboard goes to the console as if it came from that line, with the keyboard
//! layout of the description (`keyboard=`). The console never waits for it, and works without it.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use image::protocol::console::shown::BIT_TEXT;
use macadamia::region::{Reader, Region, Writer};
use macadamia::screen::embedded_graphics::mono_font::ascii::FONT_8X13;
use macadamia::screen::embedded_graphics::mono_font::{MonoTextStyle, MonoTextStyleBuilder};
use macadamia::screen::embedded_graphics::pixelcolor::Rgb888;
use macadamia::screen::embedded_graphics::prelude::{Drawable, Point};
use macadamia::screen::embedded_graphics::text::{Baseline, Text};
use macadamia::screen::{Event, Rectangle, Screen, colour};
use macadamia::{Env, Result};
use page::{Layout, Page, Typist};

macadamia::main!(run);

/// Pixels of a character.
const WIDTH: u32 = 8;
const HEIGHT: u32 = 13;
const PAPER: u32 = 0x10_1418;
const INK: u32 = 0xd8_dce0;

fn run(env: Env) {
    if let Err(error) = show(&env) {
        panic!("nothing is shown: {}", error.text());
    }
}

fn show(env: &Env) -> Result<()> {
    let tape = |name| Region::find(env, name);
    let (Some(mut text), Some(mut keys), Some(mut screen)) = (
        tape("text").and_then(Reader::from_oldest),
        tape("keys").and_then(Writer::new),
        Screen::open(env, false)?,
    ) else {
        panic!("it needs the memory `text` and `keys`, and a part of the screen")
    };
    let console = env.thread("keys-bell");
    let area = screen.area();
    let style = MonoTextStyleBuilder::new()
        .font(&FONT_8X13)
        .text_color(colour(INK))
        .background_color(colour(PAPER))
        .build();
    let mut page = Page::new((area.width / WIDTH) as usize, (area.height / HEIGHT) as usize);
    // The tool has refused a name that is none.
    let layout = env.argument("keyboard").and_then(Layout::named).unwrap_or_default();
    let mut typist = Typist::new(layout);
    screen.fill(area, PAPER);
    loop {
        while let Some(byte) = text.take() {
            page.take(byte as u8);
        }
        let mut has_typed = false;
        while let Some(event) = screen.event()? {
            match event {
                Event::Key(code, pressed) => {
                    for byte in typist.take(code, pressed) {
                        keys.push(u32::from(*byte));
                        has_typed = true;
                    }
                }
                Event::Focus(_) | Event::Dropped => typist = Typist::new(layout),
                _ => {}
            }
        }
        if has_typed {
            // A console that is dead has ended the system.
            let _ = console.notify();
        }
        // What changes before the last picture was shown waits for that.
        if screen.is_shown()? {
            draw(&mut screen, &mut page, style);
        }
        screen.wait(1 << BIT_TEXT)?;
    }
}

/// Draws what has changed.
fn draw(screen: &mut Screen, page: &mut Page, style: MonoTextStyle<'_, Rgb888>) {
    let has_changed = page.changes(&mut |column, row, text| {
        let at = Point::new((column as u32 * WIDTH) as i32, (row as u32 * HEIGHT) as i32);
        let Ok(_) = Text::with_baseline(text, at, style, Baseline::Top).draw(screen);
    });
    // Who draws is told when that is on the screen, and comes here again.
    if !has_changed {
        return;
    }
    let (column, row) = page.cursor();
    let (x, y) = (column as u32 * WIDTH, row as u32 * HEIGHT + HEIGHT - 2);
    screen.fill(Rectangle { x, y, width: WIDTH, height: 2 }, INK);
}
