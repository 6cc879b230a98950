// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.

use abi::Frame;
use abi::frame::vector;

/// What the kernel is told of the place of a component without a window: nothing.
pub const PLACE: u32 = 0;

/// The exception of a stack segment's limit.
const STACK: u32 = 12;

/// Whether a small space's segment may have caused it.
pub const fn wants_large(vector: u32) -> bool {
    matches!(vector, vector::GENERAL_PROTECTION | STACK)
}

/// An exception in words.
pub const fn cause(vector: u32) -> &'static str {
    match vector {
        0 => "division error",
        vector::DEBUG => "debug exception",
        3 => "breakpoint",
        vector::INVALID_OPCODE => "invalid instruction",
        vector::GENERAL_PROTECTION => "privileged instruction or bad segment",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> u32 {
    frame.eip
}
