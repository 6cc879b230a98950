// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock server: the time of day. It reads the real-time clock (the grant `clock`) once, and
//! from then on adds the kernel's count of nanoseconds. Alarms are the kernel's.
//!
//! From time to time it compares that count with the real-time clock, and says so if they differ.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
mod mc146818;
#[cfg(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "mips64",
    target_arch = "wasm32"
))]
use mc146818::Clock;
#[cfg(target_arch = "arm")]
mod pl031;
#[cfg(target_arch = "arm")]
use pl031::Clock;

use macadamia::clock::NOW;
use macadamia::{Env, MessageKind, Word, ipc, println, time, utcb};

macadamia::main!(serve);

const SECOND: u64 = 1_000_000_000;

/// Seconds from the start to the first check; each later one comes after twice the time.
const FIRST_CHECK: u64 = 8;
/// Notification bit of the alarm.
const ALARM: Word = 1;

fn serve(env: Env) {
    let clock = Clock::find(&env);
    let read = clock.seconds();
    let start = time::now();
    let boot = read * SECOND - start;
    let mut check = FIRST_CHECK;
    utcb::accept(ALARM as u32);
    alarm(start + check * SECOND);
    ipc::serve(|received| {
        if received.kind == MessageKind::Notification {
            let (seconds, nanoseconds) = (clock.seconds().wrapping_sub(read), time::now() - start);
            if calendar::agrees(seconds, nanoseconds) {
                check *= 2;
                alarm(start + check * SECOND);
            } else {
                let counted = nanoseconds / SECOND;
                println!(
                    "time is wrong: {counted} s by the kernel's counter, {} s by the real-time clock",
                    seconds as i64
                );
            }
            return None;
        }
        let [request, ..] = received.words;
        let now = boot + time::now();
        let seconds = now / SECOND;
        Some(if request == NOW as Word {
            [seconds as u32, (seconds >> 32) as u32, (now % SECOND) as u32].map(Word::from)
        } else {
            [u32::MAX as Word; 3]
        })
    });
}

fn alarm(at: u64) {
    if let Err(error) = time::alarm(at, ALARM) {
        println!("no alarm: {}; the time is not checked", error.text());
    }
}
