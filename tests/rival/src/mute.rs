// SPDX-License-Identifier: MIT OR Apache-2.0
//! Leaves calls unanswered.

use macadamia::ipc::{Message, receive, reply};
use macadamia::{MessageKind, time, utcb};

/// Nanoseconds until a late answer.
const LATE: u64 = 500_000_000;
/// Notification bit of the alarm.
const ALARM: u32 = 1;

/// Answers `now` at once, `late` after half a second, anything else never.
pub fn run() {
    utcb::accept(ALARM);
    let mut owed = 0;
    loop {
        let Ok(received) = receive(None) else { continue };
        if received.kind == MessageKind::Notification {
            // The caller may be gone now.
            let _ = reply(owed, Message::text(0, b"too late"));
        } else if received.text() == "late" {
            owed = received.handle;
            // The kernel refuses no alarm.
            let _ = time::alarm(time::now() + LATE, ALARM);
        } else if received.text() == "now" {
            let _ = reply(received.handle, Message::text(0, b"now"));
        }
    }
}
