// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of events, in numbers that C can read, too.

/// The outcome of events. C and the host read it as 64-bit words.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// A sum over all results, in their order, and over the memory of each kernel at its end.
    pub sum: u64,
    /// System calls.
    pub calls: u64,
    /// Those of them that succeeded.
    pub good: u64,
    /// A bit for each operation of which one succeeded.
    pub operations: u64,
    /// Kernels.
    pub kernels: u64,
}

impl Outcome {
    /// Adds a word (FNV-1a, by 64 bits at once).
    pub(crate) const fn add(&mut self, word: u64) {
        self.sum = (self.sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}
