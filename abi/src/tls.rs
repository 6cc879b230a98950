// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flags in the limit argument of `set_tls`.

/// The limit counts pages.
pub const PAGES: u32 = 1 << 20;
/// The segment cannot be written.
pub const READ_ONLY: u32 = 1 << 21;
/// A 16-bit segment.
pub const SIXTEEN_BIT: u32 = 1 << 22;
/// Present; otherwise the slot is emptied.
pub const PRESENT: u32 = 1 << 23;
