// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making objects, and binding threads to spaces.

use crate::cap::Slot;
use crate::memory::{Memory, class};
use crate::port::Port;
use crate::quota::{Header, Quota};
use crate::reap::Work;
use crate::space::{HEADER_BYTES, Owner, Region, Segment, SlotMap, Space, TABLE_BYTES, Table};
use crate::thread::{SEQUENCE, Thread, flag, gate};
use crate::{Kernel, NOTHING, Outcome, Result};
use abi::frame::{Frame, vector};
use abi::utcb::{AREA_END, FIRST_SLOT, FPU_OFFSET, FPU_SIZE, KIP_ADDRESS, SLOT_SIZE, Utcb};
use abi::{Error, Kind, MessageKind, PAGE_SIZE, Rights, USER_END};
use bytemuck::Zeroable;
use core::mem::{offset_of, take};
use mmu::Format;
use pool::{Link, Ref};

/// Most slots of a capability table: what the selectors of map records and message items can name.
const MAX_SLOTS: u32 = 65536;
/// Slots of a new capability table that are cleared in one step.
const GROWTH: u32 = 512;

const SLOTS_A_PAGE: u32 = PAGE_SIZE / SLOT_SIZE;

impl<P: Port> Kernel<P> {
    pub(crate) fn new_header(quota: Ref<Quota>, original: Ref<Slot>) -> Header {
        Header { quota: quota.link(), original: original.link(), ..Header::zeroed() }
    }

    /// `create_space`: in steps, as a large table takes time to clear.
    pub(crate) fn create_space(&mut self, me: Ref<Thread>, caller: Ref<Space>, args: [u32; 4]) -> Result<Outcome> {
        let made = match take(&mut self.pool[me].progress) {
            0 => {
                let quota: Ref<Quota> = self.object(caller, args[0], Kind::Quota, Rights::CONTROL)?;
                let slot = self.empty_slot(caller, args[2])?;
                if args[1] > MAX_SLOTS {
                    return Err(Error::BadArgument);
                }
                let made = self.build_space(quota, slot, args[1])?;
                self.put_original(slot, Kind::Space, made.address());
                made
            }
            // Somebody may have deleted what was begun: what stands there now is as good.
            _ => self.object(caller, args[2], Kind::Space, Rights::CONTROL)?,
        };
        while !self.grow_table(made) {
            if self.port.interrupt_pending() {
                self.pool[me].progress = 1;
                return Ok(Outcome::Again);
            }
        }
        Ok(Outcome::Done([self.pool[made].slots, 0, 0]))
    }

    /// A space with an empty capability table that will have at least `slots` entries
    /// ([`grow_table`](Self::grow_table)).
    pub(crate) fn build_space(&mut self, quota: Ref<Quota>, original: Ref<Slot>, slots: u32) -> Result<Ref<Space>> {
        let bytes = Space::bytes(slots);
        let block = self.allocate_uncleared(quota, bytes)?;
        self.pool.bytes_mut(block, HEADER_BYTES).fill(0);
        let made: Ref<Space> = Ref::new(block);
        // Where natives have their UTCBs nobody maps.
        let start = if slots == 0 { 0 } else { AREA_END };
        self.pool[made].region = Region { header: Self::new_header(quota, original), start, end: USER_END, ..Region::zeroed() };
        self.pool[made].bytes = bytes;
        self.grow_table(made);
        match self.furnish_space(made, quota) {
            Ok(()) => Ok(made),
            Err(error) => {
                self.discard_space(made);
                Err(error)
            }
        }
    }

    /// Clears some more of a space's block for its capability table, a part at a time; true when the table
    /// has its size. What is cleared can be used.
    pub(crate) fn grow_table(&mut self, space: Ref<Space>) -> bool {
        let Space { bytes, slots, .. } = self.pool[space];
        let capacity = ((bytes - HEADER_BYTES) / size_of::<Slot>() as u32).min(MAX_SLOTS);
        let end = (slots + GROWTH).min(capacity);
        let first = Space::slot(space, slots).address();
        self.pool.bytes_mut(first, (end - slots) * size_of::<Slot>() as u32).fill(0);
        self.pool[space].slots = end;
        end == capacity
    }

