// SPDX-License-Identifier: MIT OR Apache-2.0
//! The console server's client: text as [`Message::text`] lays it out. Everything is a call, so
//! when a print returns, the console has the output.

use crate::ipc::{Message, TEXT_BYTES, call};
use crate::{Result, Thread, sys};
use abi::Word;
use core::fmt::{self, Write};

pub use image::protocol::console::{
    MAY_WRITE_RESULTS, PRINT, RAW, READ, READ_SIZED, READERS, RESIZED, RESULT, shown, terminal,
};

const CONSOLE: Thread = Thread(image::slot::CONSOLE as Word);

/// Text on its way: sent when the buffer is full, and at the end. Needs no heap, so
/// that a panic for want of memory can be told.
struct Pieces {
    request: Word,
    buffer: [u8; TEXT_BYTES],
    used: usize,
}

impl Pieces {
    fn flush(&mut self) -> fmt::Result {
        let used = core::mem::take(&mut self.used);
        if used == 0 {
            return Ok(());
        }
        call(CONSOLE, Message::text(self.request, &self.buffer[..used]))
            .map(|_| ())
            .map_err(|_| fmt::Error)
    }
}

impl Write for Pieces {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            // Characters stay whole: each message is text by itself.
            if self.used + c.len_utf8() > TEXT_BYTES {
                self.flush()?;
            }
            self.used += c.encode_utf8(&mut self.buffer[self.used..]).len();
        }
        Ok(())
    }
}

/// Sends formatted text with [`PRINT`] or [`RESULT`]. Without a console it is lost: there
/// is nobody to tell. So are results that the description does not let the component write: the
/// console says so.
pub fn write(request: Word, text: fmt::Arguments<'_>) {
    let mut pieces = Pieces { request, buffer: [0; TEXT_BYTES], used: 0 };
    let _ = pieces.write_fmt(text).and_then(|()| pieces.flush());
}

/// Waits for a byte of input.
///
/// # Errors
/// `NoRight` if the description does not let the component read; `BadState` if [`READERS`] more of
/// the component's threads read since; what the kernel says.
pub fn read() -> Result<u8> {
    match call(CONSOLE, Message::new([READ as Word, 0, 0]))?.words {
        [failed, error, _] if failed as u32 == u32::MAX => Err(sys::error(error)),
        [byte, ..] => Ok(byte as u8),
    }
}

/// Prints to the console. Without a console the text is lost: there is nowhere to put it.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::console::write($crate::console::PRINT as $crate::Word, format_args!($($arg)*)) };
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
    ($($arg:tt)*) => { $crate::console::write($crate::console::RESULT as $crate::Word, format_args!("{}\n", format_args!($($arg)*))) };
}
