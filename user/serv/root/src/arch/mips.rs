// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS.

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
        vector::ADDRESS => "bad address, or access to memory that is not aligned",
        vector::FETCH_BUS | vector::DATA_BUS => "bus error",
        vector::DELAYED_CALL => "system call in a delay slot",
        vector::BREAKPOINT => "breakpoint",
        vector::RESERVED => "invalid instruction",
        vector::COPROCESSOR => "privileged instruction, or one of the FPU",
        vector::OVERFLOW => "overflow",
        vector::TRAP => "trap",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> Word {
    frame.pc
}
