// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (x86-64).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the start of an alien's
/// UTCB slot.
///
/// What a handler writes here is hostile to the kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers: rax rbx rcx rdx rsi rdi rbp, r8 to r15.
    pub r: [u64; 15],
    /// Stack pointer.
    pub rsp: u64,
    /// Instruction pointer: of the faulting instruction, or after a system call's.
    pub rip: u64,
    /// Flags; a handler may change those in [`USER_FLAGS`].
    pub rflags: u64,
    /// Base of FS. A handler that changes it sets [`CHANGED_STATE`] in `changed`.
    pub fs_base: u64,
    /// Why the thread stopped: an exception's number, or one of [`vector`].
    pub vector: u64,
    /// The processor's word on a fault, or 0.
    pub error: u64,
    /// The address of a page fault, or 0.
    pub address: u64,
    /// What the handler changed besides the general registers: the kernel looks at it only then.
    pub changed: u64,
}

/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u64 = 1;

/// Bits of the status that a user may set: CF PF AF ZF SF TF DF OF RF AC ID.
pub const USER_FLAGS: u64 = 0x0025_0dd5;

/// Words of a [`Frame`].
pub const WORDS: u32 = 23;
/// General registers, which are the first words.
pub const GENERAL: usize = 15;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = offset_of!(Frame, rsp) / 8;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, rip) / 8;

/// Values of `Frame::vector`: 0 to 31 are the processor's exceptions.
pub mod vector {
    /// Debug exception (single step, breakpoint registers).
    pub const DEBUG: u64 = 1;
    /// Invalid opcode.
    pub const INVALID_OPCODE: u64 = 6;
    /// General protection.
    pub const GENERAL_PROTECTION: u64 = 13;
    /// Page fault: `address` is valid, `error` has the bits of [`super::fault`].
    pub const PAGE_FAULT: u64 = 14;
    /// An alien executed `syscall`: its `rcx` is `rip`, and its `r11` is `rflags`.
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
    /// It was an access at ring 3.
    pub const USER: u64 = 4;
    /// It was a fetch.
    pub const FETCH: u64 = 16;
}
