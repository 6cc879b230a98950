// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC with 32 bits: the 603, whose TLBs are filled by software, and the 604, which searches a
//! hashed table.
//!
//! The kernel uses BATs and physical addresses, so only user mode has translations of pages. SPRG0
//! has the running space, as the directory of its tables, and SPRG1 the running thread: this is
//! this project's kernel. Of other systems the module knows only Linux alone. Intervals, owners and
//! events are those of IA-32. Sources: *Programming Environments for 32-bit Microprocessors*;
//! *PowerPC 603e User's Manual*.
//!
//! It owns what only PowerPC has; what all processors share is at the crate's root. It does not
//! know QEMU.

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
