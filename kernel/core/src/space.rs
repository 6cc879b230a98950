// SPDX-License-Identifier: MIT OR Apache-2.0
//! Spaces: an address space, with the capability table of the threads that run in it.

use crate::port::Port;
use crate::tables::TABLE_BYTES;
use crate::work::Work;
use crate::{
    ALIGN, Attachment, Charge, Kernel, Outcome, Quota, Region, Result, Slot, SlotMap, Thread,
};
use abi::syscall::MAX_SLOTS;
use abi::{Error, Kind, Rights, USER_END, UserAddr, Word, call};
use bytemuck::{Pod, Zeroable};
use core::mem::take;
use pool::{Link, Object, Ref};
pub use sizes::HW_WORDS;

/// An address space. Its capability table follows at [`HEADER_BYTES`].
#[repr(C, align(16))]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Space {
    /// Who pays, and its translation tables.
    pub region: Region,
    /// Entries of its capability table; 0: a space of aliens.
    pub slots: u32,
    /// Which UTCB slots are taken (native spaces).
    pub utcb_map: Link<SlotMap>,
    /// Address of what it has that only one kind of processor has
    /// ([`Processor::Special`](crate::port::Processor::Special)); 0: nothing.
    pub special: u32,
    /// Segments that are attached to it, the server that it shows, and, in a home, small Spaces.
    pub segments: Link<Attachment>,
    /// What the port keeps: where words are short, the first eight are a cache line of their own.
    pub hw: [u32; HW_WORDS],
    /// Bytes of its block are 2 to this power. Its capability table grows into that while it is
    /// made.
    pub order: u8,
    /// 1 if it is a home (`home.rs`), else 0.
    pub home: u8,
    /// How many threads run in it, or have their UTCB slots in it: a Space without any needs no
    /// search for them when it ends.
    pub threads: u16,
    /// Next on the work list that it is on while it dies (`reap.rs`).
    pub work_next: Work,
    /// Aligns what follows to a word.
    pub align: [u32; GAP],
    /// Start of the kernel's part, where it has UTCBs.
    pub area_start: UserAddr,
    /// End of that; 0: there is none.
    pub area_end: UserAddr,
    /// Address of its first page of UTCB slots.
    pub first_slot: UserAddr,
    /// Address of the information page; 0: the core has mapped none.
    pub kip: UserAddr,
    /// Start of its window, of a server (`server.rs`); 0: it is none.
    pub window: UserAddr,
    /// Up to [`HEADER_BYTES`].
    pub unused: [u32; ROOM - HW_WORDS - GAP],
}
impl Object for Space {}

/// 32-bit words that align the word after [`Space::hw`].
const GAP: usize = ALIGN * (HW_WORDS % 2);
/// 32-bit words for that and for [`Space::hw`].
const ROOM: usize = 9 + 25 * ALIGN;

/// Distance from a Space to its capability table: a block's size, so that no slot fits after it in
/// a space of aliens.
pub const HEADER_BYTES: u32 = 128 << ALIGN;
const _: () = assert!(
    crate::thread::MAX_THREADS - 1 <= u16::MAX as u32,
    "`threads` counts all but the kernel's own"
);
const _: () =
    assert!(size_of::<Space>() == HEADER_BYTES as usize && Space::bytes(0) == HEADER_BYTES);

impl Space {
    /// Bytes of the block for a Space with this many slots.
    #[must_use]
    pub const fn bytes(slots: u32) -> u32 {
        crate::quota::block(HEADER_BYTES + slots * size_of::<Slot>() as u32)
    }
    /// Whether it is a home, which has no threads.
    #[must_use]
    pub const fn is_home(&self) -> bool {
        self.home != 0
    }

    /// The slot with this index, which the caller has checked.
    #[must_use]
    pub const fn slot(space: Ref<Self>, index: u32) -> Ref<Slot> {
        Ref::new(space.address() + HEADER_BYTES + index * size_of::<Slot>() as u32)
    }
}

/// Slots of a new capability table that are cleared in one step.
const GROWTH: u32 = 256;

impl<P: Port> Kernel<P> {
    /// `create_space`: in steps, as a large table takes time to clear.
    pub(crate) fn create_space(
        &mut self,
        me: Ref<Thread>,
        caller: Ref<Space>,
        call: call::CreateSpace,
    ) -> Result<Outcome> {
        let made = match take(&mut self.pool[me].progress) {
            0 => {
                let quota: Ref<Quota> =
                    self.object(caller, call.quota, Kind::Quota, Rights::CONTROL)?;
                let slot = self.empty_slot(caller, call.destination)?;
                let slots = crate::narrow(call.slots)?;
                if slots > MAX_SLOTS {
                    return Err(Error::BadArgument);
                }
                let made = self.build_space(quota, slot, slots, call.place)?;
                self.put_original(slot, Kind::Space, made.address());
                made
            }
            // Somebody may have deleted what was begun: what stands there now is as good.
            _ => {
                let made = self.object(caller, call.destination, Kind::Space, Rights::CONTROL)?;
                self.grow_table(made);
                made
            }
        };
        // Making the space, or the part that was just cleared, has taken as long as a step.
        while !self.has_all_slots(made) {
            if self.port.interrupt_pending() {
                self.pool[me].progress = 1;
                return Ok(Outcome::Again);
            }
            self.grow_table(made);
        }
        Ok(Outcome::Done([self.pool[made].slots as Word, self.port.place_of(&self.pool, made), 0]))
    }

