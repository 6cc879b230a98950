// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that a space has as a whole: the Segment begins where one of the processor's segments
//! begins, and the space has nothing else there. All spaces that have it in this way have the
//! Segment's VSIDs there, and so share one entry for each of its pages in the TLB and in the hashed
//! table.
//!
//! (Two things have the same name: the kernel's Segment, tables that spaces share, and the
//! processor's segment, 256 MiB of addresses.)

use abi::Rights;
use kcore::attach::{attached_at, attachment};
use kcore::{Attachment, Segment, Space};
use mmu::Format;
use mmu::powerpc::{PowerPc as Tables, bits};
use mmu::vsid::KEY;
use pool::{Pool, Ref};
use powerpc_context::hw;

/// The port's words of a Segment, `Segment::hw`, by their indices.
pub mod word {
    /// Its context, as for a space.
    pub const CONTEXT: usize = 0;
    /// The epoch of that context, lower word.
    pub const EPOCH: usize = 1;
    /// The upper word.
    pub const EPOCH_HIGH: usize = 2;
    /// In how many segments of spaces it is as a whole.
    pub const USES: usize = 3;
}

/// Entries of a directory for one of the processor's segments.
const ENTRIES: usize = (1 << 28) / Tables::SPAN as usize;

/// The Segment that a space has as a whole in a segment.
#[derive(Clone, Copy)]
pub struct Whole {
    /// The Segment.
    pub segment: Ref<Segment>,
    /// Which part of it, of 256 MiB, is there.
    pub part: u32,
    /// What the segment register has besides the VSID: the key.
    pub key: u32,
}

/// The segments of a space in which a Segment is as a whole, as recorded.
pub fn noted(pool: &Pool, space: Ref<Space>) -> u32 {
    (pool[space].hw[hw::SEGMENTS] & !hw::IN_PART) >> 16
}

/// The entries of a directory for a segment.
pub const fn entries_of(number: u32) -> core::ops::Range<usize> {
    number as usize * ENTRIES..(number as usize + 1) * ENTRIES
}

/// Whether any of these entries is not a Segment's.
pub fn is_other(entries: &[u32]) -> bool {
    entries.iter().any(|entry| entry & bits::SHARED == 0)
}

/// Whether these entries of a space, from this one on, were written because a Segment was attached
/// there. Then they map nothing yet.
pub fn begins(pool: &Pool, space: Ref<Space>, index: usize, entries: &[u32]) -> bool {
    entries.iter().any(|entry| entry & bits::PRESENT == 0)
        && attached_at(pool, space, index as u32).is_some()
}

/// Finds the Segments of a space. Its functions are called for one segment after the other, never
/// for an earlier one. A Segment may begin many segments before, so the last one that was found is
/// kept.
#[derive(Default)]
pub struct Finder {
    /// The segments that were searched are below this one.
    next: u32,
    /// The last Segment there that begins where a segment begins, and its place.
    last: Option<(u32, Ref<Attachment>)>,
}

impl Finder {
    fn beginning(
        &mut self,
        pool: &Pool,
        space: Ref<Space>,
        number: u32,
    ) -> Option<(u32, Ref<Attachment>)> {
        let first_at =
            |start: u32| attached_at(pool, space, start * ENTRIES as u32).map(|at| (start, at));
        self.last = (self.next..=number).rev().find_map(first_at).or(self.last);
        self.next = number + 1;
        self.last
    }

    /// The Segment that is in a segment of a space as a whole, as recorded.
    pub fn noted(&mut self, pool: &Pool, space: Ref<Space>, number: u32) -> Option<Whole> {
        if noted(pool, space) & 1 << number == 0 {
            None
        } else {
            self.begun(pool, space, number).map(|(whole, _)| whole)
        }
    }

    /// The Segment that was attached where a segment begins, and how many of the segment's entries
    /// are its own. There may be others.
    fn begun(&mut self, pool: &Pool, space: Ref<Space>, number: u32) -> Option<(Whole, usize)> {
        let (start, at) = self.beginning(pool, space, number)?;
        let record = &pool[at];
        if record.kind != attachment::SEGMENT_IN_SPACE {
            return None;
        }
        let segment = Ref::<Segment>::new(record.source);
        let part = number - start;
        let entries = (pool[segment].region.tables() as usize)
            .checked_sub(part as usize * ENTRIES)
            .filter(|left| *left != 0)?;
        let key = if Rights(record.rights).contains(Rights::WRITE) { 0 } else { KEY };
        Some((Whole { segment, part, key }, entries.min(ENTRIES)))
    }

    /// The Segment that is in a segment of a space as a whole, by the space's tables. (A server has
    /// none: nothing is attached to it.)
    pub fn found(&mut self, pool: &Pool, space: Ref<Space>, number: u32) -> Option<Whole> {
        let top = pool[space].region.top.get()?;
        let entries =
            pool[top].entries::<Tables>().get(number as usize * ENTRIES..)?.get(..ENTRIES)?;
        // Most have none, and it need not be searched for.
        if entries.first()? & bits::SHARED == 0 {
            return None;
        }
        let (whole, own) = self.begun(pool, space, number)?;
        entries.get(own..)?.iter().all(|entry| *entry == 0).then_some(whole)
    }
}