    fn furnish_space(&mut self, made: Ref<Space>, quota: Ref<Quota>) -> Result<()> {
        self.pool[made].region.top = Link::from_value(self.allocate(quota, TABLE_BYTES)?);
        self.port.space_created(&mut self.pool, made);
        if self.pool[made].slots == 0 {
            return Ok(());
        }
        let map: Ref<SlotMap> = Ref::new(self.allocate(quota, size_of::<SlotMap>() as u32)?);
        self.pool[made].utcb_map = map.link();
        // What lies before the first slot is not a slot.
        if let Some(first) = self.pool[map].0.first_mut() {
            *first = (1 << (FIRST_SLOT / SLOT_SIZE)) - 1;
        }
        let kip = self.port.physical(self.kip);
        self.set_kernel_leaf(made, KIP_ADDRESS, kip, Rights::READ)
    }

    /// Frees a space that has no threads, capabilities or attachments any more.
    pub(crate) fn discard_space(&mut self, space: Ref<Space>) {
        let Space { region: Region { header, top, .. }, utcb_map, ports, bytes, .. } = self.pool[space];
        if let Some(top) = top.get() {
            self.port.space_dropped(&mut self.pool, space);
            // Of one that could not be made there is the table of its UTCBs.
            let mut cursor = 0;
            self.free_tables(Owner::Space(space), &mut cursor);
            self.release(header.quota, top.address(), TABLE_BYTES);
        }
        if let Some(map) = utcb_map.get() {
            self.release(header.quota, map.address(), size_of::<SlotMap>() as u32);
        }
        if let Some(ports) = ports.get() {
            self.release(header.quota, ports.address(), crate::space::PORT_MAP_BYTES);
        }
        self.release(header.quota, space.address(), bytes);
    }

    /// `create_segment`.
    pub(crate) fn create_segment(&mut self, space: Ref<Space>, args: [u32; 4]) -> Result<[u32; 3]> {
        let quota: Ref<Quota> = self.object(space, args[0], Kind::Quota, Rights::CONTROL)?;
        let slot = self.empty_slot(space, args[2])?;
        if args[1] == 0 || !args[1].is_multiple_of(abi::TABLE_SPAN) || args[1] > USER_END {
            return Err(Error::BadArgument);
        }
        let block: Ref<Segment> = Ref::new(self.allocate(quota, size_of::<Segment>() as u32)?);
        match self.allocate(quota, TABLE_BYTES) {
            Ok(top) => {
                let s = &mut self.pool[block];
                s.region = Region { header: Self::new_header(quota, slot), top: Link::from_value(top), end: args[1], ..Region::zeroed() };
                self.put_original(slot, Kind::Segment, block.address());
                Ok(NOTHING)
            }
            Err(error) => {
                self.release(quota.link(), block.address(), size_of::<Segment>() as u32);
                Err(error)
            }
        }
    }

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
        let granule = if kind == class::PORTS { 1 } else { PAGE_SIZE };
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

    /// `create_thread`.
    pub(crate) fn create_thread(&mut self, me: Ref<Thread>, space: Ref<Space>, args: [u32; 4]) -> Result<[u32; 3]> {
        let quota: Ref<Quota> = self.object(space, args[0], Kind::Quota, Rights::CONTROL)?;
        let (runs_in, home) = self.binding(space, args[1], args[3])?;
        let slot = self.empty_slot(space, args[2])?;
        let made = self.new_thread(quota, slot, self.pool[me].priority)?;
        if let Err(error) = self.bind(made, runs_in, home) {
            self.free_thread(made);
            return Err(error);
        }
        self.put_original(slot, Kind::Thread, made.address());
        Ok(self.bound(me, made))
    }

    /// The space a thread is to run in and the one its UTCB slot goes to.
    fn binding(&self, space: Ref<Space>, runs_in: u32, home: u32) -> Result<(Ref<Space>, Ref<Space>)> {
        let runs_in: Ref<Space> = self.object(space, runs_in, Kind::Space, Rights::CONTROL)?;
        let alien = self.pool[runs_in].slots == 0;
        let home = if home == 0 { runs_in } else { self.object(space, home, Kind::Space, Rights::CONTROL)? };
        if self.pool[runs_in].region.header.is_dying() || self.pool[home].region.header.is_dying() {
            return Err(Error::BadState);
        }
        if alien == (home == runs_in) || self.pool[home].slots == 0 { Err(Error::BadArgument) } else { Ok((runs_in, home)) }
    }

