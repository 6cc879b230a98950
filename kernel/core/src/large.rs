// SPDX-License-Identifier: MIT OR Apache-2.0
//! Large pages: entries of a directory that map a whole span themselves.
//!
//! `map` makes one if it covers a whole span, and the physical addresses are aligned in the same
//! way. Each large page has a table in reserve, which was charged to the owner's Quota when the
//! page was mapped. So an owner pays what it would pay without large pages, and it takes no memory
//! to unmap a part of one or to change its rights: the page is split into that table.

use crate::map::{LOOK, fill_pages};
use crate::port::{Change, Port};
use crate::{Kernel, Owner, Result, Table};
use abi::{PhysAddr, Rights, TABLE_SPAN, UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use core::ops::Range;
use mmu::{Format, Leaf};
use pool::{Link, Object, Ref};

/// A table in reserve: it names the next.
#[repr(transparent)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Spare(Link<Table>);
impl Object for Spare {}

fn span<F: Format>(index: usize) -> Range<UserAddr> {
    let start = F::table_start(index);
    start..start + TABLE_SPAN
}

impl<P: Port> Kernel<P> {
    /// The owner's own large page at an index of its directories.
    fn own_large(&self, owner: Owner, index: usize) -> Option<Leaf> {
        P::Format::decode_large(self.table_entry(owner, index))
            .and_then(|(leaf, shared)| (!shared).then_some(leaf))
    }

    /// A table in reserve, if there is a large page at an index. The page has to go at once.
    pub(crate) fn take_spare(&mut self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        self.own_large(owner, index)?;
        let table = self.pool[owner.region()].spares.get()?;
        let next = core::mem::replace(
            &mut self.pool[Ref::<Spare>::new(table.address())],
            Spare(Link::NULL),
        );
        self.pool[owner.region()].spares = next.0;
        Some(table)
    }

    /// Maps a span by one entry; whether another mapping was replaced.
    pub(crate) fn map_large(&mut self, owner: Owner, index: usize, leaf: Leaf) -> Result<bool> {
        let span = span::<P::Format>(index);
        if let Some(old) = self.own_large(owner, index) {
            if old != leaf {
                self.before(owner, span.clone(), Change::Replace);
                self.set_entry(owner, index, P::Format::large(leaf));
            }
            return Ok(old != leaf);
        }
        let old = self.own_table(owner, index);
        let table = match old {
            Some(table) => table,
            None => self.new_table(owner, index)?,
        };
        if old.is_some() {
            self.before(owner, span.clone(), Change::Replace);
        }
        let next = core::mem::replace(&mut self.pool[owner.region()].spares, table.link());
        self.pool[Ref::new(table.address())] = Spare(next);
        self.set_entry(owner, index, P::Format::large(leaf));
        Ok(old.is_some())
    }

    /// Makes small pages of the owner's large page at an index, if there is one.
    pub(crate) fn split(&mut self, owner: Owner, index: usize) -> Option<Ref<Table>> {
        let leaf = self.own_large(owner, index)?;
        let table = self.take_spare(owner, index)?;
        self.unlooked += LOOK;
        self.write_entries(table, 0..P::Format::ENTRIES, |entries| {
            fill_pages::<P::Format>(entries, P::Format::leaf(leaf))
        });
        let span = span::<P::Format>(index);
        self.set_table(owner, index, table);
        // A processor may hold the large page in pieces, which the flush of a single page would
        // leave.
        self.flush(owner, span);
        Some(table)
    }

    /// Removes the owner's large page at an index, or changes its rights; false if there is none.
    pub(crate) fn change_large(
        &mut self,
        owner: Owner,
        index: usize,
        rights: Option<Rights>,
    ) -> bool {
        let Some(leaf) = self.own_large(owner, index) else { return false };
        let span = span::<P::Format>(index);
        let changed = rights.map(|rights| Leaf { rights: rights.intersection(leaf.most), ..leaf });
        if changed == Some(leaf) {
            // It may be carried on only to reach all spaces.
            return true;
        }
        self.before(owner, span.clone(), rights.map_or(Change::Remove, Change::Protect));
        if let Some(changed) = changed {
            self.set_entry(owner, index, P::Format::large(changed));
            self.flush(owner, span);
        } else if let Some(table) = self.take_spare(owner, index) {
            self.withdraw_table(owner, index, span, table);
        }
        true
    }

    /// Takes a range of physical memory, from `base` on, out of the owner's large page at an index.
    /// What is left of the page is split.
    pub(crate) fn take_from_large(
        &mut self,
        owner: Owner,
        index: usize,
        (base, bytes): (PhysAddr, Word),
    ) {
        let Some(Leaf { physical, .. }) = self.own_large(owner, index) else { return };
        let offset = physical.offset_from(base);
        if offset < bytes && bytes - offset >= TABLE_SPAN {
            self.change_large(owner, index, None);
        } else if offset < bytes || base.offset_from(physical) < TABLE_SPAN {
            self.split(owner, index);
        }
    }
}
