// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls: numbers and registers.
//!
//! On IA-32 a system call takes the operation (and for IPC the rest of the
//! [`Tag`](crate::Tag)) in `eax`, further arguments `a0 a1 a2 a3` in
//! `ebx esi edi ebp`, the stack pointer in `ecx` and the return address in
//! `edx`, and is made by `sysenter`, or by `int 0x30` if the kernel information
//! page says so. IPC returns a [`Delivery`](crate::Delivery) in `eax`, a reply
//! handle in `ebx` and message words in `esi edi ebp`; every other call returns
//! a status in `eax` (zero or an [`Error`](crate::Error)) and results in
//! `ebx esi edi`. `ecx`, `edx` and the flags are undefined afterwards; `ds` and
//! `es` are flat; `fs` and `gs` are kept.
//!
//! A *selector* is an index into the caller's capability table; slot 0 is
//! always empty, and a table has at most [`MAX_SLOTS`]: a selector fits 16 bits. Unless said otherwise a destination slot is in the caller's
//! own table and must be empty.

/// Most slots of a capability table.
pub const MAX_SLOTS: u32 = 1 << 16;

/// Operation numbers.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    // --- IPC -----------------------------------------------------------------
    /// Send to a thread and wait for its reply.
    /// `a0` Thread \[CALL\]; `a1 a2 a3` words 0 to 2. Returns a delivery of kind
    /// `Reply` or `Failed`. With `POLL` fails with `WouldBlock` if the receiver
    /// is not waiting (the reply is then still waited for).
    Call = 1,
    /// Reply to a caller, then receive from anybody. `a0` reply handle, 0 for
    /// none; `a1 a2 a3` words. If the reply fails (`BadHandle`, `CapTransfer`)
    /// nothing is received and the delivery is `Failed`.
    ReplyWait = 2,
    /// Send without waiting for a reply. `a0` Thread \[CALL\]; words as `Call`.
    /// Waits until the receiver takes it (`POLL`: `WouldBlock`). The capability counts when the message is
    /// taken, as in `Call`: who has lost it or changed it by then fails with `NoCapability`. Returns status.
    Send = 3,
    /// Receive. `a0` 0: from anybody; otherwise a Thread \[CALL\]: from that
    /// thread only. `POLL`: `WouldBlock` instead of waiting;
    /// `NOTIFICATIONS_ONLY`: no message. Bits in `Utcb::accept` come first.
    Receive = 4,
    /// Reply without receiving. `a0` reply handle; words as `Call`. Never
    /// waits. Returns status.
    Reply = 5,
    /// Reply to an alien (`a0` its handle; its frame is taken from its UTCB slot),
    /// then wait for that alien's next event or an accepted notification. A
    /// notification stops the alien and delivers `Interrupted`, or `Alien` with
    /// the event that the alien already had (the bits then stay pending).
    Run = 6,
    /// Set the capability's badge as notification bits. `a0` Thread \[NOTIFY\].
    /// Never waits. Returns status.
    Notify = 7,
    /// Give up the rest of the time slice. Returns status.
    Yield = 8,
    /// Carry out a [`MapRecord`] of one page, then `ReplyWait` without words or capabilities. `a0` as there;
    /// `a1 a2 a3` words 0 to 2 of the record. If the handle is bad nothing is mapped; if the record fails
    /// nothing is replied or received: the delivery is `Failed`.
    MapReplyWait = 9,
    /// Carry out records as `Map`, then `Run`: an answer to an alien's page fault. `a0` as there; `a1` number of
    /// records in UTCB words 0 to 63. If the handle is bad nothing is mapped. If a record fails the alien does not run and
    /// its handle stays good: the delivery is `Failed`, word 0 the number of records done.
    MapRun = 10,

    // --- Objects and capabilities ------------------------------------------------
    /// Make a Quota out of another. `a0` Quota \[CONTROL\]; `a1` bytes and `a3` threads,
    /// which the parent is charged; `a2` destination. `TooDeep` if it would have more
    /// than 16 above it.
    CreateQuota = 16,
    /// Make a Space. `a0` Quota \[CONTROL\]; `a1` number of capability slots, at
    /// most 65,536, or 0 for a space of aliens; `a2` destination. Returns the
    /// number of slots in `ebx` (rounded up).
    CreateSpace = 17,
    /// Make a Segment. `a0` Quota \[CONTROL\]; `a1` bytes, a multiple of
    /// `TABLE_SPAN`; `a2` destination.
    CreateSegment = 18,
    /// Make a Thread, stopped, with its creator's priority. `a0` Quota \[CONTROL\]; `a1` Space \[CONTROL\];
    /// `a2` destination; `a3` 0 for a native thread (`a1` must be native), or
    /// for an alien the native Space \[CONTROL\] where its UTCB slot goes (`a1`
    /// must be an alien space). Returns the slot's address in `ebx` and, for an
    /// alien, its handle in `esi`: it counts as an exception of vector `CREATED`
    /// that the handler replies to.
    CreateThread = 19,
    /// Make a Memory that is a part of another; its capability is a child of the
    /// one used, with the same rights. `a0` Memory \[CONTROL\]; `a1` offset; `a2` length, both
    /// in bytes and multiples of a page (for I/O ports: in ports); `a3` destination.
    /// Charged to the Quota named by UTCB word 3 \[CONTROL\].
    DeriveMemory = 20,
    /// Delete a capability. The original capability of an object takes the
    /// object, all capabilities to it and all that was derived from it along.
    /// `a0` slot.
    Delete = 21,
    /// Delete everything derived from a capability; if it is the original of a
    /// Memory, also every mapping of it. `a0` slot.
    Revoke = 22,
    /// Copy a capability. `a0` source slot; `a1` destination Space \[CONTROL\], 0 for the own;
    /// `a2` destination slot there; `a3` rights mask in bits 5 to 0, badge in
    /// bits 31 to 12. The badge must be 0 (keep) unless the source has none; it
    /// exists for Threads only.
    Copy = 23,
    /// Describe a capability. `a0` slot. Returns kind in `ebx`, rights and badge
    /// (bits 31 to 12) in `esi`, size in `edi` (bytes of a Memory or Segment,
    /// slots of a Space, limit of a Quota).
    Identify = 24,

    // --- Threads -------------------------------------------------------------------
    /// Start a stopped native thread. `a0` Thread \[CONTROL\]; `a1` entry, `a2` stack
    /// pointer, `a3` argument: the thread finds its UTCB's address in `ebx` and
    /// the argument in `esi`, other registers zero, TLS descriptors and debug registers, too,
    /// and the FPU as after a reset. (`SetRegisters` leaves those as they are.)
    Start = 32,
    /// Stop a thread; waiting IPC of its own fails with `Interrupted`. `a0` Thread \[CONTROL\].
    Stop = 33,
    /// Stop a thread, fail everyone who waits for it with `PeerRestarted`, and
    /// bind it to a Space. Capabilities to it stay valid. `a0` Thread \[CONTROL\]; `a1` Space
    /// \[CONTROL\]; `a2` as `a3` of `CreateThread`. Charged to the Quota the thread is
    /// charged to. Returns as `CreateThread`.
    Reset = 34,
    /// Set the priority. `a0` Thread \[CONTROL\]; `a1` priority; `a2` the highest priority
    /// that the thread may give to others. Neither may exceed the caller's own limit.
    SetPriority = 35,
    /// Name the thread that gets a thread's exceptions (an alien's events). `a0` Thread \[CONTROL\];
    /// `a1` Thread \[CALL\], whose badge the handler will see, or 0 for none.
    SetHandler = 36,
    /// Set a part of a thread's state that only its kind of processor has. `a0` Thread \[CONTROL\]; `a1`
    /// which part, and `a2`, `a3` its value: see [`state`](crate::state). Returns a result of the part's.
    SetState = 37,
    /// Read a stopped or waiting thread's registers into UTCB words 3 to 18 as a
    /// [`Frame`](crate::Frame). `a0` Thread \[CONTROL\].
    GetRegisters = 38,
    /// Write a stopped native thread's registers from UTCB words 3 to 18. `a0` Thread
    /// \[CONTROL\]. `a1` 1: also let it run.
    SetRegisters = 39,
    /// Make the FPU area of a thread's UTCB slot current and the area the truth
    /// until the thread runs; [`Utcb::fpu`](crate::utcb::Utcb) says whether it is. `a0` Thread \[CONTROL\].
    FpuSync = 41,

    // --- Memory -----------------------------------------------------------------------
    /// Carry out up to 16 records of [`MapRecord`] from UTCB words 0 to 63, in
    /// order, until one fails. `a0` number of records. Returns the number done
    /// in `ebx`.
    Map = 48,
    /// Attach a Segment to a Space. `a0` Space \[CONTROL\]; `a1` address, a multiple of
    /// `TABLE_SPAN`; `a2` Segment \[READ and more\]; `a3` rights.
    Attach = 49,
    /// Detach the Segment at an address. `a0` Space \[CONTROL\]; `a1` address it was attached at.
    Detach = 50,
    /// Cache maintenance. `a0` Space \[CONTROL\]; `a1` address; `a2` length; `a3` a
    /// [`CacheOp`](crate::CacheOp). Free where caches are physical.
    Cache = 51,
    /// Read what is mapped at an address, as the threads of a Space find it. `a0` Space \[CONTROL\]; `a1` address;
    /// `a2` Memory, or 0. Returns in `ebx` the rights, 0 if nothing can be reached; in `esi` how many bytes around
    /// the address, at a multiple of that, the same entry is for: `PAGE_SIZE` or `TABLE_SPAN`; in `edi` the
    /// page's offset in the Memory, or all ones if no page of that is mapped there.
    Lookup = 52,

    // --- Interrupts, time, information ---------------------------------------------------
    /// Deliver an interrupt line as a notification: the badge of the capability
    /// as bits. `a0` Irq \[CONTROL\]; `a1` Thread \[NOTIFY\], or 0 to unbind. Leaves it masked; the first
    /// acknowledgement unmasks.
    BindIrq = 56,
    /// Unmask the line after its device was served. `a0` Irq \[CONTROL\].
    AckIrq = 57,
    /// Set notification bits of this thread at an absolute time. `a0` low and `a1`
    /// high half of nanoseconds since boot; `a2` bits, 0 cancels. One alarm a
    /// thread; a time that has passed fires at once.
    Alarm = 60,
    /// `a0` Quota \[CONTROL\]. Returns bytes used in `ebx`, limit in `esi`; in `edi` threads
    /// used (bits 15 to 0) and their limit (bits 31 to 16).
    QuotaInfo = 61,
    /// Read a thread's state for a watcher. `a0` Thread \[CONTROL\]. Returns in `r1` a
    /// [`ThreadState`](crate::ThreadState).
    ThreadInfo = 62,
}

