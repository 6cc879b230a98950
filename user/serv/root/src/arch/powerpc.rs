// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC.

use abi::Frame;
use abi::frame::vector;
use image::Window;
use image::layout::Layout;

/// The place word of a component for the kernel: where its window begins.
pub const fn place_of(window: Option<Window>) -> u32 {
    match window {
        Some(window) => window.address(&Layout::CURRENT.windows) as u32,
        None => 0,
    }
}

/// Whether memory that components share is a Segment.
pub const SHARES_SEGMENTS: bool = false;

/// A server is shown by a window of whole segments.
pub const SERVER: &str = "server";

/// A kernel without them.
pub const WHY_NO_SERVER: &str = "large, as all spaces of this processor";

/// There are no small spaces.
pub const fn wants_large(_: u32) -> bool {
    false
}

/// An exception in words.
pub const fn cause(vector: u32) -> &'static str {
    match vector {
        vector::MACHINE_CHECK => "bus error",
        vector::ALIGNMENT => "access to memory that is not aligned",
        vector::PROGRAM => "invalid or privileged instruction, or trap",
        vector::TRACE => "single step",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> u32 {
    frame.pc
}
