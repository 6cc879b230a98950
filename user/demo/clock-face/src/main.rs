// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shows the time of day, from the clock server, on its part of the screen.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::alloc::format;
use macadamia::screen::embedded_graphics::mono_font::MonoTextStyle;
use macadamia::screen::embedded_graphics::mono_font::ascii::{FONT_8X13, FONT_10X20};
use macadamia::screen::embedded_graphics::prelude::{Drawable, Point};
use macadamia::screen::embedded_graphics::text::{Alignment, Text};
use macadamia::screen::{Screen, colour};
use macadamia::{Env, Result, clock, time};

macadamia::main!(run);

const SECOND: u64 = 1_000_000_000;
/// Notification bit of the alarm.
const ALARM: u32 = 1;
const PAPER: u32 = 0x10_2038;
const INK: u32 = 0xf0_f0e0;

fn run(env: Env) {
    if let Err(error) = show(&env) {
        panic!("no clock: {}", error.text());
    }
}

fn show(env: &Env) -> Result<()> {
    let Some(mut screen) = Screen::open(env, false)? else {
        panic!("the description gives it no part of the screen: write `screen = true`")
    };
    loop {
        let now = clock::now(env.thread("clock"))?;
        let text = format!("{}", calendar::date(now.seconds));
        let (day, time_of_day) = text.split_once([' ', 'T']).unwrap_or((&text, ""));
        screen.fill(screen.area(), PAPER);
        let middle = screen.area().width as i32 / 2;
        let large = MonoTextStyle::new(&FONT_10X20, colour(INK));
        let small = MonoTextStyle::new(&FONT_8X13, colour(INK));
        let line = |text, y, style| {
            Text::with_alignment(text, Point::new(middle, y), style, Alignment::Center)
        };
        let Ok(_) = line(time_of_day, 28, large).draw(&mut screen);
        let Ok(_) = line(day, 48, small).draw(&mut screen);
        time::alarm(time::now() + SECOND - u64::from(now.nanoseconds), ALARM.into())?;
        // There are events, too, which it has no use for.
        while screen.wait(ALARM)? == 0 {
            while screen.event()?.is_some() {}
        }
    }
}
