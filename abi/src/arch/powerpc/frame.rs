// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registers of a thread that stopped, as its handler sees them (PowerPC, 32 bits, big-endian).

use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;

/// A thread's registers, in the words after an exception message or at the start of an alien's UTCB
/// slot.
///
/// What a handler writes here is hostile to the kernel.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Pod, Zeroable)]
pub struct Frame {
    /// General registers, r0 to r31; r1 is the stack pointer.
    pub gpr: [u32; 32],
    /// Link register.
    pub lr: u32,
    /// Count register.
    pub ctr: u32,
    /// Fixed-point exception register.
    pub xer: u32,
    /// Condition register.
    pub cr: u32,
    /// Instruction address: of the faulting instruction, or of the one after a system call (SRR0).
    pub pc: u32,
    /// Machine state; a handler may change those bits in [`USER_FLAGS`] (SRR1).
    pub msr: u32,
    /// Why the thread stopped: an exception's number, or one of [`vector`].
    pub vector: u32,
    /// The processor's word on a fault, or 0.
    pub error: u32,
    /// The address of a page fault, or 0.
    pub address: u32,
    /// What the handler changed besides the general registers: the kernel looks at it only then.
    pub changed: u32,
}

/// In `Frame::changed`: what belongs to the rarely loaded state.
pub const CHANGED_STATE: u32 = 1;

/// Bits of the machine state that a user may set: FE0, FE1 (which exceptions of the FPU are
/// raised), SE (single step), BE (the same of branches). The bit that opens the FPU is the
/// kernel's.
pub const USER_FLAGS: u32 = 0x0000_0f00;

/// Words of a [`Frame`].
pub const WORDS: u32 = 42;
/// General registers, which are the first words; the stack pointer is one of them.
pub const GENERAL: usize = 32;
/// Which word is the stack pointer, and which the address of the instruction to go on at.
pub const STACK: usize = 1;
/// See [`STACK`].
pub const INSTRUCTION: usize = offset_of!(Frame, pc) / 4;

/// Values of `Frame::vector`: below 256 the processor's exceptions, by the number of 256 bytes
/// before their code.
pub mod vector {
    /// Machine check: the bus reported an error.
    pub const MACHINE_CHECK: u32 = 2;
    /// Page fault, of a fetch or of data: `address` is valid, `error` has the bits of
    /// [`super::fault`].
    pub const PAGE_FAULT: u32 = 3;
    /// Data was not aligned as the instruction wants it: `address` is valid.
    pub const ALIGNMENT: u32 = 6;
    /// Illegal or privileged instruction, trap, exception of the FPU: `error` has the bits of
    /// [`super::program`].
    pub const PROGRAM: u32 = 7;
    /// Single step.
    pub const TRACE: u32 = 13;
    /// An alien executed `sc`.
    pub const SYSTEM_CALL: u32 = 0x80;
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
    /// It was a fetch.
    pub const FETCH: u32 = 4;
}

/// Bits of `Frame::error` of [`vector::PROGRAM`], as the processor has them in SRR1.
pub mod program {
    /// An exception of the FPU.
    pub const FPU: u32 = 0x0010_0000;
    /// An instruction that the processor does not have.
    pub const ILLEGAL: u32 = 0x0008_0000;
    /// A privileged instruction.
    pub const PRIVILEGED: u32 = 0x0004_0000;
    /// `tw` or `twi`, whose condition holds.
    pub const TRAP: u32 = 0x0002_0000;
}
