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

/// Sends text of at most [`MOST`] bytes.
fn put(request: u32, text: &[u8]) -> Result<()> {
    for (i, bytes) in text.chunks(4).enumerate() {
        let mut word = [0; 4];
        word[..bytes.len()].copy_from_slice(bytes);
        utcb::set_word(3 + i, u32::from_le_bytes(word));
    }
    let count = 3 + text.len().div_ceil(4) as u32;
    call(Thread(image::slot::CONSOLE), Message { words: [request, text.len() as u32, 0], count, caps: 0 }).map(|_| ())
}

/// Text on its way: sent when the buffer is full, and at the end. Needs no heap, so
/// that a panic for want of memory can be told.
struct Pieces {
    request: u32,
    buffer: [u8; MOST],
    used: usize,
}

impl Pieces {
    fn flush(&mut self) -> fmt::Result {
        let used = core::mem::take(&mut self.used);
        if used == 0 { Ok(()) } else { put(self.request, &self.buffer[..used]).map_err(|_| fmt::Error) }
    }
}

impl Write for Pieces {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            // Characters stay whole: each message is text by itself.
            if self.used + c.len_utf8() > MOST {
                self.flush()?;
            }
            self.used += c.encode_utf8(&mut self.buffer[self.used..]).len();
        }
        Ok(())
    }
}

/// Sends formatted text with [`PRINT`] or [`RESULT`]. Without a console it is lost: there
/// is nobody to tell.
pub fn write(request: u32, text: fmt::Arguments<'_>) {
    let mut pieces = Pieces { request, buffer: [0; MOST], used: 0 };
    let _ = pieces.write_fmt(text).and_then(|()| pieces.flush());
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
    ($($arg:tt)*) => { $crate::console::write($crate::console::PRINT, format_args!($($arg)*)) };
}

/// Prints a line to the console.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($arg:tt)*) => { $crate::print!("{}\n", format_args!($($arg)*)) };
}

/// Writes a line to the machine-readable line.
#[macro_export]
macro_rules! result {
    ($($arg:tt)*) => { $crate::console::write($crate::console::RESULT, format_args!("{}\n", format_args!($($arg)*))) };
}
