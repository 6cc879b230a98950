// SPDX-License-Identifier: MIT OR Apache-2.0
//! Translation tables: who owns them, making and freeing them, and their entries.
//!
//! A table belongs to one owner, a Space or a Segment, whose Quota pays for it.

use crate::port::{Change, Port};
use crate::{Attachment, Header, Kernel, NOTHING, Quota, Result, Segment, Space};
use abi::{CacheOp, Error, Kind, PAGE_SIZE, Rights, TABLE_SPAN};
use bytemuck::{Pod, Zeroable};
use core::ops::Range;
use mmu::{Attributes, Format, Leaf, leaf_index, top_index};
use pool::{Link, Object, Pool, Ref};

/// A page of translation-table entries, upper or lower level.
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Table(pub [u32; mmu::ENTRIES]);
impl Object for Table {}

/// Bytes of a table.
pub const TABLE_BYTES: u32 = abi::PAGE_SIZE;

/// Tables that are freed in one step.
const TABLES: u32 = 2;
/// Entries of an upper level that are searched for them in one step.
const SEARCHED: u32 = 256;
/// Spaces with a Segment for which a port's seam is called one by one.
const SPACES: u32 = 16;

/// Translation tables, with who pays for them and what is mapped there: what a Space and a Segment
/// have in common. Both begin with it, so that [`Owner::region`] finds it in either.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Region {
    /// Who pays, original capability.
    pub header: Header,
    /// Upper level of the translation tables.
    pub top: Link<Table>,
    /// Memory that was mapped (`attach.rs`).
    pub attached: Link<Attachment>,
    /// Tables in reserve for large pages (`large.rs`).
    pub spares: Link<Table>,
    /// First address above those that users map.
    pub end: u32,
}
impl Object for Region {}
const _: () = assert!(core::mem::offset_of!(Space, region) == 0 && core::mem::offset_of!(Segment, region) == 0);

