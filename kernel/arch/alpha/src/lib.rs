// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to Alpha, by way of WebAssembly and C (docs/alpha.md).
//!
//! The kernel is the firmware of its machine: PALcode of its own is entered by exceptions and
//! system calls, and has the fast path. WebAssembly's memory is the machine's, so an address of Rust
//! is a physical one.
//!
//! It owns entry and exit. It does not decide which thread runs: `kcore` does.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | addresses, the hot words |
//! | `regs` | what PALcode does for Rust |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `options` | what the tool says of the machine |
//! | `space` | the tables of a space |
//! | `shadow` | copies of tables, for what the processor cannot read of them |
//! | `time` | the clock, the timer |
//! | `contract` | what the portable kernel asks of a port |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | what PALcode (`*.S`) knows of Rust |
//! | `boot` | what the machine has |
//! | `start` | from reset to the first thread |
#![no_std]
#![cfg(target_arch = "wasm32")]

mod assembly;
mod boot;
mod contract;
mod layout;
mod options;
pub mod panic;
mod regs;
mod shadow;
mod space;
mod start;
mod time;
mod trap;
