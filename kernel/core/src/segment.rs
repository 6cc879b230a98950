// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments: translation tables that several spaces share, attached and detached
//! as a whole (fass-wombat-arm-2007, section 3.4). A space's directory holds
//! copies of the Segment's entries; the Segment's own list of uses finds them.
//!
//! Any number of spaces may have a Segment. So a changed entry is copied in steps: the Segment notes
//! which one it is and where the copying goes on, and whoever changes, revokes or ends anything of it
//! next finishes that first. An operation has ended when all copies are written.

use crate::attach::{attachment, place};
use crate::port::{Change, Port};
use crate::tables::TABLE_BYTES;
use crate::{ALIGN, Attachment, Entry, Kernel, NOTHING, Outcome, Owner, Quota, Region, Result, Space, Table, Thread};
use abi::{Error, Kind, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use mmu::Format;
use pool::{Link, Object, Ref};

/// Spaces that get a changed entry in one step.
const SPREAD: u32 = 32;
/// Entries that a space gets in one step when a Segment is attached.
const FILL: u32 = 32;

/// Translation tables of their own that spaces share.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Segment {
    /// Who pays, and its translation tables.
    pub region: Region,
    /// Spaces it is attached to.
    pub uses: Link<Attachment>,
    /// 1 + index of an entry that changed and is being copied to the spaces; 0: none.
    pub changing: u32,
    /// The attachment that gets its copy next.
    pub visit: Link<Attachment>,
    /// A table that nobody may use any more once all copies are written.
    pub retired: Link<Table>,
    /// What the port keeps.
    pub hw: u32,
    /// Fills the last word.
    pub unused: [u32; ALIGN],
}
impl Object for Segment {}
const _: () = assert!(size_of::<Segment>() <= (1 + ALIGN) * pool::MIN_BYTES as usize);

impl<P: Port> Kernel<P> {
    /// `create_segment`.
    pub(crate) fn create_segment(&mut self, space: Ref<Space>, args: [Word; 4]) -> Result<[Word; 3]> {
        let quota: Ref<Quota> = self.object(space, args[0], Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, args[2])?;
        let fits = args[1] <= USER_END && args[1] / TABLE_SPAN <= P::Format::ENTRIES as Word;
        if args[1] == 0 || !args[1].is_multiple_of(TABLE_SPAN) || !fits {
            return Err(Error::BadArgument);
        }
        let block: Ref<Segment> = Ref::new(self.allocate(quota, size_of::<Segment>() as u32)?);
        match self.allocate_table(quota) {
            Ok(top) => {
                let s = &mut self.pool[block];
                s.region = Region { header: Self::new_header(quota, slot), top: top.link(), end: UserAddr(args[1]), ..Region::zeroed() };
                self.port.segment_created(&mut self.pool, block);
                self.put_original(slot, Kind::Segment, block.address());
                Ok(NOTHING)
            }
            Err(error) => {
                self.release(quota.link(), block.address(), size_of::<Segment>() as u32);
                Err(error)
            }
        }
    }

    /// An entry of a Segment's directory was written: copies follow, in steps ([`spread`](Self::spread)).
    pub(crate) fn entry_changed(&mut self, segment: Ref<Segment>, index: usize) {
        let s = &mut self.pool[segment];
        debug_assert!(s.changing == 0, "a change while another one is copied");
        s.changing = index as u32 + 1;
        s.visit = s.uses;
        self.spread(segment);
    }

    /// Copies the entry that changed to some more spaces; true when all have it.
    pub(crate) fn spread(&mut self, segment: Ref<Segment>) -> bool {
        let Some(index) = self.pool[segment].changing.checked_sub(1) else { return true };
        let entry = self.table_entry(Owner::Segment(segment), index as usize);
        for _ in 0..SPREAD {
            let Some(at) = self.pool[segment].visit.get() else { break };
            self.pool[segment].visit = self.pool[at].source_next;
            self.copy_entry(at, index as usize, entry);
        }
        if !self.pool[segment].visit.is_null() {
            return false;
        }
        self.pool[segment].changing = 0;
        self.port.invalidate_all();
        if let Some(table) = core::mem::take(&mut self.pool[segment].retired).get() {
            let quota = self.pool[segment].region.header.quota;
            self.release(quota, table.address(), TABLE_BYTES);
        }
        true
    }

    /// A record goes: a change that is being copied passes over it.
    pub(crate) fn skip_use(&mut self, at: Ref<Attachment>, record: &Attachment) {
        if record.kind == attachment::SEGMENT_IN_SPACE {
            let visit = &mut self.pool[Ref::<Segment>::new(record.source)].visit;
            if visit.is(at) {
                *visit = record.source_next;
            }
        }
    }

    /// Writes a space's copy of a Segment's entry.
    fn copy_entry(&mut self, at: Ref<Attachment>, index: usize, entry: Entry<P>) {
        let Attachment { owner, index: base, rights, .. } = self.pool[at];
        self.write_table_entry(Owner::Space(Ref::new(owner)), base as usize + index, P::Format::shared(entry, Rights(rights)));
    }

