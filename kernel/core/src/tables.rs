// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables: who owns them, making and freeing them, and their entries.
//!
//! A table belongs to one owner, a Space or a Segment, whose Quota pays for it. A Segment has one
//! directory and the leaf tables in it, and so has a Space if the processor walks two levels. If
//! there are more levels, a Space has a tree above its directories, which is made as needed and
//! stays until the Space ends. The leaf tables of all directories of a Space are numbered
//! consecutively.

use crate::attach::SPACES;
use crate::map::{LOOK, SPACE};
use crate::port::{Change, Port};
use crate::{
    ALIGN, Attachment, Charge, Entry, Header, Kernel, NOTHING, Progress, Quota, Result, Segment,
    Space,
};
use abi::{
    CacheOp, Error, Kind, MapRecord, PAGE_SIZE, PhysAddr, Rights, Selector, TABLE_SPAN, UserAddr,
    Word, call,
};
use bytemuck::{Pod, Zeroable};
use core::ops::Range;
use mmu::{Attributes, Format, Leaf};
use pool::{Link, Object, Pool, Ref};

/// A page of translation-table entries, of any level, in the port's format.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Table([u64; TABLE_BYTES as usize / 8]);
impl Object for Table {}

impl Table {
    /// Its entries.
    #[must_use]
    pub fn entries<F: Format>(&self) -> &[F::Entry] {
        bytemuck::cast_slice(&self.0)
    }
    /// Its entries, for writing. Of a table in use only the portable kernel writes any but the
    /// port's own.
    pub fn entries_mut<F: Format>(&mut self) -> &mut [F::Entry] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// Bytes of a table.
pub const TABLE_BYTES: u32 = crate::PAGE;

/// Tables that are freed in one step.
const TABLES: u32 = 2;
/// Entries of a directory that are searched for them in one step.
const SEARCHED: usize = 256;
/// Entries of an upper table that are looked at, at most, for one that leads to a table.
const MISSING: usize = 32;

/// Translation tables, with who pays for them and what is mapped there: what a Space and a Segment
/// have in common. Both begin with it, so that [`Owner::region`] finds it in either.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Region {
    /// Who pays, original capability.
    pub header: Header,
    /// The highest of the translation tables: of a Segment its directory.
    pub top: Link<Table>,
    /// Memory that was mapped (`attach.rs`).
    pub attached: Link<Attachment>,
    /// Tables in reserve for large pages (`large.rs`).
    pub spares: Link<Table>,
    /// Spaces that have copies of the directory's entries (`segment.rs`).
    pub uses: Link<Attachment>,
    /// 1 + index of an entry that changed and is being copied to them; 0: none.
    pub changing: u32,
    /// The attachment that gets its copy next.
    pub visit: Link<Attachment>,
    /// A table that nobody may use any more once all copies are written.
    pub retired: Link<Table>,
    /// Aligns what follows to a word.
    pub unused: [u32; ALIGN],
    /// First address above those that users map.
    pub end: UserAddr,
}
impl Object for Region {}
const _: () = assert!(
    core::mem::offset_of!(Space, region) == 0 && core::mem::offset_of!(Segment, region) == 0
);

impl Region {
    /// How many leaf tables it can have, from address 0 on.
    #[must_use]
    pub const fn tables(&self) -> u32 {
        (self.end.0 / abi::TABLE_SPAN) as u32
    }
}

/// Who owns translation tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A space.
    Space(Ref<Space>),
    /// A Segment.
    Segment(Ref<Segment>),
}

impl Owner {
    /// Kernel address of the object.
    #[must_use]
    pub const fn address(self) -> u32 {
        match self {
            Self::Space(s) => s.address(),
            Self::Segment(s) => s.address(),
        }
    }

    /// Its tables.
    #[must_use]
    pub const fn region(self) -> Ref<Region> {
        Ref::new(self.address())
    }
}

impl<P: Port> Kernel<P> {
    /// Whether a range is within the part that users map.
    pub(crate) fn is_users(&self, owner: Owner, address: UserAddr, bytes: Word) -> bool {
        let end = self.pool[owner.region()].end;
        if address >= end || bytes > end - address {
            return false;
        }
        let Owner::Space(space) = owner else { return true };
        let Space { area_start, area_end, .. } = self.pool[space];
        address >= area_end || address + bytes <= area_start
    }

