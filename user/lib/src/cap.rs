// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed selectors, and the system calls on objects.

use crate::{Result, sys, utcb};
use abi::tag::REGISTER_WORDS;
use abi::{CacheOp, Frame, MapRecord, Op, Rights, Word};

/// Words of a frame.
const FRAME_WORDS: usize = abi::frame::WORDS as usize;

macro_rules! selector {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(pub Word);
    };
}
selector!(
    /// Kernel memory and threads to pay with.
    Quota
);
selector!(
    /// An address space.
    Space
);
selector!(
    /// Shared translation tables.
    Segment
);
selector!(
    /// A thread.
    Thread
);
selector!(
    /// Physical memory or I/O ports.
    Memory
);
selector!(
    /// An interrupt line.
    Irq
);

/// A new thread, or one that was bound anew.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Address of its UTCB slot.
    pub utcb: Word,
    /// An alien's first reply handle.
    pub handle: Word,
}

/// What is mapped at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// What may be done there.
    pub rights: Rights,
    /// Bytes that one entry of a translation table is for there.
    pub bytes: Word,
    /// The page's offset in the Memory that was named, if it is one of its pages.
    pub offset: Option<Word>,
    /// Whether it is not cached: registers of a device, or RAM that was mapped so.
    pub uncached: bool,
}

/// What a Quota has beside memory.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Threads.
    pub threads: Word,
    /// Slots that its spaces can be relocated to, where the processor has such.
    pub relocation_slots: Word,
    /// Ranges whose lines can stay in a cache ([`abi::CacheOp::Lock`]).
    pub locked_ranges: Word,
}

impl Quota {
    /// Makes a Quota of `bytes` and `threads` in `slot`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_quota(self, bytes: Word, threads: Word, slot: Word) -> Result<Self> {
        self.create_quota_with(bytes, Counts { threads, ..Counts::default() }, slot)
    }
    /// Makes a Quota of `bytes` and so much else in `slot`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_quota_with(self, bytes: Word, counts: Counts, slot: Word) -> Result<Self> {
        let Counts { threads, relocation_slots, locked_ranges } = counts;
        sys::call(Op::CreateQuota, [self.0, bytes, slot, threads | relocation_slots << 16 | locked_ranges << 24]).map(|_| Self(slot))
    }
    /// Makes a Space with `slots` capability slots (0: for aliens) in `slot`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_space(self, slots: Word, slot: Word) -> Result<Space> {
        self.create_space_at(slots, slot, 0)
    }
    /// Makes a native Space with `slots` capability slots in `slot`, the kernel's part of it at `place`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_space_at(self, slots: Word, slot: Word, place: Word) -> Result<Space> {
        sys::call(Op::CreateSpace, [self.0, slots, slot, place]).map(|_| Space(slot))
    }
    /// Makes a home in `slot`: a Space without threads, for small Spaces.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_home(self, slot: Word) -> Result<Space> {
        self.create_space_at(0, slot, abi::HOME)
    }
    /// Makes a Segment of `bytes` in `slot`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_segment(self, bytes: Word, slot: Word) -> Result<Segment> {
        sys::call(Op::CreateSegment, [self.0, bytes, slot, 0]).map(|_| Segment(slot))
    }
    /// Makes a native thread in `space`, or with `home` an alien whose UTCB slot lies there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_thread(self, space: Space, slot: Word, home: Option<Space>) -> Result<(Thread, Bound)> {
        let [utcb, handle, _] = sys::call(Op::CreateThread, [self.0, space.0, slot, home.map_or(0, |h| h.0)])?;
        Ok((Thread(slot), Bound { utcb, handle }))
    }
    /// Bytes used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn info(self) -> Result<(Word, Word)> {
        sys::call(Op::QuotaInfo, [self.0, 0, 0, 0]).map(|[used, limit, _]| (used, limit))
    }
    /// Threads used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn threads(self) -> Result<(Word, Word)> {
        sys::call(Op::QuotaInfo, [self.0, 0, 0, 0]).map(|[_, _, threads]| (threads & 0xffff, threads >> 16))
    }
    /// Slots of relocation used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn relocation_slots(self) -> Result<(Word, Word)> {
        sys::call(Op::QuotaInfo, [self.0, 1, 0, 0]).map(|[used, limit, _]| (used, limit))
    }
    /// Ranges of locked lines used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn locked_ranges(self) -> Result<(Word, Word)> {
        sys::call(Op::QuotaInfo, [self.0, 2, 0, 0]).map(|[used, limit, _]| (used, limit))
    }
}

impl Memory {
    /// Makes a part of it a Memory of its own in `slot`, paid by `quota`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn derive(self, offset: Word, bytes: Word, slot: Word, quota: Quota) -> Result<Self> {
        utcb::set_word(3, quota.0);
        sys::call(Op::DeriveMemory, [self.0, offset, bytes, slot]).map(|_| Self(slot))
    }
}

