// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE: translation with domains and process identifiers, caches of virtual addresses.
//!
//! There are three kinds of addresses. *Virtual* ones are those of instructions. *Modified* ones
//! ([`Controls::modified`]) are looked up in TLBs, caches and tables. The third kind are physical
//! ones. Intervals, owners and events are those of IA-32. Sources: ARM Architecture Reference
//! Manual (DDI 0100), parts A and B; Intel XScale Core Developer's Manual; ARM926EJ-S Technical
//! Reference Manual.
//!
//! It owns what only ARM has; what all processors share is at the crate's root. It does not know
//! QEMU.

mod checker;
mod counter;
mod dma;
mod instruction;
mod lines;
mod machine;
mod tlb;
mod translations;
mod walk;

pub use checker::Checker;
pub use counter::{Armv5, Setup, VECTOR_NAMES, World, is_entry, latency};
pub use instruction::{Class, Operation, Which, condition, marker};
pub use machine::Machine;
pub use walk::{Access, Controls, Mapping, Size, walk};

/// The instrument.
pub type Counter = crate::Counter<Armv5>;
