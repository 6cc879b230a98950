// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the port records for a space, and the caching page directory: which owner's entries are in
//! the processor's only first-level table.
//!
//! A fault installs an entry that is missing. The entry stays until another owner needs its place
//! or its domain, which `mmu::fass` decides. The tables of spaces and Segments are authoritative;
//! the directory is a cache of them.
//!
//! The sections of UTCBs are an exception: each belongs to one space as long as the space exists,
//! and is always in the directory, because the kernel uses it. While its space has no domain, the
//! section has a domain that no space opens.

use crate::layout::{UTCB_BYTES, UTCBS, section};
use crate::locks::Locks;
use crate::paging;
use crate::shadow::Shadows;
use crate::tables::{Found, attached, can_lock, is_anothers_matter, places, relocated, top_entry};
use crate::{cache, locks, regs};
use abi::arch::armv5::layout::{RELOCATION_SLOTS, SLOT_BYTES};
use abi::arch::armv5::place::{RELOCATED, VSPACE_SHIFT};
use abi::{Error, PAGE_SIZE, TABLE_SPAN, UserAddr};
use arch_common::place;
use arch_common::shared::Shared;
use armv5_context::hw::{AREA, DACR, DOMAIN, INDIFFERENT, PID, VSPACE};
use core::ops::Range;
use kcore::port::{Area, FaultIn};
use kcore::{Charge, Owner, Quota, Segment, Space, Table};
use mmu::Format;
use mmu::armv5::{self, Armv5, COARSE_BYTES, SECTION_BYTES, SECTIONS};
use mmu::fass::{self, BASE, DOMAINS, FIRST, Fass, GLOBAL, Grant, Hardware, PARKED, client};
use mmu::slots::Slots;
use pool::{Link, Pool, Ref};

/// Tables of a space whose addresses are relocated.
const LOW_TABLES: usize = (SLOT_BYTES / TABLE_SPAN) as usize;
/// How many spaces can have UTCBs.
const AREAS: usize = (UTCB_BYTES / SECTION_BYTES) as usize;
/// How many spaces without a domain of their own can use a Segment's domain.
const GUESTS: usize = 4;
/// More pages than this are dropped with the whole TLB.
const PAGES: u32 = 8;
/// The bits of `Segment::hw` that have the Segment's domain.
const SEGMENT_DOMAIN: u32 = 0xf;
/// The bits above that have 1 + the section where the Segment begins in all spaces that share its
/// domain; 0: it has not had a domain yet.
const SEGMENT_HOME_SHIFT: u32 = 4;

/// An owner of a domain. Its vspace belongs to a Quota: another Quota may use the number for
/// something else.
type Tagged = fass::Owner<Owner, Link<Quota>>;

/// The processor.
struct Processor;

impl Hardware for Processor {
    fn remove(&mut self, section: usize) {
        paging::set(section, 0);
    }
    fn flush(&mut self) {
        regs::flush_all(0);
    }
    fn clean(&mut self) {
        locks::unlock();
        cache::clean_all();
    }
}

/// It is a static of the port, because it is larger than the kernel's stack. The exit code writes
/// one word of it, while no Rust runs.
pub static DIRECTORY: Shared<Directory> = Shared::new(Directory::new());

/// Which owners have entries in the directory.
pub struct Directory {
    fass: Fass<Owner, Link<Quota>>,
    shadows: Shadows,
    /// The spaces that have UTCBs, by the number of their section.
    areas: [Link<Space>; AREAS],
    /// For each domain of a Segment, the spaces without a domain of their own that have it open.
    guests: [[Link<Space>; GUESTS]; DOMAINS],
    /// The slots of relocated spaces, from slot 1 on: slot 0 belongs to all others.
    slots: Slots<Link<Quota>, { RELOCATION_SLOTS as usize }>,
    locks: Locks,
}

impl Directory {
    /// The address of the word in which fast paths and the exit code record the open domains.
    pub const DIRTY: usize =
        core::mem::offset_of!(Self, fass) + core::mem::offset_of!(Fass<Owner, Link<Quota>>, dirty);

