// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clients of the screen for its tests. The first argument chooses one:
//!
//! `hostile` breaks every rule of the protocol by a seed and never stops. `flood` does the same for
//! a while, and asks the component `rhythm` whether it was late meanwhile. `messages` sends the
//! server a million messages of random words. `frames` reports how many of its frames were shown.
//! `killer` kills others at certain keys, and shows how often it has killed the server.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use abi::frame::INSTRUCTION;
use frames::Shared;
use image::protocol::screen::{
    ATTACH, BIT_ATTACH, CLIENT_WAITS, DAMAGE_PRODUCED, EVENTS_CONSUMED, MOST_RECTANGLES, PIXELS,
    RECTANGLE, RECTANGLES, VERSION,
};
use macadamia::region::Region;
use macadamia::screen::{Event, Screen};
use macadamia::{Env, Result, Thread, Word, ipc, println, result, time};

macadamia::main!(run);

const MILLISECOND: u64 = 1_000_000;
/// Frames that are timed.
const FRAMES: u32 = 30;
/// The colour of the killer's screen, red, and the number of kills.
const KILLS: u32 = 0x40_0000;
/// Keys of the killer, as Linux numbers them: K for the server, X for a client.
const SERVER: u16 = 37;
const CLIENT: u16 = 45;
/// Rounds of the hostile client until it reports that it lives.
const ROUNDS: u32 = 1_000;
/// Rounds of a flood.
const FLOOD: u32 = 15_000;
/// Asks `user/demo/crash` as `rhythm` for its beats, those missed, and the latest's delay in
/// microseconds.
const REPORT: Word = 2;

fn run(env: Env) {
    let result = match env.start.arguments.first().map(|argument| argument.as_str()) {
        Some("hostile") => hostile(&env, u32::MAX),
        Some("flood") => flood(&env),
        Some("messages") => messages(&env),
        Some("frames") => frames(&env),
        Some("killer") => killer(&env),
        _ => panic!("write `hostile`, `flood`, `messages`, `frames` or `killer` as its argument"),
    };
    if let Err(error) = result {
        panic!("it ends: {}", error.text());
    }
}

fn open(env: &Env) -> Result<Screen> {
    let screen = Screen::open(env, false)?;
    Ok(screen.unwrap_or_else(|| panic!("the description gives it no part of the screen")))
}

/// Shows frames one after the other, the next as soon as the last was painted.
fn frames(env: &Env) -> Result<()> {
    let mut screen = open(env)?;
    loop {
        let begun = time::now();
        for count in 0..FRAMES {
            screen.fill(screen.area(), if count.is_multiple_of(2) { 0x20_c0c0 } else { 0xc0_c020 });
            screen.show()?;
            while !screen.is_shown()? {
                screen.wait(0)?;
                while screen.event()?.is_some() {}
            }
        }
        println!("{FRAMES} frames in {} ms", (time::now() - begun) / MILLISECOND);
    }
}

/// Kills by keys.
fn killer(env: &Env) -> Result<()> {
    let mut screen = open(env)?;
    let mut kills = 0;
    loop {
        screen.fill(screen.area(), KILLS + kills);
        screen.wait(0)?;
        while let Some(event) = screen.event()? {
            match event {
                Event::Key(SERVER, true) => {
                    kills += 1;
                    kill(env.thread("control-screen"))?;
                }
                Event::Key(CLIENT, true) => kill(env.thread("control-client"))?,
                _ => {}
            }
        }
    }
}

/// It jumps to an unmapped address.
fn kill(thread: Thread) -> Result<()> {
    thread.stop()?;
    let mut registers = thread.registers()?;
    registers.words_mut()[INSTRUCTION] = 0;
    thread.set_registers(&registers, true)
}

/// Pseudo-random numbers from a seed (G. Marsaglia, *Xorshift RNGs*, 2003).
struct Random(u32);

