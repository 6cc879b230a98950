// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the maker of a Space says of its place (`place` of `CreateSpace`): flags, and above them
//! its vspace. The third result is the number of the slot that it has; 0: none.

/// Its addresses below [`SLOT_BYTES`](super::layout::SLOT_BYTES) are relocated by the process
/// identifier (fass-wombat-arm-2007, section 3.2): they appear in a slot of its own, so that it has
/// none of them in common with other Spaces. Its threads do not notice: all addresses in this
/// contract are theirs. Its Quota is charged for the slot. If that has none left, it shares one
/// with another Space of the Quota, as long as that is there: that is correct, and slow. If there
/// is no such either it is not relocated. Addresses that lie in its slot are not its own: what is
/// mapped there cannot be accessed.
pub const RELOCATED: u32 = 1 << 1;
/// Number of the lowest bit of its vspace. Spaces of one Quota with the same vspace that is not 0
/// promise to have the same memory at the same address, or nothing (section 3.3): what one of them
/// leaves in the cache is good for all. Of another Quota, a child of it too, the number is another
/// vspace.
pub const VSPACE_SHIFT: u32 = 8;
/// The most that a vspace can be.
pub const VSPACE_MOST: u32 = u32::MAX >> VSPACE_SHIFT;
