// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code for threads that need neither stack nor heap: system calls with fixed arguments,
//! then an exception, which halts a thread that has no handler.

use abi::{Op, Tag, Word};
use macadamia::alloc::vec::Vec;
use processor::code;

/// In the table of a dwelling: the program's Quota.
pub const OWN_QUOTA: Word = 1;
/// In the table of a dwelling: the program's Space.
pub const OWN_SPACE: Word = 2;

/// Code that can be at any address.
#[derive(Default)]
pub struct Code(Vec<u8>);

impl Code {
    /// One system call.
    pub fn call(op: Op, args: [Word; 4]) -> Self {
        Self::default().then(Tag::new(op, 0, 0), args)
    }

    /// Writes a word of the thread's UTCB. To come before any system call.
    pub fn set(mut self, offset: usize, value: u32) -> Self {
        self.0.extend(code::set_utcb(offset, value));
        self
    }

    /// A further system call.
    pub fn then(mut self, tag: Tag, args: [Word; 4]) -> Self {
        let [a, b, c, d] = args;
        self.0.extend(code::native_call([tag.0 as Word, a, b, c, d]));
        self
    }

    /// Reads a word of every page from the argument on, for ever.
    pub fn read_pages() -> Self {
        Self(code::reads_pages().into())
    }

    /// The code and what ends it.
    pub fn words(&self) -> Vec<u32> {
        processor::words(&[&self.0[..], code::invalid()].concat())
    }
}
