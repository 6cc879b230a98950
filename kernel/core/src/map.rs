// SPDX-License-Identifier: MIT OR Apache-2.0
//! `map`: mapping, unmapping and changing rights, in batches that can be interrupted.
//!
//! Three functions do the work of a record, in a loop ([`carry_out_memory`]) that checks for
//! interrupts between its steps:
//!
//! | function | what it does | what it changes |
//! |---|---|---|
//! | [`decode`] | raw words become a [`Request`]: every check of what the caller said | nothing |
//! | [`decide`] | how much of it is done before the next look | nothing |
//! | [`apply`] | does that much of it | tables, caches, and records of who uses a Memory |
//!
//! The last one fails only if there is no kernel memory. Records about I/O ports and caches need no
//! loop: `special.rs` and [`cache_record`] check such a record, and carry it out at once.
//!
//! [`carry_out_memory`]: Kernel::carry_out_memory
//! [`decode`]: Kernel::decode
//! [`decide`]: Kernel::decide
//! [`apply`]: Kernel::apply
//! [`cache_record`]: Kernel::cache_record
//!
//! A mapping has no record of its own: the pair (Memory, owner) is recorded once, as an
//! [`Attachment`](crate::Attachment), and revoke finds the mappings by walking the owner's tables.

use crate::memory::class;
use crate::port::{Change, Port, Registers};
use crate::{Entry, Kernel, Memory, Outcome, Owner, Progress, Result, Space, Table, Thread};
use abi::{Error, Kind, MapRecord, PAGE_SIZE, PhysAddr, Rights, TABLE_SPAN, UserAddr, Word, call};
use core::ops::Range;
use mmu::{Attributes, Format, Leaf};
use pool::Ref;

/// Bytes of a record in the UTCB.
const RECORD_BYTES: u32 = size_of::<MapRecord>() as u32;

/// Entries that are looked at together when tables that there are not are passed over.
const STRIDE: usize = 16;

/// Pages that are mapped or unmapped between two looks at the interrupt controller: 1 MiB. Larger
/// pages have larger tables, which take longer to clear.
const MAPPED: u32 = ((1 << 20) / PAGE_SIZE) as u32;
/// Pages whose rights are changed between two looks: each is taken apart.
const CHANGED: u32 = 64;
/// The highest slot that a record can name.
const MOST_SELECTOR: Word = u16::MAX as Word;
/// Pages' worth of work that a record costs beside its pages.
const RECORD: u32 = 8;
/// The same of each space that has a Segment of which something changes.
pub(crate) const SPACE: u32 = 4;
/// Pages' worth of small steps between two looks.
pub(crate) const LOOK: u32 = 32;

/// What a record asks for, checked.
struct Request {
    owner: Owner,
    operation: u32,
    address: UserAddr,
    bytes: Word,
    rights: Rights,
    /// The Memory, the physical address in it, and attributes, to map.
    source: Option<(Ref<Memory>, PhysAddr, Attributes)>,
}

/// How far the records of a batch were carried out.
pub(crate) enum Batch {
    /// All of them.
    Done,
    /// An interrupt came first: to be carried on.
    Again,
    /// All before this one, which failed.
    Failed(u32, Error),
}

/// Leaves of neighbouring pages, from that of the first on.
pub(crate) fn fill_pages<F: Format>(entries: &mut [F::Entry], first: F::Entry) {
    let mut page = first;
    let mut fill = |entry: &mut F::Entry| {
        *entry = page;
        page = F::next(page);
    };
    // In strides the compiler needs no test for each.
    let (strides, rest) = entries.as_chunks_mut::<STRIDE>();
    strides.iter_mut().for_each(|stride| stride.iter_mut().for_each(&mut fill));
    rest.iter_mut().for_each(fill);
}

impl<P: Port> Kernel<P> {
    /// `map`: the records in the caller's UTCB.
    pub(crate) fn map_batch(
        &mut self,
        me: Ref<Thread>,
        space: Ref<Space>,
        call::Map { count }: call::Map,
    ) -> Result<Outcome> {
        match self.map_records(me, space, count)? {
            Batch::Done => Ok(Outcome::Done([count, 0, 0])),
            Batch::Again => Ok(Outcome::Again),
            Batch::Failed(index, error) => {
                self.set_status(me, Err(error));
                P::Registers::set_result(&mut self.pool[me].context, 1, index as Word);
                Ok(Outcome::Handled)
            }
        }
    }

