// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha.

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

/// There are none.
pub const SERVER: &str = "server";

/// There are no servers that other spaces show.
pub const WHY_NO_SERVER: &str = "large, as all spaces of this processor";

/// There are no small spaces.
pub const fn wants_large(_: Word) -> bool {
    false
}

/// An exception in words.
pub const fn cause(vector: Word) -> &'static str {
    match vector {
        vector::MACHINE_CHECK => "machine check",
        vector::UNALIGNED => "access to memory that is not aligned",
        vector::RESERVED => "invalid or privileged instruction",
        vector::ARITHMETIC => "arithmetic trap",
        vector::FPU => "instruction of the FPU",
        vector::CALL_PAL => "call of PALcode that is no system call",
        vector::PORT_READ | vector::PORT_WRITE => "access to an I/O port that it was not given",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> Word {
    frame.pc
}
