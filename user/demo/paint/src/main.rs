// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paints where the mouse is as long as its left button is down. R, G, B and W choose a colour, which
//! the field in the upper left corner shows while the component has the keyboard; the wheel makes the
//! brush larger, C begins again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::screen::embedded_graphics::mono_font::MonoTextStyle;
use macadamia::screen::embedded_graphics::mono_font::ascii::FONT_9X15;
use macadamia::screen::embedded_graphics::prelude::{Drawable, Point};
use macadamia::screen::embedded_graphics::text::Text;
use macadamia::screen::{Event, Rectangle, Screen, colour, key};
use macadamia::{Env, Result};

macadamia::main!(run);

const PAPER: u32 = 0xe8_e4d8;
const INK: u32 = 0x20_2020;
/// Without the keyboard.
const FADED: u32 = 0xa0_a0a0;
/// Keys, as Linux numbers them, and what they choose.
const COLOURS: [(u16, u32); 4] =
    [(19, 0xd0_3030), (34, 0x30_a040), (48, 0x30_50d0), (17, 0xff_ffff)];
const CLEAR: u16 = 46;
/// The field that shows the colour.
const FIELD: Rectangle = Rectangle { x: 8, y: 8, width: 32, height: 32 };
const LARGEST: u32 = 64;

struct Paint {
    screen: Screen,
    colour: u32,
    brush: u32,
    at: [u32; 2],
    /// Whether the button is down, and whether it has the keyboard.
    is_down: bool,
    has_keyboard: bool,
}

fn run(env: Env) {
    if let Err(error) = paint(&env) {
        panic!("no painting: {}", error.text());
    }
}

fn paint(env: &Env) -> Result<()> {
    let Some(screen) = Screen::open(env, false)? else {
        panic!("the description gives it no part of the screen: write `screen = true`")
    };
    let mut paint = Paint {
        screen,
        colour: COLOURS[0].1,
        brush: 8,
        at: [0; 2],
        is_down: false,
        has_keyboard: false,
    };
    paint.clear();
    loop {
        while let Some(event) = paint.screen.event()? {
            paint.take(event);
        }
        paint.screen.wait(0)?;
    }
}

impl Paint {
    fn take(&mut self, event: Event) {
        match event {
            Event::Focus(has) => {
                self.has_keyboard = has;
                self.show_colour();
            }
            Event::Column(x) => self.at[0] = x,
            Event::Row(y) => self.at[1] = y,
            Event::Key(key::LEFT, pressed) => self.is_down = pressed,
            Event::Key(CLEAR, true) => self.clear(),
            Event::Key(code, true) => {
                if let Some((_, colour)) = COLOURS.iter().find(|(key, _)| *key == code) {
                    self.colour = *colour;
                    self.show_colour();
                }
            }
            Event::Wheel(by) => {
                self.brush = self.brush.saturating_add_signed(by * 2).clamp(2, LARGEST);
            }
            Event::Dropped => self.is_down = false,
            Event::Key(..) => {}
            Event::End => self.dab(),
        }
    }

    fn dab(&mut self) {
        if self.is_down {
            let [x, y] = self.at.map(|at| at.saturating_sub(self.brush / 2));
            let area = Rectangle { x, y, width: self.brush, height: self.brush };
            self.screen.fill(area, self.colour);
        }
    }

    fn show_colour(&mut self) {
        self.screen.fill(FIELD, if self.has_keyboard { self.colour } else { FADED });
    }

    fn clear(&mut self) {
        const HELP: &str = "Left button: paint   R G B W: colour   wheel: brush   C: clear";
        self.screen.fill(self.screen.area(), PAPER);
        let style = MonoTextStyle::new(&FONT_9X15, colour(INK));
        let Ok(_) = Text::new(HELP, Point::new(56, 28), style).draw(&mut self.screen);
        self.show_colour();
    }
}