impl Region {
    /// How many tables it can have, from address 0 on.
    #[must_use]
    pub const fn entries(&self) -> u32 {
        self.end / abi::TABLE_SPAN
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
    pub(crate) fn is_users(&self, owner: Owner, address: u32, bytes: u32) -> bool {
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
        if header.is_dying() { Err(Error::BadState) } else { header.quota.get().ok_or(Error::BadState) }
    }

    pub(crate) fn top_entry(&self, owner: Owner, index: usize) -> u32 {
        self.pool[owner.region()].top.get().and_then(|top| self.pool[top].0.get(index).copied()).unwrap_or(0)
    }

    /// The owner's own table at an index of its upper level.
    pub(crate) fn own_table(&self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        match P::Format::decode_table(self.top_entry(owner, index)) {
            Some((physical, false)) => Some(Ref::new(self.port.pool_address(physical))),
            _ => None,
        }
    }

    /// Writes an entry of an owner's upper level, wherever that is visible.
    pub(crate) fn set_top(&mut self, owner: Owner, index: usize, entry: u32) {
        self.write_top(self.pool[owner.region()].top, index, entry);
        match owner {
            Owner::Space(space) => self.port.top_changed(&mut self.pool, space, index),
            Owner::Segment(segment) => self.entry_changed(segment, index),
        }
    }

    /// Puts a table into an owner's upper level.
    pub(crate) fn set_table(&mut self, owner: Owner, index: usize, table: Ref<Table>) {
        let physical = self.port.physical(table.address());
        self.set_top(owner, index, P::Format::table(physical));
    }

    pub(crate) fn write_top(&mut self, top: Link<Table>, index: usize, entry: u32) {
        if let Some(top) = top.get() {
            self.write_entries(top, index..index + 1, |entries| entries.fill(entry));
        }
    }

    /// Changes entries of a table: the one place where any is written.
    pub(crate) fn write_entries(&mut self, table: Ref<Table>, range: Range<usize>, change: impl FnOnce(&mut [u32])) {
        change(self.pool[table].0.get_mut(range.clone()).unwrap_or_default());
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
        if self.top_entry(owner, index) != 0 {
            return Err(Error::Occupied);
        }
        let quota = self.quota_of(owner)?;
        self.allocate_table(quota)
    }

    /// An empty table, of the upper or the lower level.
    pub(crate) fn allocate_table(&mut self, quota: Ref<Quota>) -> Result<Ref<Table>> {
        let table = Ref::new(self.allocate(quota, TABLE_BYTES)?);
        self.port.entries_written(&self.pool, table, 0..mmu::ENTRIES);
        Ok(table)
    }

    /// Frees the owner's table at an index, or that in reserve for its large page there: of a Segment
    /// once no space has a copy of the entry any more.
    pub(crate) fn free_table(&mut self, owner: Owner, index: usize, table: Ref<Table>) {
        self.set_top(owner, index, 0);
        match owner {
            Owner::Segment(segment) if self.pool[segment].changing != 0 => self.pool[segment].retired = table.link(),
            _ => self.release(self.pool[owner.region()].header.quota, table.address(), TABLE_BYTES),
        }
    }

    /// Frees some of the owner's tables, whose entry `cursor` is the next to look at; true when none is left.
    pub(crate) fn free_tables(&mut self, owner: Owner, cursor: &mut u32) -> bool {
        let end = (*cursor + SEARCHED).min(mmu::USER_ENTRIES as u32);
        for _ in 0..TABLES {
            let entries = self.pool[owner.region()].top.get().and_then(|top| self.pool[top].0.get(*cursor as usize..end as usize));
            let Some(passed) = entries.and_then(|entries| entries.iter().position(|entry| *entry != 0)) else {
                *cursor = end;
                break;
            };
            let index = *cursor as usize + passed;
            if let Some(table) = self.own_table(owner, index).or_else(|| self.take_spare(owner, index)) {
                self.free_table(owner, index, table);
            }
            *cursor = index as u32 + 1;
        }
        *cursor as usize == mmu::USER_ENTRIES
    }

    /// Calls a seam of the port for every space in which an owner's range is visible, or if these are
    /// too many the one for all spaces.
    fn in_each_space(
        &mut self,
        owner: Owner,
        start: u32,
        end: u32,
        one: impl Fn(&mut P, &mut Pool, Ref<Space>, u32, u32),
        all: impl Fn(&mut P),
    ) {
        let segment = match owner {
            Owner::Space(space) => return one(&mut self.port, &mut self.pool, space, start, end),
            Owner::Segment(segment) => segment,
        };
        let mut next = self.pool[segment].uses;
        for _ in 0..SPACES {
            let Some(at) = next.get() else { return };
            let Attachment { owner, index, source_next, .. } = self.pool[at];
            let base = index * TABLE_SPAN;
            one(&mut self.port, &mut self.pool, Ref::new(owner), base + start, base + end);
            next = source_next;
        }
        if !next.is_null() {
            all(&mut self.port);
        }
    }

    pub(crate) fn before(&mut self, owner: Owner, start: u32, end: u32, change: Change) {
        let one = |port: &mut P, pool: &mut Pool, space, start, end| port.before_change(pool, space, start..end, change);
        self.in_each_space(owner, start, end, one, |port| port.before_change_anywhere(change));
    }

    pub(crate) fn flush(&mut self, owner: Owner, start: u32, end: u32) {
        let one = |port: &mut P, pool: &mut Pool, space, start, end| port.invalidate(pool, space, start..end);
        self.in_each_space(owner, start, end, one, P::invalidate_all);
    }

    /// Writes one leaf of the kernel's own choice (information page, UTCBs, the root
    /// server's image) into a space. Nothing is attached: no Memory names it.
    pub(crate) fn set_kernel_leaf(&mut self, space: Ref<Space>, address: u32, physical: u32, rights: Rights) -> Result<()> {
        let table = self.table_for(Owner::Space(space), top_index(address))?;
        let leaf = Leaf { physical, rights, most: rights, attributes: Attributes::Cached };
        let index = leaf_index(address);
        self.write_entries(table, index..index + 1, |entries| entries.fill(P::Format::leaf(leaf)));
        Ok(())
    }

    /// Removes one leaf of a space.
    pub(crate) fn clear_leaf(&mut self, space: Ref<Space>, address: u32) {
        let owner = Owner::Space(space);
        let Some(table) = self.own_table(owner, top_index(address)) else { return };
        self.before(owner, address, address + PAGE_SIZE, Change::Remove);
        let index = leaf_index(address);
        self.write_entries(table, index..index + 1, |entries| entries.fill(0));
        self.flush(owner, address, address + PAGE_SIZE);
    }

    /// `cache`.
    pub(crate) fn cache(&mut self, space: Ref<Space>, args: [u32; 4]) -> Result<[u32; 3]> {
        let target: Ref<Space> = self.object(space, args[0], Kind::Space, Rights::CONTROL)?;
        let end = args[1].checked_add(args[2]).filter(|end| *end <= self.pool[target].region.end).ok_or(Error::BadAddress)?;
        let what = CacheOp::from_code(args[3]).ok_or(Error::BadArgument)?;
        self.port.cache(&mut self.pool, target, args[1]..end, what);
        Ok(NOTHING)
    }
}
