// SPDX-License-Identifier: MIT OR Apache-2.0
//! Fast address-space switching on ARMv5 (fass-wombat-arm-2007, sections 2 and 3): which domain
//! tags what, and what a change of the caching page directory costs.
//!
//! All spaces use one first-level table, the *caching page directory*. An entry of it, a section of
//! 1 MiB, is a copy of an entry of some owner, a Space or a Segment, and is tagged with that
//! owner's domain. A switch of spaces opens other domains; it flushes nothing. The TLB tells owners
//! apart by the domain. The data cache does not: it has only virtual addresses. So before a section
//! gets another owner, the lines that the last owner may have left are dropped from the cache.
//!
//! Who may have left lines in a section since the whole cache was last cleaned:
//!
//! - the owner that has it in the directory now, if its domain was open since then: a bit in
//!   [`Fass::dirty`];
//! - an owner that had it before, and lost it when a domain got another owner: a *tenant*, in
//!   `lines`.
//!
//! So an owner that loses its domain keeps its lines. They are written back only when another owner
//! uses the same section. Owners of one *vspace* promise that the same address is the same memory,
//! so each of them may use the others' lines. The promise is made by the holder that makes all of
//! these owners: the same number of another holder means nothing.
//!
//! Nothing here accesses the processor: [`Hardware`] does. Each function takes a bounded time: an
//! owner has at most [`MOST`] sections.

use crate::tags::{First, Tags};

/// Sections of the address space.
pub const SECTIONS: usize = 4096;
/// Domains of the processor.
pub const DOMAINS: usize = 16;
/// Domain: the kernel.
pub const KERNEL: u32 = 0;
/// Domain: pages that all spaces have, such as the information page.
pub const GLOBAL: u32 = 1;
/// Domain: UTCBs of spaces that have no domain. No space opens it.
pub const PARKED: u32 = 2;
/// The first domain that is given to owners.
pub const FIRST: u16 = 3;
/// Most sections that an owner has in the directory. If it needs one more, it loses all of them
/// first.
pub const MOST: u16 = 256;

/// The bits of the domain access register that open a domain, with the rights of its pages
/// (*client*).
#[must_use]
pub const fn client(domain: u32) -> u32 {
    1 << (2 * domain)
}

/// What is open to every space.
pub const BASE: u32 = client(KERNEL) | client(GLOBAL);
/// What is open to the kernel: everything.
pub const ALL: u32 = 0x5555_5555;

/// Who has a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner<O, H> {
    /// A Space or a Segment.
    pub who: O,
    /// Who pays for it.
    pub holder: H,
    /// Spaces of one holder with the same number, if it is not 0, have the same memory at the same
    /// address.
    pub vspace: u32,
}

impl<O: PartialEq, H: PartialEq> Owner<O, H> {
    /// Whether cache lines of the one are valid for the other.
    fn shares(&self, other: &Self) -> bool {
        self.who == other.who
            || self.vspace != 0 && self.vspace == other.vspace && self.holder == other.holder
    }
}

/// What is done to the processor.
pub trait Hardware {
    /// Removes a section from the caching page directory. The TLB may still have it: a flush
    /// follows.
    fn remove(&mut self, section: usize);
    /// Drops all translations.
    fn flush(&mut self);
    /// Writes all of the data cache back and drops it, and drops the instruction cache.
    fn clean(&mut self);
}

/// A domain that was given, and who lost it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant<O> {
    /// The domain.
    pub domain: u32,
    /// Its last owner, which must not have it open any more.
    pub loser: Option<O>,
}

/// Most tenants between two cleanings of the cache.
const TENANTS: usize = 256;

