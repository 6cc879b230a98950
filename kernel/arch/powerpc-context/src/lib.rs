// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on PowerPC: where each is in a context, what a handler sees of them,
//! what the kernel takes of what a handler writes, and what an access to an I/O port is. Nothing
//! here touches the processor, so that the host can test it.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod access;
// The contract's frame is that of the processor that is compiled for.
#[cfg(any(target_arch = "powerpc", feature = "powerpc"))]
mod registers;
mod saved;

#[cfg(any(target_arch = "powerpc", feature = "powerpc"))]
pub use registers::PowerPc;
pub use saved::{hw, lazy, msr, vector, word};
