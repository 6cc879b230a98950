// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smallest component.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::{Env, println};

macadamia::main!(hello);

fn hello(env: Env) {
    println!(
        "Hello from {}, {} ms after boot.",
        env.start.name,
        macadamia::time::now() / 1_000_000
    );
}
