// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts its visitors, who connect by TCP, and shows their number on its part of the screen.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};
use macadamia::alloc::format;
use macadamia::net::{self, TcpListener};
use macadamia::screen::embedded_graphics::mono_font::{MonoTextStyle, ascii::FONT_10X20};
use macadamia::screen::embedded_graphics::prelude::{Drawable, Point};
use macadamia::screen::embedded_graphics::text::Text;
use macadamia::screen::{Screen, colour};
use macadamia::{Env, Result, Thread, Word, println, thread};

macadamia::main!(run);

/// Notification bit by which the second thread wakes the first: `badge` in the description.
const NEWS: u32 = 2;
const PAPER: u32 = 0x10_2038;
const INK: u32 = 0xf0_f0e0;
/// How many visitors there were. Both threads use it.
static VISITORS: AtomicU32 = AtomicU32::new(0);

fn run(mut env: Env) {
    let slot = env.free_slot();
    let news = env.thread("news");
    if let Err(error) = thread::spawn(count, news.0, slot).and_then(|_| show(&env)) {
        panic!("no counter: {}", error.text());
    }
}

extern "C" fn count(news: Word) -> ! {
    loop {
        let Err(error) = serve(Thread(news));
        println!("{error}: begins again");
    }
}

fn serve(first: Thread) -> net::Result<core::convert::Infallible> {
    let listener = TcpListener::bind("0.0.0.0:7").unwrap_or_else(|error| panic!("{error}"));
    println!("listening at {}", listener.local_addr());
    loop {
        let (stream, _) = listener.accept()?;
        let number = VISITORS.fetch_add(1, Ordering::Relaxed) + 1;
        // Neither fails for good: the first thread lives, and a visitor may leave.
        let _ = first.notify();
        let _ = stream.write_all(format!("you are visitor {number}\n").as_bytes());
    }
}

fn show(env: &Env) -> Result<()> {
    let Some(mut screen) = Screen::open(env, false)? else {
        panic!("the description gives it no part of the screen: write `screen = true`")
    };
    loop {
        let text = format!("{} visitors", VISITORS.load(Ordering::Relaxed));
        screen.fill(screen.area(), PAPER);
        let style = MonoTextStyle::new(&FONT_10X20, colour(INK));
        let Ok(_) = Text::new(&text, Point::new(10, 26), style).draw(&mut screen);
        while screen.wait(NEWS)? == 0 {
            while screen.event()?.is_some() {}
        }
    }
}
