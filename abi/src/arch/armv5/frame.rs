// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (ARMv5TE).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the start of an alien's
/// UTCB slot.
///
/// What a handler writes here is hostile to the kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers, r0 to r12.
    pub r: [u32; 13],
    /// Stack pointer, r13.
    pub sp: u32,
    /// Link register, r14.
    pub lr: u32,
    /// Program counter: of the faulting instruction, or after a system call's.
    pub pc: u32,
    /// Status; a handler may change those bits in [`USER_FLAGS`]. Bit 0 of `pc` is ignored.
    pub cpsr: u32,
    /// Why the thread stopped: an exception's number, or one of [`vector`].
    pub vector: u32,
    /// Bits of [`fault`], the number of an alien's `swi`, or 0.
    pub error: u32,
    /// The address of a page fault, or 0.
    pub address: u32,
    /// What the handler changed besides the general registers: the kernel looks at it only then.
    pub changed: u32,
}

/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u32 = 1;

/// Bits of the status that a user may set: N Z C V Q T.
pub const USER_FLAGS: u32 = 0xf800_0020;

/// Words of a [`Frame`].
pub const WORDS: u32 = 21;
/// General registers, which are the first words.
pub const GENERAL: usize = 13;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = offset_of!(Frame, sp) / 4;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, pc) / 4;

/// Values of `Frame::vector`: below 256 what the processor reports, in the order of its vectors.
pub mod vector {
    /// Undefined instruction.
    pub const UNDEFINED: u32 = 1;
    /// `bkpt`.
    pub const BREAKPOINT: u32 = 3;
    /// Page fault, of a fetch or of data: `address` is valid, `error` has the bits of
    /// [`super::fault`].
    pub const PAGE_FAULT: u32 = 4;
    /// Data was not aligned to its size: `address` is valid.
    pub const ALIGNMENT: u32 = 5;
    /// The bus reported an error: `address` is valid if it was data.
    pub const BUS: u32 = 6;
    /// An alien executed `swi`: `error` has the 24 bits of the instruction's number, 8 of Thumb's.
    /// (Linux passes the number of a system call in r7, and 0 here.)
    pub const SYSTEM_CALL: u32 = 0x80;
    /// An alien that was created or reset and has not run yet.
    pub const CREATED: u32 = 0x100;
    /// An alien that `run` stopped for a notification.
    pub const INTERRUPTED: u32 = 0x101;
    /// A thread that another one stopped.
    pub const STOPPED: u32 = 0x102;
}

/// Bits of `Frame::error` in a page fault. The processor does not tell them: the kernel decodes the
/// instruction.
pub mod fault {
    /// The page was there, the right was not.
    pub const PROTECTION: u32 = 1;
    /// It was a write.
    pub const WRITE: u32 = 2;
    /// It was a fetch.
    pub const FETCH: u32 = 4;
}
