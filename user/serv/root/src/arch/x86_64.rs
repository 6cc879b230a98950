// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64.

use abi::frame::vector;
use abi::{Frame, Word};
use image::Window;
use image::layout::Layout;

/// The place word of a component for the kernel: where its window begins.
pub const fn place_of(window: Option<Window>) -> Word {
    match window {
        Some(window) => window.address(&Layout::CURRENT.windows) as Word,
        None => 0,
    }
}

/// Whether memory that components share is a Segment.
pub const SHARES_SEGMENTS: bool = false;

/// How a server runs.
pub const SERVER: &str = "ring 1";

/// Why there is none.
pub const WHY_NO_SERVER: &str = "large, as the kernel has no servers: --spaces ring1 is not said, or the processor has Meltdown";

/// There are no small spaces.
pub const fn wants_large(_: Word) -> bool {
    false
}

/// An exception in words.
pub const fn cause(vector: Word) -> &'static str {
    match vector {
        0 => "division error",
        vector::DEBUG => "debug exception",
        3 => "breakpoint",
        vector::INVALID_OPCODE => "invalid instruction",
        vector::GENERAL_PROTECTION => "privileged instruction or bad address",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> Word {
    frame.rip
}
