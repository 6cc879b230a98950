// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to ARMv5TE, with fast address-space switching (docs/arm.md).
//!
//! It owns entry and exit, the caching page directory, and the caches. It decides little:
//! `mmu::fass` decides which owner gets a domain or a section, and `kcore` which thread runs. It
//! does not know which board it runs on, apart from the functions of its platform crate.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | virtual addresses |
//! | `regs` | registers of the system-control coprocessor |
//! | `cache` | the caches, by line and whole |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `paging` | the processor's one first-level table, and the kernel's part of it |
//! | `shadow` | tables of Segments that a space may only read |
//! | `tables` | what a space's tables have, and the modified addresses of that |
//! | `space` | what the port records for a space, and which owner's entries are in that table: the caching page directory |
//! | `time` | the counter, and what the information page says of it |
//! | `contract` | what the portable kernel asks of a port; the kernel's only instance |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | entry, exit and the fast paths (`*.S`, `fast/*.S`), and what they know of Rust |
//! | `boot` | what the boot loader left |
//! | `start` | from the boot loader to the first thread |
#![no_std]
#![cfg(target_arch = "arm")]

mod assembly;
mod boot;
mod cache;
mod contract;
mod layout;
mod locks;
mod paging;
pub mod panic;
mod regs;
mod shadow;
mod space;
mod start;
mod tables;
mod time;
mod trap;
