// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE.

use abi::Frame;
use abi::frame::vector;
use image::Window;

/// The place word of a component for the kernel: all of its own that it has below 32 MiB is
/// relocated. With a window it has nothing there.
pub const fn place_of(window: Option<Window>) -> u32 {
    if window.is_some() { 0 } else { abi::arch::armv5::place::RELOCATED }
}

/// Memory that components share is a Segment: it has one address in all of them.
pub const SHARES_SEGMENTS: bool = true;

/// There are none.
pub const SERVER: &str = "server";

/// There are no servers that other spaces show.
pub const WHY_NO_SERVER: &str = "large, as all spaces of this processor";

/// There are no small spaces.
pub const fn wants_large(_: u32) -> bool {
    false
}

/// An exception in words. Privileged instructions of the status register do nothing, those of
/// coprocessors are invalid.
pub const fn cause(vector: u32) -> &'static str {
    match vector {
        vector::UNDEFINED => "invalid instruction",
        vector::BREAKPOINT => "breakpoint",
        vector::ALIGNMENT => "access to memory that is not aligned",
        vector::BUS => "bus error",
        _ => "exception",
    }
}

/// Where it stopped.
pub const fn place(frame: &Frame) -> u32 {
    frame.pc
}
