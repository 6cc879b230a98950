// SPDX-License-Identifier: MIT OR Apache-2.0
//! x86-64.
//!
//! A thread starts with its UTCB's address in rdi, the argument in rsi and its stack pointer in
//! rsp, all else zero.

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
    processor: "x86-64",
    instruction: "`syscall`",
    tag: "`rax`",
    arguments: ["`rdi`", "`rsi`", "`rdx`", "`r8`"],
    results: ["`rax`", "`rdi`", "`rsi`", "`rdx`", "`r8`"],
    words: "3 to 5 in `r9`, `r10` and `r12`, 6 and 7 in `r13` and `r14`; further ones in the UTCB",
    others: &[
        ("kept", "`rsp`, the bases of FS and GS"),
        ("lost", "`rbx`, `rbp`, `rcx`, `r11`, `r15`, flags"),
    ],
};

/// A user register.
pub type Word = u64;

/// Whether a device that reads and writes memory sees what is in the data caches.
pub const DMA_IS_COHERENT: bool = true;
