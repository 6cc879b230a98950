// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of kernel objects' sizes, and of their place, is the processor's.
//!
//! Assembly reads Threads and Spaces, so their layout is fixed when the kernel is compiled. Of that
//! the registers, and what a port keeps, are as large as the processor has them: [`Layout`] says so
//! for each that has a contract ([`abi::arch`]). The constants here are those of the processor that
//! is compiled for, and the only ones that the portable kernel knows.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use abi::arch::current::Processor;

/// What a processor's contract leaves to the kernel.
pub trait Layout {
    /// Words of a thread's saved registers: at least those of its frame. After them the hot words
    /// begin a cache line.
    const CONTEXT_WORDS: usize;
    /// Words of a thread's rarely loaded state. An odd number where words have 32 bits, as 64 bits
    /// of a Thread after them are aligned.
    const STATE_WORDS: usize;
    /// 32-bit words that the port keeps of a Space: at most 9 where words have 32 bits.
    const HW_WORDS: usize;
    /// 32-bit words that the port keeps of a Segment.
    const SEGMENT_WORDS: usize;
    /// Lower 32 bits of the pool's address; the others are ones.
    const POOL_BASE: u32;
}

/// A table of processors: all are checked, whatever the kernel is compiled for.
macro_rules! layouts {
    ($($processor:ident: $context:literal, $state:literal, $hw:literal, $segment:literal, $pool:literal;)*) => {$(
        impl Layout for abi::arch::$processor::Processor {
            const CONTEXT_WORDS: usize = $context;
            const STATE_WORDS: usize = $state;
            const HW_WORDS: usize = $hw;
            const SEGMENT_WORDS: usize = $segment;
            const POOL_BASE: u32 = $pool;
        }
        const _: () = {
            use abi::arch::$processor::{Word, frame::WORDS};
            assert!(WORDS as usize <= $context, "a frame's registers do not fit");
            assert!($context * size_of::<Word>() % LINE == 0, "the hot words do not begin a cache line");
            assert!(size_of::<Word>() == 8 || $state % 2 == 1 && $hw <= 9, "a Thread or a Space has gaps");
        };
    )*};
}

/// Bytes of the shortest cache lines.
const LINE: usize = 32;

// Words of registers and of state, words of the port's in a Space and in a Segment, the pool.
layouts! {
    // FS and GS, three TLS descriptors, six debug registers, and what a small space makes of the
    // first descriptor.
    ia32: 32, 17, 9, 1, 0xe080_0000;
    // The thread pointer.
    armv5: 32, 1, 5, 1, 0xe080_0000;
    // Nothing is loaded rarely but the FPU. The context, of which all VSIDs follow, two of these,
    // the directory, which segments are used, and which server is shown. Of a Segment its context,
    // and how many have it as a whole. The kernel lies at its physical addresses, and the pool
    // after the 8 MiB of its image.
    powerpc: 48, 1, 9, 4, 0x0080_0000;
    // The thread pointer. `satp`.
    riscv64: 40, 1, 2, 1, 0xe080_0000;
    // The thread pointer. The table, and the tag as both TLBs' registers take it. The pool follows the
    // 8 MiB of the PALcode and the kernel's image.
    alpha: 40, 1, 4, 1, 0x0080_0000;
    // The bases of FS and GS, and six debug registers. CR3, with the PCID in it, and four words of servers.
    x86_64: 32, 8, 6, 1, 0xe080_0000;
    // Nothing is loaded rarely. The highest table and the ASID. The pool is in kseg0, which no TLB
    // entry is needed for, after the 8 MiB that the image lies in.
    mips: 40, 1, 2, 1, 0x8080_0000;
}

/// Words of a thread's saved registers.
pub const CONTEXT_WORDS: usize = Processor::CONTEXT_WORDS;
/// Words of a thread's rarely loaded state.
pub const STATE_WORDS: usize = Processor::STATE_WORDS;
/// 32-bit words that the port keeps of a Space.
pub const HW_WORDS: usize = Processor::HW_WORDS;
/// 32-bit words that the port keeps of a Segment.
pub const SEGMENT_WORDS: usize = Processor::SEGMENT_WORDS;
/// Lower 32 bits of the pool's address.
pub const POOL_BASE: u32 = Processor::POOL_BASE;
