// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory in which translation tables are, and why an address may have no translation.

/// A linear address of a processor: 32 bits, or 64.
pub trait Linear: Copy + Default + Into<u64> {
    /// The address this many bytes after it.
    #[must_use]
    fn after(self, bytes: u16) -> Self;
}

impl Linear for u32 {
    fn after(self, bytes: u16) -> Self {
        self.wrapping_add(bytes.into())
    }
}

impl Linear for u64 {
    fn after(self, bytes: u16) -> Self {
        self.wrapping_add(bytes.into())
    }
}

/// Physical memory, as far as translation tables are in it.
pub trait Physical {
    /// The word at physical address `address`; `None` if it cannot be reached.
    fn read(&mut self, address: u32) -> Option<u32>;
}

/// Why there is no mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoMapping {
    /// An entry is not present.
    Absent,
    /// The tables cannot be read.
    Unreachable,
}
