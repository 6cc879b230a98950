// SPDX-License-Identifier: MIT OR Apache-2.0
//! What translation tables are in, and why an address may have no translation.

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
