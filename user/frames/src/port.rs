// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a port: two directions, and frames in their slots.

use crate::lane::Lane;
use crate::ring::Shared;
use image::protocol::net::{
    ENTRIES, ENTRY, FEWEST_BYTES, IN, MOST_BYTES, MOST_LARGE, MOST_SLOTS, OUT, SLOT, SLOT_FRAME,
    SLOT_OWN,
};

/// Rings of a port.
const RINGS: u32 = 4;

/// Where the two directions of a port are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    slots: u32,
}

impl Layout {
    /// In so many bytes; `None` if not even one slot fits.
    #[must_use]
    pub fn of(bytes: u32) -> Option<Self> {
        let most = (bytes.checked_sub(ENTRIES)? / (2 * SLOT + RINGS * ENTRY)).min(MOST_SLOTS);
        most.checked_ilog2().map(|log| Self { slots: 1 << log })
    }

    /// Slots of each direction.
    #[must_use]
    pub const fn slots(self) -> u32 {
        self.slots
    }

    /// Offset of the first slot of *in*. Those of *out* follow the last.
    #[must_use]
    pub const fn first(self) -> u32 {
        ENTRIES + RINGS * self.slots * ENTRY
    }

    /// The direction in which the switch fills slots.
    #[must_use]
    pub const fn to_client(self) -> Lane {
        Lane::new(IN, ENTRIES, self.first(), self.slots)
    }

    /// The direction in which the client does.
    #[must_use]
    pub const fn from_client(self) -> Lane {
        Lane::new(
            OUT,
            ENTRIES + 2 * self.slots * ENTRY,
            self.first() + self.slots * SLOT,
            self.slots,
        )
    }

    /// Sets all words of all rings to 0.
    pub fn clear(self, memory: &impl Shared) {
        self.to_client().clear(memory);
        self.from_client().clear(memory);
        memory.fence();
    }
}

/// Words at a slot's start that the switch looks at: the length, the header for segments, and of
/// the frame the addresses.
const WORDS: usize = 7;
/// Those of the header for the peer that cuts a frame into segments.
const HEADER: core::ops::Range<usize> = 1..4;
/// Bytes of the frame among them.
const HEAD: u32 = 12;
const _: () = assert!(
    SLOT_OWN == 4 * HEADER.start as u32
        && SLOT_FRAME == 4 * HEADER.end as u32
        && SLOT_FRAME + HEAD == 4 * WORDS as u32
);

/// A frame that is passed on: what was read of it once, as a client may change it at any time.
#[derive(Default)]
pub(crate) struct Frame {
    words: [u32; WORDS],
}

impl Frame {
    /// The one that begins in a slot of a client's, which may send large ones or not.
    pub fn read(memory: &impl Shared, slot: u32, large: bool) -> Self {
        let mut words: [u32; WORDS] = memory.read_words(slot);
        if !large {
            words[HEADER].fill(0);
        }
        Self { words }
    }

    /// Whether its length can be.
    pub fn is_sound(&self, large: bool) -> bool {
        let most = if large { MOST_LARGE } else { MOST_BYTES };
        (FEWEST_BYTES..=most).contains(&self.bytes())
    }

    /// All its bytes.
    pub const fn bytes(&self) -> u32 {
        self.words[0]
    }

    /// Its first three words, low byte first: addresses. It was read from such memory.
    pub fn head<M: Shared>(&self) -> [u32; 3] {
        let [.., a, b, c] = self.words;
        [a, b, c].map(M::little)
    }

    /// How many slots it takes.
    pub const fn parts(&self) -> u32 {
        // Nearly all: a division takes longer than a look.
        if self.bytes() <= MOST_BYTES { 1 } else { self.bytes().div_ceil(MOST_BYTES) }
    }

    /// Whether only who takes large frames may have it.
    pub fn is_large(&self) -> bool {
        self.bytes() > MOST_BYTES || self.words[HEADER].iter().any(|word| *word != 0)
    }

    /// Copies one of its parts from slot to slot.
    pub fn copy<M: Shared>(&self, part: u32, (from, slot): (&M, u32), (to, other): (&M, u32)) {
        let bytes = (self.bytes() - part * MOST_BYTES).min(MOST_BYTES);
        let known = if part == 0 { HEAD } else { 0 };
        if part == 0 {
            to.write_words(other, self.words);
        }
        let rest = bytes.saturating_sub(known).next_multiple_of(4);
        from.copy(slot + SLOT_FRAME + known, to, other + SLOT_FRAME + known, rest);
    }
}

/// Bytes of the frame in a slot, if they can be.
pub fn bytes(memory: &impl Shared, slot: u32) -> Option<u32> {
    let bytes = memory.read(slot);
    (FEWEST_BYTES..=MOST_BYTES).contains(&bytes).then_some(bytes)
}
