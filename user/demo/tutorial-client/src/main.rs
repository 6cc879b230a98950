// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sends numbers to the server.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::{Env, Word, println};

macadamia::main!(run);

fn run(env: Env) {
    let server = env.thread("server");
    for number in [1, 2, 3, Word::MAX, 4, 5] {
        match server.ask([number, 0, 0]) {
            Ok([sum, ..]) => println!("sent {number}, the sum is {sum}"),
            Err(error) => println!("sent {number}: {}", error.text()),
        }
    }
}
