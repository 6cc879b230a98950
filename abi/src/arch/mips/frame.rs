// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (MIPS, 64 bits, big-endian).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the start of an alien's UTCB
/// slot.
///
/// What a handler writes here is hostile to the kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers, $0 to $31; $29 is the stack pointer. $0, and $26 and $27, which are the
    /// kernel's, are 0, whatever a handler writes.
    pub r: [u64; 32],
    /// Upper half of a product, or a remainder.
    pub hi: u64,
    /// Lower half of a product, or a quotient.
    pub lo: u64,
    /// Instruction address: of the faulting instruction, or of the one after a system call. If the
    /// faulting instruction is in a delay slot (see [`DELAY_SLOT`]), that of the branch.
    pub pc: u64,
    /// Why the thread stopped: an exception's code, or one of [`vector`].
    pub vector: u64,
    /// Bits of [`fault`] in a page fault and an address error, and [`DELAY_SLOT`]; else 0.
    pub error: u64,
    /// The address of a page fault or an address error, or 0.
    pub address: u64,
    /// What the handler changed besides the general registers: the kernel looks at it only then.
    pub changed: u64,
}

/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u64 = 1;

/// In `Frame::error`, of any exception: the instruction is in the delay slot of the branch at `pc`.
/// It is executed again with that branch.
pub const DELAY_SLOT: u64 = 1 << 8;

/// Words of a [`Frame`].
pub const WORDS: u32 = 39;
/// General registers, which are the first words; the stack pointer is one of them.
pub const GENERAL: usize = 32;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = 29;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, pc) / 8;

/// Values of `Frame::vector`: 0 to 31 are the codes of the processor's exceptions (*MIPS R4000
/// Microprocessor User's Manual*, table 5-6).
pub mod vector {
    /// Page fault, of a fetch or of data: `address` is valid, `error` has the bits of
    /// [`super::fault`].
    pub const PAGE_FAULT: u64 = 2;
    /// Data or an instruction at an address that is not aligned, or not a user's: `address` is
    /// valid.
    pub const ADDRESS: u64 = 4;
    /// Bus error of a fetch.
    pub const FETCH_BUS: u64 = 6;
    /// Bus error of data.
    pub const DATA_BUS: u64 = 7;
    /// `syscall` in a delay slot: it is no system call.
    pub const DELAYED_CALL: u64 = 8;
    /// `break`.
    pub const BREAKPOINT: u64 = 9;
    /// An instruction that the processor does not have.
    pub const RESERVED: u64 = 10;
    /// An instruction of a coprocessor that users do not have: privileged ones, and the FPU's.
    pub const COPROCESSOR: u64 = 11;
    /// Arithmetic overflow.
    pub const OVERFLOW: u64 = 12;
    /// A trap instruction whose condition holds.
    pub const TRAP: u64 = 13;
    /// An alien executed `syscall`.
    pub const SYSTEM_CALL: u64 = 0x80;
    /// An alien that was created or reset and has not run yet.
    pub const CREATED: u64 = 0x100;
    /// An alien that `run` stopped for a notification.
    pub const INTERRUPTED: u64 = 0x101;
    /// A thread that another one stopped.
    pub const STOPPED: u64 = 0x102;
}

/// Bits of `Frame::error` in a page fault and an address error.
pub mod fault {
    /// The page was there, the right was not.
    pub const PROTECTION: u64 = 1;
    /// It was a write.
    pub const WRITE: u64 = 2;
    /// It was a fetch.
    pub const FETCH: u64 = 4;
}