/// Which owner, an `O` of an `H`, has which domain and section, and what of it may be in the cache.
pub struct Fass<O, H> {
    tags: Tags<Owner<O, H>, DOMAINS, 1>,
    /// Domain of each section in the directory; 0: it is empty, or the kernel's own.
    installed: [u8; SECTIONS],
    /// The sections of each domain, a bit each.
    sections: [[u32; SECTIONS / 32]; DOMAINS],
    counts: [u16; DOMAINS],
    /// The tenant that may have lines in a section; 0: none.
    lines: [u8; SECTIONS],
    tenants: [Option<Owner<O, H>>; TENANTS],
    tenant_count: usize,
    /// Domains that were open since the cache was last cleaned, as in the domain access register:
    /// the code that opens domains adds them.
    pub dirty: u32,
}

impl<O: Copy + PartialEq, H: Copy + PartialEq> Fass<O, H> {
    /// Nobody has anything.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            tags: Tags::new([(FIRST, DOMAINS as u16)]),
            installed: [0; SECTIONS],
            sections: [[0; SECTIONS / 32]; DOMAINS],
            counts: [0; DOMAINS],
            lines: [0; SECTIONS],
            tenants: [None; TENANTS],
            tenant_count: 1,
            dirty: 0,
        }
    }

    /// Gives a domain to an owner without one. No owner for which `keeps` is true loses its domain:
    /// there are fewer of these than domains.
    ///
    /// `None` if all keep theirs.
    pub fn acquire(
        &mut self,
        owner: Owner<O, H>,
        keeps: impl Fn(O) -> bool,
        hardware: &mut impl Hardware,
    ) -> Option<Grant<O>> {
        let grant = self.tags.take(0, owner, |other| keeps(other.who))?;
        let domain = u32::from(grant.tag);
        let loser = match grant.first {
            First::Nothing => None,
            First::FlushAll => {
                hardware.flush();
                None
            }
            First::Evict(loser) => {
                self.withdraw(domain, loser, hardware);
                hardware.flush();
                self.tags.flushed();
                Some(loser.who)
            }
        };
        Some(Grant { domain, loser })
    }

    /// An owner ends: nothing of it stays in the cache or the directory. `domain` is the one that
    /// it has, if any.
    pub fn release(
        &mut self,
        domain: Option<u32>,
        owner: Owner<O, H>,
        hardware: &mut impl Hardware,
    ) {
        if domain.is_some_and(|domain| self.is_dirty(domain)) || self.tenant_of(owner.who).is_some()
        {
            self.clean(hardware);
        }
        if let Some(domain) = domain {
            self.withdraw(domain, owner, hardware);
            hardware.flush();
            self.tags.give_back(domain as u16, owner);
            self.tags.flushed();
        }
    }

    /// Has to be called before a section of the directory becomes an owner's, which has this
    /// domain. It removes what another owner may have left there in the cache and the TLB.
    pub fn install(
        &mut self,
        section: usize,
        domain: u32,
        owner: Owner<O, H>,
        hardware: &mut impl Hardware,
    ) {
        if usize::from(self.counts[domain as usize]) >= usize::from(MOST) {
            self.withdraw(domain, owner, hardware);
            hardware.flush();
        }
        let before = u32::from(self.installed[section]);
        let foreign = match self
            .tags
            .owner(before as u16)
            .filter(|_| before != domain && self.is_dirty(before))
        {
            Some(other) => !owner.shares(&other),
            None => false,
        };
        let left = self.tenants[usize::from(self.lines[section])];
        if foreign || left.is_some_and(|tenant| !owner.shares(&tenant)) {
            self.clean(hardware);
        } else if before != domain && before != 0 && self.is_dirty(before) {
            // Lines that are good for both stay. They are accounted for as the first one's.
            self.note_lines(section, before, hardware);
        } else if left.is_some_and(|tenant| tenant.who == owner.who) {
            self.lines[section] = 0;
            self.dirty |= client(domain);
        }
        if before != 0 {
            self.take_out(section);
            hardware.remove(section);
            hardware.flush();
        }
        self.installed[section] = domain as u8;
        self.sections[domain as usize][section / 32] |= 1 << (section % 32);
        self.counts[domain as usize] += 1;
    }

    /// Removes a section from the directory, if an owner has it there. The caller flushes the TLB.
    pub fn remove(&mut self, section: usize, hardware: &mut impl Hardware) {
        let domain = u32::from(self.installed[section]);
        if domain != 0 {
            if self.is_dirty(domain) {
                self.note_lines(section, domain, hardware);
            }
            self.take_out(section);
            hardware.remove(section);
        }
    }

    /// Cleans the whole cache. The owner that runs may have lines again at once: the caller notes
    /// that in [`dirty`](Self::dirty) when it opens domains.
    pub fn clean(&mut self, hardware: &mut impl Hardware) {
        hardware.clean();
        self.lines.fill(0);
        self.tenants[..self.tenant_count].fill(None);
        self.tenant_count = 1;
        self.dirty = 0;
    }

    /// The owner of a domain runs.
    pub fn used(&mut self, domain: u32) {
        self.tags.used(domain as u16);
    }

    /// Who has a domain.
    #[must_use]
    pub fn owner(&self, domain: u32) -> Option<O> {
        self.tags.owner(domain as u16).map(|owner| owner.who)
    }

    /// Whether no owner has any of the four sections from this one on, which is a multiple of four.
    #[must_use]
    pub fn are_empty(&self, first: usize) -> bool {
        self.installed[first..first + 4] == [0; 4]
    }

    /// Domain of a section in the directory; 0: of no space.
    #[must_use]
    pub fn domain_of(&self, section: usize) -> u32 {
        u32::from(self.installed[section])
    }

    /// Whether any owner may have cache lines of a section.
    #[must_use]
    pub fn may_have_lines_in(&self, section: usize) -> bool {
        let domain = u32::from(self.installed[section]);
        domain != 0 && self.is_dirty(domain) || self.lines[section] != 0
    }

    const fn is_dirty(&self, domain: u32) -> bool {
        self.dirty & client(domain) != 0
    }

    fn tenant_of(&self, who: O) -> Option<usize> {
        self.tenants[..self.tenant_count]
            .iter()
            .position(|tenant| tenant.is_some_and(|tenant| tenant.who == who))
    }

    /// Notes that the owner of a domain may have lines in a section that it loses.
    fn note_lines(&mut self, section: usize, domain: u32, hardware: &mut impl Hardware) {
        let Some(owner) = self.tags.owner(domain as u16) else { return };
        if let Some(tenant) = self.tenant(owner, hardware) {
            self.lines[section] = tenant;
        }
    }

    /// The number of a tenant; none if there were too many, and the cache had to be cleaned.
    fn tenant(&mut self, owner: Owner<O, H>, hardware: &mut impl Hardware) -> Option<u8> {
        let tenant = match self.tenant_of(owner.who) {
            Some(tenant) => tenant,
            None if self.tenant_count == TENANTS => {
                self.clean(hardware);
                return None;
            }
            None => {
                self.tenants[self.tenant_count] = Some(owner);
                self.tenant_count += 1;
                self.tenant_count - 1
            }
        };
        Some(tenant as u8)
    }

    fn take_out(&mut self, section: usize) {
        let domain = usize::from(core::mem::take(&mut self.installed[section]));
        self.sections[domain][section / 32] &= !(1 << (section % 32));
        self.counts[domain] -= 1;
    }

    /// Removes all sections of a domain from the directory. Cache lines of its owner stay.
    fn withdraw(&mut self, domain: u32, owner: Owner<O, H>, hardware: &mut impl Hardware) {
        let tenant = if self.is_dirty(domain) && self.counts[domain as usize] != 0 {
            self.tenant(owner, hardware)
        } else {
            None
        };
        for word in 0..SECTIONS / 32 {
            let mut bits = core::mem::take(&mut self.sections[domain as usize][word]);
            while bits != 0 {
                let section = word * 32 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.installed[section] = 0;
                if let Some(tenant) = tenant {
                    self.lines[section] = tenant;
                }
                hardware.remove(section);
            }
        }
        self.counts[domain as usize] = 0;
        self.dirty &= !client(domain);
    }
}

impl<O: Copy + PartialEq, H: Copy + PartialEq> Default for Fass<O, H> {
    fn default() -> Self {
        Self::new()
    }
}
