// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading what is mapped, for a caller that compares it with tables of its own.
//!
//! No caller learns a page's physical address, only its offset in a Memory that the caller has.

use crate::memory::class;
use crate::port::Port;
use crate::{Kernel, Memory, Owner, Result, Space, Table};
use abi::{Error, Kind, MapRecord, PAGE_SIZE, Rights, TABLE_SPAN, UserAddr, Word, call};
use mmu::{Attributes, Format, Leaf};
use pool::Ref;

/// The offset of what is no page of the Memory.
const ELSEWHERE: Word = Word::MAX;

impl<P: Port> Kernel<P> {
    /// `lookup`.
    pub(crate) fn lookup(&self, caller: Ref<Space>, call: call::Lookup) -> Result<[Word; 3]> {
        let call::Lookup { space, address, memory } = call;
        let space: Ref<Space> = self.object(caller, space, Kind::Space, Rights::CONTROL)?;
        if self.pool[space].region.header.is_dying() {
            return Err(Error::BadState);
        }
        if address >= self.pool[space].region.end {
            return Err(Error::BadAddress);
        }
        let memory = match memory.given() {
            None => None,
            Some(selector) => Some(
                self.pool[self.object::<Memory>(caller, selector, Kind::Memory, Rights::NONE)?],
            ),
        };
        // Other numbers are no physical addresses.
        if memory.is_some_and(|memory| matches!(memory.class, class::SPECIAL | class::WINDOW)) {
            return Err(Error::BadArgument);
        }
        let (found, bytes) = self.translate(space, address);
        let Some(Leaf { physical, rights, attributes, .. }) = found else {
            return Ok([0, bytes, ELSEWHERE]);
        };
        let offset = memory.and_then(|memory| {
            Some(physical.offset_from(memory.base)).filter(|offset| *offset < memory.bytes)
        });
        let flag = if attributes == Attributes::Cached { 0 } else { MapRecord::UNCACHED };
        Ok([(rights.0 | flag) as Word, bytes, offset.unwrap_or(ELSEWHERE)])
    }

    /// The page at an address, as a processor finds it, and the bytes that its entry is for.
    fn translate(&self, space: Ref<Space>, address: UserAddr) -> (Option<Leaf>, Word) {
        let (owner, index) = (Owner::Space(space), P::Format::table_index(address));
        if let Some(tables) = self.missing(owner, index) {
            return (None, tables as Word * TABLE_SPAN);
        }
        let entry = self.table_entry(owner, index);
        if let Some((large, _)) = P::Format::decode_large(entry) {
            let physical =
                large.physical + (address.align_down(PAGE_SIZE) - address.align_down(TABLE_SPAN));
            return (Some(Leaf { physical, ..large }), TABLE_SPAN);
        }
        let Some((physical, _)) = P::Format::decode_table(entry) else { return (None, TABLE_SPAN) };
        let table: Ref<Table> = Ref::new(self.port.pool_address(physical));
        let leaf = self.entry(table, P::Format::leaf_index(address)).and_then(P::Format::decode);
        let leaf = leaf.map(|leaf| Leaf {
            rights: leaf.rights.intersection(P::Format::table_rights(entry)),
            ..leaf
        });
        (leaf, PAGE_SIZE)
    }
}
