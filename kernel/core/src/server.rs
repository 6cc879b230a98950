// SPDX-License-Identifier: MIT OR Apache-2.0
//! Servers: spaces that others show, so that entering them needs no switch of tables.
//!
//! A server has a window, the addresses from some place to the end of the users' part. Its entries
//! for the window are copied into each space that shows it (`share.rs`), where the processor does
//! not let the space's own threads use them. They are entries of its directory; or, where there are
//! tables above directories, of the highest level at which an entry begins where the window does,
//! so that a window of any size is few entries. So while the tables of such a space are loaded, the
//! server's threads run with them, and can access everything that the space's threads can access.
//! What is outside of the window depends on whose tables are loaded: so a server maps nothing
//! there.
//!
//! All windows end at the same address. So if there is only one server, no space shows another one
//! at these addresses, and the translations of its pages may stay when the tables change: the
//! server can be *global*. A space that shows no server, and maps something there itself, harms
//! only itself: its accesses may find the supervisor's pages.

use crate::memory::class;
use crate::port::Port;
use crate::{Kernel, Memory, NOTHING, Owner, Result, Space};
use abi::{Error, Kind, Rights, TABLE_SPAN, USER_END, UserAddr, Word, call};
use mmu::Format;
use pool::{Link, Ref};

impl<P: Port> Kernel<P> {
    /// Whether an owner of tables is a server.
    pub(crate) fn is_server(&self, owner: Owner) -> bool {
        P::SERVERS
            && matches!(owner, Owner::Space(space) if self.pool[space].window != UserAddr::default())
    }

    /// `serve`.
    pub(crate) fn serve(&mut self, caller: Ref<Space>, call: call::Serve) -> Result<[Word; 3]> {
        let call::Serve { space, window, alone } = call;
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        let window: Ref<Memory> = self.object(caller, window, Kind::Memory, Rights::CONTROL)?;
        let Memory { class: kind, base, bytes, header, .. } = self.pool[window];
        if kind != class::WINDOW || alone > 1 {
            return Err(Error::BadArgument);
        }
        if header.is_dying() || !self.is_fresh(space) {
            return Err(Error::BadState);
        }
        let Space { area_start, area_end, region, .. } = self.pool[space];
        let level = Self::window_level(area_start);
        let tables = P::Format::tables_of_entry(level);
        let fits = bytes / (TABLE_SPAN * tables as Word) <= P::Format::ENTRIES as Word;
        if area_start != UserAddr(base.0) || region.end.0 - base.0 != bytes || !fits {
            return Err(Error::BadAddress);
        }
        if !self.global.is_null() || alone == 1 && self.servers != 0 {
            return Err(Error::Occupied);
        }
        // The kernel's pages get all of their tables now. Later, others would have copies of what
        // leads there, and a call that makes a thread could not wait until they have a new one.
        let first = P::Format::table_index(area_start);
        for index in first..area_end.0.div_ceil(TABLE_SPAN) as usize {
            self.table_for(Owner::Space(space), index)?;
        }
        self.port.space_served(&mut self.pool, space)?;
        self.servers += 1;
        if alone == 1 {
            self.global = space.link();
        }
        let s = &mut self.pool[space];
        s.window = area_start;
        // Nobody may map below the window, either.
        s.area_start = UserAddr::default();
        // Tables that somebody has emptied may still be there.
        let places = P::Format::table_index(area_start)
            ..P::Format::table_index(area_start) + (bytes / TABLE_SPAN) as usize;
        self.change_upper_entries(Owner::Space(space), level, places, |entries| {
            entries.iter_mut().for_each(|entry| *entry = P::Format::supervisor(*entry));
        });
        Ok(NOTHING)
    }

    /// The level of the entries that others get of a server whose window begins there: the highest
    /// of which one begins there, and ends with the users' part.
    pub(crate) fn window_level(window: UserAddr) -> u32 {
        let begins = |level: &u32| {
            let span = TABLE_SPAN * P::Format::tables_of_entry(*level) as Word;
            window.is_aligned(span) && UserAddr(USER_END).is_aligned(span)
        };
        if window == UserAddr::default() {
            return 1;
        }
        (2..P::Format::LEVELS).rev().find(begins).unwrap_or(1)
    }

    /// Whether the pages of an owner of tables are global.
    pub(crate) fn is_global(&self, owner: Owner) -> bool {
        P::SERVERS && matches!(owner, Owner::Space(space) if self.global.is(space))
    }

    /// A server ended, and nothing of it is in the processor any more.
    pub(crate) fn unserve(&mut self, space: Ref<Space>) {
        if self.is_server(Owner::Space(space)) {
            self.servers -= 1;
            if self.global.is(space) {
                self.global = Link::NULL;
            }
        }
    }

    /// Whether a space is native and as it was made: without threads, and without anything of a
    /// user's in its tables.
    fn is_fresh(&self, space: Ref<Space>) -> bool {
        let Space { region, segments, utcb_map, window, .. } = self.pool[space];
        let is_bare = !region.header.is_dying()
            && region.uses.is_null()
            && region.attached.is_null()
            && segments.is_null()
            && window == UserAddr::default();
        is_bare && utcb_map.get().is_some_and(|map| self.pool[map].0.iter().all(|bits| *bits == 0))
    }
}
