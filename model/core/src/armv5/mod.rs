// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processors of ARMv5TE: translation with domains and process identifiers, caches of virtual
//! addresses.
//!
//! Of addresses there are three kinds: *virtual* ones, which instructions have; *modified* ones
//! ([`Controls::modified`]), by which TLBs and caches are looked up and tables are walked; and
//! physical ones. Intervals, owners and events are those of IA-32. Sources: ARM Architecture
//! Reference Manual (DDI 0100), parts A and B; Intel XScale Core Developer's Manual; ARM926EJ-S
//! Technical Reference Manual.

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
