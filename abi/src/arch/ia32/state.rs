// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a thread's state that `set_state` sets (IA-32).

/// Parts from here on: three TLS descriptors, with the selectors 0x33, 0x3b and 0x43. The first
/// value is the base, the second the limit in bits 19 to 0 and the flags of [`tls`] above. Returns 0.
pub const TLS: u32 = 0;
/// How many TLS descriptors there are.
pub const TLS_COUNT: u32 = 3;
/// Parts from here on: the debug registers 0 to 3, and 7. The first value is an address below
/// `USER_END`, or for 7 enable and condition bits. Returns register 6 as of the last debug
/// exception, and clears it.
pub const DEBUG: u32 = 16;

/// Flags in the limit of a TLS descriptor.
pub mod tls {
    /// The limit counts pages.
    pub const PAGES: u32 = 1 << 20;
    /// The segment cannot be written.
    pub const READ_ONLY: u32 = 1 << 21;
    /// A 16-bit segment.
    pub const SIXTEEN_BIT: u32 = 1 << 22;
    /// Present; otherwise the descriptor is emptied.
    pub const PRESENT: u32 = 1 << 23;
}
