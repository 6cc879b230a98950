// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel under random system calls. The host and Alpha execute the same ones, and the
//! sums over all results, and over the kernel's memory, have to be the same (docs/alpha.md).
//!
//! | module | room for |
//! |---|---|
//! | [`port`] | a processor with Alpha's registers and tables, whose board is simulated |
//! | [`events`] | random events |
//! | `outcome` | the outcome of events, as numbers |
//! | `kernels` | one kernel after the other, with these events |
//! | `host` | the same events on the host |
//! | `wasm` | the functions that C calls, if this is compiled to WebAssembly |
#![no_std]
#![warn(missing_docs)]

pub mod events;
#[cfg(not(target_arch = "wasm32"))]
mod host;
mod kernels;
mod outcome;
pub mod port;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub use host::on_host;
pub use kernels::{POOL_BYTES, run};
pub use outcome::Outcome;
