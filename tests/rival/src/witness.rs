// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports the result of the attack.

use macadamia::console::{self, RAW};
use macadamia::ipc::{Message, call, receive, reply};
use macadamia::{Error, Thread, Word, println, result, slot, start};

/// How many readers were refused when there was one too many.
const REFUSED: u32 = 1;

/// Waits for the end of the attack, and reports whether the console lives.
pub fn run() {
    let received = match receive(None) {
        Ok(received) => received,
        Err(error) => panic!("nobody attacks: {}", error.text()),
    };
    let [refused, ..] = received.words;
    println!("{refused} readers refused");
    match start::status("console") {
        Ok(status) if status.lives && status.restarts == 0 => result!("ok rival.console"),
        Ok(_) => result!("not ok rival.console: it died"),
        Err(error) => result!("not ok rival.console: {}", error.text()),
    }
    result!(
        "{} rival.readers: {refused} refused",
        if refused == REFUSED { "ok" } else { "not ok" }
    );
    result!("{} rival.terminal", if has_no_terminal() { "ok" } else { "not ok" });
    result!("done");
    // The attacker waits only for this.
    let _ = reply(received.handle, Message::default());
}

/// Whether it may neither read nor write to the terminal, because its description does not allow
/// it.
fn has_no_terminal() -> bool {
    let raw = call(Thread(slot::CONSOLE), Message::text(RAW as Word, b"painted"))
        .map(|reply| reply.words);
    console::read() == Err(Error::NoRight) && raw == Ok([Word::MAX, Error::NoRight as Word, 0])
}
