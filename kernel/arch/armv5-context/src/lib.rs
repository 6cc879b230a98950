// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on ARMv5: where each is in a context, what a handler sees of them,
//! and what the kernel takes of what a handler writes. Nothing here touches the processor, so that
//! the host can test it.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod abort;
// The contract's frame is that of the processor that is compiled for, or that the feature says.
#[cfg(any(target_arch = "arm", feature = "arm"))]
mod registers;
mod saved;

#[cfg(any(target_arch = "arm", feature = "arm"))]
pub use registers::Armv5;
pub use saved::{THUMB, USER_MODE, hw, restart_helper, vector, word};
