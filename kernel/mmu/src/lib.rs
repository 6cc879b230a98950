// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pure algorithms of address-space multiplexing, which ports share and the host tests: formats of
//! translation tables, and which space has which tag. Nothing here accesses the hardware.
#![no_std]
#![forbid(unsafe_code)]
// Indices here are of tables that this crate makes itself: the property tests of each algorithm
// hold them in bounds.
#![deny(clippy::unwrap_used, clippy::expect_used)]
#![warn(missing_docs)]

pub mod alpha;
pub mod area;
pub mod armv5;
pub mod block;
pub mod debug;
pub mod descriptor;
pub mod fass;
pub mod format;
pub mod hash;
pub mod ia32;
pub mod mips;
pub mod pcid;
pub mod powerpc;
pub mod scatter;
pub mod slots;
pub mod sweep;
pub mod tags;
pub mod vsid;
pub mod x86_64;

pub use format::{Attributes, Format, Leaf};
