// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts calls: to a thread of the same space and to one of another.
//!
//! As `pong` it serves; as `ping` it calls for a second each and prints how many calls
//! were answered and how many ticks of the time-stamp counter one took.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::ipc::{Message, call, reply_wait};
use macadamia::{Env, Thread, Word, println, result, thread, time};

macadamia::main!(start);

const SECOND: u64 = 1_000_000_000;
/// Calls between two looks at the clock.
const ROUND: u64 = 256;

fn start(mut env: Env) {
    if env.start.arguments.iter().any(|a| a == "pong") {
        pong(0);
    }
    let slot = env.free_slot();
    let near = match thread::spawn(pong, 0, slot) {
        Ok(thread) => thread,
        Err(error) => panic!("cannot start a second thread: {}", error.text()),
    };
    measure("within a space", "within", near);
    measure("across spaces", "across", env.thread("pong"));
    result!("done");
}

/// Answers every message with its words.
extern "C" fn pong(_: Word) -> ! {
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        match reply_wait(handle, answer) {
            Ok(received) => (handle, answer) = (received.handle, Message::new(received.words)),
            Err(_) => handle = 0,
        }
    }
}

fn measure(what: &str, name: &str, to: Thread) {
    let (start, ticks) = (time::now(), time::counter());
    let (mut calls, mut wrong) = (0, 0u64);
    while time::now() - start < SECOND {
        for i in 0..ROUND {
            let words = [calls as Word, i as Word, 42];
            wrong += u64::from(!call(to, Message::new(words)).is_ok_and(|r| r.words == words));
        }
        calls += ROUND;
    }
    let ticks = (time::counter() - ticks) / calls;
    println!("{what}: {calls} calls in a second, {ticks} ticks each, {wrong} wrong");
    result!("{} pingpong.{name}: {wrong} wrong answers", if wrong == 0 { "ok" } else { "not ok" });
}
