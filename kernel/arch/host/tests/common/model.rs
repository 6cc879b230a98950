// SPDX-License-Identifier: MIT OR Apache-2.0
//! A naive model of spaces, a segment and memories, servers and homes.

use super::servers::{AREA, root};
use super::{Found, PAGE, Seen, leaves_of, slot, slot_of, upper_tables};
use abi::{Error, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use arch_host::{Host, RAM};
use kcore::attach::ATTACHMENT_BYTES;
use kcore::{Kernel, Owner, SlotMap, Space};
use pool::Ref;
use std::collections::{BTreeMap, BTreeSet};

pub const SHARED: Word = slot::FREE + 5;
pub const PARTS: [Word; 3] = [slot::FREE + 6, slot::FREE + 7, slot::FREE + 8];
/// The last one begins as a large page does, and is as long.
pub const MEMORIES: [Word; 3] = [slot::FREE + 9, slot::FREE + 10, slot::FREE + 11];
/// Threads, one for each space.
pub const THREADS: Word = slot::FREE + 12;
pub const SPAN: Word = TABLE_SPAN / PAGE_SIZE;
/// Spans of the segment.
pub const SPANS: Word = 3;

#[derive(Clone, Copy)]
pub struct Page {
    pub physical: PhysAddr,
    pub rights: Rights,
    pub most: Rights,
}

#[derive(Clone, Copy, Default)]
pub struct Kind {
    /// Where the kernel's part is; of a space of aliens nowhere.
    pub place: Option<Word>,
    /// It is a server; the only one.
    pub serves: bool,
    pub alone: bool,
    pub shows: Option<Word>,
    /// It is a home.
    pub is_home: bool,
    /// In which home it is, where, and how much of it.
    pub small: Option<Small>,
    pub has_thread: bool,
}

/// A small space's place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Small {
    pub home: Word,
    pub address: Word,
    pub size: Word,
    /// All of it is there, and the port knows it.
    pub is_whole: bool,
}

/// Owners are numbered as their slots.
#[derive(Default)]
pub struct Model {
    pub spaces: BTreeMap<Word, Kind>,
    pub pages: BTreeMap<(Word, Word), Page>,
    /// Spans that have a table or one in reserve, and those of large pages.
    pub tables: BTreeSet<(Word, Word)>,
    pub large: BTreeSet<(Word, Word)>,
    /// Tables above those that a space ever needed.
    pub upper: BTreeSet<(Word, (u32, Word))>,
    pub attached: BTreeSet<(Word, Word)>,
    /// Where the segment is.
    pub places: BTreeMap<(Word, Word), Rights>,
}

impl Model {
    pub fn base(memory: Word) -> PhysAddr {
        match memory - MEMORIES[0] {
            2 => RAM.base + 2 * TABLE_SPAN,
            number => RAM.base + (1 + 16 * number) * PAGE_SIZE,
        }
    }

    pub fn pages_of(memory: Word) -> Word {
        if memory == MEMORIES[2] { SPAN } else { 16 }
    }

    pub fn kind(&self, owner: Word) -> Kind {
        self.spaces.get(&owner).copied().unwrap_or_default()
    }

    /// Where a space's own part ends.
    pub fn end(&self, owner: Word) -> Word {
        self.kind(owner).small.map_or(self.large_end(owner), |small| small.size)
    }

    /// Where it ends when the space is large.
    pub fn large_end(&self, owner: Word) -> Word {
        match self.kind(owner).shows {
            _ if owner == SHARED => SPANS * TABLE_SPAN,
            Some(server) => self.kind(server).place.expect("a server is native"),
            None => USER_END,
        }
    }

    /// Small spaces of a home.
    pub fn small_in(&self, home: Word) -> impl Iterator<Item = (Word, Small)> {
        let all = self.spaces.iter().filter_map(|(space, kind)| Some((*space, kind.small?)));
        all.filter(move |(_, small)| small.home == home)
    }

    pub fn is_users(&self, owner: Word, start: Word, end: Word) -> bool {
        let Kind { place, serves, .. } = self.kind(owner);
        let beside = place.is_none_or(|place| start >= place + AREA || !serves && end <= place);
        start < end && end <= self.end(owner) && beside
    }