/// All operations, in the order of their numbers.
pub const ALL: [Op; 38] = [
    Op::Call,
    Op::ReplyWait,
    Op::Send,
    Op::Receive,
    Op::Reply,
    Op::Run,
    Op::Notify,
    Op::Yield,
    Op::MapReplyWait,
    Op::MapRun,
    Op::CreateQuota,
    Op::CreateSpace,
    Op::CreateSegment,
    Op::CreateThread,
    Op::DeriveMemory,
    Op::Delete,
    Op::Revoke,
    Op::Copy,
    Op::Identify,
    Op::Start,
    Op::Stop,
    Op::Reset,
    Op::SetPriority,
    Op::SetHandler,
    Op::SetState,
    Op::GetRegisters,
    Op::SetRegisters,
    Op::FpuSync,
    Op::Map,
    Op::Attach,
    Op::Detach,
    Op::Cache,
    Op::Lookup,
    Op::BindIrq,
    Op::AckIrq,
    Op::Alarm,
    Op::QuotaInfo,
    Op::ThreadInfo,
];

/// The same by their numbers: a search costs each system call more than it does.
static BY_CODE: [Option<Op>; 64] = {
    let mut table = [None; 64];
    let mut i = 0;
    while i < ALL.len() {
        table[ALL[i] as usize] = Some(ALL[i]);
        i += 1;
    }
    table
};

