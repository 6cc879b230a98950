// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pure algorithms of address-space multiplexing, shared by ports and tested on
//! the host: translation-table formats and who has which tag. No hardware is
//! touched here.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod descriptor;
pub mod format;
pub mod ia32;
pub mod tags;

pub use format::{Attributes, Format, Leaf};

/// Index of an address in the upper of two levels (4 MiB each).
#[must_use]
pub const fn top_index(address: u32) -> usize {
    (address >> 22) as usize
}

/// Index of an address in the lower of two levels (4 KiB each).
#[must_use]
pub const fn leaf_index(address: u32) -> usize {
    ((address >> 12) & 1023) as usize
}

/// Entries of a translation table, upper or lower.
pub const ENTRIES: usize = 1024;
/// Entries of the upper level that are a space's own: those of user addresses, and of its UTCBs.
pub const USER_ENTRIES: usize =
    (if abi::USER_END < abi::utcb::AREA_END { abi::utcb::AREA_END } else { abi::USER_END } / abi::TABLE_SPAN) as usize;
