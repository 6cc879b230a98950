// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine model, without the emulator to which it is attached.
//!
//! User code encloses what is to be measured in marker instructions ([`Marker`]). The plugin
//! reports each marker, each chunk of code, each special instruction and each memory access to
//! [`Counter`], in the order in which the processor executes them, and [`Counter`] makes a
//! [`Report`] of the intervals between markers. With a machine it models the TLBs and caches of a
//! [`Cpu`]; with a checker it looks for missing flushes. Each kind of processor is a [`Processor`],
//! in [`ia32`], [`armv5`], [`powerpc`], [`mips`] and [`x86_64`]. [`Latency`] needs no markers: it
//! sees only the kernel's code, and measures how long the kernel does not check for interrupts;
//! this is all that there is of [`alpha`].
//! Addresses are linear (on ARM: virtual) unless they are called physical. docs/model.md says what
//! is counted and what is not.
//!
//! The crate owns what is counted and how. It must not know QEMU, which is the plugin's part, and
//! not what a figure is for, which is the book's.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod alpha;
pub mod armv5;
mod cache;
mod chunk;
mod corners;
mod counter;
mod cpu;
mod crossing;
mod doubt;
mod events;
mod fault;
pub mod ia32;
mod interval;
mod latency;
mod ledger;
mod lines;
mod marker;
mod memory;
pub mod mips;
pub mod powerpc;
mod replacement;
mod report;
mod stats;
mod symbols;
mod tlb;
mod violation;
pub mod x86_64;

pub use cache::{Address, Cache, CacheGeometry, Outcome, Trace, TraceGeometry};
pub use chunk::{Chunk, PerLine, Privilege};
pub use counter::{Counter, Entry, Follow, Processor, Setup};
pub use cpu::{Constant, Cpu, CpuError, Geometry, Published, Reload, Source, Tags};
pub use doubt::{Doubt, Variant};
pub use events::{ByOwner, Events, Owner};
pub use fault::Fault;
pub use latency::Latency;
pub use marker::Marker;
pub use memory::{Linear, NoMapping, Physical};
pub use replacement::Replacement;
pub use report::{
    IntervalReport, LatencyReport, Report, Spread, StretchReport, ViolationReport, VisitReport,
};
pub use symbols::Symbols;
pub use tlb::{LargePages, TlbGeometry, WalkGeometry};
pub use violation::Rule;
