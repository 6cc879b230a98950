// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread's saved registers on x86-64: where each is in a context, what a handler sees of them,
//! and which values the kernel accepts from a handler.
//!
//! It owns the layout of a context. It executes nothing of the processor, so the host can test it,
//! and it does not know how a register is saved: the port's assembly does that.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

// The contract's frame is that of the processor that is compiled for.
#[cfg(any(all(target_arch = "x86_64", target_os = "none"), feature = "wide"))]
pub mod crossing;
#[cfg(any(all(target_arch = "x86_64", target_os = "none"), feature = "wide"))]
mod registers;
mod saved;

#[cfg(any(all(target_arch = "x86_64", target_os = "none"), feature = "wide"))]
pub use registers::{State, X86_64, goes_by_steps, goes_nowhere, state, state_mut};
pub use saved::{FIXED_FLAGS, SAVED, hw, lazy, loaded, selector, word};
