// SPDX-License-Identifier: MIT OR Apache-2.0
//! The native programs of the benchmark book: an interval for each thing that is measured;
//! `bench/book` gives the intervals their names.
//!
//! One program in two components: `measured` calls, `partner`, in a space of its own, answers.
#![no_std]
#![no_main]

mod code;
mod data;
mod echo;
mod oneway;
mod pager;
mod pingpong;
mod ring;

use macadamia::net::{self, UdpSocket};
use macadamia::{Env, Result, result};

macadamia::main!(start);

fn start(mut env: Env) {
    if env.start.arguments.iter().any(|a| a == "partner") {
        match oneway::serve(&env) {
            Ok(never) => match never {},
            Err(error) => panic!("the partner cannot serve: {}", error.text()),
        }
    }
    if env.start.arguments.iter().any(|a| a == "last") {
        wait_for_the_last().unwrap_or_else(|error| panic!("{error}"));
    } else if env.start.arguments.iter().any(|a| a == "echo") {
        echo::serve().unwrap_or_else(|error| panic!("{error}"));
    } else if let Err(error) = measure(&mut env) {
        panic!("{}", error.text());
    }
    result!("done");
}

/// Waits for the datagram that ends the run, which comes through the network card, and answers it.
fn wait_for_the_last() -> net::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:9")?;
    let (_, from) = socket.recv_from(&mut [0; 1])?;
    socket.send_to(&[0], from).map(|_| ())
}

fn measure(env: &mut Env) -> Result<()> {
    oneway::measure(env)?;
    pager::measure(env)?;
    pingpong::measure(env)?;
    ring::measure(env)
}