    /// Quota that an owner's tables are charged to.
    pub(crate) fn quota_of(&self, owner: Owner) -> Result<Ref<Quota>> {
        let Region { header, .. } = self.pool[owner.region()];
        if header.is_dying() {
            Err(Error::BadState)
        } else {
            header.quota.get().ok_or(Error::BadState)
        }
    }

    /// Level of an owner's highest table; 1 is a directory.
    const fn top_level(owner: Owner) -> u32 {
        match owner {
            Owner::Space(_) => P::Format::LEVELS - 1,
            Owner::Segment(_) => 1,
        }
    }

    /// The owner's table of this level that leads to the leaf table `index`, or if that is missing
    /// the first leaf table after those that are missing with it, as far as it was looked at.
    fn descend(
        &self,
        owner: Owner,
        index: usize,
        to: u32,
    ) -> core::result::Result<Ref<Table>, usize> {
        let mut table = self.pool[owner.region()].top.get().ok_or(usize::MAX)?;
        for level in (to + 1..=Self::top_level(owner)).rev() {
            let span = P::Format::tables_of_entry(level);
            let at = index / span % P::Format::ENTRIES;
            let looked_at = at..(at + MISSING).min(P::Format::ENTRIES);
            let entries =
                self.pool[table].entries::<P::Format>().get(looked_at).unwrap_or_default();
            let entry = entries.first().copied().and_then(P::Format::decode_table);
            // What an entry above the directories names is another's if it is a copy: a server's.
            let own = entry.filter(|(_, shared)| !shared);
            let (physical, _) =
                own.ok_or_else(|| (index / span + Self::first_used(entries).0.max(1)) * span)?;
            table = Ref::new(self.port.pool_address(physical));
        }
        Ok(table)
    }

    /// Leaf tables that an entry above the directories spans by which the owner has no directory
    /// for the leaf table `index`: the highest such entry. `None` if there is a directory.
    pub(crate) fn missing(&self, owner: Owner, index: usize) -> Option<usize> {
        (2..=Self::top_level(owner))
            .rev()
            .find(|level| self.descend(owner, index, level - 1).is_err())
            .map(P::Format::tables_of_entry)
    }

    /// The owner's table of level `to` that leads to the leaf table `index`, made if it is missing,
    /// and all that leads to it.
    pub(crate) fn make_upper(&mut self, owner: Owner, index: usize, to: u32) -> Result<Ref<Table>> {
        let mut table = self.pool[owner.region()].top.get().ok_or(Error::BadState)?;
        for level in (to + 1..=Self::top_level(owner)).rev() {
            let at = index / P::Format::tables_of_entry(level) % P::Format::ENTRIES;
            table = match self.entry(table, at).and_then(P::Format::decode_table) {
                Some((physical, false)) => Ref::new(self.port.pool_address(physical)),
                Some((_, true)) => return Err(Error::Occupied),
                None => {
                    let made = self.allocate_table(self.quota_of(owner)?)?;
                    self.unlooked += LOOK;
                    let entry = self.own_entry(owner, made);
                    self.write_entries(table, at..at + 1, |entries| entries.fill(entry));
                    if level == self.shared_level(owner) && self.has_copies(owner) {
                        self.entry_changed(owner, index);
                    }
                    made
                }
            };
        }
        Ok(table)
    }

    /// The entry of an owner's own for a table of its own.
    fn own_entry(&self, owner: Owner, table: Ref<Table>) -> Entry<P> {
        let entry = P::Format::table(self.port.physical(table.address()));
        if self.is_server(owner) { P::Format::supervisor(entry) } else { entry }
    }

    /// An entry of a table, by its index in that or in a row of such tables.
    pub(crate) fn entry(&self, table: Ref<Table>, index: usize) -> Option<Entry<P>> {
        self.pool[table].entries::<P::Format>().get(index % P::Format::ENTRIES).copied()
    }

    /// The owner's entry of this level that leads to the leaf table `index`.
    pub(crate) fn upper_entry(&self, owner: Owner, level: u32, index: usize) -> Entry<P> {
        self.descend(owner, index, level)
            .ok()
            .and_then(|table| self.entry(table, index / P::Format::tables_of_entry(level)))
            .unwrap_or_else(P::Format::empty)
    }

    /// The directory's entry for the owner's leaf table `index`.
    pub(crate) fn table_entry(&self, owner: Owner, index: usize) -> Entry<P> {
        self.upper_entry(owner, 1, index)
    }

