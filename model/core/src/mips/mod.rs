// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS III: the R4600, whose TLB is filled by software, and has entries of two pages with an ASID.
//!
//! The kernel is in segments that are not translated, so only user mode has translations, by three
//! levels of tables that the handler of misses reads (docs/mips.md). QEMU reports no register of
//! this processor, only instructions and the address and value of each access. So the model follows
//! the kernel's code from power-on, as far as its registers follow from what it loads
//! ([`Registers`]): that gives the ASID. The first word that the handler of misses reads is the
//! address of the highest table. Intervals, owners and events are those of IA-32. Addresses have 64
//! bits; the upper half of the kernel's addresses is ones. Source: *MIPS R4000 Microprocessor
//! User's Manual*.
//!
//! It owns what only MIPS has; what all processors share is at the crate's root. It does not know
//! QEMU.

mod bits;
mod checker;
mod counter;
mod instruction;
mod machine;
mod registers;
mod spaces;
mod tlb;
mod translations;
mod walk;

pub use bits::Bits;
pub use checker::Checker;
pub use counter::{Accessed, Mips, Setup, VECTOR_NAMES, is_user, is_vector, latency};
pub use instruction::{CALL, RETURN, WAIT, case, is_look, marker, saves_tag, word};
pub use machine::{Access, Handler, Machine};
pub use registers::{Effect, Registers};
pub use walk::{Pair, walk};

/// The instrument.
pub type Counter = crate::Counter<Mips>;
