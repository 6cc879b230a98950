// SPDX-License-Identifier: MIT OR Apache-2.0
//! A component that takes more than its share, as its argument says:
//!
//! * `hog` computes for as many milliseconds as a message asks;
//! * `readers` leaves dead readers at the console, and writes results that are not its own;
//! * `mute` answers at once, late, or never;
//! * `witness` reports the result.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod hog;
mod mute;
mod readers;
mod witness;

use macadamia::Env;

macadamia::main!(run);

fn run(env: Env) {
    match env.start.arguments.first().map(|argument| argument.as_str()) {
        Some("hog") => hog::run(),
        Some("mute") => mute::run(),
        Some("readers") => readers::run(env),
        Some("witness") => witness::run(),
        _ => panic!(
            "write one of hog, mute, readers, witness as argument into the system description"
        ),
    }
}
