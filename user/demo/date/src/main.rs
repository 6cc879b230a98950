// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks the clock server for the time of day, three times, 250 ms apart.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::{Env, clock, ipc, println, result, time};

macadamia::main!(date);

const PAUSE: u64 = 250_000_000;
/// Notification bit of the alarm.
const ALARM: u32 = 1;
/// 2026-01-01: the clock cannot show an earlier time, unless it is wrong.
const YOUNGEST: u64 = 1_767_225_600;

fn date(env: Env) {
    let mut last = None;
    let mut sound = true;
    for _ in 0..3 {
        let wall = match clock::now(env.thread("clock")) {
            Ok(wall) => wall,
            Err(error) => panic!("no answer from the clock: {}", error.text()),
        };
        println!("{}.{:03} UTC", calendar::date(wall.seconds), wall.nanoseconds / 1_000_000);
        sound &= wall.seconds >= YOUNGEST && last.is_none_or(|last| last < wall);
        last = Some(wall);
        if let Err(error) =
            time::alarm(time::now() + PAUSE, ALARM.into()).and_then(|()| ipc::wait(ALARM))
        {
            panic!("no alarm: {}", error.text());
        }
    }
    result!(
        "{}",
        if sound {
            "ok clock.moves"
        } else {
            "not ok clock.moves: it went back, or shows the past"
        }
    );
    result!("done");
}
