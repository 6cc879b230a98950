// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of kernel objects and the rights a capability can carry.

/// What a capability refers to.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A thread of execution, and the address of IPC. (Zero, so that the kernel's
    /// fast path can take a Thread capability's badge word as it is.)
    Thread = 0,
    /// A count of kernel memory that other objects are charged to.
    Quota = 1,
    /// An address space with a capability table (native) or without (alien).
    Space = 2,
    /// Translation tables that several spaces share.
    Segment = 3,
    /// A range of physical memory, of device registers, of I/O ports, or of addresses for servers'
    /// windows.
    Memory = 4,
    /// An interrupt line.
    Irq = 5,
}

impl Kind {
    /// The kind with this number, if there is one.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::Thread,
            1 => Self::Quota,
            2 => Self::Space,
            3 => Self::Segment,
            4 => Self::Memory,
            5 => Self::Irq,
            _ => return None,
        })
    }
}

/// A set of rights; the meaning of a bit depends on the kind of object, except
/// that [`CALL`](Rights::CALL) and [`NOTIFY`](Rights::NOTIFY) exist for Threads only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights(pub u32);

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self(0);
    /// Memory and Segment: map readable.
    pub const READ: Self = Self(1);
    /// Memory and Segment: map writable.
    pub const WRITE: Self = Self(2);
    /// Memory and Segment: map executable (where the MMU can tell).
    pub const EXECUTE: Self = Self(4);
    /// Manage the object: for a Thread start, stop, reset, priority, handler,
    /// registers; for a Space and a Segment map into it and create threads in
    /// it; for a Quota charge to it; for an Irq bind and acknowledge it;
    /// for Memory derive from it.
    pub const CONTROL: Self = Self(8);
    /// Thread: send and call. The fast path tests this bit and no other: it is
    /// never set in a capability to anything but a Thread.
    pub const CALL: Self = Self(16);
    /// Thread: notify with the capability's badge as bits.
    pub const NOTIFY: Self = Self(32);
    /// Every right.
    pub const ALL: Self = Self(63);
    /// Read, write and execute.
    pub const RWX: Self = Self(7);

    /// The rights that a capability to this kind of object can carry.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Thread => Self(8 | 16 | 32),
            Kind::Memory | Kind::Segment => Self(1 | 2 | 4 | 8),
            Kind::Quota | Kind::Space | Kind::Irq => Self(8),
        }
    }

    /// Both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What both sets share.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether every right of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a thread does, as a watcher sees it.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadState {
    /// It does not run until somebody starts it.
    Stopped = 0,
    /// It runs, or would if nobody more urgent did.
    Ready = 1,
    /// It waits to receive a message or a notification, or for an alien's next event.
    Receiving = 2,
    /// It waits for a receiver to take its message.
    Sending = 3,
    /// It waits for a reply.
    Calling = 4,
    /// Nobody handled its exception, or its space is gone.
    Halted = 5,
}

/// What is done to the data caches in a range of addresses. No operation drops what was written and
/// not yet brought to memory: memory may hold what it held before it was cleared for its present
/// owner.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheOp {
    /// What was written is brought to memory.
    Clean = 0,
    /// That, and what is cached is forgotten, so that the next read is from memory.
    CleanAndInvalidate = 1,
    /// That, and the instruction side forgets, too: code was written.
    SyncCode = 2,
    /// The lines of the range are read, and stay, until they are unlocked, or invalidated by their
    /// addresses, or the range is remapped. Whatever else the kernel does to them, they are back
    /// when the Space next comes to them. The range is a part of one page that can be read and is
    /// cached, and has nothing in common with the Space's other ones. Its Quota is charged for it;
    /// of ranges there are four (`arch::armv5::layout::LOCKED_RANGES`).
    ///
    /// Cores that lock single lines have it, as XScale does (Intel XScale Core Developer's Manual,
    /// 6.4); on others it is `Unsupported`: an ARM926EJ-S locks a quarter of its cache at a time,
    /// IA-32 nothing.
    Lock = 3,
    /// The lines of the range do not stay any more. `NotThere`: they are not locked.
    Unlock = 4,
    /// The pages of the range are cleared, one after the other, while the processor has nothing
    /// else to do. The range is whole pages; it takes the place of whatever range any Space wanted
    /// to be cleared before. A page that may not be written by then, or is not cached RAM, ends it.
    /// The call says how many pages of the range that the Space wanted last were cleared, from its
    /// start, and no more of them will be: 0 if another Space's range took its place. An empty
    /// range wants nothing.
    ///
    /// A page that is cleared so is in no cache, or in all of it (docs/powerpc.md, `clear=`).
    /// PowerPC has it; on others it is `Unsupported`.
    Clear = 5,
}

impl CacheOp {
    /// The operation with this number, if there is one.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        Some(match code {
            0 => Self::Clean,
            1 => Self::CleanAndInvalidate,
            2 => Self::SyncCode,
            3 => Self::Lock,
            4 => Self::Unlock,
            5 => Self::Clear,
            _ => return None,
        })
    }
}

/// Bits of a badge.
pub const BADGE_BITS: u32 = 20;

/// Largest badge; also every notification bit that a capability can set.
pub const BADGE_MAX: u32 = (1 << BADGE_BITS) - 1;