    pub fn is_shared(&self, space: Word, address: Word) -> bool {
        self.places.keys().any(|(s, place)| {
            *s == space && (*place..place + SPANS * TABLE_SPAN).contains(&address)
        }) || self
            .small_in(space)
            .any(|(_, small)| (small.address..small.address + small.size).contains(&address))
    }

    pub fn need_upper(&mut self, owner: Word, address: Word) {
        if owner != SHARED {
            self.upper.extend(upper_tables(address).map(|table| (owner, table)));
        }
    }

    pub fn create(&mut self, space: Word, place: Option<Word>) {
        self.spaces.insert(space, Kind { place, ..Kind::default() });
        if let Some(place) = place {
            self.need_upper(space, place);
            self.tables.insert((space, place / TABLE_SPAN));
        }
    }

    pub fn delete(&mut self, owner: Word) {
        self.spaces.remove(&owner);
        for kind in self.spaces.values_mut() {
            kind.shows = kind.shows.filter(|server| *server != owner);
            kind.small = kind.small.filter(|small| small.home != owner);
        }
        self.pages.retain(|(o, _), _| *o != owner);
        self.tables.retain(|(o, _)| *o != owner);
        self.large.retain(|(o, _)| *o != owner);
        self.upper.retain(|(o, _)| *o != owner);
        self.attached.retain(|(o, _)| *o != owner);
        self.places.retain(|(space, _), _| *space != owner);
    }

    pub fn serve(&mut self, space: Word, start: Word, global: Word) -> Word {
        let kind = self.kind(space);
        let has = |owner: &Word| *owner == space;
        let is_used = self.attached.iter().any(|(o, _)| has(o))
            || self.places.keys().any(|(o, _)| has(o))
            || kind.shows.is_some();
        let is_used = is_used || kind.small.is_some();
        let servers = self.spaces.values().filter(|kind| kind.serves);
        if kind.place.is_none() || kind.serves || kind.has_thread || is_used {
            Error::BadState as Word
        } else if kind.place != Some(start) {
            Error::BadAddress as Word
        } else if servers.clone().any(|kind| kind.alone) || global == 1 && servers.count() > 0 {
            Error::Occupied as Word
        } else {
            let kind = self.spaces.get_mut(&space).expect("it is there");
            (kind.serves, kind.alone) = (true, global == 1);
            // The kernel's pages have all of their tables.
            let spans = start / TABLE_SPAN..(start + AREA).div_ceil(TABLE_SPAN);
            self.tables.extend(spans.map(|span| (space, span)));
            0
        }
    }

    /// Whether nothing is in spans of a space.
    pub fn is_free(&self, space: Word, start: Word, end: Word) -> bool {
        let overlaps = |place: Word, bytes: Word| place < end && place + bytes > start;
        self.tables.range((space, start / TABLE_SPAN)..(space, end / TABLE_SPAN)).next().is_none()
            && !self
                .places
                .keys()
                .any(|(s, place)| *s == space && overlaps(*place, SPANS * TABLE_SPAN))
            && !self.small_in(space).any(|(_, small)| overlaps(small.address, small.size))
    }

    pub fn show(&mut self, space: Word, server: Word, address: Word) -> Word {
        let Kind { place, serves, .. } = self.kind(server);
        let start = place.filter(|_| serves);
        let is_shown = self.kind(space).shows.is_some() && start == Some(self.end(space));
        match start {
            None => Error::BadState as Word,
            Some(start) if start != address => Error::BadAddress as Word,
            Some(_) if self.kind(space).serves => Error::BadState as Word,
            Some(_) if is_shown => Error::Occupied as Word,
            Some(start) if !self.is_users(space, start, USER_END) => Error::BadAddress as Word,
            Some(start) if !self.is_free(space, start, USER_END) => Error::Occupied as Word,
            Some(start) => {
                self.need_upper(space, start);
                self.spaces.get_mut(&space).expect("it is there").shows = Some(server);
                0
            }
        }
    }

