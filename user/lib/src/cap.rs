// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed selectors, and the system calls on objects.

use crate::{Result, sys, utcb};
use abi::call::{BadgedRights, SizedRights};
use abi::tag::REGISTER_WORDS;
use abi::{CacheOp, Frame, MapRecord, Rights, Selector, UserAddr, Word, call};

/// Words of a frame.
const FRAME_WORDS: usize = abi::frame::WORDS as usize;

macro_rules! selector {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $name(pub Word);

        impl From<$name> for Selector {
            fn from(named: $name) -> Self {
                Self(named.0)
            }
        }
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

/// The selector of what is named, if anything is.
pub(crate) fn or_none(named: Option<impl Into<Selector>>) -> Selector {
    named.map_or(Selector::NONE, Into::into)
}

/// A new thread, or one that was bound again.
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
    /// Bytes that one entry of a translation table, of whatever level, is for there.
    pub bytes: Word,
    /// The page's offset in the Memory that was named, if it is one of its pages.
    pub offset: Option<Word>,
    /// Whether it is not cached: registers of a device, or RAM that was mapped so.
    pub uncached: bool,
}

/// What a Quota has besides memory.
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
        let counts = call::Counts::new(threads, relocation_slots, locked_ranges);
        sys::call(call::CreateQuota {
            parent: self.into(),
            bytes,
            destination: Selector(slot),
            counts,
        })
        .map(|_| Self(slot))
    }
    /// Makes a Space with `slots` capability slots (0: for aliens) in `slot`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_space(self, slots: Word, slot: Word) -> Result<Space> {
        self.create_space_at(slots, slot, 0)
    }
    /// Makes a native Space with `slots` capability slots in `slot`, the kernel's part of it at
    /// `place`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_space_at(self, slots: Word, slot: Word, place: Word) -> Result<Space> {
        sys::call(call::CreateSpace {
            quota: self.into(),
            slots,
            destination: Selector(slot),
            place,
        })
        .map(|_| Space(slot))
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
        sys::call(call::CreateSegment { quota: self.into(), bytes, destination: Selector(slot) })
            .map(|_| Segment(slot))
    }
    /// Makes a native thread in `space`, or with `home` an alien whose UTCB slot lies there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn create_thread(
        self,
        space: Space,
        slot: Word,
        home: Option<Space>,
    ) -> Result<(Thread, Bound)> {
        let made = call::CreateThread {
            quota: self.into(),
            space: space.into(),
            destination: Selector(slot),
            home: or_none(home),
        };
        let [utcb, handle, _] = sys::call(made)?;
        Ok((Thread(slot), Bound { utcb, handle }))
    }
    fn read(self, part: Word) -> Result<[Word; 3]> {
        sys::call(call::QuotaInfo { quota: self.into(), part })
    }
    /// Bytes used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn info(self) -> Result<(Word, Word)> {
        self.read(call::QuotaInfo::MEMORY_AND_THREADS).map(|[used, limit, _]| (used, limit))
    }
    /// Threads used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn threads(self) -> Result<(Word, Word)> {
        self.read(call::QuotaInfo::MEMORY_AND_THREADS)
            .map(|[_, _, threads]| (threads & 0xffff, threads >> 16))
    }
    /// Slots of relocation used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn relocation_slots(self) -> Result<(Word, Word)> {
        self.read(call::QuotaInfo::RELOCATION_SLOTS).map(|[used, limit, _]| (used, limit))
    }
    /// Ranges of locked lines used and limit.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn locked_ranges(self) -> Result<(Word, Word)> {
        self.read(call::QuotaInfo::LOCKED_RANGES).map(|[used, limit, _]| (used, limit))
    }
}

impl Memory {
    /// Makes a part of it a Memory of its own in `slot`; `quota` pays for the object.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn derive(self, offset: Word, bytes: Word, slot: Word, quota: Quota) -> Result<Self> {
        utcb::set_word(call::DeriveMemory::QUOTA_WORD as usize, quota.0);
        sys::call(call::DeriveMemory {
            memory: self.into(),
            offset,
            length: bytes,
            destination: Selector(slot),
        })
        .map(|_| Self(slot))
    }
}

