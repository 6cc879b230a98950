// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on PowerPC: where each is in a context, what a handler sees of them,
//! which values the kernel accepts from a handler, and which instructions are an access to an I/O
//! port.
//!
//! It owns the layout of a context. It executes nothing of the processor, so the host can test it,
//! and it does not know how a register is saved: the port's assembly does that.
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