    /// The records in the caller's UTCB, from the one it was interrupted in.
    pub(crate) fn map_records(
        &mut self,
        me: Ref<Thread>,
        caller: Ref<Space>,
        count: Word,
    ) -> Result<Batch> {
        let count = crate::narrow(count)?;
        if count == 0 || count > MapRecord::MAX {
            return Err(Error::BadArgument);
        }
        let first = core::mem::take(&mut self.pool[me].progress);
        self.unlooked = 0;
        for index in first..count {
            let carried_out = if self.is_time(RECORD) {
                Ok(Progress::Interrupted)
            } else {
                self.map_record(me, caller, index)
            };
            match carried_out {
                Ok(Progress::Done) => {}
                Ok(Progress::Interrupted) => {
                    self.pool[me].progress = index;
                    return Ok(Batch::Again);
                }
                Err(error) => return Ok(Batch::Failed(index, error)),
            }
        }
        Ok(Batch::Done)
    }

    /// Adds to the work since the last look at the interrupt controller, and looks if that is
    /// enough: whether an interrupt waits.
    fn is_time(&mut self, pages: u32) -> bool {
        self.unlooked += pages;
        if self.unlooked < LOOK {
            return false;
        }
        self.unlooked = 0;
        self.port.interrupt_pending()
    }

    /// What a step of so many bytes counts, in pages: of what is not there they may be more than 32
    /// bits can tell.
    fn effort(bytes: Word) -> u32 {
        (bytes / PAGE_SIZE).min(LOOK as Word) as u32
    }

    /// One record of the UTCB; what is left stands there if an interrupt came first.
    fn map_record(&mut self, me: Ref<Thread>, caller: Ref<Space>, index: u32) -> Result<Progress> {
        let at = self.pool[me].utcb + index * RECORD_BYTES;
        let mut record =
            MapRecord(bytemuck::pod_read_unaligned(self.pool.bytes_at(at, RECORD_BYTES)));
        let carried_out = self.carry_out_record(caller, &mut record)?;
        if carried_out == Progress::Interrupted {
            self.pool.bytes_mut(at, RECORD_BYTES).copy_from_slice(bytemuck::bytes_of(&record.0));
        }
        Ok(carried_out)
    }

    /// A record of one page; its length is not given. If an interrupt came first, all of it is to be
    /// done again.
    pub(crate) fn map_page(
        &mut self,
        caller: Ref<Space>,
        [selectors, address, offset]: [Word; 3],
    ) -> Result<Progress> {
        let mut record = MapRecord([selectors, address, offset, PAGE_SIZE]);
        match self.decode_memory(caller, &record)? {
            // As many of what is special as a page has bytes are nothing that anybody means.
            Some((memory, _)) if self.pool[memory].class == class::SPECIAL => {
                Err(Error::BadArgument)
            }
            memory => self.carry_out_memory(caller, &mut record, memory),
        }
    }

    /// One record; it is what is left if an interrupt came first.
    fn carry_out_record(&mut self, caller: Ref<Space>, record: &mut MapRecord) -> Result<Progress> {
        if let Some(what) = record.cache_op() {
            self.cache_record(caller, record, what)?;
            self.unlooked += LOOK;
            return Ok(Progress::Done);
        }
        let memory = self.decode_memory(caller, record)?;
        if let Some((memory, rights)) =
            memory.filter(|(memory, _)| self.pool[*memory].class == class::SPECIAL)
        {
            self.map_special(caller, record, memory, rights)?;
            self.unlooked += LOOK;
            return Ok(Progress::Done);
        }
        self.carry_out_memory(caller, record, memory)
    }

    /// As [`carry_out_record`](Self::carry_out_record), of a record that is for memory. What is to be
    /// done is decoded again in each step: others may have run since.
    fn carry_out_memory(
        &mut self,
        caller: Ref<Space>,
        record: &mut MapRecord,
        memory: Option<(Ref<Memory>, Rights)>,
    ) -> Result<Progress> {
        loop {
            let request = self.decode(caller, record, memory)?;
            // What somebody else has changed goes first.
            if self.spread(request.owner) == Progress::Interrupted {
                if self.port.interrupt_pending() {
                    return Ok(Progress::Interrupted);
                }
                continue;
            }
            let bytes = self.decide(&request);
            let applied = self.apply(&request, bytes);
            // What failed may have changed tables, too.
            if self.spread_all(request.owner) == Progress::Interrupted {
                return Ok(Progress::Interrupted);
            }
            applied?;
            if bytes == request.bytes {
                self.unlooked += Self::effort(bytes);
                return Ok(Progress::Done);
            }
            record.0[1] += bytes;
            record.0[2] = record.0[2].wrapping_add(bytes);
            record.0[3] -= bytes;
            if self.is_time(Self::effort(bytes)) {
                return Ok(Progress::Interrupted);
            }
        }
    }

