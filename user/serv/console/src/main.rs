// SPDX-License-Identifier: MIT OR Apache-2.0
//! The console server: two serial lines.
//!
//! The first one shows what components print, each line after its component's name. What is typed
//! there goes to the component that has the *focus*. The second one has machine-readable lines of
//! the components that may write them. The badge of a call identifies the caller: it is the
//! component's index in the description plus one, and a bit that says whether it may write those
//! lines. The arguments say which components may read, and which may write to the terminal
//! unchanged. A call is answered when its text has been sent. A reader waits as long as the server
//! keeps its reply handle; if the reader has died, the handle is no longer valid when it is used.
//!
//! What the server keeps for a component is bounded: an incomplete line, what it wrote, what was
//! typed for it, and a number of readers. It keeps nothing for a caller that it has no name of.
//! Typed text beyond that stays in the serial line, which stops the sender, until there is room.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod input;
mod output;
mod terminal;
mod uart;

use input::Input;
use macadamia::console::MAY_WRITE_RESULTS;
use macadamia::console::shown::{BIT_KEYS, BIT_WORDS};
use macadamia::ipc::serve;
use macadamia::{Env, Error, MessageKind, Received, console, start, utcb};
use output::Output;
use terminal::Terminal;
use uart::Uart;

macadamia::main!(run);

/// Notification bit of the first line's interrupt.
const INPUT: u32 = 1;

fn run(env: Env) {
    let (terminal, results) = (Terminal::find(&env), Uart::find(&env, "results"));
    results.set_up(false);
    utcb::accept(INPUT | 1 << BIT_KEYS | u32::from(terminal.is_shown()) << BIT_WORDS);
    let irq = env
        .open_irq("terminal-irq", "input")
        .unwrap_or_else(|reason| panic!("nothing can be typed: {reason}"));
    let mut output = Output::new(&terminal, &env.start.arguments);
    let mut input = Input::new(output.first_reader());
    // What was typed before interrupts no other.
    input.fetch(&terminal, irq, &mut output);
    let mut words_taken = 0;
    let mut answer = |received: &Received| {
        if received.kind == MessageKind::Notification {
            if received.words[0] >> BIT_WORDS & 1 != 0 {
                output.show_words(&start::words(&mut words_taken));
            }
            input.fetch(&terminal, irq, &mut output);
            return None;
        }
        // The handler of an exception is somebody else, and who only sends waits for nothing.
        let client = received.badge & !MAY_WRITE_RESULTS;
        if received.kind != MessageKind::Call || output.name(client).is_none() {
            return Some(input::failure(Error::BadOperation));
        }
        let [request, size, _] = received.words.map(|word| u32::try_from(word).unwrap_or_default());
        match request {
            console::PRINT => output.print(client, &received.text()),
            console::RAW if !output.may_paint(client) => {
                output.note_refusal(
                    client,
                    "write to the terminal as it is",
                    "terminal = \"paint\"",
                );
                return Some(input::failure(Error::NoRight));
            }
            console::RAW => output.raw(client, &received.bytes()),
            console::RESULT if client == received.badge => {
                output.note_refusal(client, "write results", "results = true");
                return Some(input::failure(Error::NoRight));
            }
            console::RESULT => received.bytes().iter().for_each(|byte| results.put(*byte)),
            console::READ | console::READ_SIZED if !output.may_read(client) => {
                output.note_refusal(client, "read what is typed", "terminal = \"read\"");
                return Some(input::failure(Error::NoRight));
            }
            console::READ | console::READ_SIZED => {
                output.prompt(client);
                let size = (request == console::READ_SIZED).then_some(size);
                input.read(client, (received.handle, size));
                if input.is_stopped() {
                    input.fetch(&terminal, irq, &mut output);
                }
                return None;
            }
            _ => return Some(input::failure(Error::BadOperation)),
        }
        Some([0; 3])
    };
    serve(|received| {
        let reply = answer(received);
        terminal.tell();
        reply
    });
}
