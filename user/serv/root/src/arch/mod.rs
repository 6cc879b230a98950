// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the root server knows of the processor: a module for each, with the same names in all of
//! them.
//!
//! `cause` names an exception that is no page fault. `wants_large` says whether an exception may
//! come from an address that only a large space has. `place` is where the instruction is.
//! `place_of` is the place word of a component's Space for the kernel. `SERVER` is what users are
//! told about a server, and `WHY_NO_SERVER` what a component is told that asked for one and has
//! none. `SHARES_SEGMENTS` says whether memory that components share is a Segment.

#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "wasm32")]
pub use alpha::*;

#[cfg(target_arch = "x86")]
mod ia32;
#[cfg(target_arch = "x86")]
pub use ia32::*;

#[cfg(target_arch = "arm")]
mod armv5;
#[cfg(target_arch = "arm")]
pub use armv5::*;

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "mips64")]
mod mips;
#[cfg(target_arch = "mips64")]
pub use mips::*;

#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(target_arch = "powerpc")]
pub use powerpc::*;
