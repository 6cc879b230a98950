// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads lines from the console and gives them back; ends at an empty one.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use macadamia::alloc::string::String;
use macadamia::{Env, console, print, println};

macadamia::main!(echo);

fn echo(_: Env) {
    loop {
        print!("> ");
        let line = read_line();
        println!("{line}");
        if line.is_empty() {
            return;
        }
    }
}

/// A line without its end, shown while it is typed; the console shows what is no character, too.
fn read_line() -> String {
    let mut line = String::new();
    loop {
        match console::read() {
            Ok(b'\r' | b'\n') => {
                println!();
                return line;
            }
            Ok(byte) if byte.is_ascii() => {
                line.push(char::from(byte));
                print!("{}", char::from(byte));
            }
            Ok(_) => {}
            Err(error) => panic!("no input: {}", error.text()),
        }
    }
}
