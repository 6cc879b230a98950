// SPDX-License-Identifier: MIT OR Apache-2.0
//! Alpha. Rust compiles for it by way of WebAssembly and C (docs/alpha.md), so to Rust pointers have
//! 32 bits and words 64.
//!
//! A thread starts with its UTCB's address in $16 and the argument in $17, its stack pointer in $30,
//! all else zero.

pub mod call_pal;
pub mod constant;
pub mod frame;
pub mod layout;
pub mod marker;
pub mod message;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// The registers of a system call.
pub const REGISTERS: super::Registers = super::Registers {
    processor: "Alpha",
    instruction: "`call_pal 0xbf`",
    tag: "`$0`",
    arguments: ["`$16`", "`$17`", "`$18`", "`$19`"],
    results: ["`$0`", "`$16`", "`$17`", "`$18`", "`$19`"],
    words: "3 to 7 in `$20`, `$21`, `$1` to `$3`; further ones in the UTCB",
    others: &[("kept", "`$30`"), ("lost", "`$4` to `$15`, `$22` to `$29`")],
};

/// A user register.
pub type Word = u64;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
