// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE.
//!
//! A thread starts with its UTCB's address in r0 and the argument in r1, all else zero, in Thumb
//! state if bit 0 of the entry is set.
//!
//! Programs of Linux find the helpers that its kernel has at `0xffff_0f60` and above
//! (`kuser_helpers`): compare and exchange, the thread pointer, a barrier. Native programs use
//! them, too.

pub mod frame;
pub mod kip;
pub mod layout;
pub mod marker;
pub mod message;
pub mod place;
pub mod state;

/// The processor, by which other crates say what depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Processor;

/// The registers of a system call.
pub const REGISTERS: super::Registers = super::Registers {
    processor: "ARMv5",
    instruction: "`swi`, with any number",
    tag: "`r0`",
    arguments: ["`r1`", "`r2`", "`r3`", "`r4`"],
    results: ["`r0`", "`r1`", "`r2`", "`r3`", "`r4`"],
    words: "3 to 7 in `r5` to `r9`, which a system call that is no message keeps; further ones in the UTCB",
    others: &[("kept", "`r10` to `r12`, `sp`, `lr`, flags")],
};

/// A user register.
pub type Word = u32;

/// Whether a device that reads and writes memory sees what is in the data caches. Here it does not:
/// who drives one maps what both use uncached, or brings it to memory by `Cache` before the device
/// has it.
pub const DMA_IS_COHERENT: bool = false;
