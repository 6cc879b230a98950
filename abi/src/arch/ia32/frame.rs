// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (IA-32).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the
/// start of an alien's UTCB slot.
///
/// What a handler writes here is hostile to the kernel: of `eflags` only the
/// user bits count, `cs` and `ss` are ignored, a segment register that cannot be
/// loaded becomes zero.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers, in the order `eax ebx ecx edx esi edi ebp`.
    pub eax: u32,
    /// See `eax`.
    pub ebx: u32,
    /// See `eax`.
    pub ecx: u32,
    /// See `eax`.
    pub edx: u32,
    /// See `eax`.
    pub esi: u32,
    /// See `eax`.
    pub edi: u32,
    /// See `eax`.
    pub ebp: u32,
    /// Stack pointer.
    pub esp: u32,
    /// Instruction pointer: of the faulting instruction, or after a system call's.
    pub eip: u32,
    /// Flags; a handler may change those in [`USER_FLAGS`].
    pub eflags: u32,
    /// Data segments: `ds` in the low, `es` in the high half.
    pub ds_es: u32,
    /// Data segments: `fs` in the low, `gs` in the high half. A handler that
    /// changes it sets [`CHANGED_SEGMENTS`] in `changed`.
    pub fs_gs: u32,
    /// Why the thread stopped: an exception's number, or one of [`vector`].
    pub vector: u32,
    /// The processor's error code, or 0.
    pub error: u32,
    /// The address of a page fault, or 0.
    pub address: u32,
    /// What the handler changed besides the general registers: only then does the
    /// kernel look at it.
    pub changed: u32,
}

/// In `Frame::changed`: `fs_gs` was changed.
pub const CHANGED_SEGMENTS: u32 = 1;
/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u32 = CHANGED_SEGMENTS;
/// In `Frame::changed`: ECX and EDX mean nothing, so that the thread can go on by `sysexit`. ECX
/// becomes ESP and EDX becomes EIP.
pub const BY_SYSEXIT: u32 = 4;

/// Flags that a user may set: CF PF AF ZF SF TF DF OF RF AC ID. With RF a thread goes on at an
/// instruction that has a breakpoint.
pub const USER_FLAGS: u32 = 0x0025_0dd5;

/// Words of a [`Frame`].
pub const WORDS: u32 = 16;
/// General registers, which are the first words.
pub const GENERAL: usize = 7;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = offset_of!(Frame, esp) / 4;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, eip) / 4;

/// Values of `Frame::vector`: 0 to 31 are the processor's exceptions.
pub mod vector {
    /// Debug exception (single step, breakpoint registers).
    pub const DEBUG: u32 = 1;
    /// Invalid opcode.
    pub const INVALID_OPCODE: u32 = 6;
    /// General protection.
    pub const GENERAL_PROTECTION: u32 = 13;
    /// Page fault: `address` is valid, `error` has the bits of [`super::fault`].
    pub const PAGE_FAULT: u32 = 14;
    /// An alien executed `int 0x80`.
    pub const SYSTEM_CALL: u32 = 0x80;
    /// An alien executed `sysenter`: `esp` is its `ecx` and `eip` its `edx`, as
    /// the kernel cannot know better.
    pub const SYSENTER: u32 = 0x81;
    /// An alien that was created or reset and has not run yet.
    pub const CREATED: u32 = 0x100;
    /// An alien that `run` stopped for a notification.
    pub const INTERRUPTED: u32 = 0x101;
    /// A thread that another one stopped.
    pub const STOPPED: u32 = 0x102;
}

/// Bits of `Frame::error` in a page fault.
pub mod fault {
    /// The page was there, the right was not.
    pub const PROTECTION: u32 = 1;
    /// It was a write.
    pub const WRITE: u32 = 2;
    /// It was an access at ring 3. A server's own at ring 1 have it clear.
    pub const USER: u32 = 4;
}
