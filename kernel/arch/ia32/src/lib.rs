// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to IA-32.
//!
//! It owns entry and exit, the kernel's own translations, segment descriptors, and state that is
//! loaded rarely. It does not decide which thread runs: `kcore` does. It does not know the board's
//! devices, apart from the functions of its platform crate.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | linear addresses |
//! | `regs` | registers of the processor |
//! | `features` | what the processor can do |
//! | `fpu` | registers of the FPU |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `paging` | the kernel's own translations |
//! | `gdt` | segment descriptors |
//! | `interrupts` | vectors and interrupt lines |
//! | `lazy` | state switched only on use |
//! | `space` | what the port records for a space, and entering one |
//! | `time` | the counter as a clock, and the timer |
//! | `contract` | what the portable kernel asks of a port; the kernel's only instance |
//! | `kdb` | the kernel debugger, if it is built in |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | entry, exit and the fast paths (`*.S`, `fast/*.S`), and what they know of Rust |
//! | `boot` | what the boot loader left |
//! | `start` | from the boot loader to the first thread |
#![no_std]

mod assembly;
mod boot;
mod contract;
mod features;
mod fpu;
mod gdt;
mod interrupts;
#[cfg(feature = "kdb")]
mod kdb;
mod layout;
mod lazy;
mod paging;
pub mod panic;
mod regs;
mod space;
mod start;
mod time;
mod trap;