    /// `attach`: in steps, as a Segment may have many entries.
    pub(crate) fn attach(&mut self, me: Ref<Thread>, caller: Ref<Space>, args: [Word; 4]) -> Result<Outcome> {
        let [space, address, segment, rights] = args;
        let begun = core::mem::take(&mut self.pool[me].progress) != 0;
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let rights = Rights(crate::narrow(rights)?);
        if !rights.contains(Rights::READ) || !Rights::RWX.contains(rights) {
            return Err(Error::BadArgument);
        }
        let segment: Ref<Segment> = self.object(caller, segment, Kind::Segment, rights)?;
        if self.pool[segment].region.header.is_dying() {
            return Err(Error::BadState);
        }
        let bytes = self.pool[segment].region.end.0;
        let address = UserAddr(address);
        if !address.is_aligned(TABLE_SPAN) || !self.is_users(Owner::Space(space), address, bytes) {
            return Err(Error::BadAddress);
        }
        let first = P::Format::table_index(address) as u32;
        let there = self.attachment(self.pool[space].segments, place(first)).filter(|at| self.pool[*at].source == segment.address());
        // To reserve may need several tables: it is a step of its own.
        let (made, mut is_filled) = match there.filter(|_| begun) {
            Some(made) => (made, self.fill(made, segment)),
            None => (self.reserve(space, segment, first, rights)?, false),
        };
        while !is_filled {
            if self.port.interrupt_pending() {
                self.pool[me].progress = 1;
                return Ok(Outcome::Again);
            }
            is_filled = self.fill(made, segment);
        }
        Ok(Outcome::Done(NOTHING))
    }

    /// Notes that a Segment is attached to a space, and marks its part of the directory.
    fn reserve(&mut self, space: Ref<Space>, segment: Ref<Segment>, first: u32, rights: Rights) -> Result<Ref<Attachment>> {
        let owner = Owner::Space(space);
        let places = first as usize..(first + self.pool[segment].region.tables()) as usize;
        let mut index = places.start;
        while index < places.end {
            index += match self.table_entries(owner, index..places.end) {
                Ok(entries) if Self::first_used(entries).1 => return Err(Error::Occupied),
                Ok(entries) => entries.len(),
                Err(missing) => missing,
            };
        }
        // A Segment has a directory's size at most: it lies in two of them, or in one.
        self.make_directory(owner, places.start)?;
        self.make_directory(owner, places.end - 1)?;
        let made = self.attach_record(owner, segment.address(), attachment::SEGMENT_IN_SPACE, first, rights)?;
        self.write_table_entries(owner, places, P::Format::shared(P::Format::empty(), rights));
        Ok(made)
    }

    /// Copies some more of a Segment's entries into a space; true when it has all.
    fn fill(&mut self, at: Ref<Attachment>, segment: Ref<Segment>) -> bool {
        let entries = self.pool[segment].region.tables();
        let first = self.pool[at].cursor;
        let end = (first + FILL).min(entries);
        for index in first as usize..end as usize {
            let entry = self.table_entry(Owner::Segment(segment), index);
            if !P::Format::is_empty(entry) {
                self.copy_entry(at, index, entry);
            }
        }
        self.pool[at].cursor = end;
        end == entries
    }

    /// `detach`.
    pub(crate) fn detach(&mut self, caller: Ref<Space>, space: Word, address: Word) -> Result<[Word; 3]> {
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let address = UserAddr(address);
        if !address.is_aligned(TABLE_SPAN) || address >= self.pool[space].region.end {
            return Err(Error::NotThere);
        }
        let at = self.attachment(self.pool[space].segments, place(P::Format::table_index(address) as u32)).ok_or(Error::NotThere)?;
        self.detach_record(at);
        Ok(NOTHING)
    }

    /// Ends one attachment of a Segment.
    pub(crate) fn detach_record(&mut self, at: Ref<Attachment>) {
        let Attachment { source, owner, index: base, .. } = self.pool[at];
        let (space, segment) = (Ref::<Space>::new(owner), Ref::<Segment>::new(source));
        let owner = Owner::Space(space);
        let places = base as usize..(base + self.pool[segment].region.tables()) as usize;
        let range = P::Format::table_start(places.start)..P::Format::table_start(places.end);
        self.before(owner, range.clone(), Change::Remove);
        self.write_table_entries(owner, places, P::Format::empty());
        self.flush(owner, range);
        self.drop_record(at);
    }

    pub(crate) fn end_segment(&mut self, segment: Ref<Segment>) -> bool {
        if !self.spread(segment) {
            return false;
        }
        if let Some(at) = self.pool[segment].uses.get() {
            self.detach_record(at);
            return false;
        }
        if let Some(at) = self.pool[segment].region.attached.get() {
            self.drop_record(at);
            return false;
        }
        let mut cursor = self.pool[segment].region.header.cursor;
        let is_empty = self.free_tables(Owner::Segment(segment), &mut cursor);
        self.pool[segment].region.header.cursor = cursor;
        if !is_empty {
            return false;
        }
        self.port.segment_dropped(&mut self.pool, segment);
        let Region { header, top, .. } = self.pool[segment].region;
        if let Some(top) = top.get() {
            self.release(header.quota, top.address(), TABLE_BYTES);
        }
        self.release(header.quota, segment.address(), size_of::<Segment>() as u32);
        true
    }
}
