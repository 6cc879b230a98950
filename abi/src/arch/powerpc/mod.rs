// SPDX-License-Identifier: MIT OR Apache-2.0
//! PowerPC, 32 bits, big-endian: the 603 and the 604.
//!
//! A thread starts with its UTCB's address in r3 and the argument in r4, its stack pointer in r1,
//! all else zero.

pub mod frame;
pub mod kip;
pub mod layout;
pub mod marker;
pub mod message;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// The registers of a system call.
pub const REGISTERS: super::Registers = super::Registers {
    processor: "PowerPC",
    instruction: "`sc`",
    tag: "`r3`",
    arguments: ["`r4`", "`r5`", "`r6`", "`r7`"],
    results: ["`r3`", "`r4`", "`r5`", "`r6`", "`r7`"],
    words: "3 to 5 in `r8` to `r10`, 6 and 7 in `r14` and `r15`, which a system call that is no message keeps; further ones in the UTCB",
    others: &[
        ("kept", "`r1`, `r2`"),
        ("lost", "`r0`, `r11` to `r13`, `r16` to `r31`, `cr`, `ctr`, `xer`, `lr`"),
    ],
};

/// A user register.
pub type Word = u32;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