    /// Entries of this level of an owner for a range of leaf tables, as many as one table has of
    /// them; or how many leaf tables are passed over because that table is missing.
    pub(crate) fn upper_entries(
        &self,
        owner: Owner,
        level: u32,
        range: Range<usize>,
    ) -> core::result::Result<&[Entry<P>], usize> {
        let table = self
            .descend(owner, range.start, level)
            .map_err(|behind| behind.min(range.end) - range.start)?;
        let (first, last) = Self::places(level, &range);
        Ok(self.pool[table].entries::<P::Format>().get(first..last).unwrap_or_default())
    }

    /// The same of directories.
    pub(crate) fn table_entries(
        &self,
        owner: Owner,
        range: Range<usize>,
    ) -> core::result::Result<&[Entry<P>], usize> {
        self.upper_entries(owner, 1, range)
    }

    /// Where a table of this level has its entries for a range of leaf tables, as far as it has them.
    fn places(level: u32, range: &Range<usize>) -> (usize, usize) {
        let span = P::Format::tables_of_entry(level);
        let first = range.start / span % P::Format::ENTRIES;
        (first, (first + range.len().div_ceil(span)).min(P::Format::ENTRIES))
    }

    /// The owner's own leaf table `index`.
    pub(crate) fn own_table(&self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        match P::Format::decode_table(self.table_entry(owner, index)) {
            Some((physical, false)) => Some(Ref::new(self.port.pool_address(physical))),
            _ => None,
        }
    }

    /// Writes a directory's entry of an owner, wherever that is visible.
    pub(crate) fn set_entry(&mut self, owner: Owner, index: usize, entry: Entry<P>) {
        let entry = if self.is_server(owner) { P::Format::supervisor(entry) } else { entry };
        let is_new = P::Format::is_empty(self.table_entry(owner, index));
        self.write_upper_entry(owner, 1, index, entry);
        match owner {
            _ if !self.has_copies(owner) => {}
            // All who show it have it at once.
            Owner::Space(server) if self.shared_level(owner) != 1 => {
                let start = P::Format::table_start(index);
                if !is_new {
                    self.port.invalidate_shown(&mut self.pool, server, start..start + TABLE_SPAN);
                }
            }
            _ => self.entry_changed(owner, index),
        }
    }

    /// Whether others have copies of an owner's entries, but for the home of a small space.
    fn has_copies(&self, owner: Owner) -> bool {
        !self.pool[owner.region()].uses.is_null() && self.smallness(owner).is_none()
    }

    /// Puts a leaf table into an owner's directory.
    pub(crate) fn set_table(&mut self, owner: Owner, index: usize, table: Ref<Table>) {
        let physical = self.port.physical(table.address());
        self.set_entry(owner, index, P::Format::table(physical));
    }

    /// Writes the entry of this level of an owner that leads to the leaf table `index`, if there is
    /// the table that has it. (Apart from [`write_upper_entries`](Self::write_upper_entries): a
    /// Segment's entry is copied so to many spaces in one step.)
    pub(crate) fn write_upper_entry(
        &mut self,
        owner: Owner,
        level: u32,
        index: usize,
        entry: Entry<P>,
    ) {
        if let Ok(table) = self.descend(owner, index, level) {
            let at = index / P::Format::tables_of_entry(level) % P::Format::ENTRIES;
            self.write_entries(table, at..at + 1, |entries| entries.fill(entry));
        }
        if let Owner::Space(space) = owner
            && level == 1
        {
            self.port.directory_written(&mut self.pool, space, index..index + 1);
            self.bring_home(space, index..index + 1, entry);
        }
    }

    /// Writes the same to an owner's entries of this level for a range of leaf tables, as far as
    /// there are tables that have them. The range begins and ends where such entries do.
    pub(crate) fn write_upper_entries(
        &mut self,
        owner: Owner,
        level: u32,
        range: Range<usize>,
        entry: Entry<P>,
    ) {
        self.change_upper_entries(owner, level, range.clone(), |entries| entries.fill(entry));
        if let Owner::Space(space) = owner
            && level == 1
        {
            self.bring_home(space, range, entry);
        }
    }

