// SPDX-License-Identifier: MIT OR Apache-2.0
//! A device's queue (Virtual I/O Device 1.2, 2.7), which goes on after its driver died: where the
//! driver was is in memory, too.
//!
//! A slot has three descriptors of each queue: the beginning of its message, the data after it, and
//! the answer. Memory is words; numbers of 16 bits are halves of them, the low one first.

use crate::layout::Own;
use frames::{Broken, Shared};

/// Entries of a queue.
pub const LENGTH: u16 = 64;
/// Descriptors of a slot.
const PARTS: u32 = 3;

/// Offsets in a queue's page: descriptors, what the driver makes available, what the device used.
pub(crate) const DESCRIPTORS: u32 = 0;
pub(crate) const AVAILABLE: u32 = 1024;
pub(crate) const USED: u32 = 2048;
/// Bytes of a descriptor, and of an entry of what is used.
const DESCRIPTOR: u32 = 16;
const ENTRY: u32 = 8;
/// Of both rings: their entries come after flags and an index.
const ENTRIES: u32 = 4;

/// Flags of a descriptor: another one follows; the device writes.
const NEXT: u32 = 1;
const WRITES: u32 = 2;

/// Offsets in what is known of a folder: how many used entries were taken; whether its session was
/// begun; the slot that is being made available, counted from 1, and the index before that.
const TAKEN: u32 = 0;
const BEGUN: u32 = 4;
const INTENT: u32 = 8;
const INTENT_AT: u32 = 12;

/// A piece of memory as the device knows it: its address and its bytes.
#[derive(Clone, Copy)]
pub struct Piece {
    pub address: u64,
    pub bytes: u32,
}

/// The queue of a folder.
pub struct Queue {
    folder: u32,
    /// How many entries were made available, and how many used ones were taken.
    made: u16,
    taken: u16,
    /// An entry may have been taken that is not counted: the driver died in between.
    pub is_doubtful: bool,
}

impl Queue {
    const fn known(&self, what: u32) -> u32 {
        Own::of_folder(self.folder) + what
    }

    const fn at(&self, what: u32) -> u32 {
        Own::queue(self.folder) + what
    }

    /// One that nothing was made available in. The device has been reset, and does not know it yet.
    pub fn begin<M: Shared>(folder: u32, own: &M) -> Self {
        let queue = Self { folder, made: 0, taken: 0, is_doubtful: false };
        for what in [TAKEN, BEGUN, INTENT, INTENT_AT] {
            own.write(queue.known(what), 0);
        }
        own.write(queue.at(AVAILABLE), 0);
        own.write(queue.at(USED), 0);
        own.fence();
        queue
    }

    /// The one of a driver that died, and the slot that it was about to give to the device and did
    /// not; nothing if what it left cannot be.
    pub fn resume<M: Shared>(folder: u32, own: &M) -> Option<(Self, Option<u32>)> {
        let mut queue = Self { folder, made: 0, taken: 0, is_doubtful: true };
        queue.made = index(own, queue.at(AVAILABLE));
        queue.taken = u16::try_from(own.read(queue.known(TAKEN))).ok()?;
        let under_way = queue.made.wrapping_sub(queue.taken);
        if under_way > LENGTH || queue.used(own).is_err() {
            return None;
        }
        let intent = own.read(queue.known(INTENT)).checked_sub(1);
        let is_given = own.read(queue.known(INTENT_AT)) != queue.made.into();
        Some((queue, intent.filter(|_| !is_given)))
    }

    pub fn has_begun<M: Shared>(&self, own: &M) -> bool {
        own.read(self.known(BEGUN)) == 1
    }

    pub fn set_begun<M: Shared>(&self, own: &M, begun: bool) {
        own.write(self.known(BEGUN), begun.into());
    }

    /// To be called before anything is written down of a slot that is given to the device.
    pub fn intend<M: Shared>(&self, own: &M, slot: u32) {
        own.write(self.known(INTENT_AT), self.made.into());
        own.write(self.known(INTENT), slot + 1);
        own.fence();
    }

    /// Gives the device a slot's message: its beginning, the data after that, if there is any, and
    /// the place of the answer. The device is still to be told.
    pub fn make_available<M: Shared>(&mut self, own: &M, slot: u32, parts: [Piece; 3]) {
        let first = slot * PARTS;
        let [head, data, reply] = parts;
        let after_head = if data.bytes > 0 { first + 1 } else { first + 2 };
        self.describe(own, first, head, NEXT | after_head << 16);
        self.describe(own, first + 1, data, NEXT | (first + 2) << 16);
        self.describe(own, first + 2, reply, WRITES);
        let entry = self.at(AVAILABLE + ENTRIES) + u32::from(self.made % LENGTH) / 2 * 4;
        let shift = u32::from(self.made % 2) * 16;
        let other = M::little(own.read(entry)) & !(0xffff << shift);
        own.write(entry, M::little(other | first << shift));
        self.made = self.made.wrapping_add(1);
        own.fence();
        // From here on the device has it.
        own.write(self.at(AVAILABLE), M::little(u32::from(self.made) << 16));
        own.fence();
        self.forget_intent(own);
    }

    /// The device has the slot, or will not get it.
    pub fn forget_intent<M: Shared>(&self, own: &M) {
        own.write(self.known(INTENT), 0);
    }

    fn describe<M: Shared>(&self, own: &M, number: u32, piece: Piece, flags: u32) {
        let words = [piece.address as u32, (piece.address >> 32) as u32, piece.bytes, flags];
        let at = self.at(DESCRIPTORS) + number * DESCRIPTOR;
        own.write_words(at, words.map(M::little));
    }

    /// A slot that the device is done with, and how many bytes it wrote; it is to be
    /// [taken](Self::take).
    pub fn used<M: Shared>(&self, own: &M) -> Result<Option<(u32, u32)>, Broken> {
        let ready = index(own, self.at(USED)).wrapping_sub(self.taken);
        if ready > self.made.wrapping_sub(self.taken) {
            return Err(Broken);
        }
        if ready == 0 {
            return Ok(None);
        }
        own.fence();
        let at = self.at(USED + ENTRIES) + u32::from(self.taken % LENGTH) * ENTRY;
        let [first, bytes] = own.read_words(at).map(M::little);
        if first.is_multiple_of(PARTS) { Ok(Some((first / PARTS, bytes))) } else { Err(Broken) }
    }

    /// What was used is written down elsewhere.
    pub fn take<M: Shared>(&mut self, own: &M) {
        own.fence();
        self.taken = self.taken.wrapping_add(1);
        own.write(self.known(TAKEN), self.taken.into());
        self.is_doubtful = false;
    }
}

/// The index of a ring.
fn index<M: Shared>(own: &M, at: u32) -> u16 {
    (M::little(own.read(at)) >> 16) as u16
}