    /// A thread without a space.
    pub(crate) fn new_thread(&mut self, quota: Ref<Quota>, original: Ref<Slot>, priority: u32) -> Result<Ref<Thread>> {
        self.charge(quota, 0, 1)?;
        let Some(made) = self.threads.free.get() else {
            self.uncharge(quota.link(), 0, 1);
            return Err(Error::PoolExhausted);
        };
        self.threads.free = self.pool[made].next;
        let Thread { handle, epochs, .. } = self.pool[made];
        let handle = handle.wrapping_add(SEQUENCE);
        // Whoever wore it out is gone, with all that he paid for.
        let epochs = if self.threads.is_worn(epochs) { 0 } else { epochs };
        self.pool[made] = Thread { handle, epochs, priority, max_priority: priority, gate: gate::STOPPED, ..Thread::zeroed() };
        self.pool[made].header = Self::new_header(quota, original);
        Ok(made)
    }

    /// Gives a thread's entry back.
    pub(crate) fn free_thread(&mut self, thread: Ref<Thread>) {
        let Thread { header, handle, epochs, .. } = self.pool[thread];
        self.pool[thread] = Thread { handle, epochs, next: self.threads.free, ..Thread::zeroed() };
        if let Some(quota) = header.quota.get().filter(|_| self.threads.is_worn(epochs)) {
            // Servers may still have handles: nobody else gets this entry, and who wore it out goes on paying for it.
            self.keep_worn(quota, thread);
        } else {
            self.threads.free = thread.link();
            self.uncharge(header.quota, 0, 1);
        }
    }

    /// Binds a thread that has no space: gives it a UTCB slot and puts it into
    /// its first state.
    pub(crate) fn bind(&mut self, thread: Ref<Thread>, runs_in: Ref<Space>, home: Ref<Space>) -> Result<()> {
        let (address, utcb) = self.take_utcb_slot(home)?;
        let slots = self.pool[runs_in].slots;
        let t = &mut self.pool[thread];
        t.space = runs_in.link();
        t.home = home.link();
        t.cap_limit = slots;
        t.utcb = utcb;
        t.utcb_address = address;
        t.signals = 0;
        t.flags = t.flags & flag::LISTED | if slots == 0 { flag::ALIEN } else { 0 };
        t.gate = gate::STOPPED;
        self.clear_registers(thread);
        if slots != 0 {
            self.set_utcb_word(thread, offset_of!(Utcb, address), address);
        }
        Ok(())
    }

    /// Gives a thread that is not loaded the registers of one that never ran.
    pub(crate) fn clear_registers(&mut self, thread: Ref<Thread>) {
        let t = &mut self.pool[thread];
        t.context = [0; crate::port::CONTEXT_WORDS];
        t.fs_gs = 0;
        t.tls = [[0; 2]; 3];
        t.debug = [0; 6];
        t.lazy = 0;
        P::start(&mut t.context, 0, 0, 0, 0);
        let fpu = t.utcb + FPU_OFFSET;
        P::clear_fpu(self.pool.bytes_mut(fpu, FPU_SIZE));
        self.set_utcb_word(thread, offset_of!(Utcb, fpu), abi::utcb::fpu::INITIAL);
    }

    /// The results of `create_thread` and `reset`. A new alien waits for a reply, as
    /// if it had raised an exception that its handler (the creator, if it has none) got.
    fn bound(&mut self, me: Ref<Thread>, thread: Ref<Thread>) -> [u32; 3] {
        let address = self.pool[thread].utcb_address;
        if !self.pool[thread].is_alien() {
            return [address, 0, 0];
        }
        let handler = self.pool[thread].handler;
        let frame = Frame { vector: vector::CREATED, ..P::frame(&self.pool[thread]) };
        let at = self.pool[thread].utcb;
        self.pool.bytes_mut(at, size_of::<Frame>() as u32).copy_from_slice(bytemuck::bytes_of(&frame));
        let t = &mut self.pool[thread];
        t.handle = t.handle.wrapping_add(SEQUENCE);
        t.sending = MessageKind::Alien as u32;
        t.gate = gate::REPLY | gate::ALIEN;
        t.partner = if handler.is_empty() { me.link() } else { handler.object::<Thread>().link() };
        if let Some(partner) = t.partner.get() {
            self.pool[partner].flags |= flag::WATCHED;
        }
        let t = &self.pool[thread];
        [address, t.handle, 0]
    }