    /// Changes such entries of an owner that is not small.
    pub(crate) fn change_upper_entries(
        &mut self,
        owner: Owner,
        level: u32,
        range: Range<usize>,
        change: impl Fn(&mut [Entry<P>]),
    ) {
        let mut index = range.start;
        while index < range.end {
            let (first, last) = Self::places(level, &(index..range.end));
            if let Ok(table) = self.descend(owner, index, level) {
                self.write_entries(table, first..last, &change);
            }
            index += (last - first) * P::Format::tables_of_entry(level);
        }
        if let Owner::Space(space) = owner
            && level == 1
        {
            self.port.directory_written(&mut self.pool, space, range);
        }
    }

    /// Changes entries of a table: the one place where any is written.
    pub(crate) fn write_entries(
        &mut self,
        table: Ref<Table>,
        range: Range<usize>,
        change: impl FnOnce(&mut [Entry<P>]),
    ) {
        change(
            self.pool[table].entries_mut::<P::Format>().get_mut(range.clone()).unwrap_or_default(),
        );
        self.port.entries_written(&self.pool, table, range);
    }

    /// As [`own_table`](Self::own_table); a large page there is split.
    pub(crate) fn own_leaves(&mut self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        self.own_table(owner, index).or_else(|| self.split(owner, index))
    }

    /// The owner's table at an index, made if it is missing.
    pub(crate) fn table_for(&mut self, owner: Owner, index: usize) -> Result<Ref<Table>> {
        if let Some(table) = self.own_leaves(owner, index) {
            return Ok(table);
        }
        let table = self.new_table(owner, index)?;
        self.set_table(owner, index, table);
        Ok(table)
    }

    /// A table for an index at which there is nothing.
    pub(crate) fn new_table(&mut self, owner: Owner, index: usize) -> Result<Ref<Table>> {
        // A Segment's range is marked even where it has no table yet.
        if !P::Format::is_empty(self.table_entry(owner, index)) {
            return Err(Error::Occupied);
        }
        let quota = self.quota_of(owner)?;
        self.make_upper(owner, index, 1)?;
        // With more levels the way to it is longer.
        self.unlooked += LOOK / 4 * (P::Format::LEVELS - 2);
        self.allocate_table(quota)
    }

    /// An empty table, of any level.
    pub(crate) fn allocate_table(&mut self, quota: Ref<Quota>) -> Result<Ref<Table>> {
        let table = Ref::new(self.allocate(quota, TABLE_BYTES)?);
        self.port.entries_written(&self.pool, table, 0..P::Format::ENTRIES);
        Ok(table)
    }

    /// Frees the owner's table at an index, or that in reserve for its large page there. No
    /// processor looks at it any more.
    pub(crate) fn free_table(&mut self, owner: Owner, index: usize, table: Ref<Table>) {
        self.set_entry(owner, index, P::Format::empty());
        self.drop_table(owner, table);
    }

    /// Takes away what is in a range that the owner's table at an index spans, and frees the table.
    pub(crate) fn withdraw_table(
        &mut self,
        owner: Owner,
        index: usize,
        range: Range<UserAddr>,
        table: Ref<Table>,
    ) {
        self.set_entry(owner, index, P::Format::empty());
        self.flush(owner, range);
        self.drop_table(owner, table);
    }

    /// Frees a table that the owner's directories do not name any more: once no other has a copy of
    /// the entry. The processor was told, as it may walk a table that it remembers.
    fn drop_table(&mut self, owner: Owner, table: Ref<Table>) {
        let region = &mut self.pool[owner.region()];
        if region.changing != 0 {
            region.retired = table.link();
        } else {
            let quota = region.header.quota;
            self.release(quota, table.address(), TABLE_BYTES);
        }
    }

    /// How many leaf tables an owner can have, with those of the kernel's part of a space, which
    /// may lie above the users' addresses.
    fn all_tables(&self, owner: Owner) -> usize {
        let area = match owner {
            Owner::Space(space) => self.pool[space].area_end.0.div_ceil(TABLE_SPAN),
            Owner::Segment(_) => 0,
        };
        self.pool[owner.region()].tables().max(area as u32) as usize
    }

