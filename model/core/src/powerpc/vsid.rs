// SPDX-License-Identifier: MIT OR Apache-2.0
//! This kernel's VSIDs.

/// What undoes this kernel's scattering of VSIDs (`kernel/mmu/src/vsid.rs`).
const GATHER: u32 = 0x007a_1659;

/// The context that a VSID is of.
#[must_use]
pub const fn context(vsid: u32) -> u32 {
    (vsid.wrapping_mul(GATHER) & 0xff_ffff) >> 4
}

/// Whether no space has this VSID: it stands in a segment that is shut.
#[must_use]
pub const fn is_shut(vsid: u32) -> bool {
    context(vsid) == 0
}
