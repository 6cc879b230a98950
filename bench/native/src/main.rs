// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native programs of the benchmark book: an interval for each thing that is measured;
//! `bench/book` gives the intervals their names.
//!
//! One program in two components: `measured` calls, `partner`, in a space of its own, answers.
#![no_std]
#![no_main]

mod code;
mod data;
mod oneway;
mod pager;
mod pingpong;
mod ring;

use macadamia::{Env, Result, result};

macadamia::main!(start);

fn start(mut env: Env) {
    if env.start.arguments.iter().any(|a| a == "partner") {
        match oneway::serve(&env) {
            Ok(never) => match never {},
            Err(error) => panic!("the partner cannot serve: {}", error.text()),
        }
    }
    if let Err(error) = measure(&mut env) {
        panic!("{}", error.text());
    }
    result!("done");
}

fn measure(env: &mut Env) -> Result<()> {
    oneway::measure(env)?;
    pager::measure(env)?;
    pingpong::measure(env)?;
    ring::measure(env)
}