    /// A directory without owners.
    const fn new() -> Self {
        Self {
            fass: Fass::new(),
            shadows: Shadows::new(),
            areas: [Link::NULL; AREAS],
            guests: [[Link::NULL; GUESTS]; DOMAINS],
            slots: Slots::new(),
            locks: Locks::new(),
        }
    }

    /// A space begins.
    pub fn space_created(pool: &mut Pool, space: Ref<Space>) {
        pool[space].hw[DACR] = BASE;
        pool[space].hw[PID] = INDIFFERENT;
    }

    /// A space ends: another space may get its tags. Returns what is no longer charged to its
    /// Quota.
    pub fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge {
        let locks = self.locks.remove(|lock| lock.space == space);
        self.guests
            .as_flattened_mut()
            .iter_mut()
            .filter(|guest| guest.is(space))
            .for_each(|guest| *guest = Link::NULL);
        self.fass.release(domain(pool, space), owner(pool, space), &mut Processor);
        pool[space].hw[DOMAIN] = 0;
        pool[space].hw[DACR] = BASE;
        if let Some(area) = core::mem::take(&mut pool[space].hw[AREA]).checked_sub(1) {
            self.areas[area as usize] = Link::NULL;
            paging::set(section(UTCBS) + area as usize, 0);
            regs::flush_all(0);
        }
        let Some(slot) = Self::slot_of(pool, space).checked_sub(1) else { return locks };
        pool[space].hw[PID] = INDIFFERENT;
        Charge { slots: self.slots.leave(slot as usize).into(), ..locks }
    }

    /// A Segment ends.
    pub fn segment_dropped(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        let domain = Some(pool[segment].hw[0] & SEGMENT_DOMAIN).filter(|domain| *domain != 0);
        self.fass.release(domain, segment_owner(pool, segment), &mut Processor);
        if let Some(domain) = domain {
            self.close(pool, domain);
        }
        pool[segment].hw[0] = 0;
    }

    /// Takes the place that the creator of a space has given.
    ///
    /// # Errors
    /// `BadArgument`: the place has no meaning.
    pub fn place(pool: &mut Pool, space: Ref<Space>, place: u32) -> Result<(), Error> {
        let flags = place & ((1 << VSPACE_SHIFT) - 1);
        if flags & !RELOCATED != 0 {
            return Err(Error::BadArgument);
        }
        pool[space].hw[VSPACE] = place >> VSPACE_SHIFT;
        Ok(())
    }

    /// Relocates a space to a slot, if there is one for it.
    pub fn give_slot(&mut self, pool: &mut Pool, space: Ref<Space>, is_own: bool) {
        if let Some(slot) = self.slots.take(pool[space].region.header.quota, is_own) {
            pool[space].hw[PID] = (slot as u32 + 1) * SLOT_BYTES;
        }
    }

    /// The number of a space's slot; 0: it has none.
    pub fn slot_of(pool: &Pool, space: Ref<Space>) -> u32 {
        pool[space].hw[PID] / SLOT_BYTES
    }

