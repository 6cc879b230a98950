// SPDX-License-Identifier: MIT OR Apache-2.0
//! Access to I/O ports: a module for each processor, with the same names in all of them. To a
//! component a port that it was not given raises an exception, so it can harm nobody else. The
//! kernel has all ports, and uses those that its board's crate names.

#[cfg(target_arch = "wasm32")]
mod alpha;
#[cfg(target_arch = "wasm32")]
pub use alpha::*;

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod ia32;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub use ia32::*;

#[cfg(target_arch = "mips64")]
mod mips;
#[cfg(target_arch = "mips64")]
pub use mips::*;

#[cfg(target_arch = "powerpc")]
mod powerpc;
#[cfg(target_arch = "powerpc")]
pub use powerpc::*;