    /// Frees some of the owner's tables but the highest. Leaf table `cursor` is the next to look
    /// at. Done when none is left.
    pub(crate) fn free_tables(&mut self, owner: Owner, cursor: &mut u32) -> Progress {
        let tables = self.all_tables(owner);
        for _ in 0..TABLES {
            let index = (*cursor as usize).min(tables);
            let (found, next) = match self.table_entries(owner, index..tables) {
                Err(missing) => (None, index + missing),
                Ok(entries) => {
                    let entries = entries.get(..SEARCHED).unwrap_or(entries);
                    match entries.iter().position(|entry| !P::Format::is_empty(*entry)) {
                        None => (None, index + entries.len()),
                        Some(passed) => (Some(index + passed), index + passed + 1),
                    }
                }
            };
            if let Some(index) = found
                && let Some(table) =
                    self.own_table(owner, index).or_else(|| self.take_spare(owner, index))
            {
                self.free_table(owner, index, table);
            }
            self.free_directories(owner, next);
            *cursor = next as u32;
            if found.is_none() {
                break;
            }
        }
        Progress::done_if(*cursor as usize == tables)
    }

    /// Frees the tables above leaf tables that all leaf tables below `end` have left.
    fn free_directories(&mut self, owner: Owner, end: usize) {
        for level in 2..=Self::top_level(owner) {
            let span = P::Format::tables_of_entry(level);
            if end == 0 || !end.is_multiple_of(span) {
                return;
            }
            self.free_below(owner, end - 1, level);
        }
    }

    /// Frees the table that leads to the leaf table `index` and is named by one of this level.
    fn free_below(&mut self, owner: Owner, index: usize, level: u32) {
        let Ok(table) = self.descend(owner, index, level) else { return };
        let at = index / P::Format::tables_of_entry(level) % P::Format::ENTRIES;
        if let Some((physical, _)) = self.entry(table, at).and_then(P::Format::decode_table) {
            self.write_entries(table, at..at + 1, |entries| entries.fill(P::Format::empty()));
            let quota = self.pool[owner.region()].header.quota;
            self.release(quota, self.port.pool_address(physical), TABLE_BYTES);
        }
    }

    /// Frees the leaf table of an address, and what leads to it, of a space that has nothing else.
    pub(crate) fn free_only(&mut self, space: Ref<Space>, address: UserAddr) {
        let (owner, index) = (Owner::Space(space), P::Format::table_index(address));
        if let Some(table) = self.own_table(owner, index) {
            self.free_table(owner, index, table);
        }
        (2..=Self::top_level(owner)).for_each(|level| self.free_below(owner, index, level));
    }

    /// Calls a seam of the port for every space in which an owner's range is visible, or if these
    /// are too many the one for all spaces.
    fn in_each_space(
        &mut self,
        owner: Owner,
        Range { start, end }: Range<UserAddr>,
        one: impl Fn(&mut P, &mut Pool, Ref<Space>, Range<UserAddr>),
        all: impl Fn(&mut P),
    ) {
        let segment = match owner {
            Owner::Space(space) => return self.in_space(space, start..end, &one),
            Owner::Segment(segment) => segment,
        };
        let mut next = self.pool[segment].region.uses;
        for _ in 0..SPACES {
            let Some(at) = next.get() else { return };
            let Attachment { owner, index, source_next, .. } = self.pool[at];
            let base = P::Format::table_start(index as usize);
            self.unlooked += SPACE;
            self.in_space(Ref::new(owner), base + start.0..base + end.0, &one);
            next = source_next;
        }
        if !next.is_null() {
            all(&mut self.port);
        }
    }

    /// Calls a seam of the port for a space, and for the home that it moves into.
    fn in_space(
        &mut self,
        space: Ref<Space>,
        range: Range<UserAddr>,
        one: &impl Fn(&mut P, &mut Pool, Ref<Space>, Range<UserAddr>),
    ) {
        if let Some((home, part)) = self.unknown_place(space, &range) {
            one(&mut self.port, &mut self.pool, home, part);
        }
        one(&mut self.port, &mut self.pool, space, range);
    }

    pub(crate) fn before(&mut self, owner: Owner, range: Range<UserAddr>, change: Change) {
        let one = |port: &mut P, pool: &mut Pool, space, range| {
            port.before_change(pool, space, range, change)
        };
        self.in_each_space(owner, range, one, |port| port.before_change_anywhere(change));
    }

    pub(crate) fn flush(&mut self, owner: Owner, range: Range<UserAddr>) {
        let one = |port: &mut P, pool: &mut Pool, space, range| port.invalidate(pool, space, range);
        self.in_each_space(owner, range, one, P::invalidate_all);
    }

