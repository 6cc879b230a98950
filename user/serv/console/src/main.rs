// SPDX-License-Identifier: MIT OR Apache-2.0
//! The console server: two serial lines.
//!
//! The first shows what components print, each line behind its component's name
//! (the badge), and hands input to whoever reads. The second carries machine-readable
//! lines. A reader is kept waiting simply by keeping its reply handle.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::alloc::collections::{BTreeMap, VecDeque};
use macadamia::alloc::string::String;
use macadamia::alloc::vec::Vec;
use macadamia::ipc::{Message, Received, reply, reply_wait};
use macadamia::port::{read8, write8};
use macadamia::{Env, Irq, MessageKind, console, utcb};

macadamia::main!(serve);

/// Notification bit of the first line's interrupt.
const INPUT: u32 = 1;
const CONSOLE: u16 = 0x3f8;
const RESULTS: u16 = 0x2f8;
const LINE_STATUS: u16 = 5;
const DATA_READY: u8 = 1;
const TRANSMITTER_EMPTY: u8 = 1 << 5;
/// Longest line that is held back until it is complete.
const LINE: usize = 512;
/// Most input that waits for a reader.
const INPUT_HELD: usize = 4096;

fn set_up(base: u16, interrupts: bool) {
    // 115,200 baud, 8 bits, FIFOs on, the interrupt line driven (OUT2).
    for (register, value) in [(1, 0), (3, 0x80), (0, 1), (1, 0), (3, 3), (2, 7), (4, 11), (1, u8::from(interrupts))] {
        write8(base + register, value);
    }
}

fn put(base: u16, byte: u8) {
    while read8(base + LINE_STATUS) & TRANSMITTER_EMPTY == 0 {}
    write8(base, byte);
}

/// Lines that are not complete yet, input, and who waits for it.
struct Server {
    names: Vec<String>,
    partial: BTreeMap<u32, String>,
    input: VecDeque<u8>,
    readers: VecDeque<u32>,
    irq: Irq,
}

fn serve(env: Env) {
    let names = env.start.arguments.clone();
    let irq = env.irq("irq4");
    let mut server = Server { names, partial: BTreeMap::new(), input: VecDeque::new(), readers: VecDeque::new(), irq };
    set_up(CONSOLE, true);
    set_up(RESULTS, false);
    utcb::accept(INPUT);
    if let Err(error) = irq.bind(Some(env.thread("input"))).and_then(|()| irq.acknowledge()) {
        panic!("no interrupt for the serial line: {}", error.text());
    }
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        let received = match reply_wait(handle, answer) {
            Ok(received) => received,
            // The client died before its answer: go on with the next.
            Err(_) => {
                handle = 0;
                continue;
            }
        };
        (handle, answer) = server.handle(&received);
    }
}

impl Server {
    /// What to answer, and whom: handle 0 for nobody.
    fn handle(&mut self, received: &Received) -> (u32, Message) {
        if received.kind == MessageKind::Notification {
            self.take_input();
            return (0, Message::default());
        }
        let [request, bytes, _] = received.words;
        match request {
            console::PRINT => self.print(received.badge, &text(received, bytes)),
            console::RESULT => text(received, bytes).bytes().for_each(|b| put(RESULTS, b)),
            console::READ => {
                self.readers.push_back(received.handle);
                self.serve_readers();
                return (0, Message::default());
            }
            _ => {}
        }
        (received.handle, Message::new([0; 3]))
    }

    /// Prints whole lines; the rest waits for its end.
    fn print(&mut self, badge: u32, text: &str) {
        let mut line = self.partial.remove(&badge).unwrap_or_default();
        for c in text.chars() {
            if c == '\n' || line.len() >= LINE {
                self.print_line(badge, &line);
                line.clear();
            }
            if c != '\n' {
                line.push(c);
            }
        }
        if !line.is_empty() {
            self.partial.insert(badge, line);
        }
    }

    fn print_line(&self, badge: u32, line: &str) {
        let name = self.names.get(badge.wrapping_sub(1) as usize).map_or("?", |name| name);
        let parts = ["[", name, "] ", line, "\r\n"];
        parts.into_iter().flat_map(str::bytes).for_each(|b| put(CONSOLE, b));
    }

    fn take_input(&mut self) {
        while read8(CONSOLE + LINE_STATUS) & DATA_READY != 0 {
            let byte = read8(CONSOLE);
            if self.input.len() < INPUT_HELD {
                self.input.push_back(byte);
            }
        }
        // Reading the identification ends the interrupt at the device, then the line may come again.
        let _ = read8(CONSOLE + 2);
        let _ = self.irq.acknowledge();
        self.serve_readers();
    }

    fn serve_readers(&mut self) {
        while let (Some(handle), Some(byte)) = (self.readers.front().copied(), self.input.front().copied()) {
            self.readers.pop_front();
            // A reader that died keeps no input from the next one.
            if reply(handle, Message::new([u32::from(byte), 0, 0])).is_ok() {
                self.input.pop_front();
            }
        }
    }
}

/// The text of a message, as far as it is there.
fn text(received: &Received, bytes: u32) -> String {
    let words = 3..received.count.max(3) as usize;
    let all: Vec<u8> = words.flat_map(|i| utcb::word(i).to_le_bytes()).take(bytes as usize).collect();
    String::from_utf8_lossy(&all).into_owned()
}
