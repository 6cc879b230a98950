// SPDX-License-Identifier: MIT OR Apache-2.0
//! MIPS, 64 bits, big-endian: the R4000 and its successors with MIPS III. Registers have the numbers
//! and roles of the n64 calling convention.
//!
//! A thread starts with its UTCB's address in $4 and the argument in $5, its stack pointer in $29,
//! all else zero.

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
    processor: "MIPS",
    instruction: "`syscall`, not in a delay slot",
    tag: "`$2`",
    arguments: ["`$4`", "`$5`", "`$6`", "`$7`"],
    results: ["`$2`", "`$4`", "`$5`", "`$6`", "`$7`"],
    words: "3 to 7 in `$8` to `$12`; further ones in the UTCB",
    others: &[("kept", "`$29`"), ("lost", "`$1`, `$3`, `$13` to `$28`, `$30`, `$31`, `hi`, `lo`")],
};

/// A user register.
pub type Word = u64;

/// Whether a device that reads and writes memory sees what is in the data caches. An R4000's are
/// not coherent; those of QEMU, which emulates none, are.
pub const DMA_IS_COHERENT: bool = true;
