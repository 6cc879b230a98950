// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine while nothing else runs, or when everything else has ended: printing without the
//! console, and switching off.

use crate::board::{self, Line};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};
use macadamia::ipc::{Message, TEXT_BYTES};
use macadamia::{Thread, Word};

/// The last bytes that were said, and how many there were.
static SAID: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The Thread that is notified when there are more; 0 is none.
static LISTENER: AtomicUsize = AtomicUsize::new(0);

fn note(byte: u8) {
    let count = COUNT.load(Ordering::Relaxed);
    if let Some(place) = SAID.get(count as usize % SAID.len()) {
        place.store(byte, Ordering::Relaxed);
    }
    COUNT.store(count.wrapping_add(1), Ordering::Relaxed);
}

/// Has a thread notified, by this capability, now and whenever something is said.
pub fn tell(listener: Thread) {
    LISTENER.store(listener.0 as usize, Ordering::Relaxed);
    ring();
}

fn ring() {
    let listener = LISTENER.load(Ordering::Relaxed);
    if listener != 0 {
        // Who is dead has nothing to show.
        let _ = Thread(listener as Word).notify();
    }
}

/// What was said after the first `taken` bytes, as much as a message holds.
pub fn said(taken: u32) -> Message {
    let count = COUNT.load(Ordering::Relaxed);
    let kept = count.wrapping_sub(taken).min(count).min(SAID.len() as u32);
    let first = count - kept;
    let mut bytes = [0; TEXT_BYTES];
    let length = (kept as usize).min(bytes.len());
    for (number, byte) in (first..).zip(&mut bytes[..length]) {
        let place = SAID.get(number as usize % SAID.len());
        *byte = place.map_or(0, |place| place.load(Ordering::Relaxed));
    }
    Message::text((first as usize + length) as Word, &bytes[..length])
}

/// Says something without the console: by the serial line, polled; a console that is shown on a
/// screen fetches it.
pub fn say(text: core::fmt::Arguments<'_>) {
    struct Text(Option<Line>);
    impl core::fmt::Write for Text {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            for byte in
                text.bytes().flat_map(|b| (b == b'\n').then_some(b'\r').into_iter().chain([b]))
            {
                self.0.iter().for_each(|line| line.put(byte));
                note(byte);
            }
            Ok(())
        }
    }
    let mut line = Text(Line::open().ok());
    let _ = core::fmt::Write::write_fmt(&mut line, format_args!("[root] {text}\n"));
    ring();
}

/// Ends the machine.
pub fn power_off() -> ! {
    board::power_off();
    loop {
        let _ = macadamia::ipc::wait(0);
    }
}
