// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the tables of a space have at its addresses, and at which modified addresses caches and TLB
//! have that. Nothing here changes a table. `space` decides which entries are in the processor's
//! own table.

use crate::paging;
use abi::arch::armv5::layout::SLOT_BYTES;
use abi::{PAGE_SIZE, Rights, TABLE_SPAN, UserAddr};
use arch_common::place;
use armv5_context::hw::{INDIFFERENT, PID};
use core::ops::Range;
use kcore::attach::{attached_at, attachment, first_with};
use kcore::{Segment, Space, Table};
use mmu::armv5::Armv5;
use mmu::{Attributes, Format, Leaf};
use pool::{Pool, Ref};

/// The first tables of a Segment, 128 MiB, that can have a domain of the Segment's own. To find
/// where the Segment begins, this many places are searched.
const SEGMENT_TABLES: u32 = 32;
/// If more pages than this have to be cleaned, the whole cache is cleaned.
const CLEANED: usize = 24;
/// If more pages than this have to be dropped, the whole cache is. Up to this many take few enough
/// instructions between two checks for interrupts.
const DROPPED: usize = 10;

/// The entry of a space's directory for its leaf table `index`.
pub fn top_entry(pool: &Pool, space: Ref<Space>, index: usize) -> u32 {
    pool[space].region.top.get().map_or(0, |top| pool[top].entries::<Armv5>()[index])
}

/// A space's address as the caches and the TLB know it: the *modified* virtual address.
pub fn relocated(pool: &Pool, space: Ref<Space>, address: u32) -> u32 {
    let pid = pool[space].hw[PID];
    if address < SLOT_BYTES && pid != INDIFFERENT { pid | address } else { address }
}

/// The same for a range, which may begin below a slot's end and continue above it.
pub fn places(
    pool: &Pool,
    space: Ref<Space>,
    Range { start, end }: Range<UserAddr>,
) -> impl Iterator<Item = Range<u32>> {
    let middle = SLOT_BYTES.clamp(start.0, end.0);
    let part = move |from: u32, to: u32| {
        let start = relocated(pool, space, from);
        start..start + (to - from)
    };
    [part(start.0, middle), part(middle, end.0)].into_iter().filter(|part| !part.is_empty())
}

/// Whether the lines of a range of a space are handled for another space: a Segment is there, and
/// the first space that has all of the range has it at the same modified addresses. The other space
/// has to have all of the range: if the Segment is only being attached to it, lines of pages
/// without an entry there would be missed.
pub fn is_anothers_matter(pool: &Pool, space: Ref<Space>, range: &Range<UserAddr>) -> bool {
    let Some((segment, start)) = attached(pool, space, range.start) else { return false };
    let tables = (range.end.0 - start.0).div_ceil(TABLE_SPAN);
    let Some(first) = first_with(pool, segment, tables) else { return false };
    let other: Ref<Space> = Ref::new(pool[first].owner);
    let there = Armv5::table_start(pool[first].index as usize);
    other != space && relocated(pool, other, there.0) == relocated(pool, space, start.0)
}

/// The address that a space's thread used: some processors report the relocated one. (While an
/// indifferent space runs, the register may have another space's identifier.)
pub fn unrelocated(pool: &Pool, space: Ref<Space>, address: u32) -> u32 {
    let pid = pool[space].hw[PID];
    if pid != INDIFFERENT && address & !(SLOT_BYTES - 1) == pid {
        address & (SLOT_BYTES - 1)
    } else {
        address
    }
}

/// The Segment that a space has attached at an address, and where it begins in the space. In a
/// large Segment only addresses of its first part are found.
pub fn attached(
    pool: &Pool,
    space: Ref<Space>,
    address: UserAddr,
) -> Option<(Ref<Segment>, UserAddr)> {
    let last = Armv5::table_index(address) as u32;
    let mut places = (last.saturating_sub(SEGMENT_TABLES - 1)..=last).rev();
    let record = &pool[places.find_map(|index| attached_at(pool, space, index))?];
    let start = Armv5::table_start(record.index as usize);
    let segment: Ref<Segment> = Ref::new(record.source);
    // That all can be executed which can be read is the processor's.
    let is_whole = record.kind == attachment::SEGMENT_IN_SPACE
        && Rights(record.rights).contains(Rights::READ.union(Rights::WRITE));
    (is_whole && address - start < pool[segment].region.end.0).then_some((segment, start))
}