impl Random {
    fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A number that is small, or near 2^32, or any.
    fn word(&mut self) -> u32 {
        match self.draw() % 4 {
            0 => self.draw() % 70,
            1 => 0_u32.wrapping_sub(self.draw() % 70),
            2 => 1 << (self.draw() % 32),
            _ => self.draw(),
        }
    }
}

/// Calls with any words, among them valid requests, and notifications; sometimes it changes words
/// of the memory that the server reads.
fn messages(env: &Env) -> Result<()> {
    const MESSAGES: u32 = 1_000_000;
    let (Some(surface), server, bell) =
        (Region::find(env, "surface"), env.thread("screen"), env.thread("screen-bell"))
    else {
        panic!("the description gives it no part of the screen")
    };
    let mut random = Random(0x1234_5678);
    for number in 1..=MESSAGES {
        let mut words = [(); 3].map(|()| random.word() as Word);
        if random.draw().is_multiple_of(4) {
            words[..2].copy_from_slice(&[ATTACH as Word, VERSION as Word]);
        }
        if random.draw().is_multiple_of(8) {
            bell.notify()?;
        }
        if random.draw().is_multiple_of(16) {
            surface.write(random.draw() % (PIXELS / 4) * 4, random.word());
        }
        server.ask(words)?;
        if number.is_multiple_of(MESSAGES / 10) {
            println!("{number} messages");
        }
    }
    loop {
        ipc::wait(1 << BIT_ATTACH)?;
    }
}

/// Breaks the rules for a while. Threads that are more urgent than the server must not notice.
fn flood(env: &Env) -> Result<()> {
    hostile(env, FLOOD)?;
    let [beats, missed, latest] = env.thread("rhythm").ask([REPORT, 0, 0])?;
    result!(
        "# {FLOOD} rounds; {beats} beats meanwhile, {missed} missed, the latest {latest} us late"
    );
    if beats > 0 && missed == 0 {
        result!("ok flood.rhythm");
    } else {
        result!("not ok flood.rhythm: missed a beat");
    }
    result!("done");
    Ok(())
}

/// Breaks the rules in this many rounds.
fn hostile(env: &Env, rounds: u32) -> Result<()> {
    let (Some(surface), server, bell) =
        (Region::find(env, "surface"), env.thread("screen"), env.thread("screen-bell"))
    else {
        panic!("the description gives it no part of the screen")
    };
    let attach = || server.ask([ATTACH as Word, VERSION as Word, 0]);
    let mut random = Random(0x2545_f491);
    let mut produced = 0_u32;
    for round in 1..=rounds {
        match random.draw() % 8 {
            // As many rectangles as are allowed, of any size: a valid message, except for its
            // contents.
            0..=2 => {
                for word in (0..MOST_RECTANGLES * RECTANGLE).step_by(4) {
                    surface.write(RECTANGLES + word, random.word());
                }
                produced = produced.wrapping_add(MOST_RECTANGLES);
                surface.write(DAMAGE_PRODUCED, produced);
                bell.notify()?;
            }
            3 => surface.write(DAMAGE_PRODUCED, random.word()),
            4 => surface.write(EVENTS_CONSUMED, random.word()),
            5 => {
                for word in [DAMAGE_PRODUCED, EVENTS_CONSUMED] {
                    surface.write(word, 0);
                }
                produced = 0;
                surface.write(CLIENT_WAITS, random.word());
                attach()?;
                attach()?;
            }
            6 => {
                for _ in 0..20 {
                    bell.notify()?;
                }
                server.ask([(); 3].map(|()| random.word() as Word))?;
            }
            _ => {
                for _ in 0..64 {
                    let word = random.draw() % (PIXELS / 4);
                    surface.write(word * 4, random.word());
                }
                bell.notify()?;
            }
        }
        if round.is_multiple_of(ROUNDS) {
            println!("{round} rounds");
        }
    }
    Ok(())
}