    /// Gives a space a section of UTCBs.
    ///
    /// # Errors
    /// `PoolExhausted`: all have been given.
    pub fn take_area(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<Area, Error> {
        let number =
            self.areas.iter().position(|area| area.is_null()).ok_or(Error::PoolExhausted)?;
        self.areas[number] = space.link();
        pool[space].hw[AREA] = number as u32 + 1;
        let start = UserAddr(UTCBS + number as u32 * SECTION_BYTES);
        Ok(Area { start, end: start + SECTION_BYTES, kip: None, first_slot: start })
    }

    /// A thread of a space had a fault at an address. If the directory lacks the entry of the
    /// space's tables, it is installed.
    pub fn fault_in(&mut self, pool: &mut Pool, space: Ref<Space>, address: UserAddr) -> FaultIn {
        let entry = top_entry(pool, space, Armv5::table_index(address));
        let slot = Self::slot_of(pool, space);
        if Armv5::is_empty(entry) || slot != 0 && address.0 / SLOT_BYTES == slot {
            return FaultIn::Report;
        }
        let had = pool[space].hw[DACR];
        if address.0 >= UTCBS {
            let is_own =
                pool[space].hw[AREA].checked_sub(1) == Some((address.0 - UTCBS) / SECTION_BYTES);
            if is_own {
                self.need_domain(pool, space, None);
            }
            return repaired(is_own && pool[space].hw[DACR] != had);
        }
        let part = address.0 / SECTION_BYTES % SECTIONS;
        let section = section(relocated(pool, space, address.0));
        let (who, domain) = match self.shared_tag(pool, space, address, entry) {
            Some((who, domain)) => {
                self.host(pool, space, domain);
                (who, domain)
            }
            None => (owner(pool, space), self.need_domain(pool, space, None)),
        };
        let Some(word) = self.word(pool, (entry, part), section, domain) else {
            return FaultIn::Report;
        };
        let is_there = paging::get(section) == word;
        if !is_there {
            self.fass.install(section, domain, who, &mut Processor);
            paging::set(section, word);
        }
        pool[space].hw[DACR] |= client(domain);
        self.fass.used(domain);
        self.lock_lines(pool, space, section, domain);
        repaired(!is_there || pool[space].hw[DACR] != had)
    }

    /// Locks the lines of a range of a space in the cache, and reads them into it. The Quota may
    /// have been charged for one more range; returns whether it stays charged.
    ///
    /// # Errors
    /// `BadAddress`: it is not mapped, cannot be read, or is not cached. And as [`Locks::add`].
    pub fn lock(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        is_paid: bool,
    ) -> Result<bool, Error> {
        let start = range.start;
        if !can_lock(pool, space, start) {
            return Err(Error::BadAddress);
        }
        let is_new = self.locks.add(space, range, is_paid)?;
        // It may be there already: all are locked again.
        locks::unlock();
        self.fault_in(pool, space, start);
        Ok(is_new)
    }

    /// Unlocks the lines of a range. Returns what is no longer charged to the space's Quota.
    ///
    /// # Errors
    /// `NotThere`: they are not locked.
    pub fn unlock(&mut self, space: Ref<Space>, range: &Range<UserAddr>) -> Result<Charge, Error> {
        let charged = self.locks.remove(|lock| lock.has_of(space, range));
        if charged == Charge::NONE { Err(Error::NotThere) } else { Ok(charged) }
    }

    /// A section of a space is in the directory, with this domain. What the space has locked there
    /// is locked again.
    fn lock_lines(&mut self, pool: &Pool, space: Ref<Space>, installed: usize, domain: u32) {
        for (number, range) in self.locks.unlocked(space) {
            let start = relocated(pool, space, range.start.0);
            if section(start) == installed && can_lock(pool, space, range.start) {
                locks::lock(number, start..start + (range.end - range.start));
                self.fass.dirty |= client(domain);
            }
        }
    }

    /// Entries of a space's directory were written: the old ones are removed from the first-level
    /// table.
    pub fn written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        for index in range.clone() {
            let start = Armv5::table_start(index).0;
            if start >= UTCBS {
                self.show_area(pool, space);
                continue;
            }
            let first = section(relocated(pool, space, start));
            if self.fass.are_empty(first) {
                continue;
            }
            for section in first..first + SECTIONS as usize {
                let domain = self.fass.domain_of(section);
                if domain != 0
                    && !matches!(self.fass.owner(domain), Some(Owner::Space(other)) if other != space)
                {
                    self.fass.remove(section, &mut Processor);
                }
            }
        }
        // What a Segment's domain opened may be attached no more. Who still may comes by a fault
        // again.
        if !range.clone().all(|index| top_entry(pool, space, index) & armv5::directory::SHARED != 0)
        {
            pool[space].hw[DACR] = BASE | domain(pool, space).map_or(0, client);
        }
        if range.start < LOW_TABLES {
            let is_low =
                (0..LOW_TABLES).any(|index| !Armv5::is_empty(top_entry(pool, space, index)));
            let hw = &mut pool[space].hw;
            if hw[PID] < SLOT_BYTES {
                hw[PID] = if is_low { 0 } else { INDIFFERENT };
            }
        }
    }

