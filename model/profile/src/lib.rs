// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles by symbol, made from what the plugin samples ([`Sample`]).
//!
//! [`Programs`] finds each sample's program and its call path; [`Profile`] sums up, as folded
//! paths, tables and a flame graph. Addresses are linear, and programs are for IA-32. See
//! docs/model.md.
//!
//! The crate owns how a call path is found. It does not know QEMU, nor how the tool starts a
//! profile.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod flame;
mod profile;
mod program;
mod programs;
mod sample;

pub use flame::flame_graph;
pub use profile::{Frame, Function, Profile};
pub use program::{Call, Program};
pub use programs::{Part, Programs};
pub use sample::{CODE_BYTES, Sample, Samples, Space};
