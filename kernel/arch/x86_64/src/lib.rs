// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to x86-64.
//!
//! It owns entry and exit, the kernel's own translations, the entry area, and state that is loaded
//! rarely. It does not decide which thread runs: `kcore` does. It does not know the board's
//! devices, apart from the functions of its platform crate.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | `layout` | virtual addresses |
//! | `regs` | registers of the processor |
//! | `features` | what the processor can do |
//! | `fpu` | registers of the FPU, of SSE and of AVX |
//! | [`mod@panic`] | what the kernel prints when it panics |
//! | `paging` | the kernel's own translations |
//! | `apic` | the local APIC, and its timer |
//! | `ioapic` | interrupt lines by the I/O APIC |
//! | `gdt` | segment descriptors, and stacks that some exceptions have |
//! | `interrupts` | vectors and interrupt lines |
//! | `area` | the entry area: pages and tables of servers |
//! | `lazy` | state that is loaded rarely |
//! | `space` | what the port records for a space, and which tables the processor uses |
//! | `time` | the counter as a clock, and the timer |
//! | `contract` | what the portable kernel asks of a port; the kernel's only instance |
//! | `kdb` | the kernel debugger, if it is built in |
//! | `trap` | what an entry means, and the way back |
//! | `assembly` | entry, exit, the fast paths and the entry area's code (`*.S`, `fast/*.S`), and what they know of Rust |
//! | `boot` | what the boot loader left |
//! | `start` | from the boot loader to the first thread |
#![no_std]
// A program of the host has no contract with these words.
#![cfg(all(target_arch = "x86_64", target_os = "none"))]

mod apic;
mod area;
mod assembly;
mod boot;
mod contract;
mod features;
mod fpu;
mod gdt;
mod interrupts;
mod ioapic;
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