    pub fn attach(&mut self, space: Word, place: Word, rights: Rights) -> Word {
        let end = place + SPANS * TABLE_SPAN;
        if self.kind(space).serves {
            return Error::BadState as Word;
        }
        if !self.is_users(space, place, end) {
            return Error::BadAddress as Word;
        }
        if !self.is_free(space, place, end) {
            return Error::Occupied as Word;
        }
        self.places.insert((space, place), rights);
        for span in 0..SPANS {
            self.need_upper(space, place + span * TABLE_SPAN);
        }
        0
    }

    /// `begun`: it is carried on.
    pub fn make_small(
        &mut self,
        home: Word,
        address: Word,
        space: Word,
        size: Word,
        begun: bool,
    ) -> Word {
        let (to, kind) = (self.kind(home), self.kind(space));
        if !(TABLE_SPAN..=1 << 30).contains(&size) || !size.is_power_of_two() {
            return Error::BadArgument as Word;
        }
        if !address.is_multiple_of(size) {
            return Error::BadAddress as Word;
        }
        if !to.is_home || kind.is_home || kind.serves {
            return Error::BadState as Word;
        }
        let is_there =
            begun && kind.small.is_some_and(|small| small.home == home && small.address == address);
        if !is_there {
            let end = self.large_end(space);
            if kind.small.is_some() || !self.is_free(space, size, end) {
                return Error::Occupied as Word;
            }
            if !self.is_users(home, address, address.saturating_add(size)) {
                return Error::BadAddress as Word;
            }
            if !self.is_free(home, address, address + size) {
                return Error::Occupied as Word;
            }
            self.need_upper(home, address);
        }
        let size = kind.small.map_or(size, |small| small.size);
        self.spaces.get_mut(&space).expect("it is there").small =
            Some(Small { home, address, size, is_whole: true });
        0
    }

    pub fn detach(&mut self, space: Word, address: Word) -> Word {
        let kind = self.kind(space);
        let small = self
            .small_in(space)
            .find(|(_, small)| small.address == address)
            .map(|(small, _)| small);
        if let Some(small) = small {
            self.spaces.get_mut(&small).expect("it is there").small = None;
            return 0;
        }
        if self.places.remove(&(space, address)).is_some() {
            return 0;
        }
        if kind.shows.is_none() || self.large_end(space) != address {
            return Error::NotThere as Word;
        }
        self.spaces.get_mut(&space).expect("it is there").shows = None;
        0
    }

    pub fn map(
        &mut self,
        owner: Word,
        start: Word,
        (memory, first, count): (Word, Word, Word),
        rights: Rights,
    ) -> Word {
        if !self.is_users(owner, start, start + count * PAGE_SIZE) {
            return Error::BadAddress as Word;
        }
        self.attached.insert((owner, memory));
        for i in 0..count {
            let at = start + i * PAGE_SIZE;
            if self.is_shared(owner, at) {
                return Error::Occupied as Word;
            }
            let physical = Self::base(memory) + (first + i) * PAGE_SIZE;
            self.pages.insert((owner, at), Page { physical, rights, most: rights });
            self.tables.insert((owner, at / TABLE_SPAN));
            self.need_upper(owner, at);
            self.large.remove(&(owner, at / TABLE_SPAN));
        }
        if count == SPAN && start.is_multiple_of(TABLE_SPAN) {
            self.large.insert((owner, start / TABLE_SPAN));
        }
        0
    }

    pub fn unmap(&mut self, owner: Word, start: Word, end: Word) -> Word {
        if !self.is_users(owner, start, end) {
            return Error::BadAddress as Word;
        }
        self.pages.retain(|(o, at), _| *o != owner || !(start..end).contains(at));
        let is_touched = |owns: Word, span: Word| {
            owns == owner && span * TABLE_SPAN < end && (span + 1) * TABLE_SPAN > start
        };
        let is_covered = |owns: Word, span: Word| {
            owns == owner && span * TABLE_SPAN >= start && (span + 1) * TABLE_SPAN <= end
        };
        self.large.retain(|(owns, span)| !is_touched(*owns, *span));
        self.tables.retain(|(owns, span)| !is_covered(*owns, *span));
        0
    }

