// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (Alpha).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the start of an alien's
/// UTCB slot.
///
/// What a handler writes here is hostile to the kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers, $0 to $30; $30 is the stack pointer.
    pub r: [u64; 31],
    /// Program counter: of the faulting instruction, or after a system call's.
    pub pc: u64,
    /// Why the thread stopped: an exception's number, or one of [`vector`].
    pub vector: u64,
    /// Why an access was refused ([`fault`]), or 0.
    pub error: u64,
    /// The address of a page fault, or of an access that is not aligned; else 0.
    pub address: u64,
    /// What the handler changed besides the general registers: the kernel looks at it only then.
    pub changed: u64,
}

/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u64 = 1;

/// Words of a [`Frame`].
pub const WORDS: u32 = 36;
/// General registers, which are the first words; the stack pointer is one of them.
pub const GENERAL: usize = 31;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = 30;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, pc) / 8;

/// Values of `Frame::vector`: below 128 the processor's exceptions, by the order of PALcode's entries.
pub mod vector {
    /// Machine check.
    pub const MACHINE_CHECK: u64 = 1;
    /// Page fault, of a fetch or of data: `address` is valid, `error` has the bits of
    /// [`super::fault`].
    pub const PAGE_FAULT: u64 = 5;
    /// An access that is not aligned: `address` is valid.
    pub const UNALIGNED: u64 = 6;
    /// An instruction that the processor does not have, or one of the kernel's.
    pub const RESERVED: u64 = 7;
    /// An arithmetic trap.
    pub const ARITHMETIC: u64 = 8;
    /// An instruction of the FPU, which users do not have.
    pub const FPU: u64 = 9;
    /// A `CALL_PAL` that means nothing here, such as `bpt`: `pc` is after it.
    pub const CALL_PAL: u64 = 16;
    /// A read of an I/O port that the space was not given.
    pub const PORT_READ: u64 = 17;
    /// A write of one.
    pub const PORT_WRITE: u64 = 18;
    /// A thread made a system call.
    pub const SYSTEM_CALL: u64 = 0x80;
    /// An alien that was created or reset and has not run yet.
    pub const CREATED: u64 = 0x100;
    /// An alien that `run` stopped for a notification.
    pub const INTERRUPTED: u64 = 0x101;
    /// A thread that another one stopped.
    pub const STOPPED: u64 = 0x102;
}

/// Bits of `Frame::error` in a page fault.
pub mod fault {
    /// The page was there, the right was not.
    pub const PROTECTION: u64 = 1;
    /// It was a write.
    pub const WRITE: u64 = 2;
    /// It was a fetch.
    pub const FETCH: u64 = 4;
}