impl Thread {
    /// Starts it: entry, stack pointer, argument.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn start(self, entry: Word, stack: Word, argument: Word) -> Result<()> {
        sys::call(call::Start {
            thread: self.into(),
            entry: UserAddr(entry),
            stack: UserAddr(stack),
            argument,
        })
        .map(|_| ())
    }
    /// Stops it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn stop(self) -> Result<()> {
        sys::call(call::Stop { thread: self.into() }).map(|_| ())
    }
    /// Stops it, makes the calls of all threads that wait for it fail, and binds it to a space.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn reset(self, space: Space, home: Option<Space>) -> Result<Bound> {
        let [utcb, handle, _] = sys::call(call::Reset {
            thread: self.into(),
            space: space.into(),
            home: or_none(home),
        })?;
        Ok(Bound { utcb, handle })
    }
    /// Sets its priority and the highest that it may give.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_priority(self, priority: Word, most: Word) -> Result<()> {
        sys::call(call::SetPriority { thread: self.into(), priority, most }).map(|_| ())
    }
    /// Sets the thread that gets its exceptions.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_handler(self, handler: Option<Self>) -> Result<()> {
        sys::call(call::SetHandler { thread: self.into(), handler: or_none(handler) }).map(|_| ())
    }
    /// Makes the FPU area of its UTCB slot current.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn fpu_sync(self) -> Result<()> {
        sys::call(call::FpuSync { thread: self.into() }).map(|_| ())
    }
    /// Its registers, while it does not run.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn registers(self) -> Result<Frame> {
        sys::call(call::GetRegisters { thread: self.into() })?;
        Ok(frame())
    }
    /// Sets the registers of a stopped native thread, and lets it run if `run`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn set_registers(self, frame: &Frame, run: bool) -> Result<()> {
        set_frame(frame);
        sys::call(call::SetRegisters { thread: self.into(), runs: Word::from(run) }).map(|_| ())
    }
    /// Its state, a [`abi::ThreadState`] as a number.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn state(self) -> Result<Word> {
        sys::call(call::ThreadInfo { thread: self.into() }).map(|[state, _, _]| state)
    }
    /// Sets the notification bits that are this capability's badge.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn notify(self) -> Result<()> {
        sys::call(call::Notify { thread: self.into() }).map(|_| ())
    }
}