/// What a space can do with a page: by its tables, or because the kernel shows the page to all
/// spaces.
pub fn lookup(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<Rights> {
    if paging::is_global(address.0) {
        return Some(Rights::READ.union(Rights::EXECUTE));
    }
    leaf(pool, space, address).map(|leaf| leaf.rights)
}

/// Whether lines of a page of a space can stay in the cache: it can be read, through the cache.
pub fn can_lock(pool: &Pool, space: Ref<Space>, address: UserAddr) -> bool {
    leaf(pool, space, address).is_some_and(|leaf| {
        leaf.rights.contains(Rights::READ) && leaf.attributes == Attributes::Cached
    })
}

/// What a space's tables say of a page.
fn leaf(pool: &Pool, space: Ref<Space>, address: UserAddr) -> Option<Leaf> {
    let entry = top_entry(pool, space, Armv5::table_index(address));
    if let Some((leaf, _)) = Armv5::decode_large(entry) {
        return Some(leaf);
    }
    let (table, _) = Armv5::decode_table(entry)?;
    let leaf = pool[Ref::<Table>::new(place::pool_address(table.0))].entries::<Armv5>()
        [Armv5::leaf_index(address)];
    let leaf = Armv5::decode(leaf)?;
    Some(Leaf { rights: leaf.rights.intersection(Armv5::table_rights(entry)), ..leaf })
}

/// Entries that are examined together, because most are empty.
const STRIDE: usize = 16;

/// Pages of a table that may have lines.
pub struct Found {
    pages: [u32; CLEANED],
    count: usize,
    /// This many fit.
    most: usize,
}

impl Found {
    /// No pages yet. If lines are to be dropped, there is room for as many pages as can be dropped
    /// line by line.
    pub const fn new(drops: bool) -> Self {
        Self { pages: [0; CLEANED], count: 0, most: if drops { DROPPED } else { CLEANED } }
    }

    /// Those that were found.
    pub fn pages(&self) -> &[u32] {
        &self.pages[..self.count]
    }

    /// Looks for pages of a range that can have lines; if only written lines matter, for writable
    /// pages. Returns false if they do not fit.
    pub fn look(
        &mut self,
        pool: &Pool,
        space: Ref<Space>,
        range: &Range<UserAddr>,
        all: bool,
    ) -> bool {
        let mut at = range.start;
        while at < range.end {
            let end = UserAddr((at.align_down(TABLE_SPAN).0 + TABLE_SPAN).min(range.end.0));
            let entry = top_entry(pool, space, Armv5::table_index(at));
            if Armv5::decode_large(entry).is_some() {
                return false;
            }
            if let Some((table, _)) = Armv5::decode_table(entry) {
                let entries =
                    pool[Ref::<Table>::new(place::pool_address(table.0))].entries::<Armv5>();
                let first = Armv5::leaf_index(at);
                if !self.take(
                    at.0,
                    &entries[first..first + ((end.0 - at.0) / PAGE_SIZE) as usize],
                    all,
                ) {
                    return false;
                }
            }
            at = end;
        }
        true
    }

    /// Adds pages of these entries, which map the addresses from one on.
    fn take(&mut self, mut page: u32, entries: &[u32], all: bool) -> bool {
        let (strides, rest) = entries.as_chunks::<STRIDE>();
        for stride in strides {
            let is_empty = stride.iter().fold(0, |some, entry| some | entry) == 0;
            if !is_empty && !self.take_each(page, stride, all) {
                return false;
            }
            page += STRIDE as u32 * PAGE_SIZE;
        }
        self.take_each(page, rest, all)
    }

    #[inline(never)]
    fn take_each(&mut self, mut page: u32, entries: &[u32], all: bool) -> bool {
        for entry in entries {
            let has_lines = |leaf: Leaf| {
                leaf.attributes == Attributes::Cached
                    && (all || leaf.rights.contains(Rights::WRITE))
            };
            if Armv5::decode(*entry).is_some_and(has_lines) {
                if self.count == self.most {
                    return false;
                }
                self.pages[self.count] = page;
                self.count += 1;
            }
            page += PAGE_SIZE;
        }
        true
    }
}
