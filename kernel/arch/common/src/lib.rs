// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all ports have in common: from the boot loader's data to the first thread, the lock,
//! stacks, and panics.
//!
//! It knows no processor and no board. A port supplies its part by [`platform::Platform`],
//! [`boot::Mapping`], and arguments.
//!
//! A module uses only modules above it.
//!
//! | module | room for |
//! |---|---|
//! | [`shared`] | statics that are written |
//! | [`stack`] | the kernel's stacks |
//! | [`platform`] | what the kernel says, and how the machine ends |
//! | [`options`] | the kernel's command line |
//! | [`words`] | what the kernel prints when it panics |
//! | [`place`] | where the pool is in physical memory |
//! | [`lock`] | the kernel's only instance |
//! | [`offsets`] | offsets for assembly |
//! | [`lines`] | which interrupt lines components may have |
//! | [`leave`] | which thread runs next |
//! | `kdb` | the kernel debugger |
//! | [`loader`] | RAM as boot loaders report it |
//! | [`multiboot`] | what a Multiboot 1 loader left |
//! | [`multiboot2`] | what a Multiboot 2 loader left |
//! | [`pvh`] | what a loader of PVH guests left |
//! | [`boot`] | what all ports do with what the boot loader left |
//! | [`start`] | from there to the first thread |
#![no_std]

pub mod boot;
#[cfg(feature = "kdb")]
pub mod kdb;
pub mod leave;
pub mod lines;
pub mod loader;
pub mod lock;
pub mod multiboot;
pub mod multiboot2;
pub mod offsets;
pub mod options;
pub mod place;
pub mod platform;
pub mod pvh;
pub mod rsdp;
pub mod shared;
pub mod stack;
pub mod start;
pub mod words;
