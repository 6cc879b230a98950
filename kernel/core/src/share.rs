// SPDX-License-Identifier: MIT OR Apache-2.0
//! Directories whose entries are copied: a Segment's, into the spaces to which it is attached
//! (fass-wombat-arm-2007, section 3.4), a server's, into the spaces that show it, and a small
//! space's, into its home. Spaces with copies share the leaf tables. The directory's owner has a
//! list of these spaces.
//!
//! Of a server with a large window, the entries of which others have copies are those of a level
//! above ([`shared_level`](Kernel::shared_level)): the spaces share its directories, too, and see
//! at once what changes in them. Entries are numbered by the first leaf table that they lead to,
//! whatever their level.
//!
//! Any number of spaces may have copies. So a changed entry is copied in steps: the owner records
//! which entry it is and where the copying has to continue, and the next operation that changes,
//! revokes or ends anything of the owner first finishes the copying. An operation has ended when
//! all copies are written. Between its steps threads run with old copies, so whatever was done to
//! the caches before the change is done again after the last step.

use crate::attach::{attachment, place};
use crate::port::{Change, Port};
use crate::tables::TABLE_BYTES;
use crate::{
    Attachment, Entry, Kernel, NOTHING, Outcome, Owner, Progress, Region, Result, Segment, Space,
    Thread,
};
use abi::{Error, Kind, Rights, Selector, TABLE_SPAN, USER_END, UserAddr, Word, call};
use core::ops::Range;
use mmu::Format;
use pool::{Link, Ref};

/// Spaces that get a changed entry in one step. If they are small, so do their homes.
const SPREAD: u32 = 4;
/// Entries that a space gets in one step when a directory is attached, where there are two levels
/// of tables. Where there are four, it gets half as many, as the way to each is twice as long.
const FILL: u32 = 32;

/// A directory to be attached, checked.
pub(crate) struct Source {
    /// Of the record that it gets.
    pub kind: u32,
    pub owner: Owner,
    /// Addresses that it takes.
    pub bytes: Word,
}

impl<P: Port> Kernel<P> {
    /// Whether an attachment is of a server to a space that shows it: none is where there are no
    /// servers.
    const fn is_servers(kind: u32) -> bool {
        P::SERVERS && kind == attachment::SERVER_IN_SPACE
    }

    /// Whether it is of a small space to its home.
    const fn is_smalls(kind: u32) -> bool {
        P::HOMES && kind == attachment::SMALL_IN_HOME
    }

    /// The level of those entries of an owner that others have copies of: 1 is a directory's.
    pub(crate) fn shared_level(&self, owner: Owner) -> u32 {
        match owner {
            Owner::Space(space) if P::SERVERS => Self::window_level(self.pool[space].window),
            _ => 1,
        }
    }

    /// An entry was written that others have copies of, the one that leads to the leaf table
    /// `index`: those follow, in steps ([`spread`](Self::spread)).
    pub(crate) fn entry_changed(&mut self, owner: Owner, index: usize) {
        let index = index - index % P::Format::tables_of_entry(self.shared_level(owner));
        let region = &mut self.pool[owner.region()];
        debug_assert!(region.changing == 0, "a change while another one is copied");
        region.changing = index as u32 + 1;
        region.visit = region.uses;
        if self.copy_to_some(owner, index) == Progress::Done {
            self.end_change(owner);
        }
    }

    /// Copies the entry that changed to some more spaces. Done when all have it.
    pub(crate) fn spread(&mut self, owner: Owner) -> Progress {
        let Some(index) = self.pool[owner.region()].changing.checked_sub(1) else {
            return Progress::Done;
        };
        let copied = self.copy_to_some(owner, index as usize);
        if copied == Progress::Done {
            // Who got it now may have written by the old one since `before` was called.
            self.port.before_change_anywhere(Change::Remove);
            self.end_change(owner);
        }
        copied
    }

    /// A step of that.
    fn copy_to_some(&mut self, owner: Owner, index: usize) -> Progress {
        let region = owner.region();
        let entry = self.upper_entry(owner, self.shared_level(owner), index);
        for _ in 0..SPREAD {
            let Some(at) = self.pool[region].visit.get() else { break };
            self.pool[region].visit = self.pool[at].source_next;
            self.copy_entry(at, index, entry);
        }
        Progress::done_if(self.pool[region].visit.is_null())
    }