    /// Writes one leaf of the kernel's own choice (information page, UTCBs, the root
    /// server's image) into a space. Nothing is attached: no Memory names it.
    pub(crate) fn set_kernel_leaf(
        &mut self,
        space: Ref<Space>,
        address: UserAddr,
        physical: PhysAddr,
        rights: Rights,
    ) -> Result<()> {
        let table = self.table_for(Owner::Space(space), P::Format::table_index(address))?;
        let global = self.is_global(Owner::Space(space));
        let leaf = Leaf { physical, rights, most: rights, attributes: Attributes::Cached, global };
        let index = P::Format::leaf_index(address);
        self.write_entries(table, index..index + 1, |entries| entries.fill(P::Format::leaf(leaf)));
        Ok(())
    }

    /// Removes one leaf of a space.
    pub(crate) fn clear_leaf(&mut self, space: Ref<Space>, address: UserAddr) {
        let owner = Owner::Space(space);
        let Some(table) = self.own_table(owner, P::Format::table_index(address)) else { return };
        self.before(owner, address..address + PAGE_SIZE, Change::Remove);
        let index = P::Format::leaf_index(address);
        self.write_entries(table, index..index + 1, |entries| entries.fill(P::Format::empty()));
        self.flush(owner, address..address + PAGE_SIZE);
    }

    /// `cache`.
    pub(crate) fn cache(&mut self, caller: Ref<Space>, call: call::Cache) -> Result<[Word; 3]> {
        let (space, range) = self.cached_range(caller, call.space, call.address, call.bytes)?;
        let what = CacheOp::from_code(crate::narrow(call.operation)?).ok_or(Error::BadArgument)?;
        if what == CacheOp::Clear {
            if !range.start.is_aligned(PAGE_SIZE) || !range.end.is_aligned(PAGE_SIZE) {
                return Err(Error::BadArgument);
            }
            let cleared = self.port.clear_later(&mut self.pool, space, range)?;
            return Ok([cleared as Word, 0, 0]);
        }
        self.carry_out_cache(space, range, what)?;
        Ok(NOTHING)
    }

    /// An operation on the caches which has no result. The Quota of the space pays for lines that
    /// are to stay there.
    fn carry_out_cache(
        &mut self,
        space: Ref<Space>,
        range: Range<UserAddr>,
        what: CacheOp,
    ) -> Result<()> {
        let owner = Owner::Space(space);
        match what {
            CacheOp::Lock => {
                let quota = self
                    .quota_of(owner)
                    .ok()
                    .filter(|quota| self.charge(*quota, Charge::LOCK).is_ok());
                let locked = self.port.lock_lines(&mut self.pool, space, range, quota.is_some());
                if let Some(quota) = quota.filter(|_| locked != Ok(true)) {
                    self.uncharge(quota.link(), Charge::LOCK);
                }
                locked.map(drop)
            }
            CacheOp::Unlock => {
                let charged = self.port.unlock_lines(&mut self.pool, space, &range)?;
                self.uncharge(self.pool[space].region.header.quota, charged);
                Ok(())
            }
            CacheOp::Clean | CacheOp::CleanAndInvalidate | CacheOp::SyncCode => {
                self.port.cache(&mut self.pool, space, range, what);
                Ok(())
            }
            CacheOp::Clear => Err(Error::BadArgument),
        }
    }

    /// The operation of a `map` record on the caches.
    pub(crate) fn cache_record(
        &mut self,
        caller: Ref<Space>,
        record: &MapRecord,
        what: CacheOp,
    ) -> Result<()> {
        let (space, range) =
            self.cached_range(caller, record.space(), record.address(), record.length())?;
        if range.is_empty() || !record.length().is_multiple_of(PAGE_SIZE) {
            return Err(Error::BadArgument);
        }
        self.carry_out_cache(space, range, what)
    }

    /// The range of a Space that the caller may do something about in the caches.
    fn cached_range(
        &self,
        caller: Ref<Space>,
        space: Selector,
        start: UserAddr,
        bytes: Word,
    ) -> Result<(Ref<Space>, Range<UserAddr>)> {
        let target: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let end = start
            .0
            .checked_add(bytes)
            .map(UserAddr)
            .filter(|end| *end <= self.pool[target].region.end);
        Ok((target, start..end.ok_or(Error::BadAddress)?))
    }
}