    pub fn protect(&mut self, owner: Word, start: Word, end: Word, rights: Rights) -> Word {
        if !self.is_users(owner, start, end) {
            return Error::BadAddress as Word;
        }
        for (_, page) in self.pages.range_mut((owner, start)..(owner, end)) {
            page.rights = rights.intersection(page.most);
        }
        // A part of a large page has a table.
        let is_touched = |owns: Word, span: Word| {
            owns == owner && span * TABLE_SPAN < end && (span + 1) * TABLE_SPAN > start
        };
        let is_covered = |span: Word| span * TABLE_SPAN >= start && (span + 1) * TABLE_SPAN <= end;
        self.large.retain(|(owns, span)| !is_touched(*owns, *span) || is_covered(*span));
        0
    }

    /// The segment ends.
    pub fn delete_segment(&mut self) {
        self.delete(SHARED);
        self.places.clear();
    }

    pub fn revoke(&mut self, memory: Word) {
        let gone = |page: &Page| {
            page.physical.offset_from(Self::base(memory)) < Self::pages_of(memory) * PAGE_SIZE
        };
        if memory == MEMORIES[2] {
            for span in std::mem::take(&mut self.large) {
                self.tables.remove(&span);
            }
        }
        self.pages.retain(|_, page| !gone(page));
        self.attached.retain(|(_, m)| *m != memory);
    }

    /// What a processor finds in a space of the memories.
    pub fn seen(&self, space: Word) -> Seen {
        let mut all = self.own(space, 0);
        let server = self.kind(space).shows.into_iter().flat_map(|server| self.own(server, 0));
        all.extend(server);
        all.extend(
            self.small_in(space)
                .flat_map(|(small, Small { address, .. })| self.own(small, address)),
        );
        all
    }

    /// What is in a space but for its server, as a processor finds it from `at` on.
    pub fn own(&self, space: Word, at: Word) -> Seen {
        let of = |owner: Word, base: Word, most: Rights| {
            let pages = self.pages.range((owner, 0)..(owner + 1, 0));
            let pages = pages.map(move |((_, at), page)| {
                (base + at, page.physical, page.rights.intersection(most))
            });
            pages.map(|(at, physical, rights)| (UserAddr(at), (physical, rights)))
        };
        let segments = self.places.iter().filter(|((s, _), _)| *s == space);
        let segments = segments.flat_map(|((_, place), most)| of(SHARED, at + *place, *most));
        of(space, at, Rights::RWX)
            .chain(segments)
            .filter(|(_, (_, rights))| *rights != Rights::NONE)
            .collect()
    }

    /// Bytes of kernel memory that it costs, in addition to what is always there.
    pub fn charge(&self) -> u32 {
        let natives = self.spaces.values().filter(|kind| kind.place.is_some()).count() as u32;
        let aliens = self.spaces.len() as u32 - natives;
        let threads = self.spaces.values().filter(|kind| kind.has_thread).count() as u32;
        let shown = self.spaces.values().filter(|kind| kind.shows.is_some()).count();
        let native = Space::bytes(4)
            + pool::MIN_BYTES.max((size_of::<SlotMap>() as u32).next_power_of_two());
        let pages = (self.tables.len() + self.upper.len()) as u32 + natives + aliens + threads;
        let small = self.spaces.values().filter(|kind| kind.small.is_some()).count();
        let attachments = self.attached.len() + self.places.len() + shown + small;
        natives * native
            + aliens * Space::bytes(0)
            + pages * PAGE
            + attachments as u32 * ATTACHMENT_BYTES
    }
}

/// What is mapped of the memories, as a processor finds it.
pub fn found_in(kernel: &Kernel<Host>, space: Ref<Space>) -> Vec<Found> {
    let mut found = leaves_of(kernel, Owner::Space(space));
    found.retain(|page| {
        page.physical.offset_from(RAM.base) < RAM.bytes && page.rights != Rights::NONE
    });
    found
}

pub fn is_there(kernel: &Kernel<Host>, slot: Word) -> bool {
    !slot_of(kernel, root(kernel), slot).is_empty()
}
