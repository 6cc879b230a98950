// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to MIPS, 64-bit and big-endian: the R4000 and its successors with MIPS III, whose TLB
//! has ASIDs and is filled by software (docs/mips.md).
//!
//! The kernel, its objects and the devices that it drives are in kseg0 and kseg1, which are not
//! translated: so the kernel has no TLB misses.
//!
//! It owns entry and exit, the ASIDs and the TLB. It does not decide which thread runs: `kcore`
//! does.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | addresses, statics that assembly knows |
//! | `regs` | registers of coprocessor 0, and the TLB |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `options` | what the build tool says about the machine |
//! | `space` | which space has which ASID, which translations are dropped |
//! | `time` | the clock, the timer |
//! | `contract` | what the portable kernel asks of a port |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | misses, entry, exit and the fast paths (`*.S`, `fast/*.S`), and what they know of Rust |
//! | `boot` | what the machine has |
//! | `start` | from reset to the first thread |
#![no_std]
#![cfg(target_arch = "mips64")]
// The compiler has not yet said that assembly of this processor stays as it is.
#![feature(asm_experimental_arch)]

mod assembly;
mod boot;
mod contract;
mod layout;
mod options;
pub mod panic;
mod regs;
mod space;
mod start;
mod time;
mod trap;
