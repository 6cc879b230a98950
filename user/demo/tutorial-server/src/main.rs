// SPDX-License-Identifier: MIT OR Apache-2.0
//! Adds up what it is sent.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::{Env, Word, ipc};

macadamia::main!(run);

fn run(_: Env) {
    let mut sum: Word = 0;
    ipc::serve(|received| {
        let [number, ..] = received.words;
        sum = sum.checked_add(number).expect("the sum is too large");
        Some([sum, 0, 0])
    });
}
