// SPDX-License-Identifier: MIT OR Apache-2.0
//! The component that must not be disturbed: more urgent than the others, it beats
//! every 10 ms, whatever they do. Messages reach it between beats, and cannot keep it
//! from the next one, as notifications come first.

use crate::request;
use macadamia::ipc::{Message, reply_wait};
use macadamia::{MessageKind, Word, time, utcb};

/// Nanoseconds between beats.
const BEAT: u64 = 10_000_000;
/// Notification bit of the alarm.
const ALARM: Word = 1;

/// Beats for ever.
pub fn run() {
    utcb::accept(ALARM as u32);
    let (mut beats, mut missed, mut latest) = (0, 0, 0);
    let mut due = time::now() + BEAT;
    let (mut handle, mut answer) = (0, Message::default());
    // The kernel refuses no alarm.
    let _ = time::alarm(due, ALARM);
    loop {
        // A failure is the reply's: who asked is gone.
        let received = reply_wait(handle, answer).ok();
        handle = 0;
        let Some(received) = received else { continue };
        if received.kind == MessageKind::Notification {
            let late = time::now().saturating_sub(due);
            beats += 1;
            missed += (late / BEAT) as Word;
            latest = late.max(latest);
            due += BEAT * (1 + late / BEAT);
            let _ = time::alarm(due, ALARM);
        } else if received.words[0] == request::REPORT {
            handle = received.handle;
            answer = Message::new([beats, missed, (latest / 1000) as Word]);
        }
    }
}
