// SPDX-License-Identifier: MIT OR Apache-2.0
//! A component that takes more than its share, as its argument says:
//!
//! * `hog` computes for as many milliseconds as a message asks.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod hog;

use macadamia::Env;

macadamia::main!(run);

fn run(env: Env) {
    match env.start.arguments.first().map(|argument| argument.as_str()) {
        Some("hog") => hog::run(),
        _ => panic!("write hog as argument into the system description"),
    }
}
