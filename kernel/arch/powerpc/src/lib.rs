// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to PowerPC: the 603, whose TLB is filled by software, and the 604, which searches a
//! hashed table (docs/powerpc.md).
//!
//! The kernel has no translation tables. It runs at its physical addresses, which block address
//! translation registers (BATs) map only for the supervisor; users have their own mappings at these
//! addresses.
//!
//! It owns entry and exit, the VSIDs, the hashed table and the caches. It does not decide which
//! thread runs: `kcore` does.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | physical addresses, statics that assembly knows |
//! | `regs` | registers of the processor |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `options` | the boot words |
//! | `cache` | the caches, by line and whole |
//! | `patch` | instructions that boot changes |
//! | `hash` | the hashed table |
//! | `window` | windows of servers |
//! | `whole` | Segments that a space has as a whole |
//! | `space` | which space has which VSIDs, which translations are removed |
//! | `time` | the clock, the timer |
//! | `fpu` | the FPU, which is loaded when a thread uses it |
//! | `idle` | what is done while no thread runs |
//! | `contract` | what the portable kernel asks of a port |
//! | `kdb` | what the kernel debugger knows of this processor |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | entry, exit and the fast paths (`*.S`, `fast/*.S`), and what they know of Rust |
//! | `boot` | what the machine has |
//! | `start` | from reset to the first thread |
#![no_std]
#![cfg(target_arch = "powerpc")]

mod assembly;
mod boot;
mod cache;
mod contract;
mod fpu;
mod hash;
mod idle;
#[cfg(feature = "kdb")]
mod kdb;
mod layout;
mod options;
pub mod panic;
mod patch;
mod regs;
mod space;
mod start;
mod time;
mod trap;
mod whole;
mod window;
