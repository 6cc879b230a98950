// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each register is saved, what the port records for a space, and bits of the machine state.

/// The words of a context, by their indices. The general registers are the last ones, so that one
/// instruction stores all of them directly below a reference to the Thread.
pub mod word {
    /// The word that `stwcx.` writes to end a reservation: its value does not matter.
    pub const RESERVATION: usize = 7;
    /// Link register.
    pub const LR: usize = 8;
    /// Count register.
    pub const CTR: usize = 9;
    /// Fixed-point exception register.
    pub const XER: usize = 10;
    /// Condition register.
    pub const CR: usize = 11;
    /// Program counter.
    pub const PC: usize = 12;
    /// Machine state, without the bit of the FPU.
    pub const MSR: usize = 13;
    /// Why the thread entered: one of [`super::vector`] or of `Frame::vector`.
    pub const VECTOR: usize = 14;
    /// What a handler sees as the error.
    pub const ERROR: usize = 15;
    /// r0; the others follow, up to r31.
    pub const GPR: usize = 16;
}

/// Values of [`word::VECTOR`] that no frame has: the address of an exception's vector, divided by
/// 256.
pub mod vector {
    /// An access to data whose page is missing, or does not allow it.
    pub const DATA: u32 = 3;
    /// A fetch, in the same way.
    pub const FETCH: u32 = 4;
    /// An external interrupt.
    pub const INTERRUPT: u32 = 5;
    /// An instruction of the FPU while it was disabled.
    pub const FPU: u32 = 8;
    /// The decrementer.
    pub const DECREMENTER: u32 = 9;
    /// `sc`.
    pub const SYSTEM_CALL: u32 = 12;
}

/// Rarely used state that a thread has, so that no fast path resumes it: bits of `Thread::lazy`.
pub mod lazy {
    /// It has used the FPU.
    pub const FPU: u32 = 1;
    /// It has flags of its own in the machine state.
    pub const STATE: u32 = 2;
}

/// The port's words of a space, `Space::hw`, by their indices.
pub mod hw {
    /// The token by which a fast path sees that the space's context is valid (`mmu::vsid::token`).
    /// It is there if the space uses only the two lowest segments, so that a switch to it writes
    /// these two; or, with `mmu::vsid::SHOWS`, if it shows a server by a window of the two highest
    /// segments, and has VSIDs of its own in all others. Otherwise it is 0.
    pub const SIMPLE: usize = 0;
    /// The VSID of its lowest segment.
    pub const VSID_0: usize = 1;
    /// The VSID of the next one.
    pub const VSID_1: usize = 2;
    /// The physical address of its directory.
    pub const DIRECTORY: usize = 3;
    /// The segments that it uses, a bit each; in the upper half, those in which a Segment is as a
    /// whole, and [`IN_PART`].
    pub const SEGMENTS: usize = 4;
    /// In [`SEGMENTS`]: its directory may have entries of a server that it does not show yet.
    pub const IN_PART: u32 = 1 << 31;
    /// Its context, from which its VSIDs follow.
    pub const CONTEXT: usize = 5;
    /// The epoch of that context, lower word: a context is valid until all spaces lose theirs. If
    /// both words are 0, it has none.
    pub const EPOCH: usize = 6;
    /// The epoch, upper word.
    pub const EPOCH_HIGH: usize = 7;
    /// The server that it shows; 0: none.
    pub const SERVER: usize = 8;
}

/// Bits of the machine state (*Programming Environments*, table 2-4).
pub mod msr {
    /// POW: the processor waits, as HID0 says.
    pub const WAIT: u32 = 1 << 18;
    /// EE: interrupts are enabled.
    pub const INTERRUPTS: u32 = 1 << 15;
    /// PR: user mode.
    pub const USER: u32 = 1 << 14;
    /// FP: the FPU is enabled.
    pub const FPU: u32 = 1 << 13;
    /// ME: a machine check is an exception.
    pub const MACHINE_CHECK: u32 = 1 << 12;
    /// IR: addresses of fetches are translated.
    pub const FETCHES_TRANSLATED: u32 = 1 << 5;
    /// DR: those of data are.
    pub const DATA_TRANSLATED: u32 = 1 << 4;
    /// Both.
    pub const TRANSLATED: u32 = FETCHES_TRANSLATED | DATA_TRANSLATED;
    /// While Rust of the kernel runs.
    pub const KERNEL: u32 = MACHINE_CHECK | TRANSLATED;
    /// While a thread runs, in addition to its own flags.
    pub const RUNNING: u32 = INTERRUPTS | USER | MACHINE_CHECK | TRANSLATED;
}
