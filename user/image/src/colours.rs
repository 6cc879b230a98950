// SPDX-License-Identifier: MIT OR Apache-2.0
//! Colours of a cache that finds lines by physical addresses: frames of one colour share its sets,
//! frames of two colours have none in common.

use crate::check::PAGE;
use serde::{Deserialize, Serialize};

/// Colours of the frames that a component has: of `of` neighbouring frames, from a multiple of
/// these on, those from `first` on, `count` of them.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Colours {
    /// The first colour, from 0 on.
    pub first: u8,
    /// How many it has, fewer than there are.
    pub count: u8,
    /// How many there are: a power of two, the bytes of one way of the cache divided by those of a
    /// page.
    pub of: u8,
}

impl Colours {
    /// A cache has no more.
    pub const MOST: u8 = 64;
    /// A component's memory has no more pieces, each of which costs the root server a slot.
    pub const MOST_PIECES: u32 = 1024;

    /// Whether there are such colours.
    #[must_use]
    pub const fn is_possible(self) -> bool {
        self.of.is_power_of_two()
            && self.of <= Self::MOST
            && 0 < self.count
            && self.count < self.of
            && self.first <= self.of - self.count
    }

    /// Bytes of the frames that lie together.
    #[must_use]
    pub const fn piece(self) -> u32 {
        self.count as u32 * PAGE
    }

    /// Bytes after which they come again.
    #[must_use]
    pub const fn period(self) -> u32 {
        self.of as u32 * PAGE
    }

    /// Where they begin in that.
    #[must_use]
    pub const fn phase(self) -> u32 {
        self.first as u32 * PAGE
    }
}
