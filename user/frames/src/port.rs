// SPDX-License-Identifier: MIT OR Apache-2.0
//! The memory of a port: two directions, and frames in their slots.

use crate::lane::Lane;
use crate::ring::Shared;
use image::protocol::net::{
    ENTRIES, ENTRIES_BYTES, FEWEST_BYTES, IN, MOST_BYTES, MOST_LARGE, MOST_SLOTS, OUT, SLOT, SLOT_FRAME, SLOT_OWN, SLOTS,
};

/// Where the two directions of a port are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    slots: u32,
}

impl Layout {
    /// In so many bytes; `None` if not even one slot fits.
    #[must_use]
    pub fn of(bytes: u32) -> Option<Self> {
        let most = (bytes.checked_sub(SLOTS)? / (2 * SLOT)).min(MOST_SLOTS);
        most.checked_ilog2().map(|log| Self { slots: 1 << log })
    }

    /// Slots of each direction.
    #[must_use]
    pub const fn slots(self) -> u32 {
        self.slots
    }

    /// The direction in which the switch fills slots.
    #[must_use]
    pub const fn to_client(self) -> Lane {
        Lane::new(IN, ENTRIES, SLOTS, self.slots)
    }

    /// The direction in which the client does.
    #[must_use]
    pub const fn from_client(self) -> Lane {
        Lane::new(OUT, ENTRIES + 2 * ENTRIES_BYTES, SLOTS + self.slots * SLOT, self.slots)
    }

    /// Sets all words of all rings to 0.
    pub fn clear(self, memory: &impl Shared) {
        self.to_client().clear(memory);
        self.from_client().clear(memory);
        memory.fence();
    }
}

/// Bytes of the frame in a slot, if they can be.
pub fn bytes(memory: &impl Shared, slot: u32) -> Option<u32> {
    let bytes = memory.read(slot);
    (FEWEST_BYTES..=MOST_BYTES).contains(&bytes).then_some(bytes)
}

/// Words of the header for whoever cuts a frame into segments.
const HEADER: u32 = 3;

/// A frame that is passed on: what was read of it once, as a client may change it at any time.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// All bytes.
    pub bytes: u32,
    /// Its first three words: addresses.
    pub head: [u32; 3],
    /// The header for segments; all 0 if it is not to be cut.
    pub header: [u32; HEADER as usize],
}

impl Frame {
    /// The one that begins in a slot of a client's, which may send large ones or not; `None` if its length cannot be.
    pub fn read(memory: &impl Shared, slot: u32, large: bool) -> Option<Self> {
        let most = if large { MOST_LARGE } else { MOST_BYTES };
        let bytes = memory.read(slot);
        let words = |from: u32| [0, 4, 8].map(|offset| memory.read(slot + from + offset));
        let header = if large { words(SLOT_OWN) } else { [0; HEADER as usize] };
        (FEWEST_BYTES..=most).contains(&bytes).then(|| Self { bytes, head: words(SLOT_FRAME), header })
    }

    /// How many slots it takes.
    pub const fn parts(&self) -> u32 {
        self.bytes.div_ceil(MOST_BYTES)
    }

    /// Whether only who takes large frames may have it.
    pub fn is_large(&self) -> bool {
        self.bytes > MOST_BYTES || self.header != [0; HEADER as usize]
    }

    /// Copies one of its parts from slot to slot.
    pub fn copy<M: Shared>(&self, part: u32, (from, slot): (&M, u32), (to, other): (&M, u32), large: bool) {
        const HEAD: u32 = 12;
        let bytes = (self.bytes - part * MOST_BYTES).min(MOST_BYTES);
        let put = |at: u32, words: [u32; 3]| (0..).zip(words).for_each(|(word, value)| to.write(other + at + word * 4, value));
        let known = if part == 0 {
            to.write(other, self.bytes);
            if large {
                put(SLOT_OWN, self.header);
            }
            put(SLOT_FRAME, self.head);
            HEAD
        } else {
            0
        };
        let rest = bytes.saturating_sub(known).next_multiple_of(4);
        from.copy(slot + SLOT_FRAME + known, to, other + SLOT_FRAME + known, rest);
    }
}
