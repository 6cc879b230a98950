// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reader whose lines stay in the second-level cache, or do not, while other components read more
//! than the cache holds: this shows the effect of page colours (docs/systems.md, *Colours*).

use crate::lines::{PAGE, REPETITIONS, WORD, read};
use alloc::vec::Vec;
use core::hint::black_box;
use core::sync::atomic::AtomicU32;
use macadamia::interval::{begin, end};
use macadamia::ipc::{Message, reply_wait};
use macadamia::{Env, Thread, Word, result};

/// Lines of the cache that the reader reads: 64 KiB, half of what four of eight colours hold.
const LINES: usize = 1024;
/// Lines that another component reads in between, if it is asked to: twice the cache.
const MORE: usize = 8192;
/// Bytes of a line.
const LINE: usize = 64;

/// Memory that has this many lines after the start of reading.
fn memory(lines: usize) -> Vec<AtomicU32> {
    (0..(lines * LINE + 2 * PAGE) / WORD).map(|_| AtomicU32::new(0)).collect()
}

/// Reads as many lines as a caller asks for, each time.
pub fn spoil() -> ! {
    let memory = memory(MORE);
    let (mut handle, mut answer) = (0, Message::default());
    loop {
        match reply_wait(handle, answer) {
            Ok(received) => {
                let count = (received.words[0] as usize).min(MORE);
                let sum = black_box(read(&memory, count, LINE));
                (handle, answer) = (received.handle, Message::new([sum as Word, 0, 0]));
            }
            Err(_) => handle = 0,
        }
    }
}

/// Reads the same lines repeatedly. In between a component with other colours reads no lines, or
/// all; then one with frames of all colours.
pub fn stay(env: &Env) {
    let memory = memory(LINES);
    between::<40>(&memory, env.thread("apart"), 0);
    between::<41>(&memory, env.thread("apart"), MORE);
    between::<42>(&memory, env.thread("mixed"), MORE);
    result!("done");
}

fn between<const ID: u32>(memory: &[AtomicU32], other: Thread, lines: usize) {
    for _ in 0..black_box(REPETITIONS) {
        let answer = other.ask([lines as Word, 0, 0]);
        assert!(answer.is_ok_and(|[sum, ..]| sum == 0), "memory is not what it was");
        begin::<ID>();
        black_box(read(memory, black_box(LINES), black_box(LINE)));
        end::<ID>();
    }
}
