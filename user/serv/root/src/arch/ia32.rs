// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32.

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

/// Servers run at ring 1.
pub const SERVER: &str = "ring 1";

/// Why a component is no server that other spaces show, although it is to be one.
pub const WHY_NO_SERVER: &str =
    "large, as this machine does not check segment limits, or is not to";

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
