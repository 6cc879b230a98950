// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of devices on PCI, which have the low byte first whatever the processor has.

use crate::ring::Shared;

/// Memory or registers whose every word has its low byte first. There is no other way to these
/// words.
#[derive(Debug)]
pub struct Little<M>(M);

impl<M: Shared> Little<M> {
    /// Of memory that only a device of that order has besides the driver, or of its registers.
    #[must_use]
    pub const fn new(memory: M) -> Self {
        Self(memory)
    }

    /// As [`Shared::bytes`].
    #[must_use]
    pub fn bytes(&self) -> u32 {
        self.0.bytes()
    }

    /// The value of the word at an offset in bytes, a multiple of 4. Of some registers the read
    /// itself is what is wanted.
    #[inline(always)]
    pub fn read(&self, offset: u32) -> u32 {
        M::little(self.0.read(offset))
    }

    /// Gives it a value.
    #[inline(always)]
    pub fn write(&self, offset: u32, value: u32) {
        self.0.write(offset, M::little(value));
    }

    /// As [`Shared::fence`].
    #[inline(always)]
    pub fn fence(&self) {
        self.0.fence();
    }
}
