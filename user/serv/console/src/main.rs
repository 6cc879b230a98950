// SPDX-License-Identifier: MIT OR Apache-2.0
//! The console server: two serial lines.
//!
//! The first shows what components print, each line behind its component's name, and
//! hands what is typed to the component that has the *focus*. The second carries
//! machine-readable lines. Who calls is known by the badge: the component's index in the
//! description plus one. A call is answered when its text has left; a reader is kept
//! waiting simply by keeping its reply handle, and one that died in the meantime is
//! noticed when the handle turns out stale.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod input;
mod output;
mod uart;

use input::Input;
use macadamia::ipc::serve;
use macadamia::{Env, MessageKind, console, utcb};
use output::Output;
use uart::Uart;

macadamia::main!(run);

/// Notification bit of the first line's interrupt.
const INPUT: u32 = 1;

const CONSOLE: Uart = Uart::at(0x3f8);
const RESULTS: Uart = Uart::at(0x2f8);

fn run(env: Env) {
    let names = env.start.arguments.clone();
    let irq = env.irq("irq4");
    CONSOLE.set_up(true);
    RESULTS.set_up(false);
    utcb::accept(INPUT);
    if let Err(error) = irq.bind(Some(env.thread("input"))).and_then(|()| irq.acknowledge()) {
        panic!("no interrupt for the serial line: {}", error.text());
    }
    let mut output = Output::new(CONSOLE, names);
    let mut input = Input::new();
    serve(|received| {
        if received.kind == MessageKind::Notification {
            while let Some(byte) = CONSOLE.get() {
                input.take(byte, &mut output);
            }
            // The line is given to this component: unmasking it cannot fail.
            let _ = irq.acknowledge();
            return None;
        }
        match received.words[0] {
            console::PRINT => output.print(received.badge, &received.text()),
            console::RAW => output.raw(received.badge, &received.bytes()),
            console::RESULT => received.bytes().iter().for_each(|byte| RESULTS.put(*byte)),
            console::READ => {
                output.prompt(received.badge);
                input.read(received.badge, received.handle, &mut output);
                return None;
            }
            _ => return Some([u32::MAX; 3]),
        }
        Some([0; 3])
    });
}
