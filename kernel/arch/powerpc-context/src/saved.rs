// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each register is saved, what the port records for a space, and bits of the machine state.

/// Which word of a context is what. The general registers end it, so that one instruction stores
/// all of them right below a Thread.
pub mod word {
    /// What ends a reservation: its value is no matter.
    pub const RESERVATION: usize = 7;
    /// Link register.
    pub const LR: usize = 8;
    /// Count register.
    pub const CTR: usize = 9;
    /// Fixed-point exception register.
    pub const XER: usize = 10;
    /// Condition register.
    pub const CR: usize = 11;
    /// Where to go on.
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

/// Entries in [`word::VECTOR`] that no frame names so: the number of 256 bytes before an
/// exception's code.
pub mod vector {
    /// An access to data, which a table does not allow or have.
    pub const DATA: u32 = 3;
    /// A fetch, in the same way.
    pub const FETCH: u32 = 4;
    /// An interrupt of the board's.
    pub const INTERRUPT: u32 = 5;
    /// The FPU, which is not open.
    pub const FPU: u32 = 8;
    /// The decrementer.
    pub const DECREMENTER: u32 = 9;
    /// `sc`.
    pub const SYSTEM_CALL: u32 = 12;
}

/// Which of its own a thread has, so that no fast path resumes it: bits of `Thread::lazy`.
pub mod lazy {
    /// It has used the FPU.
    pub const FPU: u32 = 1;
    /// It has flags of its own in the machine state.
    pub const STATE: u32 = 2;
}

/// What the port keeps of a space: which word of `Space::hw` is what.
pub mod hw {
    /// A word that says that its context counts (`mmu::vsid::token`) if it uses no other segments
    /// than the two lowest, so that a switch to it writes these two; with `mmu::vsid::SHOWS` if it
    /// shows a server by a window of the two highest, and has VSIDs of its own in all others; else
    /// 0.
    pub const SIMPLE: usize = 0;
    /// The VSID of its lowest segment.
    pub const VSID_0: usize = 1;
    /// The VSID of the next one.
    pub const VSID_1: usize = 2;
    /// The physical address of its directory.
    pub const DIRECTORY: usize = 3;
    /// Which segments it uses, a bit each; in the upper half, which of them a Segment has as a
    /// whole, and [`IN_PART`].
    pub const SEGMENTS: usize = 4;
    /// In [`SEGMENTS`]: its directory may have entries of a server that it does not show yet.
    pub const IN_PART: u32 = 1 << 31;
    /// Its context, of which its VSIDs follow.
    pub const CONTEXT: usize = 5;
    /// Since when it has that, the lower word: a context counts until all are taken back. Both
    /// words 0: it has none.
    pub const EPOCH: usize = 6;
    /// The upper word of that.
    pub const EPOCH_HIGH: usize = 7;
    /// The server that it shows; 0: none.
    pub const SERVER: usize = 8;
}

/// Bits of the machine state (*Programming Environments*, table 2-4).
pub mod msr {
    /// POW: the processor waits, as HID0 says.
    pub const WAIT: u32 = 1 << 18;
    /// EE: interrupts are open.
    pub const INTERRUPTS: u32 = 1 << 15;
    /// PR: user mode.
    pub const USER: u32 = 1 << 14;
    /// FP: the FPU is open.
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
