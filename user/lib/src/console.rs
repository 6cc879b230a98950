// SPDX-License-Identifier: MIT OR Apache-2.0
//! Talking to the console server: text in messages of up to 61 words.
//!
//! Word 0 is the request, word 1 the number of bytes, word 2 zero; the text is in the
//! words from 3 on, low byte first. Everything is a call, so output that was printed
//! is output that the console has.

use crate::ipc::{Message, call};
use crate::{Result, Thread, utcb};
use core::fmt::{self, Write};

/// Request: print on the console.
pub const PRINT: u32 = 1;
/// Request: write to the machine-readable line.
pub const RESULT: u32 = 2;
/// Request: wait for input; the reply's word 0 is a byte.
pub const READ: u32 = 3;
/// Most bytes in one message.
pub const MOST: usize = 244;

/// Sends text in pieces.
fn put(request: u32, text: &str) -> Result<()> {
    for piece in text.as_bytes().chunks(MOST) {
        for (i, bytes) in piece.chunks(4).enumerate() {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            utcb::set_word(3 + i, u32::from_le_bytes(word));
        }
        let count = 3 + piece.len().div_ceil(4) as u32;
        call(Thread(image::slot::CONSOLE), Message { words: [request, piece.len() as u32, 0], count, caps: 0 })?;
    }
    Ok(())
}

/// Output of a component on the console.
pub struct Out;

impl Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        put(PRINT, text).map_err(|_| fmt::Error)
    }
}

/// Lines on the machine-readable line.
pub struct Results;

impl Write for Results {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        put(RESULT, text).map_err(|_| fmt::Error)
    }
}

/// Waits for a byte of input.
///
/// # Errors
/// What the kernel says.
pub fn read() -> Result<u8> {
    call(Thread(image::slot::CONSOLE), Message::new([READ, 0, 0])).map(|r| r.words[0] as u8)
}

/// Prints to the console. Without a console the text is lost: there is nowhere to put it.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => {{ let _ = core::fmt::Write::write_fmt(&mut $crate::console::Out, format_args!($($arg)*)); }};
}

/// Prints a line to the console.
#[macro_export]
macro_rules! println {
    ($($arg:tt)*) => {{
        let line = $crate::alloc::format!($($arg)*) + "\n";
        $crate::print!("{line}");
    }};
}

/// Writes a line to the machine-readable line.
#[macro_export]
macro_rules! result {
    ($($arg:tt)*) => {{
        let line = $crate::alloc::format!($($arg)*) + "\n";
        let _ = core::fmt::Write::write_str(&mut $crate::console::Results, &line);
    }};
}
