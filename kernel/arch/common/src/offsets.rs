// SPDX-License-Identifier: MIT OR Apache-2.0
//! Offsets for assembly, from references to Threads and Spaces.

use core::mem::offset_of;
use kcore::Space;
#[doc(hidden)]
pub use kcore::Thread;
use kcore::port::CONTEXT_WORDS;
#[doc(hidden)]
pub use kcore::thread::ANCHOR;

/// The offset of a saved register, a word of the context, from a reference to its Thread. It is
/// negative.
#[must_use]
pub const fn saved(word: usize) -> i32 {
    (word as i32 - CONTEXT_WORDS as i32) * 4
}

/// The offset of one of the port's words in a Space.
#[must_use]
pub const fn hw(word: usize) -> usize {
    offset_of!(Space, hw) + size_of::<u32>() * word
}

/// The offset of a Thread's field from a reference to the Thread.
#[macro_export]
macro_rules! field {
    ($name:ident) => {
        core::mem::offset_of!($crate::offsets::Thread, $name) as i32
            - $crate::offsets::ANCHOR as i32
    };
}
