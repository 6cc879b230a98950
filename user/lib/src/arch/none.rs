// SPDX-License-Identifier: MIT OR Apache-2.0
//! A processor that has no port yet. What is portable compiles for it, and nothing of this runs.

use crate::sys::Registers;
use abi::Word;

/// There is no board.
pub mod board {}

/// What a stack's last word has besides the UTCB's address: nothing.
pub const STACK_FLAGS: Word = 0;

/// There are no servers.
pub const SERVERS: Option<u32> = None;

/// Makes a system call.
///
/// # Panics
/// There is no kernel.
pub fn raw(_: &mut Registers) {
    panic!("no port to this processor")
}

/// Counts a message that this thread sends.
pub fn count_message() {}

/// Raises an exception.
pub fn raise() {}

/// The stack pointer.
pub fn stack_pointer() -> Word {
    0
}

/// Where a thread begins.
pub fn thread_entry() -> Word {
    0
}

/// The clock's counter.
#[must_use]
pub fn counter() -> u64 {
    0
}

/// What the kernel has counted, each with what it is called: nothing.
#[must_use]
pub const fn named_counts() -> [(&'static str, u32); 0] {
    []
}

/// The beginning of an interval that is counted.
pub const BEGIN: u32 = 0;
/// The same, free of switches of spaces.
pub const BEGIN_FREE: u32 = 1;
/// Its end.
pub const END: u32 = 2;

/// A marker.
pub fn mark<const KIND: u32, const ID: u32>() {}

/// What the machine is at is called so from here on.
pub fn case(_: &'static str) {}

/// Copies 32-bit words from memory that others may change at the same time to memory that no Rust
/// object lies in.
///
/// # Safety
/// Both are mapped, do not overlap, and hold no Rust object.
pub unsafe fn copy_words(_: *const u32, _: *mut u32, _: u32) {}

/// Copies bytes from or to memory that others may change at the same time.
///
/// # Safety
/// Both are mapped and do not overlap; what is written is the caller's, or holds no Rust object.
pub unsafe fn copy_bytes(_: *const u8, _: *mut u8, _: u32) {}
