// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each register is saved, what the port records for a space, and the cause of an exception.

/// The words of a context, by their indices. The last ones, in a line of 32 bytes, are all that the
/// fast path of a message saves: the stack pointer and the program counter.
pub mod word {
    /// Upper half of a product, or a remainder.
    pub const HI: usize = 0;
    /// Lower half of a product, or a quotient.
    pub const LO: usize = 1;
    /// Why the thread entered: the code of its exception, or one of `Frame::vector`.
    pub const VECTOR: usize = 2;
    /// What a handler sees as the error.
    pub const ERROR: usize = 3;
    /// $0; the others follow, up to $31.
    pub const GPR: usize = 7;
    /// Program counter.
    pub const PC: usize = 39;
}

/// The port's words of a space, `Space::hw`, by their indices.
pub mod hw {
    /// The address of its highest table in kseg0: the lower half.
    pub const TABLE: usize = 0;
    /// Its ASID; 0: it has none.
    pub const ASID: usize = 1;
}

/// The register Cause (*MIPS R4000 Microprocessor User's Manual*, figure 5-10).
pub mod cause {
    /// The instruction is in a delay slot.
    pub const DELAY_SLOT: u32 = 1 << 31;
    /// The timer's line: Count has reached Compare.
    pub const TIMER: u32 = 1 << 15;
    /// The line of the board's interrupt controllers.
    pub const LINES: u32 = 1 << 10;
    /// Where the exception's code begins.
    pub const CODE_SHIFT: u32 = 2;
    /// The bits of the code there.
    pub const CODE: u32 = 31 << CODE_SHIFT;

    /// Codes that no frame has as its vector.
    pub mod code {
        /// An interrupt.
        pub const INTERRUPT: u32 = 0;
        /// A write to a page whose TLB entry does not allow it.
        pub const MODIFIED: u32 = 1;
        /// A load or a fetch without a TLB entry, or with one that is not valid.
        pub const LOAD: u32 = 2;
        /// The same of a store.
        pub const STORE: u32 = 3;
        /// An address error of a load or a fetch.
        pub const ADDRESS_LOAD: u32 = 4;
        /// The same of a store.
        pub const ADDRESS_STORE: u32 = 5;
        /// `syscall`.
        pub const SYSTEM_CALL: u32 = 8;
        /// An instruction of a coprocessor that users cannot use.
        pub const COPROCESSOR: u32 = 11;
    }
}