    /// Copies what changed to all who have copies.
    fn spread_all(&mut self, owner: Owner) -> Progress {
        while self.pool[owner.region()].changing != 0 {
            if self.port.interrupt_pending() {
                return Progress::Interrupted;
            }
            // How far it came is seen above.
            let _ = self.spread(owner);
        }
        Progress::Done
    }

    /// The Memory of a record that needs one.
    fn decode_memory(
        &self,
        caller: Ref<Space>,
        record: &MapRecord,
    ) -> Result<Option<(Ref<Memory>, Rights)>> {
        // What is left out where no Memory is needed is one that is none, and not cut.
        if record.memory().0 > MOST_SELECTOR {
            return Err(Error::NoCapability);
        }
        let found = self.slot_of(caller, record.memory(), Kind::Memory, Rights::NONE);
        match (record.op(), found) {
            (MapRecord::MAP, Err(error)) => Err(error),
            (MapRecord::MAP, Ok((_, cap)))
                if self.pool[cap.object::<Memory>()].header.is_dying() =>
            {
                Err(Error::BadState)
            }
            (MapRecord::MAP, Ok((_, cap)))
                if self.pool[cap.object::<Memory>()].class == class::WINDOW =>
            {
                Err(Error::BadArgument)
            }
            (MapRecord::MAP | MapRecord::UNMAP, Ok((_, cap))) => {
                Ok(Some((cap.object(), cap.rights())))
            }
            (MapRecord::UNMAP, Err(_)) | (MapRecord::PROTECT, _) => Ok(None),
            _ => Err(Error::BadArgument),
        }
    }

    /// Checks all of a record.
    fn decode(
        &self,
        caller: Ref<Space>,
        record: &MapRecord,
        memory: Option<(Ref<Memory>, Rights)>,
    ) -> Result<Request> {
        let (_, cap) = self.cap(caller, record.space())?;
        let owner = match cap.kind() {
            Kind::Space => Owner::Space(cap.object()),
            Kind::Segment => Owner::Segment(cap.object()),
            _ => return Err(Error::WrongKind),
        };
        if !cap.rights().contains(Rights::CONTROL) {
            return Err(Error::NoRight);
        }
        if self.pool[owner.region()].header.is_dying() {
            return Err(Error::BadState);
        }
        let (address, bytes) = (record.address(), record.length());
        if bytes == 0 || !bytes.is_multiple_of(PAGE_SIZE) {
            return Err(Error::BadArgument);
        }
        if !self.is_users(owner, address, bytes) {
            return Err(Error::BadAddress);
        }
        let rights = record.rights().intersection(Rights::RWX);
        let source = match memory {
            Some((memory, allowed)) if record.op() == MapRecord::MAP => {
                if rights == Rights::NONE {
                    return Err(Error::BadArgument);
                }
                if !allowed.contains(rights) {
                    return Err(Error::NoRight);
                }
                let Memory { class: kind, base, bytes: size, .. } = self.pool[memory];
                let offset = record.offset();
                if !offset.is_multiple_of(PAGE_SIZE) || offset > size || bytes > size - offset {
                    return Err(Error::BadArgument);
                }
                let attributes = match kind {
                    class::DEVICE => Attributes::Device,
                    _ if record.is_uncached() => Attributes::Uncached,
                    _ => Attributes::Cached,
                };
                Some((memory, base + offset, attributes))
            }
            _ => None,
        };
        Ok(Request { owner, operation: record.op(), address, bytes, rights, source })
    }

    /// How much of a request is done between two looks at the interrupt controller. To take away
    /// what is not there takes no time: up to the first table that there is, and into it.
    fn decide(&self, request: &Request) -> Word {
        let Request { owner, operation, address, bytes, .. } = *request;
        if operation == MapRecord::MAP {
            let rest = bytes.min(TABLE_SPAN - address.0 % TABLE_SPAN);
            let is_large = P::Format::HAS_LARGE
                && rest == TABLE_SPAN
                && request.source.is_some_and(|(_, physical, _)| physical.is_aligned(TABLE_SPAN));
            return if is_large { rest } else { rest.min(MAPPED as Word * PAGE_SIZE) };
        }
        let last = address + (bytes - 1);
        let all = P::Format::table_index(address)..P::Format::table_index(last) + 1;
        let (first, found) = match self.table_entries(owner, all.clone()) {
            Err(missing) => (missing, false),
            Ok(entries) => Self::first_used(entries),
        };
        if !found {
            // Nothing there, as far as it was looked at.
            let end = P::Format::table_start(all.start + first);
            return if end > last { bytes } else { end - address };
        }
        let index = all.start + first;
        let start = address.max(P::Format::table_start(index));
        let rest = (P::Format::table_start(index) + (TABLE_SPAN - 1)).min(last) - start + 1;
        let at_once = rest == TABLE_SPAN
            && (operation == MapRecord::UNMAP
                || P::Format::decode_large(self.table_entry(owner, index)).is_some());
        let most = if operation == MapRecord::UNMAP { MAPPED } else { CHANGED };
        start - address + if at_once { rest } else { rest.min(most as Word * PAGE_SIZE) }
    }

