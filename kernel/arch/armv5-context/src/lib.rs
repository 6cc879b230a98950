// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on ARMv5: where each is in a context, what a handler sees of them,
//! and which values the kernel accepts from a handler.
//!
//! It owns the layout of a context. It executes nothing of the processor, so the host can test it,
//! and it does not know how a register is saved: the port's assembly does that.
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