impl Thread {
    /// Starts it: entry, stack pointer, argument.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn start(self, entry: Word, stack: Word, argument: Word) -> Result<()> {
        sys::call(Op::Start, [self.0, entry, stack, argument]).map(|_| ())
    }
    /// Stops it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn stop(self) -> Result<()> {
        sys::call(Op::Stop, [self.0, 0, 0, 0]).map(|_| ())
    }
    /// Stops it, fails all who wait for it, and binds it to a space.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn reset(self, space: Space, home: Option<Space>) -> Result<Bound> {
        let [utcb, handle, _] = sys::call(Op::Reset, [self.0, space.0, home.map_or(0, |h| h.0), 0])?;
        Ok(Bound { utcb, handle })
    }
    /// Sets its priority and the highest that it may give.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_priority(self, priority: Word, most: Word) -> Result<()> {
        sys::call(Op::SetPriority, [self.0, priority, most, 0]).map(|_| ())
    }
    /// Names who gets its exceptions.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_handler(self, handler: Option<Self>) -> Result<()> {
        sys::call(Op::SetHandler, [self.0, handler.map_or(0, |h| h.0), 0, 0]).map(|_| ())
    }
    /// Makes the FPU area of its UTCB slot current.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn fpu_sync(self) -> Result<()> {
        sys::call(Op::FpuSync, [self.0, 0, 0, 0]).map(|_| ())
    }
    /// Its registers, while it does not run.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn registers(self) -> Result<Frame> {
        sys::call(Op::GetRegisters, [self.0, 0, 0, 0])?;
        Ok(frame())
    }
    /// Sets the registers of a stopped native thread, and lets it run if `run`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_registers(self, frame: &Frame, run: bool) -> Result<()> {
        set_frame(frame);
        sys::call(Op::SetRegisters, [self.0, Word::from(run), 0, 0]).map(|_| ())
    }
    /// Its state, a [`abi::ThreadState`] as a number.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn state(self) -> Result<Word> {
        sys::call(Op::ThreadInfo, [self.0, 0, 0, 0]).map(|[state, _, _]| state)
    }
    /// Sets the notification bits that are this capability's badge.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn notify(self) -> Result<()> {
        sys::call(Op::Notify, [self.0, 0, 0, 0]).map(|_| ())
    }
}

impl Space {
    /// Attaches a Segment at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn attach(self, address: Word, segment: Segment, rights: Rights) -> Result<()> {
        sys::call(Op::Attach, [self.0, address, segment.0, rights.0 as Word]).map(|_| ())
    }
    /// Makes it a server in a window, a Memory of addresses; with `alone`, the only one as long as it lives.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn serve(self, window: Memory, alone: bool) -> Result<()> {
        sys::call(Op::Serve, [self.0, window.0, Word::from(alone), 0]).map(|_| ())
    }
    /// Shows a server, whose window begins at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn show(self, address: Word, server: Self) -> Result<()> {
        sys::call(Op::Attach, [self.0, address, server.0, Rights::RWX.0 as Word]).map(|_| ())
    }
    /// Makes a Space small that has nothing behind `size`, a power of two: from now on its threads run by the tables of this home, where
    /// its addresses begin at `address`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_in(self, address: Word, small: Self, size: Word) -> Result<()> {
        sys::call(Op::Attach, [self.0, address, small.0, size + Rights::RWX.0 as Word]).map(|_| ())
    }
    /// Detaches the Segment, server or small Space at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn detach(self, address: Word) -> Result<()> {
        sys::call(Op::Detach, [self.0, address, 0, 0]).map(|_| ())
    }
    /// Carries out an operation of caches on what its threads have there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn cache(self, address: Word, bytes: Word, operation: CacheOp) -> Result<()> {
        sys::call(Op::Cache, [self.0, address, bytes, operation as Word]).map(|_| ())
    }
    /// What its threads find at an address; with `memory` also which page of that it is.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn lookup(self, address: Word, memory: Option<Memory>) -> Result<Found> {
        let [rights, bytes, offset] = sys::call(Op::Lookup, [self.0, address, memory.map_or(0, |m| m.0), 0])?;
        let uncached = rights as u32 & MapRecord::UNCACHED != 0;
        let rights = Rights(rights as u32).intersection(Rights::ALL);
        Ok(Found { rights, bytes, offset: (offset != Word::MAX).then_some(offset), uncached })
    }
}

impl Irq {
    /// Delivers it as the badge of a notify capability.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind(self, to: Option<Thread>) -> Result<()> {
        sys::call(Op::BindIrq, [self.0, to.map_or(0, |t| t.0), 0, 0]).map(|_| ())
    }
    /// Lets it come again.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn acknowledge(self) -> Result<()> {
        sys::call(Op::AckIrq, [self.0, 0, 0, 0]).map(|_| ())
    }
}

/// The frame in the message words of the UTCB (an exception's, or `registers`').
#[must_use]
pub fn frame() -> Frame {
    bytemuck::cast::<[Word; FRAME_WORDS], Frame>(core::array::from_fn(|i| utcb::word(REGISTER_WORDS as usize + i)))
}

/// Writes a frame to where [`frame`] reads it.
pub fn set_frame(frame: &Frame) {
    let words: [Word; FRAME_WORDS] = bytemuck::cast(*frame);
    for (i, word) in words.into_iter().enumerate() {
        utcb::set_word(REGISTER_WORDS as usize + i, word);
    }
}

/// Copies a capability to a slot of the own table (`None`) or another space's.
///
/// # Errors
/// What the kernel says.
pub fn copy(from: Word, to: Option<Space>, slot: Word, rights: Rights, badge: Word) -> Result<()> {
    sys::call(Op::Copy, [from, to.map_or(0, |s| s.0), slot, rights.0 as Word | badge << abi::Delivery::BADGE_SHIFT]).map(|_| ())
}

/// Deletes a capability, with its object if it is the original.
///
/// # Errors
/// What the kernel says.
pub fn delete(slot: Word) -> Result<()> {
    sys::call(Op::Delete, [slot, 0, 0, 0]).map(|_| ())
}

/// Deletes what was derived from a capability.
///
/// # Errors
/// What the kernel says.
pub fn revoke(slot: Word) -> Result<()> {
    sys::call(Op::Revoke, [slot, 0, 0, 0]).map(|_| ())
}

/// Kind, rights with badge, and size of what is in a slot.
///
/// # Errors
/// What the kernel says.
pub fn identify(slot: Word) -> Result<[Word; 3]> {
    sys::call(Op::Identify, [slot, 0, 0, 0])
}