    /// Entries of a table were written: copies of it are dropped.
    pub fn table_written(&mut self, table: Ref<Table>) {
        let page = place::physical(table.address());
        while let Some(section) = self.shadows.forget_copy(page) {
            self.fass.remove(section, &mut Processor);
            regs::flush_all(0);
        }
    }

    /// Has to be called before mappings of a space are removed or changed. Afterwards their lines
    /// are written back, and if `drops` is set, no line of them is in the cache.
    pub fn before_change(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        drops: bool,
    ) {
        if range.start.0 < UTCBS {
            let mut sections = places(pool, space, range.clone())
                .flat_map(|part| section(part.start)..section(part.end - 1) + 1);
            if !sections.any(|section| self.fass.may_have_lines_in(section))
                || is_anothers_matter(pool, space, &range)
            {
                return;
            }
        }
        let mut found = Found::new(drops);
        if range.end.0 - range.start.0 > TABLE_SPAN || !found.look(pool, space, &range, drops) {
            if drops {
                self.fass.clean(&mut Processor);
            } else {
                locks::unlock();
                cache::clean_all_data();
            }
            return;
        }
        for page in found.pages() {
            let start = relocated(pool, space, *page);
            let lines = start..start + PAGE_SIZE;
            if drops { cache::clean_and_drop(lines) } else { cache::clean(lines) }
        }
    }

    /// The same for mappings of all spaces.
    pub fn before_change_anywhere(&mut self) {
        self.fass.clean(&mut Processor);
    }

    /// Drops translations of a range of a space.
    pub fn invalidate(pool: &Pool, space: Ref<Space>, range: &Range<UserAddr>) {
        let bytes = range.end.0 - range.start.0;
        if bytes / PAGE_SIZE > PAGES {
            return regs::flush_all(0);
        }
        let start = relocated(pool, space, range.start.0);
        for page in (start..start + bytes).step_by(PAGE_SIZE as usize) {
            regs::flush_data_page(page);
            regs::flush_instruction_page(page);
        }
    }

    /// The Segment that owns what a space has at an address, and its domain, if the space may read
    /// and write the Segment, and has it at the same modified address as all spaces that share the
    /// domain.
    fn shared_tag(
        &mut self,
        pool: &mut Pool,
        space: Ref<Space>,
        address: UserAddr,
        entry: u32,
    ) -> Option<(Tagged, u32)> {
        let is_shared =
            entry & armv5::directory::SHARED != 0 && entry & armv5::directory::NO_WRITE == 0;
        let (segment, start) = is_shared.then(|| attached(pool, space, address)).flatten()?;
        let home = section(relocated(pool, space, start.0)) as u32 + 1;
        let state = pool[segment].hw[0];
        match state >> SEGMENT_HOME_SHIFT {
            0 => pool[segment].hw[0] = home << SEGMENT_HOME_SHIFT,
            other if other == home => {}
            _ => return None,
        }
        let who = segment_owner(pool, segment);
        let domain = pool[segment].hw[0] & SEGMENT_DOMAIN;
        if domain != 0 {
            return Some((who, domain));
        }
        let grant = self.fass.acquire(who, |other| other == Owner::Space(space), &mut Processor)?;
        self.lose(pool, grant);
        pool[segment].hw[0] |= grant.domain;
        Some((who, grant.domain))
    }

    /// A space is about to have a Segment's domain open. It must be found when the Segment loses
    /// that domain: so it is recorded as a guest, or has a domain of its own.
    fn host(&mut self, pool: &mut Pool, space: Ref<Space>, domain: u32) {
        let guests = &mut self.guests[domain as usize];
        if self::domain(pool, space).is_some() || guests.iter().any(|guest| guest.is(space)) {
            return;
        }
        match guests.iter_mut().find(|guest| guest.is_null()) {
            Some(place) => *place = space.link(),
            None => {
                self.need_domain(pool, space, self.fass.owner(domain));
            }
        }
    }

