// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of which one word holds several, and selectors.

use crate::{Delivery, Rights, TABLE_SPAN, Word};

/// A slot of the caller's capability table; 0 names none.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Selector(pub Word);

impl Selector {
    /// None.
    pub const NONE: Self = Self(0);

    /// The same, unless it is 0.
    #[must_use]
    pub const fn given(self) -> Option<Self> {
        if self.0 == 0 { None } else { Some(self) }
    }
}

/// A time in nanoseconds since boot: two words, of which each has 32 bits, the lower ones first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Time(pub u64);

/// What a Quota has besides memory: `CreateQuota`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts(pub Word);

impl Counts {
    /// Threads, up to 65,535; slots of relocation and ranges of locked lines, each up to 255.
    #[must_use]
    pub const fn new(threads: Word, relocation_slots: Word, locked_ranges: Word) -> Self {
        Self(threads | relocation_slots << 16 | locked_ranges << 24)
    }
    /// Threads.
    #[must_use]
    pub const fn threads(self) -> u32 {
        self.0 as u32 & 0xffff
    }
    /// Slots of relocation.
    #[must_use]
    pub const fn relocation_slots(self) -> u16 {
        (self.0 >> 16) as u16 & 0xff
    }
    /// Ranges of locked lines.
    #[must_use]
    pub const fn locked_ranges(self) -> u16 {
        (self.0 >> 24) as u16 & 0xff
    }
}

/// Rights, and the badge of a capability: `Copy`, and what `Identify` returns.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadgedRights(pub Word);

impl BadgedRights {
    /// These rights, and a badge.
    #[must_use]
    pub const fn new(rights: Rights, badge: Word) -> Self {
        Self(rights.0 as Word | badge << Delivery::BADGE_SHIFT)
    }
    /// The rights.
    #[must_use]
    pub const fn rights(self) -> Rights {
        Rights(self.0 as u32 & Rights::ALL.0)
    }
    /// The badge.
    #[must_use]
    pub const fn badge(self) -> u32 {
        self.0 as u32 >> Delivery::BADGE_SHIFT
    }
}

/// Rights that a Space gets, and the size of one that becomes small: `Attach`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizedRights(pub Word);

impl SizedRights {
    /// These rights, and no size.
    #[must_use]
    pub const fn new(rights: Rights) -> Self {
        Self::sized(rights, 0)
    }
    /// These rights, and a size, a multiple of `TABLE_SPAN`.
    #[must_use]
    pub const fn sized(rights: Rights, size: Word) -> Self {
        Self(size + rights.0 as Word)
    }
    /// The rights, with whatever else is below `TABLE_SPAN`.
    #[must_use]
    pub const fn rights(self) -> Word {
        self.0 % TABLE_SPAN
    }
    /// The size.
    #[must_use]
    pub const fn size(self) -> Word {
        self.0 - self.0 % TABLE_SPAN
    }
}
