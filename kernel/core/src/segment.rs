// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments: translation tables that several spaces share, attached and detached
//! as a whole (fass-wombat-arm-2007, section 3.4). A space's upper level holds
//! copies of the Segment's entries; the Segment's own list of uses finds them.

use crate::memory::{Attachment, attachment};
use crate::port::Port;
use crate::space::{Owner, Segment, Space};
use crate::{Kernel, NOTHING, Result};
use abi::utcb::AREA_END;
use abi::{Error, Kind, Rights, TABLE_SPAN, USER_END};
use mmu::{Format, top_index};
use pool::Ref;

impl<P: Port> Kernel<P> {
    /// An entry of a Segment's upper level was written: its copies follow.
    pub(crate) fn propagate(&mut self, segment: Ref<Segment>, index: usize, entry: u32) {
        let mut next = self.pool[segment].uses;
        while let Some(at) = next.get() {
            next = self.pool[at].source_next;
            self.copy_entry(at, index, entry);
        }
    }

    /// Writes a space's copy of a Segment's entry.
    fn copy_entry(&mut self, at: Ref<Attachment>, index: usize, entry: u32) {
        let Attachment { owner, index: base, rights, .. } = self.pool[at];
        let space: Ref<Space> = Ref::new(owner);
        let slot = base as usize + index;
        self.write_top(self.pool[space].top, slot, P::Format::shared(entry, Rights(rights)));
        self.port.top_changed(&mut self.pool, space, slot);
    }

    /// `attach`.
    pub(crate) fn attach(&mut self, caller: Ref<Space>, space: u32, address: u32, segment: u32, rights: u32) -> Result<[u32; 3]> {
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let rights = Rights(rights);
        if !rights.contains(Rights::READ) || !Rights::RWX.contains(rights) {
            return Err(Error::BadArgument);
        }
        let segment: Ref<Segment> = self.object(caller, segment, Kind::Segment, rights)?;
        if self.pool[segment].header.is_dying() {
            return Err(Error::BadState);
        }
        let entries = self.pool[segment].entries;
        let low = if self.pool[space].slots == 0 { 0 } else { AREA_END };
        if !address.is_multiple_of(TABLE_SPAN) || address < low || address >= USER_END || entries * TABLE_SPAN > USER_END - address {
            return Err(Error::BadAddress);
        }
        let first = top_index(address);
        if self.is_occupied(space, first, entries) {
            return Err(Error::Occupied);
        }
        let made = self.attach_record(Owner::Space(space), segment.address(), attachment::SEGMENT_IN_SPACE, first as u32, rights)?;
        for index in 0..entries as usize {
            let entry = self.top_entry(Owner::Segment(segment), index);
            if entry != 0 {
                self.copy_entry(made, index, entry);
            }
        }
        Ok(NOTHING)
    }

    /// Whether a range of a space's upper level has a table or belongs to a Segment.
    fn is_occupied(&self, space: Ref<Space>, first: usize, entries: u32) -> bool {
        let used = self.pool[space].top.get().is_none_or(|top| self.pool[top].0.iter().skip(first).take(entries as usize).any(|e| *e != 0));
        used || self
            .segment_at(space, |base, count| (base as usize) < first + entries as usize && first < (base + count) as usize)
            .is_some()
    }

    /// Whether an entry of a space's upper level belongs to an attached Segment.
    pub(crate) fn is_shared(&self, space: Ref<Space>, index: usize) -> bool {
        self.segment_at(space, |base, count| (base..base + count).contains(&(index as u32))).is_some()
    }

    /// The attachment of a Segment in a space whose first entry and number of entries fit.
    fn segment_at(&self, space: Ref<Space>, fits: impl Fn(u32, u32) -> bool) -> Option<Ref<Attachment>> {
        let mut next = self.pool[space].attached;
        while let Some(at) = next.get() {
            let Attachment { kind, source, index, owner_next, .. } = self.pool[at];
            if kind == attachment::SEGMENT_IN_SPACE && fits(index, self.pool[Ref::<Segment>::new(source)].entries) {
                return Some(at);
            }
            next = owner_next;
        }
        None
    }

    /// `detach`.
    pub(crate) fn detach(&mut self, caller: Ref<Space>, space: u32, address: u32) -> Result<[u32; 3]> {
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let first = top_index(address) as u32;
        let at = self.segment_at(space, |base, _| base == first && address.is_multiple_of(TABLE_SPAN)).ok_or(Error::NotThere)?;
        self.detach_record(at);
        Ok(NOTHING)
    }

    /// Ends one attachment of a Segment.
    pub(crate) fn detach_record(&mut self, at: Ref<Attachment>) {
        let Attachment { source, owner, index: base, .. } = self.pool[at];
        let (space, segment) = (Ref::<Space>::new(owner), Ref::<Segment>::new(source));
        let (start, end) = (base * TABLE_SPAN, (base + self.pool[segment].entries) * TABLE_SPAN);
        self.before(Owner::Space(space), start, end);
        for index in 0..self.pool[segment].entries as usize {
            self.copy_entry(at, index, 0);
        }
        self.flush(Owner::Space(space), start, end);
        self.drop_record(at);
    }
}