impl Space {
    /// Attaches a Segment at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn attach(self, address: Word, segment: Segment, rights: Rights) -> Result<()> {
        self.attach_any(address, segment, SizedRights::new(rights))
    }
    fn attach_any(
        self,
        address: Word,
        source: impl Into<Selector>,
        rights: SizedRights,
    ) -> Result<()> {
        sys::call(call::Attach {
            space: self.into(),
            address: UserAddr(address),
            source: source.into(),
            rights,
        })
        .map(|_| ())
    }
    /// Makes it a server in a window, a Memory of addresses; with `alone`, the only one as long as
    /// it lives.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn serve(self, window: Memory, alone: bool) -> Result<()> {
        sys::call(call::Serve {
            space: self.into(),
            window: window.into(),
            alone: Word::from(alone),
        })
        .map(|_| ())
    }
    /// Shows a server, whose window begins at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn show(self, address: Word, server: Self) -> Result<()> {
        self.attach_any(address, server, SizedRights::new(Rights::RWX))
    }
    /// Makes a Space small that has nothing beyond `size`, a power of two: from now on its threads
    /// run with the tables of this home, in which its addresses begin at `address`.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_in(self, address: Word, small: Self, size: Word) -> Result<()> {
        self.attach_any(address, small, SizedRights::sized(Rights::RWX, size))
    }
    /// Detaches the Segment, server or small Space at an address.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn detach(self, address: Word) -> Result<()> {
        sys::call(call::Detach { space: self.into(), address: UserAddr(address) }).map(|_| ())
    }
    /// Carries out an operation of caches on what its threads have there.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn cache(self, address: Word, bytes: Word, operation: CacheOp) -> Result<()> {
        sys::call(call::Cache {
            space: self.into(),
            address: UserAddr(address),
            bytes,
            operation: operation as Word,
        })
        .map(|_| ())
    }
    /// Asks the kernel to clear pages while no thread runs. Returns how many pages of the range
    /// that was named last are clear, from its first page on ([`CacheOp::Clear`]).
    ///
    /// # Errors
    /// What the kernel says: [`Error::Unsupported`](abi::Error::Unsupported), except on PowerPC.
    pub fn clear_later(self, address: Word, bytes: Word) -> Result<u32> {
        let operation = CacheOp::Clear as Word;
        let [cleared, ..] = sys::call(call::Cache {
            space: self.into(),
            address: UserAddr(address),
            bytes,
            operation,
        })?;
        Ok(cleared as u32)
    }
    /// What its threads find at an address; with `memory` also which page of that Memory it is.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn lookup(self, address: Word, memory: Option<Memory>) -> Result<Found> {
        let [rights, bytes, offset] = sys::call(call::Lookup {
            space: self.into(),
            address: UserAddr(address),
            memory: or_none(memory),
        })?;
        let uncached = rights as u32 & MapRecord::UNCACHED != 0;
        let rights = Rights(rights as u32).intersection(Rights::ALL);
        Ok(Found { rights, bytes, offset: (offset != Word::MAX).then_some(offset), uncached })
    }
}

impl Irq {
    /// Binds it to a thread: it sets the bits of that capability's badge.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind(self, to: Option<Thread>) -> Result<()> {
        sys::call(call::BindIrq { irq: self.into(), thread: or_none(to) }).map(|_| ())
    }
    /// Acknowledges it: it can interrupt again.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn acknowledge(self) -> Result<()> {
        sys::call(call::AckIrq { irq: self.into() }).map(|_| ())
    }
}

/// The frame in the message words of the UTCB (an exception's, or `registers`').
#[must_use]
pub fn frame() -> Frame {
    bytemuck::cast::<[Word; FRAME_WORDS], Frame>(core::array::from_fn(|i| {
        utcb::word(REGISTER_WORDS as usize + i)
    }))
}

/// Writes a frame to where [`frame`] reads it.
pub fn set_frame(frame: &Frame) {
    let words: [Word; FRAME_WORDS] = bytemuck::cast(*frame);
    for (i, word) in words.into_iter().enumerate() {
        utcb::set_word(REGISTER_WORDS as usize + i, word);
    }
}

/// Copies a capability to a slot of the component's own table (`None`), or of another space's.
///
/// # Errors
/// What the kernel says.
pub fn copy(from: Word, to: Option<Space>, slot: Word, rights: Rights, badge: Word) -> Result<()> {
    let rights = BadgedRights::new(rights, badge);
    sys::call(call::Copy {
        source: Selector(from),
        space: or_none(to),
        destination: Selector(slot),
        rights,
    })
    .map(|_| ())
}

/// Deletes a capability, with its object if it is the original.
///
/// # Errors
/// What the kernel says.
pub fn delete(slot: Word) -> Result<()> {
    sys::call(call::Delete { slot: Selector(slot) }).map(|_| ())
}

/// Deletes what was derived from a capability.
///
/// # Errors
/// What the kernel says.
pub fn revoke(slot: Word) -> Result<()> {
    sys::call(call::Revoke { slot: Selector(slot) }).map(|_| ())
}

/// Kind, rights with badge, and size of what is in a slot.
///
/// # Errors
/// What the kernel says.
pub fn identify(slot: Word) -> Result<[Word; 3]> {
    sys::call(call::Identify { slot: Selector(slot) })
}