    /// All copies of an entry that changed are written.
    fn end_change(&mut self, owner: Owner) {
        let region = owner.region();
        let changed = core::mem::take(&mut self.pool[region].changing);
        match (owner, changed.checked_sub(1)) {
            (Owner::Space(server), Some(index)) if self.is_server(owner) => {
                let tables = P::Format::tables_of_entry(self.shared_level(owner));
                let range = P::Format::table_start(index as usize)
                    ..P::Format::table_start(index as usize + tables);
                self.port.invalidate_shown(&mut self.pool, server, range);
            }
            _ => self.port.invalidate_all(),
        }
        if let Some(table) = core::mem::take(&mut self.pool[region].retired).get() {
            let quota = self.pool[region].header.quota;
            self.release(quota, table.address(), TABLE_BYTES);
        }
    }

    /// A record goes: a change that is being copied passes over it.
    pub(crate) fn skip_use(&mut self, at: Ref<Attachment>, record: &Attachment) {
        if record.is_of_directory() {
            let visit = &mut self.pool[Ref::<Region>::new(record.source)].visit;
            if visit.is(at) {
                *visit = record.source_next;
            }
        }
    }

    /// Writes a space's copy of a directory's entry.
    pub(crate) fn copy_entry(&mut self, at: Ref<Attachment>, index: usize, entry: Entry<P>) {
        let record = self.pool[at];
        let copy = P::Format::shared(entry, Rights(record.rights));
        let level = self.shared_level(record.directory());
        self.write_upper_entry(record.owner(), level, record.base() as usize + index, copy);
    }

    /// `attach`: in steps, as there may be many entries.
    pub(crate) fn attach(
        &mut self,
        me: Ref<Thread>,
        caller: Ref<Space>,
        call: call::Attach,
    ) -> Result<Outcome> {
        let call::Attach { space, address, source, rights } = call;
        let begun = core::mem::take(&mut self.pool[me].progress) != 0;
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let (rights, size) = Self::rights_and_size(rights)?;
        let source = if size == 0 {
            self.source(caller, source, address, rights)?
        } else if rights != Rights::RWX {
            return Err(Error::BadArgument);
        } else {
            let small: Ref<Space> = self.object(caller, source, Kind::Space, Rights::CONTROL)?;
            self.small_source(space, small, address, size, begun)?
        };
        if self.pool[source.owner.region()].header.is_dying() {
            return Err(Error::BadState);
        }
        if self.is_server(Owner::Space(space)) {
            return Err(Error::BadState);
        }
        // If it has begun, the address is good.
        let there = if begun {
            self.attachment(
                self.pool[space].segments,
                place(P::Format::table_index(address) as u32),
            )
        } else {
            None
        };
        let there = there.filter(|at| self.pool[*at].source == source.owner.address());
        // To reserve may need several tables: it is a step of its own.
        let (made, mut filled) = match there {
            Some(made) => (made, self.fill(made)),
            None => (self.reserve(space, &source, address, rights)?, Progress::Interrupted),
        };
        while filled == Progress::Interrupted {
            if self.port.interrupt_pending() {
                self.pool[me].progress = 1;
                return Ok(Outcome::Again);
            }
            filled = self.fill(made);
        }
        match source.owner {
            owner if Self::is_servers(source.kind) => {
                self.port.server_shown(&mut self.pool, space, Link::from_value(owner.address()))
            }
            Owner::Space(small) if Self::is_smalls(source.kind) => {
                self.moved_in(small, space, address)
            }
            _ => {}
        }
        Ok(Outcome::Done(NOTHING))
    }

    /// The directory that a selector names, to be attached at an address with these rights.
    fn source(
        &self,
        caller: Ref<Space>,
        selector: Selector,
        address: UserAddr,
        rights: Rights,
    ) -> Result<Source> {
        let (_, cap) = self.cap(caller, selector)?;
        Ok(if cap.kind() == Kind::Space {
            let server: Ref<Space> = self.object(caller, selector, Kind::Space, Rights::CONTROL)?;
            if rights != Rights::RWX {
                return Err(Error::BadArgument);
            }
            let window = self.pool[server].window;
            if !self.is_server(Owner::Space(server)) {
                return Err(Error::BadState);
            }
            if address != window {
                return Err(Error::BadAddress);
            }
            let bytes = self.pool[server].region.end - window;
            Source { kind: attachment::SERVER_IN_SPACE, owner: Owner::Space(server), bytes }
        } else {
            let segment: Ref<Segment> = self.object(caller, selector, Kind::Segment, rights)?;
            let bytes = self.pool[segment].region.end.0;
            Source { kind: attachment::SEGMENT_IN_SPACE, owner: Owner::Segment(segment), bytes }
        })
    }