impl Op {
    /// The operation with this number, if there is one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        BY_CODE.get(code as usize).copied().flatten()
    }
}

/// A selector in 16 bits; 0 for one that no table has.
pub(crate) const fn fit(selector: u32) -> u32 {
    if selector < MAX_SLOTS { selector } else { 0 }
}

/// First word of the selector pair and kind of a map record; a record is four words.
///
/// ```text
///  word 0   31 memory selector 16 15 space or segment selector 0
///  word 1   31 address (in a Segment: offset) 12 11 operation 8  7 0  5 rights 0
///  word 2   offset in the Memory, bytes (ports)
///  word 3   length, bytes (ports)
/// ```
/// For I/O ports the address is ignored: ports appear where they are.
/// `UNMAP` and `PROTECT` ignore the memory selector and the offset, except that
/// `UNMAP` with the selector of a ports Memory takes ports away. `UNMAP` of what
/// is not there is no error; `PROTECT` never gives a right that the mapping did
/// not have when it was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapRecord(pub [u32; 4]);

impl MapRecord {
    /// Operation: make mappings; what was there before is replaced.
    pub const MAP: u32 = 0;
    /// Operation: remove mappings.
    pub const UNMAP: u32 = 1;
    /// Operation: change rights.
    pub const PROTECT: u32 = 2;
    /// Most records in one call.
    pub const MAX: u32 = 16;

    /// A record. A selector that does not fit 16 bits names no slot: it becomes 0, which the kernel refuses.
    #[must_use]
    pub const fn new(op: u32, space: u32, address: u32, memory: u32, offset: u32, length: u32, rights: crate::Rights) -> Self {
        Self([fit(memory) << 16 | fit(space), (address & !0xfff) | (op & 15) << 8 | (rights.0 & 63), offset, length])
    }
    /// The operation.
    #[must_use]
    pub const fn op(&self) -> u32 {
        (self.0[1] >> 8) & 15
    }
    /// Selector of the Space or Segment.
    #[must_use]
    pub const fn space(&self) -> u32 {
        self.0[0] & 0xffff
    }
    /// Selector of the Memory.
    #[must_use]
    pub const fn memory(&self) -> u32 {
        self.0[0] >> 16
    }
    /// Address in the Space, or offset in the Segment.
    #[must_use]
    pub const fn address(&self) -> u32 {
        self.0[1] & !0xfff
    }
    /// Rights asked for.
    #[must_use]
    pub const fn rights(&self) -> crate::Rights {
        crate::Rights(self.0[1] & 63)
    }
    /// Offset in the Memory.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.0[2]
    }
    /// Bytes, or ports.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.0[3]
    }
}
