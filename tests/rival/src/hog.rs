// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computes when it is asked to, at a higher priority than the component that asks.

use macadamia::ipc::{Message, receive, reply};
use macadamia::{MessageKind, time};

const MILLISECOND: u64 = 1_000_000;

/// A message is a number of milliseconds; the answer comes when they are over.
pub fn run() {
    loop {
        let Ok(received) = receive(None) else { continue };
        if received.kind != MessageKind::Call {
            continue;
        }
        let milliseconds: u64 = received.text().parse().unwrap_or(0);
        let end = time::now() + milliseconds * MILLISECOND;
        while time::now() < end {}
        // The caller may be gone now.
        let _ = reply(received.handle, Message::text(0, b"done\n"));
    }
}
