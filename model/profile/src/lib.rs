// SPDX-License-Identifier: MIT OR Apache-2.0
//! Profiles by symbol: what the plugin samples ([`Sample`]), and what is made of it.
//!
//! [`Programs`] finds each sample's program and its call path, [`Profile`] sums up, as folded
//! paths, tables and a flame graph. Addresses are linear, programs are for IA-32. See
//! docs/model.md.
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
