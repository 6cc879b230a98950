// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: ranges of physical addresses, or of other resources of a processor, which users map; or
//! of the addresses that a server's window may have.

use crate::port::{Change, Port};
use crate::{
    Attachment, Entry, Header, Kernel, NOTHING, Owner, Progress, Quota, Result, Space, Table,
    Thread,
};
use abi::{Error, Kind, PAGE_SIZE, PhysAddr, Rights, Selector, UserAddr, Word, call};
use bytemuck::{Pod, Zeroable};
use mmu::Format;
use pool::{Link, Object, Ref};

/// What a Memory is a range of: values of `Memory::class`.
pub mod class {
    /// RAM.
    pub const RAM: u32 = 0;
    /// Device registers.
    pub const DEVICE: u32 = 1;
    /// What only one kind of processor has, such as I/O ports, by number (`special.rs`).
    pub const SPECIAL: u32 = 2;
    /// Addresses at which servers may have their windows (`server.rs`).
    pub const WINDOW: u32 = 3;
}

/// A range of physical addresses, or of the numbers of what is special.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Memory {
    /// Who pays, original capability.
    pub header: Header,
    /// `class::*`.
    pub class: u32,
    /// Where it was mapped.
    pub uses: Link<Attachment>,
    /// First physical address or number.
    pub base: PhysAddr,
    /// Bytes, or how many.
    pub bytes: Word,
}
impl Object for Memory {}

const _: () = assert!(size_of::<Memory>() <= pool::MIN_BYTES as usize);

/// Pages whose mappings are searched in one step of a revoke, a part of a table.
const PAGES: usize = 128;
/// Entries of a directory that are passed over in one step because there is nothing.
const PASSED: usize = 128;

impl<P: Port> Kernel<P> {
    /// `derive_memory`.
    pub(crate) fn derive_memory(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call: call::DeriveMemory,
    ) -> Result<[Word; 3]> {
        let call::DeriveMemory { memory, offset, length, destination } = call;
        let (parent_slot, cap) = self.slot_of(space, memory, Kind::Memory, Rights::CONTROL)?;
        let parent: Ref<Memory> = cap.object();
        let quota_selector = Selector(self.message_word(me, call::DeriveMemory::QUOTA_WORD));
        let quota: Ref<Quota> = self.object(space, quota_selector, Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, destination)?;
        self.may_derive(parent_slot)?;
        let Memory { header, class: kind, base, bytes, .. } = self.pool[parent];
        if header.is_dying() {
            return Err(Error::BadState);
        }
        let granule = if kind == class::SPECIAL { 1 } else { PAGE_SIZE };
        if length == 0
            || !offset.is_multiple_of(granule)
            || !length.is_multiple_of(granule)
            || offset > bytes
            || length > bytes - offset
        {
            return Err(Error::BadArgument);
        }
        let block: Ref<Memory> = Ref::new(self.allocate(quota, pool::MIN_BYTES)?);
        let made = Memory {
            header: Self::new_header(quota, slot),
            class: kind,
            base: base + offset,
            bytes: length,
            uses: Link::NULL,
        };
        self.pool[block] = made;
        self.derive(parent_slot, slot, (Kind::Memory, block.address(), cap.rights(), 0))?;
        Ok(NOTHING)
    }

    /// A step of ending a Memory.
    pub(crate) fn end_memory(&mut self, memory: Ref<Memory>) -> Progress {
        if self.unmap_step(memory) == Progress::Interrupted {
            return Progress::Interrupted;
        }
        let quota = self.pool[memory].header.quota;
        self.release(quota, memory.address(), pool::MIN_BYTES);
        Progress::Done
    }

    /// Searches a part of one owner's tables for pages of a Memory. Done when no mapping of it is
    /// left.
    pub(crate) fn unmap_step(&mut self, memory: Ref<Memory>) -> Progress {
        let Memory { class: kind, base, bytes, uses, .. } = self.pool[memory];
        let Some(at) = uses.get() else { return Progress::Done };
        let owner = self.pool[at].owner();
        if let (class::SPECIAL, Owner::Space(space)) = (kind, owner) {
            self.set_special(space, base.0 as u32, bytes as u32, false);
            self.drop_record(at);
            return Progress::Interrupted;
        }
        if self.spread(owner) == Progress::Interrupted {
            return Progress::Interrupted;
        }
        let parts = P::Format::ENTRIES / PAGES;
        let (mut index, mut part) =
            (self.pool[at].cursor as usize / parts, self.pool[at].cursor as usize % parts);
        let tables = self.pool[owner.region()].tables() as usize;
        // Since this began the space may have come to show a server: it has fewer then.
        if index >= tables {
            self.drop_record(at);
            return Progress::Interrupted;
        }
        let (passed, found) = match self.table_entries(owner, index..tables) {
            Err(missing) => (missing, false),
            Ok(entries) => Self::first_used(entries.get(..PASSED).unwrap_or(entries)),
        };
        if passed != 0 {
            (index, part) = (index + passed, 0);
        }
        if found {
            self.take_from_large(owner, index, (base, bytes));
            match self.own_table(owner, index) {
                Some(table) => {
                    self.unmap_in_table(
                        owner,
                        P::Format::table_start(index),
                        table,
                        part * PAGES,
                        (base, bytes),
                    );
                    part += 1;
                }
                None => (index, part) = (index + 1, 0),
            }
        }
        self.pool[at].cursor = (index * parts + part) as u32;
        Progress::Interrupted
    }

    /// Unmaps pages of a range of physical memory from a part of a table, from entry `first` on.
    /// The table maps what is at `start`.
    fn unmap_in_table(
        &mut self,
        owner: Owner,
        start: UserAddr,
        table: Ref<Table>,
        first: usize,
        (base, bytes): (PhysAddr, Word),
    ) {
        let leaves = first..first + PAGES;
        let within = |entry: Entry<P>| {
            P::Format::decode(entry).is_some_and(|leaf| leaf.physical.offset_from(base) < bytes)
        };
        let entries =
            self.pool[table].entries::<P::Format>().get(leaves.clone()).unwrap_or_default();
        let Some(low) = entries.iter().position(|entry| within(*entry)) else { return };
        let high = entries.iter().rposition(|entry| within(*entry)).unwrap_or(low);
        let at = |index: usize| start + (first + index) as Word * PAGE_SIZE;
        self.before(owner, at(low)..at(high + 1), Change::Remove);
        self.write_entries(table, leaves, |entries| {
            entries
                .iter_mut()
                .filter(|entry| within(**entry))
                .for_each(|entry| *entry = P::Format::empty());
        });
        self.flush(owner, at(low)..at(high + 1));
    }
}
