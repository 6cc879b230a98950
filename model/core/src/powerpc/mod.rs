// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC, 32 bits: the 603, whose TLBs software fills, and the 604, which searches a hashed
//! table.
//!
//! The kernel lies in BATs and at physical addresses, so only user mode has translations of pages.
//! Which space runs is in SPRG0, the directory of its tables, and which thread is in SPRG1: this is
//! the project's kernel. Of others only Linux alone is known. Intervals, owners and events are
//! those of IA-32. Sources: *Programming Environments for 32-bit Microprocessors*; *PowerPC 603e
//! User's Manual*.

mod checker;
mod counter;
mod instruction;
mod lines;
mod machine;
mod spaces;
mod tlb;
mod translations;
mod vsid;
mod walk;

pub use checker::Checker;
pub use counter::{Counted, PowerPc, Setup, VECTOR_NAMES, World, is_vector, latency};
pub use instruction::{Class, Operation, marker, registers, special, word};
pub use machine::{Access, Handler, Machine};
pub use vsid::Function;
pub use walk::{Bat, Controls, LINUX, Mapping, Way, search, walk};

/// The instrument.
pub type Counter = crate::Counter<PowerPc>;
