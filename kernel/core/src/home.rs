// SPDX-License-Identifier: MIT OR Apache-2.0
//! Homes: Spaces without threads. The threads of several small Spaces run with a home's tables, so
//! a switch from one small Space to another needs no switch of tables
//! (uhlig-small-spaces-pentium-2002, section 3).
//!
//! A small space has a size. The entries of its directory below that size are copied into its
//! home's, from some place on. The processor adds that place to each address that its threads use,
//! and keeps them within the size. So only the port knows of the place: for the portable kernel a
//! small space has the addresses from 0 to its size.
//!
//! A space is in at most one home. So a change in its directory is written to its home at once, and
//! not in steps (`share.rs`).

use crate::attach::attachment;
use crate::port::Port;
use crate::share::Source;
use crate::{Attachment, Entry, Kernel, Owner, Region, Result, Space};
use abi::call::SizedRights;
use abi::{Error, Rights, TABLE_SPAN, UserAddr, Word};
use core::ops::Range;
use mmu::Format;
use pool::{Link, Ref};

/// Sizes that a small space can have, powers of two.
const SIZES: Range<Word> = TABLE_SPAN..(1 << 30) + 1;

impl<P: Port> Kernel<P> {
    /// The record by which a space is in a home, if it is small.
    pub(crate) fn smallness(&self, owner: Owner) -> Option<Ref<Attachment>> {
        if !P::HOMES {
            return None;
        }
        let first = self.pool[owner.region()].uses.get()?;
        (self.pool[first].kind == attachment::SMALL_IN_HOME).then_some(first)
    }

    /// A Space to be attached to a home at an address. `begun`: its attaching may have begun.
    pub(crate) fn small_source(
        &self,
        home: Ref<Space>,
        small: Ref<Space>,
        address: UserAddr,
        size: Word,
        begun: bool,
    ) -> Result<Source> {
        if !SIZES.contains(&size) || !size.is_power_of_two() {
            return Err(Error::BadArgument);
        }
        if !self.port.has_small_spaces() {
            return Err(Error::Unsupported);
        }
        if !address.is_aligned(size) {
            return Err(Error::BadAddress);
        }
        if !self.pool[home].is_home()
            || self.pool[small].is_home()
            || self.is_server(Owner::Space(small))
        {
            return Err(Error::BadState);
        }
        let owner = Owner::Space(small);
        match self.smallness(owner).map(|at| self.pool[at]) {
            // What it has beyond its end is the window of a server that it shows.
            None if size > self.pool[small].region.end.0 || self.has_more(owner, size) => {
                return Err(Error::Occupied);
            }
            None => {}
            Some(record) if begun && record.is_at(home, P::Format::table_index(address)) => {}
            Some(_) => return Err(Error::Occupied),
        }
        Ok(Source { kind: attachment::SMALL_IN_HOME, owner, bytes: size })
    }

    /// Whether a space has a leaf table or a large page of its own for an address at `size` or
    /// above.
    fn has_more(&self, owner: Owner, size: Word) -> bool {
        let mut range = (size / TABLE_SPAN) as usize..self.pool[owner.region()].tables() as usize;
        while !range.is_empty() {
            range.start += match self.table_entries(owner, range.clone()) {
                Ok(entries) if Self::first_used(entries).1 => return true,
                Ok(entries) => entries.len(),
                Err(missing) => missing,
            };
        }
        false
    }

    /// An entry was written to a range of a space's directory: if it is small, its home gets that,
    /// too, but for what is beyond its size, as the window of a server is that it shows.
    pub(crate) fn bring_home(&mut self, space: Ref<Space>, range: Range<usize>, entry: Entry<P>) {
        let Some(at) = self.smallness(Owner::Space(space)) else { return };
        let end = range.end.min(self.pool[space].region.tables() as usize);
        if range.start < end {
            let record = self.pool[at];
            let base = record.base() as usize;
            let copy = P::Format::shared(entry, Rights(record.rights));
            self.write_upper_entries(record.owner(), 1, base + range.start..base + end, copy);
        }
    }

    /// Where a range of a space is in its home as long as the port does not know of the place: the
    /// processor may find there what was brought home until then.
    pub(crate) fn unknown_place(
        &self,
        space: Ref<Space>,
        range: &Range<UserAddr>,
    ) -> Option<(Ref<Space>, Range<UserAddr>)> {
        let record = self.pool[self.smallness(Owner::Space(space))?];
        let Region { end, .. } = self.pool[space].region;
        let is_known = record.cursor == self.pool[space].region.tables();
        let base = P::Format::table_start(record.base() as usize);
        let part = base + range.start.0.min(end.0)..base + range.end.0.min(end.0);
        (!is_known && part.start < part.end).then(|| (Ref::new(record.owner), part))
    }

    /// Tells the port where a small space is, once its home has all of its entries.
    pub(crate) fn moved_in(&mut self, small: Ref<Space>, home: Ref<Space>, address: UserAddr) {
        let end = address + self.pool[small].region.end.0;
        self.port.space_moved(&mut self.pool, small, home.link(), address..end);
    }

    /// A small space is about to leave its home: it is a large one again.
    pub(crate) fn moved_out(&mut self, at: Ref<Attachment>) {
        let Attachment { source, large_tables, .. } = self.pool[at];
        let space: Ref<Space> = Ref::new(source);
        self.pool[space].region.end = P::Format::table_start(large_tables as usize);
        self.port.space_moved(
            &mut self.pool,
            space,
            Link::NULL,
            UserAddr::default()..UserAddr::default(),
        );
    }

    /// Where the users' part of a space ends that shows a server from `window` on, or none any
    /// more.
    pub(crate) fn set_end(&mut self, space: Ref<Space>, end: UserAddr) {
        match self.smallness(Owner::Space(space)) {
            Some(at) => self.pool[at].large_tables = (end.0 / TABLE_SPAN) as u32,
            None => self.pool[space].region.end = end,
        }
    }

    /// Where a space's own part ends when it is large.
    pub(crate) fn large_end(&self, space: Ref<Space>) -> UserAddr {
        let small = self.smallness(Owner::Space(space));
        small.map_or(self.pool[space].region.end, |at| {
            P::Format::table_start(self.pool[at].large_tables as usize)
        })
    }

    /// What `attach` takes as its last argument: rights, and a size above them.
    pub(crate) fn rights_and_size(given: SizedRights) -> Result<(Rights, Word)> {
        let rights = Rights(crate::narrow(given.rights())?);
        if !rights.contains(Rights::READ) || !Rights::RWX.contains(rights) {
            return Err(Error::BadArgument);
        }
        Ok((rights, given.size()))
    }
}