    /// The first entry that is not empty, or how many there are, and whether there is one.
    pub(crate) fn first_used(entries: &[Entry<P>]) -> (usize, bool) {
        let (strides, _) = entries.as_chunks::<STRIDE>();
        let unused =
            |some: &&[Entry<P>; STRIDE]| some.iter().all(|entry| P::Format::is_empty(*entry));
        let passed = strides.iter().take_while(unused).count() * STRIDE;
        let found = entries.iter().skip(passed).position(|entry| !P::Format::is_empty(*entry));
        (found.map_or(entries.len(), |first| passed + first), found.is_some())
    }

    /// Carries out the first `bytes` of a request, as `decide` gave them.
    fn apply(&mut self, request: &Request, bytes: Word) -> Result<()> {
        let Request { owner, address, rights, .. } = *request;
        let end = address + bytes;
        if request.operation == MapRecord::MAP {
            let Some((memory, physical, attributes)) = request.source else {
                return Err(Error::NoCapability);
            };
            self.note_use(memory, owner)?;
            let leaf =
                Leaf { physical, rights, most: rights, attributes, global: self.is_global(owner) };
            return self.map_pages(owner, address..end, leaf);
        }
        // Only the last table of a step can be there.
        let start = address.max(UserAddr(end.0 - 1).align_down(TABLE_SPAN));
        let rights = (request.operation == MapRecord::PROTECT).then_some(rights);
        let (index, whole) = (P::Format::table_index(start), end - start == TABLE_SPAN);
        if whole && self.change_large(owner, index, rights) {
            return Ok(());
        }
        let Some(table) = self.own_leaves(owner, index) else { return Ok(()) };
        self.before(owner, start..end, rights.map_or(Change::Remove, Change::Protect));
        if whole && rights.is_none() {
            self.withdraw_table(owner, index, start..end, table);
        } else {
            self.change_leaves(table, start..end, rights);
            self.flush(owner, start..end);
        }
        Ok(())
    }

    /// Maps a range within one table's span.
    fn map_pages(&mut self, owner: Owner, range: Range<UserAddr>, first: Leaf) -> Result<()> {
        let index = P::Format::table_index(range.start);
        let is_large = P::Format::HAS_LARGE
            && range.end - range.start == TABLE_SPAN
            && first.physical.is_aligned(TABLE_SPAN);
        let replaced = if is_large {
            self.map_large(owner, index, first)?
        } else {
            let table = self.table_for(owner, index)?;
            self.write_leaves(owner, table, range.clone(), first)
        };
        if replaced {
            self.flush(owner, range);
        }
        Ok(())
    }

    /// Indices of a range's pages in the leaf table that it lies in.
    fn leaves(range: &Range<UserAddr>) -> Range<usize> {
        let first = P::Format::leaf_index(range.start);
        first..first + ((range.end - range.start) / PAGE_SIZE) as usize
    }

    /// Maps a range within one table; whether another mapping was replaced.
    fn write_leaves(
        &mut self,
        owner: Owner,
        table: Ref<Table>,
        range: Range<UserAddr>,
        first: Leaf,
    ) -> bool {
        let leaves = Self::leaves(&range);
        let entry = P::Format::leaf(first);
        let (mut others, mut replaced) = (false, false);
        let mut page = entry;
        for old in self.pool[table].entries::<P::Format>().get(leaves.clone()).unwrap_or_default() {
            if !P::Format::is_empty(*old) && *old != page {
                others = true;
                replaced |= !P::Format::is_same_page(*old, page);
            }
            page = P::Format::next(page);
        }
        if others {
            self.before(
                owner,
                range,
                if replaced { Change::Replace } else { Change::Protect(first.rights) },
            );
        }
        self.write_entries(table, leaves, |entries| fill_pages::<P::Format>(entries, entry));
        others
    }

    /// Removes the leaves of a range within one table, or changes their rights.
    fn change_leaves(&mut self, table: Ref<Table>, range: Range<UserAddr>, rights: Option<Rights>) {
        self.write_entries(table, Self::leaves(&range), |leaves| {
            let Some(rights) = rights else { return leaves.fill(P::Format::empty()) };
            for entry in leaves {
                if let Some(leaf) = P::Format::decode(*entry) {
                    *entry =
                        P::Format::leaf(Leaf { rights: rights.intersection(leaf.most), ..leaf });
                }
            }
        });
    }
}