    /// A space with an empty capability table that will have at least `slots` entries
    /// ([`grow_table`](Self::grow_table)), and the kernel's part at `place`.
    pub(crate) fn build_space(
        &mut self,
        quota: Ref<Quota>,
        original: Ref<Slot>,
        slots: u32,
        place: Word,
    ) -> Result<Ref<Space>> {
        let is_home = slots == 0 && place == abi::HOME;
        let bytes = Space::bytes(slots);
        let block = self.allocate_uncleared(quota, bytes)?;
        self.pool.bytes_mut(block, HEADER_BYTES).fill(0);
        let made: Ref<Space> = Ref::new(block);
        self.pool[made].region = Region {
            header: Self::new_header(quota, original),
            end: UserAddr(USER_END),
            ..Region::zeroed()
        };
        self.pool[made].order = bytes.trailing_zeros() as u8;
        self.pool[made].home = u8::from(is_home);
        // Its maker goes on with that.
        self.grow_table(made);
        match self.set_up_space(made, quota, place) {
            Ok(()) => {
                if P::wants_slot(place) {
                    let is_own = self.charge(quota, Charge::SLOT).is_ok();
                    self.port.give_slot(&mut self.pool, made, is_own);
                }
                Ok(made)
            }
            Err(error) => {
                self.discard_space(made);
                Err(error)
            }
        }
    }

    /// How many slots a space will have when its table has its size.
    fn capacity(&self, space: Ref<Space>) -> u32 {
        let bytes = (1 << self.pool[space].order) - HEADER_BYTES;
        (bytes / size_of::<Slot>() as u32).min(MAX_SLOTS)
    }

    /// Whether its table has its size.
    pub(crate) fn has_all_slots(&self, space: Ref<Space>) -> bool {
        self.pool[space].slots == self.capacity(space)
    }

    /// Clears some more of a space's block for its capability table, a part at a time. What is
    /// cleared can be used.
    pub(crate) fn grow_table(&mut self, space: Ref<Space>) {
        let slots = self.pool[space].slots;
        let end = (slots + GROWTH).min(self.capacity(space));
        let first = Space::slot(space, slots).address();
        self.pool.bytes_mut(first, (end - slots) * size_of::<Slot>() as u32).fill(0);
        self.pool[space].slots = end;
    }

    fn set_up_space(&mut self, made: Ref<Space>, quota: Ref<Quota>, place: Word) -> Result<()> {
        self.pool[made].region.top = self.allocate_table(quota)?.link();
        self.port.space_created(&mut self.pool, made);
        if self.pool[made].slots == 0 {
            let is_placed = place != 0 && !self.pool[made].is_home();
            return if is_placed { self.port.place(&mut self.pool, made, place) } else { Ok(()) };
        }
        let map: Ref<SlotMap> = Ref::new(self.allocate(quota, size_of::<SlotMap>() as u32)?);
        self.pool[made].utcb_map = map.link();
        let threads = self.threads_a_space();
        self.charge(quota, threads)?;
        let area = self
            .port
            .area(&mut self.pool, made, place)
            .inspect_err(|_| self.uncharge(quota.link(), threads))?;
        let s = &mut self.pool[made];
        (s.area_start, s.area_end, s.first_slot) = (area.start, area.end, area.first_slot);
        let Some(kip) = area.kip else { return Ok(()) };
        s.kip = kip;
        self.set_kernel_leaf(made, kip, self.port.physical(self.kip), Rights::READ)
    }

    const fn threads_a_space(&self) -> Charge {
        Charge::threads(abi::utcb::threads_a_space(self.threads.count))
    }

    /// Nothing in the processor names a space's tables any more. What it had of the processor goes
    /// back to its Quota.
    pub(crate) fn drop_space(&mut self, space: Ref<Space>) {
        let had = self.port.space_dropped(&mut self.pool, space);
        if had != Charge::NONE {
            self.uncharge(self.pool[space].region.header.quota, had);
        }
    }

    /// Frees a space that has no threads, capabilities or attachments any more.
    pub(crate) fn discard_space(&mut self, space: Ref<Space>) {
        let Space { region: Region { header, top, .. }, utcb_map, order, kip, area_end, .. } =
            self.pool[space];
        if let Some(top) = top.get() {
            self.drop_space(space);
            // Of one that could not be made there are the table of its information page and what
            // leads to it.
            if kip != UserAddr::default() {
                self.free_only(space, kip);
            }
            self.release(header.quota, top.address(), TABLE_BYTES);
        }
        if let Some(map) = utcb_map.get() {
            self.release(header.quota, map.address(), size_of::<SlotMap>() as u32);
        }
        if area_end != UserAddr::default() {
            self.uncharge(header.quota, self.threads_a_space());
        }
        self.unserve(space);
        self.discard_special(space);
        self.release(header.quota, space.address(), 1 << order);
    }
}
