// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each register is saved, and what the port records for a space.

use kcore::port::CONTEXT_WORDS;

/// The words of a context, by their indices. The general registers are the last ones: `stmdb sp,
/// {r0-lr}^` stores them directly below a reference to the Thread.
pub mod word {
    /// What a handler sees as the error.
    pub const ERROR: usize = 13;
    /// Why the thread entered: one of [`super::vector`] or of `Frame::vector`.
    pub const VECTOR: usize = 14;
    /// Status.
    pub const CPSR: usize = 15;
    /// Program counter.
    pub const PC: usize = 16;
    /// r0; the others follow, up to lr.
    pub const R0: usize = 17;
    /// Stack pointer, r13.
    pub const SP: usize = R0 + 13;
    /// Link register, r14.
    pub const LR: usize = R0 + 14;
}

/// Values of [`word::VECTOR`] that no frame has.
pub mod vector {
    /// `swi`: for a native thread a system call.
    pub const SWI: u32 = abi::arch::armv5::frame::vector::SYSTEM_CALL;
    /// An interrupt.
    pub const INTERRUPT: u32 = 0x20;
}

/// The port's words of a space, `Space::hw`, by their indices.
pub mod hw {
    /// The domain access register while its threads run.
    pub const DACR: usize = 0;
    /// The process identifier that relocates its addresses below 32 MiB, as the register has it;
    /// [`INDIFFERENT`] if the space has nothing there.
    pub const PID: usize = 1;
    /// Its domain; 0: none.
    pub const DOMAIN: usize = 2;
    /// Its vspace; 0: it shares nothing.
    pub const VSPACE: usize = 3;
    /// 1 + the number of its section of UTCBs; 0: it has none.
    pub const AREA: usize = 4;

    /// In [`PID`]: whatever the register holds.
    pub const INDIFFERENT: u32 = 1;
}

/// Status of user mode, in addition to the flags: interrupts are enabled.
pub const USER_MODE: u32 = 0x10;
/// Status: Thumb instructions.
pub const THUMB: u32 = 1 << 5;

/// The kernel's helpers that are restarted if anything interrupts them: start and end (exclusive).
const RESTARTED: [core::ops::Range<u32>; 2] = [0xffff_0fc0..0xffff_0fcc, 0xffff_0f6c..0xffff_0f7c];

/// If a thread is stopped within one of the kernel's compare-and-exchange helpers, it restarts the
/// helper, because the value that it has read may have changed.
pub fn restart_helper(context: &mut [u32; CONTEXT_WORDS]) {
    if let Some(helper) = RESTARTED.iter().find(|helper| helper.contains(&context[word::PC])) {
        context[word::PC] = helper.start;
    }
}
