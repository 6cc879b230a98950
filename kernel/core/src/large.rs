// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large pages: entries of an upper level that map a whole span themselves.
//!
//! `map` makes them where it covers a span with physical addresses that are aligned alike. Each
//! has a table in reserve, charged to the owner's Quota when it was mapped. So an owner pays what
//! it would pay without large pages, and to take away a part of one, or to change its rights,
//! needs no memory: the page is split into the table.

use crate::map::{LOOK, fill_pages};
use crate::port::{Change, Port};
use crate::{Kernel, Owner, Result, Table};
use abi::{Rights, TABLE_SPAN};
use mmu::{Format, Leaf};
use pool::{Link, Ref};

const fn span(index: usize) -> (u32, u32) {
    let start = index as u32 * TABLE_SPAN;
    (start, start + TABLE_SPAN)
}

impl<P: Port> Kernel<P> {
    /// The owner's own large page at an index of its upper level.
    fn own_large(&self, owner: Owner, index: usize) -> Option<Leaf> {
        P::Format::decode_large(self.top_entry(owner, index)).and_then(|(leaf, shared)| (!shared).then_some(leaf))
    }

    /// A table in reserve, if there is a large page at an index. The page has to go at once.
    pub(crate) fn take_spare(&mut self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        self.own_large(owner, index)?;
        let table = self.pool[owner.region()].spares.get()?;
        // The first word names the next.
        let next = core::mem::take(self.pool[table].0.first_mut()?);
        self.pool[owner.region()].spares = Link::from_value(next);
        Some(table)
    }

    /// Maps a span by one entry; whether another mapping was replaced.
    pub(crate) fn map_large(&mut self, owner: Owner, index: usize, leaf: Leaf) -> Result<bool> {
        let (start, end) = span(index);
        if let Some(old) = self.own_large(owner, index) {
            if old != leaf {
                self.before(owner, start, end, Change::Replace);
                self.set_top(owner, index, P::Format::large(leaf));
            }
            return Ok(old != leaf);
        }
        let old = self.own_table(owner, index);
        let table = match old {
            Some(table) => table,
            None => self.new_table(owner, index)?,
        };
        if old.is_some() {
            self.before(owner, start, end, Change::Replace);
        }
        let next = core::mem::replace(&mut self.pool[owner.region()].spares, table.link());
        if let Some(first) = self.pool[table].0.first_mut() {
            *first = next.value();
        }
        self.set_top(owner, index, P::Format::large(leaf));
        Ok(old.is_some())
    }

    /// Makes 1024 pages of the owner's large page at an index, if there is one.
    pub(crate) fn split(&mut self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        let leaf = self.own_large(owner, index)?;
        let table = self.take_spare(owner, index)?;
        self.unlooked += LOOK;
        self.write_entries(table, 0..mmu::ENTRIES, |entries| fill_pages(entries, P::Format::leaf(leaf)));
        let (start, end) = span(index);
        self.set_table(owner, index, table);
        // A processor may hold the large page in pieces, which the flush of a single page would leave.
        self.flush(owner, start, end);
        Some(table)
    }

    /// Removes the owner's large page at an index, or changes its rights; false if there is none.
    pub(crate) fn change_large(&mut self, owner: Owner, index: usize, rights: Option<Rights>) -> bool {
        let Some(leaf) = self.own_large(owner, index) else { return false };
        let (start, end) = span(index);
        let changed = rights.map(|rights| Leaf { rights: rights.intersection(leaf.most), ..leaf });
        if changed == Some(leaf) {
            // It may be carried on only to reach all spaces.
            return true;
        }
        self.before(owner, start, end, rights.map_or(Change::Remove, Change::Protect));
        if let Some(changed) = changed {
            self.set_top(owner, index, P::Format::large(changed));
        } else if let Some(table) = self.take_spare(owner, index) {
            self.free_table(owner, index, table);
        }
        self.flush(owner, start, end);
        true
    }

    /// Takes a range of physical memory, from `base` on, out of the owner's large page at an index. What
    /// is left of the page is split.
    pub(crate) fn take_from_large(&mut self, owner: Owner, index: usize, (base, bytes): (u32, u32)) {
        let Some(Leaf { physical, .. }) = self.own_large(owner, index) else { return };
        let offset = physical.wrapping_sub(base);
        if offset < bytes && bytes - offset >= TABLE_SPAN {
            self.change_large(owner, index, None);
        } else if offset < bytes || base.wrapping_sub(physical) < TABLE_SPAN {
            self.split(owner, index);
        }
    }
}
