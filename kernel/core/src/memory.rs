// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: ranges of physical addresses, or of what else a processor has, which users map.

use crate::port::{Change, Port};
use crate::{Attachment, Header, Kernel, NOTHING, Owner, Quota, Result, Space, Table, Thread};
use abi::utcb::Utcb;
use abi::{Error, Kind, PAGE_SIZE, Rights, TABLE_SPAN};
use bytemuck::{Pod, Zeroable};
use core::mem::offset_of;
use mmu::{ENTRIES, Format};
use pool::{Link, Object, Ref};

/// What a Memory is a range of: values of `Memory::class`.
pub mod class {
    /// RAM.
    pub const RAM: u32 = 0;
    /// Device registers.
    pub const DEVICE: u32 = 1;
    /// What only one kind of processor has, such as I/O ports, by number (`special.rs`).
    pub const SPECIAL: u32 = 2;
}

/// A range of physical addresses, or of the numbers of what is special.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Memory {
    /// Who pays, original capability.
    pub header: Header,
    /// `class::*`.
    pub class: u32,
    /// First physical address or number.
    pub base: u32,
    /// Bytes, or how many.
    pub bytes: u32,
    /// Where it was mapped.
    pub uses: Link<Attachment>,
}
impl Object for Memory {}

const _: () = assert!(size_of::<Memory>() <= pool::MIN_BYTES as usize);

/// Pages whose mappings are searched in one step of a revoke, a part of a table.
const PAGES: u32 = 128;
const PARTS: u32 = ENTRIES as u32 / PAGES;
/// Entries of an upper level that are passed over in one step because there is nothing.
const PASSED: u32 = 128;
/// Parts of all tables that an owner can have.
const ALL_PARTS: u32 = mmu::USER_ENTRIES as u32 * PARTS;

impl<P: Port> Kernel<P> {
    /// `derive_memory`.
    pub(crate) fn derive_memory(&mut self, me: Ref<Thread>, space: Ref<Space>, args: [u32; 4]) -> Result<[u32; 3]> {
        let (parent_slot, cap) = self.slot_of(space, args[0], Kind::Memory, Rights::CONTROL)?;
        let parent: Ref<Memory> = cap.object();
        let quota_selector = self.utcb_word(me, offset_of!(Utcb, words) + 12);
        let quota: Ref<Quota> = self.object(space, quota_selector, Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, args[3])?;
        self.may_derive(parent_slot)?;
        let Memory { header, class: kind, base, bytes, .. } = self.pool[parent];
        if header.is_dying() {
            return Err(Error::BadState);
        }
        let granule = if kind == class::SPECIAL { 1 } else { PAGE_SIZE };
        let [_, offset, length, _] = args;
        if length == 0 || !offset.is_multiple_of(granule) || !length.is_multiple_of(granule) || offset > bytes || length > bytes - offset {
            return Err(Error::BadArgument);
        }
        let block: Ref<Memory> = Ref::new(self.allocate(quota, pool::MIN_BYTES)?);
        let made = Memory { header: Self::new_header(quota, slot), class: kind, base: base + offset, bytes: length, uses: Link::NULL };
        self.pool[block] = made;
        self.derive(parent_slot, slot, (Kind::Memory, block.address(), cap.rights(), 0))?;
        Ok(NOTHING)
    }

    pub(crate) fn end_memory(&mut self, memory: Ref<Memory>) -> bool {
        if !self.unmap_step(memory) {
            return false;
        }
        let quota = self.pool[memory].header.quota;
        self.release(quota, memory.address(), pool::MIN_BYTES);
        true
    }

    /// Searches a part of one owner's tables for pages of a Memory. True when no mapping of it is left.
    pub(crate) fn unmap_step(&mut self, memory: Ref<Memory>) -> bool {
        let Memory { class: kind, base, bytes, uses, .. } = self.pool[memory];
        let Some(at) = uses.get() else { return true };
        let owner = self.pool[at].owner();
        if let (class::SPECIAL, Owner::Space(space)) = (kind, owner) {
            self.set_special(space, base, bytes, false);
            self.drop_record(at);
            return false;
        }
        if let Owner::Segment(segment) = owner
            && !self.spread(segment)
        {
            return false;
        }
        let Attachment { mut cursor, .. } = self.pool[at];
        let most = (cursor + PASSED * PARTS).min(ALL_PARTS);
        while cursor < most && self.top_entry(owner, (cursor / PARTS) as usize) == 0 {
            cursor = (cursor / PARTS + 1) * PARTS;
        }
        let index = cursor / PARTS;
        if cursor == ALL_PARTS {
            self.drop_record(at);
            return false;
        }
        if cursor < most {
            self.take_from_large(owner, index as usize, (base, bytes));
            match self.own_table(owner, index as usize) {
                Some(table) => {
                    self.unmap_in_table(owner, index * TABLE_SPAN + cursor % PARTS * PAGES * PAGE_SIZE, table, (base, bytes));
                    cursor += 1;
                }
                None => cursor = (index + 1) * PARTS,
            }
        }
        self.pool[at].cursor = cursor;
        false
    }

    /// Unmaps pages of a range of physical memory from the part of a table where `start` is.
    fn unmap_in_table(&mut self, owner: Owner, start: u32, table: Ref<Table>, (base, bytes): (u32, u32)) {
        let first = mmu::leaf_index(start);
        let leaves = first..first + PAGES as usize;
        let within = |entry: u32| P::Format::decode(entry).is_some_and(|leaf| leaf.physical.wrapping_sub(base) < bytes);
        let (mut low, mut high) = (u32::MAX, 0);
        let entries = self.pool[table].0.get(leaves.clone()).unwrap_or_default();
        for (i, _) in entries.iter().enumerate().filter(|(_, entry)| within(**entry)) {
            let address = start + i as u32 * PAGE_SIZE;
            low = low.min(address);
            high = address + PAGE_SIZE;
        }
        if low == u32::MAX {
            return;
        }
        self.before(owner, low, high, Change::Remove);
        self.write_entries(table, leaves, |entries| entries.iter_mut().filter(|entry| within(**entry)).for_each(|entry| *entry = 0));
        self.flush(owner, low, high);
    }
}