    /// `reset`: in steps, as everybody who waits for the thread has to be found.
    pub(crate) fn reset(&mut self, me: Ref<Thread>, space: Ref<Space>, args: [u32; 4]) -> Result<Outcome> {
        let target: Ref<Thread> = self.object(space, args[0], Kind::Thread, Rights::CONTROL)?;
        let (runs_in, home) = self.binding(space, args[1], args[2])?;
        if target == me {
            return Err(Error::BadArgument);
        }
        if !self.pool[target].space.is_null() {
            if self.pool[target].flags & flag::LISTED == 0 {
                self.push_work(me, Work::thread(target));
            }
            self.take_out(target, Error::PeerRestarted, me);
        }
        while !self.fail_waiters(target) {
            if self.port.interrupt_pending() {
                return Ok(Outcome::Again);
            }
        }
        if self.pool[me].work.is_first(Work::thread(target)) {
            self.pop_work(me);
        }
        self.bind(target, runs_in, home)?;
        Ok(Outcome::Done(self.bound(me, target)))
    }

    /// Takes a thread out of whatever queue it is in.
    pub(crate) fn leave_queues(&mut self, thread: Ref<Thread>) {
        match self.pool[thread].state() {
            gate::READY => self.unready(thread),
            gate::SENDING => {
                if let Some(receiver) = self.pool[thread].partner.get() {
                    self.leave_senders(receiver, thread);
                }
            }
            _ => {}
        }
        self.pool[thread].partner = Link::NULL;
    }

    /// Physical address of a page of a space's UTCB area.
    fn area_page(&self, space: Ref<Space>, address: u32) -> Option<u32> {
        let top = self.pool[space].region.top.get()?;
        let (table, _) = P::Format::decode_table(*self.pool[top].0.get(mmu::top_index(address))?)?;
        let table: Ref<Table> = Ref::new(self.port.pool_address(table));
        P::Format::decode(*self.pool[table].0.get(mmu::leaf_index(address))?).map(|leaf| leaf.physical)
    }

    /// Takes a free UTCB slot of a native space; returns its address there and in the kernel.
    fn take_utcb_slot(&mut self, home: Ref<Space>) -> Result<(u32, u32)> {
        let map = self.pool[home].utcb_map.get().ok_or(Error::BadArgument)?;
        let words = &self.pool[map].0;
        let (word, bits) = words.iter().enumerate().find(|(_, bits)| **bits != u32::MAX).ok_or(Error::PoolExhausted)?;
        let index = word as u32 * 32 + (!*bits).trailing_zeros();
        let address = index * SLOT_SIZE;
        debug_assert!(address < AREA_END, "slot map too long");
        let page_at = address & !(PAGE_SIZE - 1);
        let page = match self.area_page(home, page_at) {
            Some(physical) => self.port.pool_address(physical),
            None => self.add_utcb_page(home, page_at)?,
        };
        if let Some(bits) = self.pool[map].0.get_mut(word) {
            *bits |= 1 << (index % 32);
        }
        let utcb = page + address % PAGE_SIZE;
        self.pool.bytes_mut(utcb, SLOT_SIZE).fill(0);
        Ok((address, utcb))
    }

    fn add_utcb_page(&mut self, home: Ref<Space>, address: u32) -> Result<u32> {
        let quota = self.pool[home].region.header.quota.get().ok_or(Error::BadState)?;
        let page = self.allocate(quota, PAGE_SIZE)?;
        let physical = self.port.physical(page);
        self.set_kernel_leaf(home, address, physical, Rights::READ.union(Rights::WRITE)).inspect_err(|_| {
            self.release(quota.link(), page, PAGE_SIZE);
        })?;
        Ok(page)
    }

    /// Gives a thread's UTCB slot back, and the page with the last slot in it.
    pub(crate) fn free_utcb_slot(&mut self, thread: Ref<Thread>) {
        let Thread { home, utcb, utcb_address: address, .. } = self.pool[thread];
        let Some(home) = home.get() else { return };
        let Some(map) = self.pool[home].utcb_map.get() else { return };
        let index = address / SLOT_SIZE;
        let Some(bits) = self.pool[map].0.get_mut((index / 32) as usize) else { return };
        *bits &= !(1 << (index % 32));
        let page_bits = ((1 << SLOTS_A_PAGE) - 1) << (index % 32 / SLOTS_A_PAGE * SLOTS_A_PAGE);
        if *bits & page_bits == 0 {
            let quota = self.pool[home].region.header.quota;
            self.clear_leaf(home, address & !(PAGE_SIZE - 1));
            self.release(quota, utcb & !(PAGE_SIZE - 1), PAGE_SIZE);
        }
    }
}
