// SPDX-License-Identifier: MIT OR Apache-2.0
//! Address spaces: which ASID each has, which space is entered, and which translations are dropped.
//!
//! A space's tables are authoritative, and the TLB has copies of their entries. The handler of
//! misses (`refill.S`) makes most copies. [`Spaces::fill`] makes those of large pages, and of pages
//! whose rights a Segment's attachment restricts; it also replaces copies that allow less than the
//! tables allow by now.

use crate::layout::{HOT, reached};
use crate::regs;
use abi::{PAGE_SIZE, UserAddr};
use core::ops::Range;
use kcore::{Space, Table};
use mips_context::hw;
use mmu::Format;
use mmu::mips::{Mips as Tables, bits, pair};
use mmu::tags::{First, Tags};
use pool::{Link, Pool, Ref};

/// The number of ASIDs: no space has 0.
const ASIDS: usize = 256;
/// At most this many pairs of pages are dropped one by one. If there are more, the space gets
/// another ASID.
const ONE_BY_ONE: u64 = 16;
/// Bytes of the two pages of a TLB entry.
const PAIR: u64 = 2 * PAGE_SIZE;

/// What the processor has of spaces.
pub struct Spaces {
    tags: Tags<Link<Space>, ASIDS, 1>,
    /// The space whose ASID is valid, and whose tables the handler of misses reads.
    entered: Link<Space>,
}

/// The entry of a space's directory for an address, and the two of its leaf table for the pages of a
/// TLB entry there.
fn entries(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<(u64, [u64; 2])> {
    if address.0 >= abi::USER_END {
        return None;
    }
    let number = Tables::table_index(address);
    let mut table = pool[space].region.top.get()?;
    let mut level = Tables::LEVELS - 1;
    loop {
        let index = number / Tables::tables_of_entry(level) % Tables::ENTRIES;
        let entry = *pool[table].entries::<Tables>().get(index)?;
        let next = Tables::decode_table(entry).map(|(physical, _)| address_of(physical.0 as u32));
        if level > 1 {
            (table, level) = (next?, level - 1);
            continue;
        }
        let even = Tables::leaf_index(address) & !1;
        let leaves = next.map_or([0; 2], |table| {
            let all = pool[table].entries::<Tables>();
            [even, even + 1].map(|index| all.get(index).copied().unwrap_or_default())
        });
        return Some((entry, leaves));
    }
}

/// The table at a physical address.
const fn address_of(physical: u32) -> Ref<Table> {
    Ref::new(reached(physical))
}

/// What the TLB may have for an address of a space: EntryLo of its page, if the page can be
/// accessed.
fn seen(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u32> {
    let (directory, leaves) = entries(pool, space, address)?;
    let odd = (address.0 / PAGE_SIZE % 2) as usize;
    Some(pair(directory, leaves, address.0)[odd]).filter(|entry| entry & VALID != 0)
}

/// V, in EntryLo.
const VALID: u32 = (bits::VALID >> 32) as u32;
/// D, there.
const WRITABLE: u32 = (bits::WRITABLE >> 32) as u32;

/// The physical address of what is at an address of a space, if a user may read it.
pub fn place(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<u64> {
    let page = u64::from(seen(pool, space, address)?) << 32 & bits::ADDRESS;
    Some((page >> bits::ADDRESS_SHIFT) + address.0 % PAGE_SIZE)
}

/// Whether a user may read what is at an address.
pub fn is_there(pool: &Pool, space: Ref<Space>, address: UserAddr) -> bool {
    seen(pool, space, address).is_some()
}

impl Spaces {
    /// Nobody has an ASID, and no space was entered.
    pub const fn new() -> Self {
        Self { tags: Tags::new([(1, ASIDS as u16)]), entered: Link::NULL }
    }

    /// A space was made: it has no ASID yet.
    pub fn created(pool: &mut Pool, space: Ref<Space>) {
        let top = pool[space].region.top.value();
        let hw = &mut pool[space].hw;
        (hw[hw::TABLE], hw[hw::ASID]) = (top, 0);
    }

    /// A thread of this space entered the kernel: a fast path may have switched to it.
    pub const fn came_from(&mut self, space: Ref<Space>) {
        self.entered = space.link();
    }

    /// Makes the space's ASID valid, and its tables those that the handler of misses reads.
    pub fn enter(&mut self, pool: &mut Pool, space: Ref<Space>) {
        if self.entered.is(space) {
            return;
        }
        // A fast path may have entered the space that is left, and noted nothing.
        if let Some(left) = self.entered.get() {
            self.tags.used(pool[left].hw[hw::ASID] as u16);
        }
        if pool[space].hw[hw::ASID] == 0 {
            self.take(pool, space);
        }
        let hw = &pool[space].hw;
        self.tags.used(hw[hw::ASID] as u16);
        regs::set_asid(hw[hw::ASID]);
        // SAFETY: a word that the handler of misses reads, which runs in user mode only.
        unsafe { (*HOT.get()).0.top = hw[hw::TABLE] };
        self.entered = space.link();
    }

    /// Gives the space an ASID.
    fn take(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let entered = self.entered;
        let grant = self.tags.take(0, space.link(), |owner| owner == entered);
        let Some(grant) = grant else { panic!("no ASID for a space") };
        match grant.first {
            First::Nothing => {}
            First::FlushAll => regs::drop_all(),
            First::Evict(loser) => {
                if let Some(loser) = loser.get() {
                    pool[loser].hw[hw::ASID] = 0;
                }
                regs::drop_all();
                self.tags.flushed();
            }
        }
        pool[space].hw[hw::ASID] = grant.tag.into();
    }

    /// A space ends: its ASID can be given to another space after the TLB was emptied.
    pub fn dropped(&mut self, pool: &mut Pool, space: Ref<Space>) {
        let asid = core::mem::take(&mut pool[space].hw[hw::ASID]);
        if asid != 0 {
            self.tags.give_back(asid as u16, space.link());
        }
        if self.entered.is(space) {
            self.entered = Link::NULL;
            regs::set_asid(0);
        }
    }

    /// Drops what the TLB has of a range of a space.
    pub fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) {
        let asid = pool[space].hw[hw::ASID];
        if asid == 0 {
            return;
        }
        let mut at = range.start.0 & !(PAIR - 1);
        if (range.end.0 - at).div_ceil(PAIR) > ONE_BY_ONE {
            // It goes on with another ASID. To look at all entries takes some 900 instructions, and
            // a change of a Segment does this for eight spaces with interrupts off.
            return self.dropped(pool, space);
        }
        while at < range.end.0 {
            regs::drop_pair(at, asid);
            at += PAIR;
        }
    }

    /// Empties the TLB.
    pub fn forget_all(&mut self) {
        regs::drop_all();
        self.tags.flushed();
    }

    /// If the tables of the space that is entered allow an access, writes their entry for the
    /// address into the TLB. Returns whether they do.
    pub fn fill(&self, pool: &Pool, space: Ref<Space>, address: UserAddr, is_write: bool) -> bool {
        let Some((directory, leaves)) = entries(pool, space, address) else { return false };
        let pair = pair(directory, leaves, address.0);
        let wanted = if is_write { VALID | WRITABLE } else { VALID };
        let allows = pair[(address.0 / PAGE_SIZE % 2) as usize] & wanted == wanted;
        if allows {
            regs::fill(address.0, pool[space].hw[hw::ASID], pair);
        }
        allows
    }
}
