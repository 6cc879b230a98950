// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where each register is saved, what the port records for a space, and values of registers.

/// RFLAGS while a thread runs, in addition to its own flags: bit 1 is always set, and interrupts
/// are open.
pub const FIXED_FLAGS: u64 = 1 << 9 | 2;

/// Which word of a context is what. The general registers are in the frame's order, and after them
/// is what an entry pushes first.
pub mod word {
    /// rax; the others follow as a frame has them: rbx rcx rdx rsi rdi rbp, r8 to r15.
    pub const GENERAL: usize = 10;
    /// See `GENERAL`.
    pub const RAX: usize = GENERAL;
    /// See `GENERAL`.
    pub const RCX: usize = GENERAL + 2;
    /// See `GENERAL`.
    pub const RDX: usize = GENERAL + 3;
    /// See `GENERAL`.
    pub const RSI: usize = GENERAL + 4;
    /// See `GENERAL`.
    pub const RDI: usize = GENERAL + 5;
    /// r8; the others follow.
    pub const R8: usize = GENERAL + 7;
    /// See `R8`.
    pub const R11: usize = R8 + 3;
    /// Why the thread entered: an exception's number, an interrupt's vector, or one of
    /// `Frame::vector`.
    pub const VECTOR: usize = 25;
    /// Error code or 0.
    pub const ERROR: usize = 26;
    /// What the processor pushes.
    pub const RIP: usize = 27;
    /// See `RIP`.
    pub const CS: usize = 28;
    /// See `RIP`.
    pub const RFLAGS: usize = 29;
    /// See `RIP`.
    pub const RSP: usize = 30;
    /// See `RIP`.
    pub const SS: usize = 31;
}

/// Registers of an entry: the general ones, the vector, and what the processor pushes.
pub const SAVED: usize = word::SS - word::GENERAL + 1;

/// Which parts of its rarely loaded state a thread has: bits of `Thread::lazy`.
pub mod lazy {
    /// A base of FS.
    pub const FS: u32 = 1;
    /// A base of GS, which keeps the thread off the fast paths: they load no other one.
    pub const GS: u32 = 32;
    /// It used an I/O port, and its space has some.
    pub const PORTS: u32 = 2;
    /// It is a server's: it runs at ring 1, and only the slow way leads there.
    pub const RING1: u32 = 8;
    /// A breakpoint is enabled.
    pub const DEBUG: u32 = 4;
    /// It is an alien, and has used the FPU.
    pub const FPU: u32 = 16;
}

/// What is kept with the thread in `Cpu::loaded`.
pub mod loaded {
    /// The FPU has its registers, and is open while it runs.
    pub const FPU: u32 = 1;
    /// No fast path takes what enters next: it goes step by step, or more is loaded than an alien's
    /// base of FS.
    pub const SLOW: u32 = 2;
    /// All of them.
    pub const FLAGS: u32 = FPU | SLOW;
}

/// What the port keeps of a space: which word of `Space::hw` is what.
pub mod hw {
    /// What CR3 is while its threads run, which fast paths load: the lower half. It has the
    /// physical address of its highest table, which is below 4 GiB as all of the pool is, and the
    /// PCID.
    pub const TABLE: usize = 0;
    /// The upper half: whether the TLB keeps what it has of that PCID.
    pub const HIGH: usize = 1;
    /// Which entry area it has, of a server: from 1 on.
    pub const AREA: usize = 2;
    /// Which highest table is a copy of its own for entries by an area: from 1 on; 0: none.
    pub const SHADOW: usize = 3;
    /// The server that it shows; or null.
    pub const SERVER: usize = 4;
    /// The space whose thread ran last, of a server that this shows; or null.
    pub const LAST: usize = 5;
}

/// Selectors: `syscall` and `sysret` want them in this order.
pub mod selector {
    /// Ring-0 code.
    pub const KERNEL_CODE: u16 = 0x08;
    /// Ring-0 data.
    pub const KERNEL_DATA: u16 = 0x10;
    /// What `sysret` counts from: ring-3 data is the next one, and ring-3 code the one after it.
    pub const USER_BASE: u16 = 0x1b;
    /// Ring-3 data.
    pub const USER_DATA: u16 = 0x23;
    /// Ring-3 code.
    pub const USER_CODE: u16 = 0x2b;
    /// The task-state segment, whose descriptor is two entries.
    pub const TASK: u16 = 0x30;
    /// Ring-1 code.
    pub const SERVER_CODE: u16 = 0x41;
    /// Ring-1 data.
    pub const SERVER_DATA: u16 = 0x49;
}