    /// The first-level entry for a section of an owner's entry, with a domain.
    fn word(
        &mut self,
        pool: &Pool,
        (entry, part): (u32, u32),
        section: usize,
        domain: u32,
    ) -> Option<u32> {
        let word = armv5::section(entry, part, domain)?;
        let Some((table, _)) =
            Armv5::decode_table(entry).filter(|_| entry & armv5::directory::NO_WRITE != 0)
        else {
            return Some(word);
        };
        let source = table.0 + part * COARSE_BYTES;
        if let Some(copy) = self.shadows.find(section, source) {
            return Some(armv5::coarse(copy, domain));
        }
        let first = (part * COARSE_BYTES / 4) as usize;
        let entries = pool[Ref::<Table>::new(place::pool_address(table.0))].entries::<Armv5>();
        let (copy, before) = self.shadows.make(
            section,
            source,
            &entries[first..first + (COARSE_BYTES / 4) as usize],
        );
        if let Some(before) = before {
            self.fass.remove(before, &mut Processor);
            regs::flush_all(0);
        }
        Some(armv5::coarse(copy, domain))
    }

    /// The domain of a space. If the space has none, it gets one, but not that of the owner in
    /// `keeps`.
    fn need_domain(&mut self, pool: &mut Pool, space: Ref<Space>, keeps: Option<Owner>) -> u32 {
        if let Some(domain) = domain(pool, space) {
            return domain;
        }
        // One at most is kept, so there is another.
        let Some(grant) =
            self.fass.acquire(owner(pool, space), |other| keeps == Some(other), &mut Processor)
        else {
            return PARKED;
        };
        self.lose(pool, grant);
        pool[space].hw[DOMAIN] = grant.domain;
        pool[space].hw[DACR] = BASE | client(grant.domain);
        self.show_area(pool, space);
        grant.domain
    }

    /// The previous owner of the domain no longer has it.
    fn lose(&mut self, pool: &mut Pool, grant: Grant<Owner>) {
        match grant.loser {
            None => {}
            Some(Owner::Space(space)) => {
                pool[space].hw[DOMAIN] = 0;
                pool[space].hw[DACR] = BASE;
                self.show_area(pool, space);
            }
            Some(Owner::Segment(segment)) => {
                pool[segment].hw[0] &= !SEGMENT_DOMAIN;
                self.close(pool, grant.domain);
            }
        }
    }

    /// Closes a domain to all spaces. Spaces with a domain of their own, and its guests, may have
    /// it open.
    fn close(&mut self, pool: &mut Pool, domain: u32) {
        for guest in core::mem::take(&mut self.guests[domain as usize])
            .iter()
            .filter_map(|guest| guest.get())
        {
            pool[guest].hw[DACR] &= !client(domain);
        }
        for other in u32::from(FIRST)..DOMAINS as u32 {
            if let Some(Owner::Space(space)) = self.fass.owner(other) {
                pool[space].hw[DACR] &= !client(domain);
            }
        }
    }

    /// Writes the entry of a space's section of UTCBs, with the space's domain, or with the one for
    /// spaces without a domain.
    fn show_area(&self, pool: &Pool, space: Ref<Space>) {
        let Some(area) = pool[space].hw[AREA].checked_sub(1) else { return };
        let start = UTCBS + area * SECTION_BYTES;
        let entry = top_entry(pool, space, Armv5::table_index(UserAddr(start)));
        let domain = domain(pool, space).unwrap_or(PARKED);
        paging::set(
            section(start),
            armv5::section(entry, start / SECTION_BYTES % SECTIONS, domain).unwrap_or(0),
        );
        regs::flush_all(0);
    }
}

const fn repaired(is: bool) -> FaultIn {
    if is { FaultIn::Repaired } else { FaultIn::Report }
}

fn domain(pool: &Pool, space: Ref<Space>) -> Option<u32> {
    Some(pool[space].hw[DOMAIN]).filter(|domain| *domain > GLOBAL)
}

fn owner(pool: &Pool, space: Ref<Space>) -> Tagged {
    Tagged {
        who: Owner::Space(space),
        holder: pool[space].region.header.quota,
        vspace: pool[space].hw[VSPACE],
    }
}

fn segment_owner(pool: &Pool, segment: Ref<Segment>) -> Tagged {
    Tagged { who: Owner::Segment(segment), holder: pool[segment].region.header.quota, vspace: 0 }
}
