// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where assembly finds what: offsets from references to Threads and Spaces.

use core::mem::offset_of;
use kcore::Space;
#[doc(hidden)]
pub use kcore::Thread;
use kcore::port::CONTEXT_WORDS;
#[doc(hidden)]
pub use kcore::thread::ANCHOR;

/// Where a saved register is, a word of the context, from a reference to its Thread: below it.
#[must_use]
pub const fn saved(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 4
}

/// Where a word of a Space's that the port keeps is.
#[must_use]
pub const fn hw(word: usize) -> usize {
    offset_of!(Space, hw) + size_of::<u32>() * word
}

/// Where a Thread's field is, from a reference to it.
#[macro_export]
macro_rules! field {
    ($name:ident) => {
        core::mem::offset_of!($crate::offsets::Thread, $name) as i32
            - $crate::offsets::ANCHOR as i32
    };
}
