// SPDX-License-Identifier: MIT OR Apache-2.0
//! One component misbehaves in a different way in each of its lives and is started
//! again; two others go on as if nothing had happened.
//!
//! * `victim` serves a few calls, then does something that it may not;
//! * `client` calls it through all its lives, with one and the same capability;
//! * `rhythm` beats every 10 ms and notes how late the latest beat was.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod client;
mod rhythm;
mod victim;

use macadamia::Env;

macadamia::main!(run);

/// Requests of the client to the victim and to the rhythm.
mod request {
    use macadamia::Word;

    /// To the victim, which answers with the word after it plus one, and its life.
    pub const ADD_ONE: Word = 1;
    /// To the rhythm, which answers with its beats, those missed, and the latest's delay in
    /// microseconds.
    pub const REPORT: Word = 2;
}

fn run(env: Env) {
    match env.start.arguments.first().map(|argument| argument.as_str()) {
        Some("victim") => victim::run(env),
        Some("client") => client::run(&env),
        Some("rhythm") => rhythm::run(),
        _ => panic!("write one of victim, client, rhythm as argument into the system description"),
    }
}
