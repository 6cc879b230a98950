// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel information page says of an ARMv5 machine beside [`Kip`](crate::kip::Kip): what
//! it can do, and how to read the time.
//!
//! ARMv5 has no counter that user mode can read. So a page after the information page shows a
//! counter of the board, 32 bits of it that count up, and the information page says which half of
//! its range the kernel saw last.

use bytemuck::{Pod, Zeroable};

/// Feature: lines of the data cache can be locked ([`CacheOp::Lock`](crate::CacheOp::Lock)).
pub const FEATURE_LOCKED_LINES: u32 = 1;

/// Where [`Timer`] is in the page.
pub const TIMER_OFFSET: u32 = 512;

/// How to read the counter. Its 64 bits, of which 63 are used, are `half << 31 | counter &
/// 0x7fff_ffff`, where `half` is [`half`](Self::half), or 1 more if its lowest bit is not bit 31 of
/// the counter: the kernel writes it at least once in each half.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Address of the counter's 32 bits.
    pub address: u32,
    /// Which half of its range the counter was in: how often it passed 2 to the power of 31.
    pub half: u32,
}

impl Timer {
    /// All bits of the counter whose lower bits were read *after* `half`.
    #[must_use]
    pub const fn extend(half: u32, counter: u32) -> u64 {
        let half = half.wrapping_add((half ^ (counter >> 31)) & 1);
        (half as u64) << 31 | (counter & 0x7fff_ffff) as u64
    }
}
