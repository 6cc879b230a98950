// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on MIPS: where each is in a context, what a handler sees of them, what
//! the kernel takes of what a handler writes, and which instructions it does for users. Nothing here
//! touches the processor, so that the host can test what is no frame's.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod access;
// The contract's frame is that of the processor that is compiled for.
#[cfg(any(target_arch = "mips64", feature = "mips"))]
mod registers;
mod saved;

#[cfg(any(target_arch = "mips64", feature = "mips"))]
pub use registers::Mips;
pub use saved::{cause, hw, word};