    /// Notes that a directory is attached to a space, and marks its part of the space's.
    fn reserve(
        &mut self,
        space: Ref<Space>,
        source: &Source,
        address: UserAddr,
        rights: Rights,
    ) -> Result<Ref<Attachment>> {
        let owner = Owner::Space(space);
        if !address.is_aligned(TABLE_SPAN) || !self.is_users(owner, address, source.bytes) {
            // A small space ends with its size.
            let shows = Self::is_servers(source.kind) && self.smallness(owner).is_none();
            let shown = shows && self.pool[space].region.end == address;
            return Err(if shown { Error::Occupied } else { Error::BadAddress });
        }
        let level = self.shared_level(source.owner);
        let places = P::Format::table_index(address)
            ..P::Format::table_index(address) + (source.bytes / TABLE_SPAN) as usize;
        let mut index = places.start;
        while index < places.end {
            index += match self.upper_entries(owner, level, index..places.end) {
                Ok(entries) if Self::first_used(entries).1 => return Err(Error::Occupied),
                Ok(entries) => entries.len() * P::Format::tables_of_entry(level),
                Err(missing) => missing,
            };
        }
        // What is attached has no more entries than a table: they are in two tables, or in one.
        self.make_upper(owner, places.start, level)?;
        self.make_upper(owner, places.end - 1, level)?;
        let made = self.attach_record(
            owner,
            source.owner.address(),
            source.kind,
            places.start as u32,
            rights,
        )?;
        if Self::is_servers(source.kind) {
            // Nothing of the window is the space's own until it is detached.
            self.pool[space].region.end = address;
        } else if Self::is_smalls(source.kind) {
            // Nothing beyond its size is a small space's.
            let region = &mut self.pool[source.owner.region()];
            let large_tables =
                core::mem::replace(&mut region.end, UserAddr(source.bytes)).0 / TABLE_SPAN;
            self.pool[made].large_tables = large_tables as u32;
        }
        self.pool[made].cursor = self.entries(made).start;
        let empty = P::Format::shared(P::Format::empty(), rights);
        self.write_upper_entries(owner, level, places, empty);
        Ok(made)
    }

    /// The leaf tables of a directory's owner to which the entries lead of which an attachment's
    /// space has copies.
    fn entries(&self, at: Ref<Attachment>) -> Range<u32> {
        let record = &self.pool[at];
        record.index - record.base()..self.pool[record.directory().region()].tables()
    }

    /// Copies some more of a directory's entries into a space. Done when it has all.
    fn fill(&mut self, at: Ref<Attachment>) -> Progress {
        let last = self.entries(at).end;
        let Attachment { cursor: first, .. } = self.pool[at];
        let source = self.pool[at].directory();
        let level = self.shared_level(source);
        let span = P::Format::tables_of_entry(level);
        let end = (first + FILL / (P::Format::LEVELS / 2) * span as u32).min(last);
        for index in (first as usize..end as usize).step_by(span) {
            let entry = self.upper_entry(source, level, index);
            if !P::Format::is_empty(entry) {
                self.copy_entry(at, index, entry);
            }
        }
        self.pool[at].cursor = end;
        Progress::done_if(end == last)
    }

    /// `detach`.
    pub(crate) fn detach(&mut self, caller: Ref<Space>, call: call::Detach) -> Result<[Word; 3]> {
        let call::Detach { space, address } = call;
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        // A server begins where the space's own part ends.
        if !address.is_aligned(TABLE_SPAN)
            || address.0 >= USER_END
            || address > self.large_end(space)
        {
            return Err(Error::NotThere);
        }
        let at = self
            .attachment(self.pool[space].segments, place(P::Format::table_index(address) as u32))
            .ok_or(Error::NotThere)?;
        self.detach_record(at);
        Ok(NOTHING)
    }

    /// Ends one attachment of a directory.
    pub(crate) fn detach_record(&mut self, at: Ref<Attachment>) {
        let record = self.pool[at];
        let (owner, space) = (record.owner(), Ref::<Space>::new(record.owner));
        let places = record.index as usize..record.index as usize + self.entries(at).len();
        if Self::is_smalls(record.kind) {
            self.moved_out(at);
        }
        let range = P::Format::table_start(places.start)..P::Format::table_start(places.end);
        self.before(owner, range.clone(), Change::Remove);
        let level = self.shared_level(record.directory());
        self.write_upper_entries(owner, level, places, P::Format::empty());
        self.flush(owner, range);
        if Self::is_servers(record.kind) {
            self.set_end(space, UserAddr(USER_END));
            self.port.server_shown(&mut self.pool, space, Link::NULL);
        }
        self.drop_record(at);
    }
}
