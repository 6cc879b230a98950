// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5TE.
//!
//! A system call is the instruction `swi`, with any number. The registers:
//!
//! | register | in | out |
//! |---|---|---|
//! | r0 | tag | `r0`: delivery or status |
//! | r1 | `a0` | `r1` |
//! | r2 to r4 | `a1` to `a3`, or words 0 to 2 of a message | `r2` to `r4`, or words 0 to 2 |
//! | r5 to r9 | words 3 to 7 of a message | words 3 to 7; kept by a system call that is no message |
//! | r10 to r12, sp, lr, flags | | kept |
//!
//! A thread starts with its UTCB's address in r0 and the argument in r1, all else zero, in Thumb state if bit 0 of the entry is set.
//!
//! Programs of Linux find the helpers that its kernel has at `0xffff_0f60` and above (`kuser_helpers`): compare and exchange, the
//! thread pointer, a barrier. Native programs use them, too.

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

/// A user register.
pub type Word = u32;

/// Whether a device that reads and writes memory sees what is in the data caches. Here it does not: who drives one maps what both
/// use uncached, or brings it to memory by `Cache` before the device has it.
pub const DMA_IS_COHERENT: bool = false;
