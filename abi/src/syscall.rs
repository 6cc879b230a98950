// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls: numbers, arguments, results, errors.
//!
//! `docs/system-calls.md` is made of the comments here and in `error.rs`, by `./macadamia manual`.
//!
//! # Registers
//!
//! A system call takes a *tag* and four arguments, `a0` to `a3`. It returns five results, `r0` to `r4`. Each is
//! one word: 32 or 64 bits, as the processor's user registers have. This table says where they are; nothing else names registers of a processor.
//!
//! | role | IA-32 |
//! |---|---|
//! | instruction | `sysenter`; `int 0x30` if the kernel information page lacks `FEATURE_SYSENTER` |
//! | tag | `eax` |
//! | `a0`, `a1`, `a2`, `a3` | `ebx`, `esi`, `edi`, `ebp` |
//! | `r0` | `eax` |
//! | `r1`, `r2`, `r3`, `r4` | `ebx`, `esi`, `edi`, `ebp` |
//! | stack pointer, for `sysenter` | `ecx` |
//! | return address, for `sysenter` | `edx` |
//! | undefined afterwards | `ecx`, `edx`, flags |
//! | flat afterwards | `ds`, `es` |
//! | kept | `esp`, `fs`, `gs` |
//!
//! # Tag
//!
//! Bits 31 to 12 of the tag are the operation's number. Bit 11 is reserved and must be 0. For IPC the others say
//! how many words (bits 6 to 0, at most 64) and capabilities (bits 8 and 7) are sent, and hold two flags: `POLL`
//! (bit 9) and `NOTIFICATIONS_ONLY` (bit 10). Other system calls ignore them.
//!
//! # Results
//!
//! `Call`, `ReplyWait`, `Receive`, `Run`, `MapReplyWait` and `MapRun` return a *delivery*. `r0` says what arrived:
//! its kind, the badge of the capability that was used, and the number of words and capabilities. `r1` is the
//! reply handle, or 0 if nobody waits for a reply. `r2`, `r3` and `r4` are words 0 to 2; further words are in the
//! UTCB. If the call fails, the kind is `Failed`, the badge is the error's code, and the other results are 0.
//!
//! All other system calls return a status in `r0`: 0, or the error's code. Their results are in `r1` to `r3`. A
//! result that a page does not name is 0, and all are 0 after an error. `r4` is left as it was.
//!
//! A call that fails has changed nothing, unless its page says otherwise.
//!
//! # Capabilities
//!
//! A *selector* is an index into the caller's capability table. Slot 0 is always empty. A table has at most 65,536
//! slots, so a selector fits 16 bits. Where a page says `Thread (CALL)`, the argument is the selector of a
//! capability to a Thread that carries the right `CALL`. The kernel looks it up and may find three errors:
//!
//! * `NoCapability`: the selector is 0, or beyond the table, or its slot is empty.
//! * `WrongKind`: the capability is to an object of another kind.
//! * `NoRight`: the capability lacks the right.
//!
//! A *destination* is a slot of the caller's own table, unless a page names another. It must be empty.
//!
//! # Errors of every call
//!
//! * `BadOperation`: no operation has this number, or bit 11 of the tag is set.
//!
//! The pages do not repeat this one.
//!
//! # Who pays
//!
//! A call that makes something charges a Quota. Two errors can follow:
//!
//! * `QuotaExceeded`: the Quota has too little left.
//! * `PoolExhausted`: the Quota has enough, but the kernel has no free block of that size, or no free thread.
//!
//! Page tables, pages with UTCBs, attachments and the map of I/O ports are charged to the Quota of the Space or
//! Segment that they belong to. If that Quota was deleted, the call fails with `BadState`.
//!
//! # Calls in steps
//!
//! `CreateSpace`, `Delete`, `Revoke`, `Reset`, `Map`, `Attach`, `MapReplyWait` and `MapRun` can take long. They go in
//! steps, and interrupts are taken between two steps. The kernel looks capabilities and handles up again when it
//! carries such a call on. If somebody took one away meanwhile, the call fails with the error for that, and what
//! was done stays done.

/// Most slots of a capability table.
pub const MAX_SLOTS: u32 = 1 << 16;

/// Operation numbers.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    // --- IPC -----------------------------------------------------------------
    /// Send a message to a thread, and wait for its reply.
    ///
    /// The caller waits until the receiver takes the message, then until it replies. The receiver gets a reply handle.
    /// The capability counts when the message is taken. An alien never takes one.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities; `POLL`.
    /// * `a0`: Thread (`CALL`), the receiver.
    /// * `a1`, `a2`, `a3`: words 0 to 2. They arrive as they are, whatever the number of words is.
    /// * UTCB: words from 3 on; `send_caps`, the capabilities to send.
    ///
    /// # Returns
    /// A delivery of kind `Reply`. Capabilities of the reply are in the slots from `receive_slot` of the UTCB on.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`. `NoCapability` also if the caller waited in the receiver's
    ///   queue, and `a0` is by then empty or another capability.
    /// * `BadArgument`: the receiver is the caller.
    /// * `WouldBlock`: `POLL` is set and the receiver does not wait for a message of the caller. (A reply is waited for
    ///   even with `POLL`.)
    /// * `CapTransfer`: a capability could not be placed. Nothing was sent; the receiver goes on waiting.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. Nothing was sent.
    /// * `PeerGone`: the receiver has no Space, or was deleted or lost its Space while the caller waited.
    /// * `PeerRestarted`: the receiver was reset while the caller waited.
    /// * `Interrupted`: the caller was stopped while it waited.
    Call = 1,
    /// Reply to a caller, then receive from anybody.
    ///
    /// The handle may be that of a call or of an exception. Any thread of the Space that received it may use it, once.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities of the reply; `POLL`.
    /// * `a0`: the reply handle, or 0 to reply to nobody.
    /// * `a1`, `a2`, `a3`: words 0 to 2 of the reply.
    /// * UTCB: as for `Call`. The reply to a native thread's exception sets its registers if it has 19 words or more:
    ///   the frame is in the first words that are in no register (IA-32: 3 to 18).
    ///
    /// # Returns
    /// A delivery, as `Receive`.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was received.
    /// * `CapTransfer`: a capability could not be placed in the caller's table. Nothing was replied or received, and the
    ///   handle stays good.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. As `CapTransfer`.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive. The reply was given.
    /// * `Interrupted`: the thread was stopped while it waited. The reply was given.
    ReplyWait = 2,
    /// Send a message to a thread, without waiting for a reply.
    ///
    /// The sender waits until the receiver takes the message. The receiver gets no reply handle. The capability counts
    /// when the message is taken. An alien never takes one.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities; `POLL`.
    /// * `a0`: Thread (`CALL`), the receiver.
    /// * `a1`, `a2`, `a3`: words 0 to 2.
    /// * UTCB: as for `Call`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`. `NoCapability` also if the sender waited in the receiver's
    ///   queue, and `a0` is by then empty or another capability.
    /// * `BadArgument`: the receiver is the sender.
    /// * `WouldBlock`: `POLL` is set and the receiver does not wait for a message of the sender.
    /// * `CapTransfer`: a capability could not be placed. Nothing was sent; the receiver goes on waiting.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. Nothing was sent.
    /// * `PeerGone`: the receiver has no Space, or was deleted or lost its Space while the sender waited.
    /// * `PeerRestarted`: the receiver was reset while the sender waited.
    /// * `Interrupted`: the sender was stopped while it waited.
    Send = 3,
    /// Receive a message or notification bits.
    ///
    /// Bits that `accept` of the UTCB names come before any message. A sender whose capabilities cannot be placed fails,
    /// and the receiver goes on waiting.
    ///
    /// # Arguments
    /// * Tag: `POLL`, not to wait; `NOTIFICATIONS_ONLY`, to take no message.
    /// * `a0`: 0 to receive from anybody, or Thread (`CALL`) to receive from that thread only.
    /// * UTCB: `accept`; `receive_slot`, the first slot for received capabilities.
    ///
    /// # Returns
    /// A delivery of one of these kinds:
    /// * `Call`: words 0 to 2 in `r2` to `r4`, a reply handle in `r1`.
    /// * `Send`: words 0 to 2 in `r2` to `r4`.
    /// * `Notification`: the bits in `r2`.
    /// * `Exception` or `Alien`: vector, fault address and error code in `r2` to `r4`, a reply handle in `r1`. A native
    ///   thread's frame is in the first words that are in no register (IA-32: UTCB words 3 to 18), an alien's in its own
    ///   UTCB slot.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadArgument`: `a0` is the caller itself.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive.
    /// * `PeerGone`: the thread in `a0` has no Space, or was deleted or lost its Space while the caller waited for it.
    /// * `PeerRestarted`: the thread in `a0` was reset while the caller waited for it.
    /// * `Interrupted`: the caller was stopped while it waited.
    Receive = 4,
    /// Reply to a caller, without receiving.
    ///
    /// It never waits.
    ///
    /// # Arguments
    /// * Tag: number of words and capabilities.
    /// * `a0`: the reply handle.
    /// * `a1`, `a2`, `a3`: words 0 to 2.
    /// * UTCB: as for `ReplyWait`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space.
    /// * `CapTransfer`: a capability could not be placed in the caller's table. The handle stays good.
    /// * `TooDeep`: the copy of a capability would lie deeper than 255 in its tree. The handle stays good.
    Reply = 5,
    /// Resume an alien, and wait for its next event.
    ///
    /// The alien's registers are taken from its UTCB slot. An accepted notification ends the wait: the kernel stops the
    /// alien. If the bits were there before the alien ran, it does not run. The alien's events go to its handler, so a
    /// caller that is not the handler gets notifications only.
    ///
    /// # Arguments
    /// * Tag: no flags. Words and capabilities are not looked at.
    /// * `a0`: the alien's reply handle.
    /// * UTCB: `accept`.
    ///
    /// # Returns
    /// A delivery of one of these kinds:
    /// * `Alien`: vector, fault address and error code in `r2` to `r4`, the new handle in `r1`. Bits that came at the
    ///   same time stay pending.
    /// * `Interrupted`: the bits in `r2`, the alien's handle in `r1`.
    /// * `Notification`: the bits in `r2`. The alien is not waited for any more: it has halted, or somebody else has it.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space.
    /// * `BadState`: the handle is that of a native thread; or the alien raised an event and has no handler.
    /// * `PeerGone`: the alien was deleted or lost its Space.
    /// * `PeerRestarted`: the alien was reset.
    /// * `Interrupted`: the caller was stopped while it waited.
    Run = 6,
    /// Set notification bits of a thread.
    ///
    /// The bits are the capability's badge. It never waits.
    ///
    /// # Arguments
    /// * `a0`: Thread (`NOTIFY`).
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `PeerGone`: the thread has no Space.
    Notify = 7,
    /// Give up the rest of the time slice.
    ///
    /// Ready threads of the same priority run first.
    ///
    /// # Arguments
    /// * None.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * None.
    Yield = 8,
    /// Map one page, then reply, then receive: a pager's answer to a page fault.
    ///
    /// It is `Map` with one record of one page, then `ReplyWait` without words or capabilities.
    ///
    /// # Arguments
    /// * Tag: `POLL`. No words and no capabilities.
    /// * `a0`: the reply handle, or 0 to reply to nobody.
    /// * `a1`, `a2`, `a3`: words 0 to 2 of the record.
    ///
    /// # Returns
    /// A delivery, as `Receive`.
    ///
    /// # Errors
    /// * `BadOperation`: words, capabilities, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was mapped.
    /// * `NoCapability`, `WrongKind`, `NoRight`, `BadArgument`, `BadAddress`, `BadState`, `Occupied`, `QuotaExceeded`,
    ///   `PoolExhausted`: of the record, as for `Map`. Nothing was replied or received, and the handle stays good.
    /// * `WouldBlock`: `POLL` is set and there is nothing to receive. The page was mapped and the reply given.
    /// * `Interrupted`: the thread was stopped while it waited. The page was mapped and the reply given.
    MapReplyWait = 9,
    /// Carry out records, then resume an alien: an answer to its page fault.
    ///
    /// It is `Map`, then `Run`. Notification bits that wait are delivered behind the records.
    ///
    /// # Arguments
    /// * Tag: as for `Run`.
    /// * `a0`: the alien's reply handle.
    /// * `a1`: number of records, 1 to 16.
    /// * UTCB: the records, in words 0 to 63; `accept`.
    ///
    /// # Returns
    /// A delivery, as `Run`. If a record fails, `r2` is the number of records done.
    ///
    /// # Errors
    /// * `BadOperation`: more than 64 words in the tag, or the flag `NOTIFICATIONS_ONLY`.
    /// * `BadHandle`: no thread waits under this handle for a reply of this Space. Nothing was mapped.
    /// * `BadArgument`: the number of records is not 1 to 16; or of a record, as for `Map`.
    /// * `NoCapability`, `WrongKind`, `NoRight`, `BadAddress`, `Occupied`, `QuotaExceeded`, `PoolExhausted`: of a record,
    ///   as for `Map`. The alien did not run, and its handle stays good.
    /// * `BadState`: the handle is that of a native thread; or of a record, as for `Map`; or the alien raised an event and
    ///   has no handler.
    /// * `PeerGone`: the alien was deleted or lost its Space.
    /// * `PeerRestarted`: the alien was reset.
    /// * `Interrupted`: the caller was stopped while it waited.
    MapRun = 10,

    // --- Objects and capabilities ------------------------------------------------
    /// Make a Quota out of another.
    ///
    /// The parent is charged all of it at once, and 64 bytes for the Quota itself.
    ///
    /// # Arguments
    /// * `a0`: Quota (`CONTROL`), the parent.
    /// * `a1`: bytes.
    /// * `a2`: destination.
    /// * `a3`: threads in bits 15 to 0. What only ARMv5 has: in bits 23 to 16 slots of relocation (`arch::armv5::place`), in bits 31 to 24
    ///   ranges of locked lines (`CacheOp`).
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadSlot`: the destination.
    /// * `TooDeep`: the Quota would have more than 16 above it.
    /// * `QuotaExceeded`, `PoolExhausted`: the parent pays.
    CreateQuota = 16,
    /// Make a Space.
    ///
    /// It is native if it has capability slots. If it has none it is for aliens, or a *home*: that has no threads. Small Spaces
    /// are attached to it, and their threads run by its page tables.
    ///
    /// # Arguments
    /// * `a0`: Quota (`CONTROL`), which pays. On ARMv5 a native Space is charged as threads, too: a 256th of those that the kernel can
    ///   hold, as there can be 256 (`utcb::threads_a_space`).
    /// * `a1`: number of capability slots, at most 65,536; 0 for a Space of aliens and for a home.
    /// * `a2`: destination.
    /// * `a3`: place of the kernel's part, where the information page and the UTCBs are: 0, or what the port names.
    ///   IA-32: an address, a multiple of `TABLE_SPAN`. It is 0 for a Space of aliens, which has no such part, and 1 (`HOME`)
    ///   for a home. ARMv5: whether its low addresses are relocated, and its vspace among the Quota's (`arch::armv5::place`), of
    ///   either kind of Space.
    ///
    /// # Returns
    /// * `r1`: the number of slots, which is rounded up. If the caller is stopped before the call ends, the Space is there
    ///   with fewer.
    /// * `r2`: on ARMv5 the number of its slot of relocation; else 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`; or of the Space itself, if somebody deleted it meanwhile.
    /// * `BadSlot`: the destination.
    /// * `BadArgument`: more than 65,536 slots; or a place that says nothing of such a Space.
    /// * `BadAddress`: the kernel's part cannot be at this place.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    CreateSpace = 17,
    /// Make a Segment.
    ///
    /// Nothing is mapped in it.
    ///
    /// # Arguments
    /// * `a0`: Quota (`CONTROL`), which pays.
    /// * `a1`: bytes, a multiple of `TABLE_SPAN`.
    /// * `a2`: destination.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadSlot`: the destination.
    /// * `BadArgument`: the size is 0, no multiple of `TABLE_SPAN`, or above `USER_END`.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    CreateSegment = 18,
    /// Make a Thread, which is stopped and has its creator's priority.
    ///
    /// An alien counts as having raised an event of vector `CREATED`: it waits for the reply of its creator, or of the
    /// handler that it is given before that.
    ///
    /// # Arguments
    /// * `a0`: Quota (`CONTROL`), which is charged one thread.
    /// * `a1`: Space (`CONTROL`), where the thread runs.
    /// * `a2`: destination.
    /// * `a3`: 0 for a native thread; `a1` must be native. For an alien Space (`CONTROL`), the native Space where its UTCB
    ///   slot goes; `a1` must be a Space of aliens.
    ///
    /// # Returns
    /// * `r1`: the address of the UTCB slot.
    /// * `r2`: the reply handle of an alien; 0 for a native thread.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`, `a1` or `a3`.
    /// * `BadArgument`: `a1` and `a3` do not go together, or `a1` is a home.
    /// * `BadSlot`: the destination.
    /// * `QuotaExceeded`: the Quota has no thread left; or the Quota of the Space with the UTCB slot cannot pay a page.
    /// * `PoolExhausted`: the kernel has no thread left, or no page; or all UTCB slots of that Space are taken.
    /// * `BadState`: the Quota of the Space with the UTCB slot was deleted, and a page is needed.
    CreateThread = 19,
    /// Make a Memory that is a part of another.
    ///
    /// Its capability is a child of the one used, with the same rights.
    ///
    /// # Arguments
    /// * `a0`: Memory (`CONTROL`).
    /// * `a1`: offset, in bytes and a multiple of a page. Of I/O ports: in ports.
    /// * `a2`: length, likewise.
    /// * `a3`: destination.
    /// * UTCB: word 3 is the selector of the Quota (`CONTROL`) that pays.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0` or of UTCB word 3.
    /// * `BadSlot`: the destination.
    /// * `TooDeep`: the capability would lie deeper than 255 in its tree.
    /// * `BadState`: the Memory is being deleted.
    /// * `BadArgument`: the length is 0, offset or length is no multiple of a page, or the part is not within the Memory.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota pays.
    DeriveMemory = 20,
    /// Delete a capability.
    ///
    /// Everything derived from it goes first. The original capability of an object takes the object along. What a call
    /// has begun to end ends, even if the caller is stopped or deletes its own Space.
    ///
    /// # Arguments
    /// * `a0`: the slot.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `a0`.
    Delete = 21,
    /// Delete everything derived from a capability.
    ///
    /// The capability itself stays. If it is the original of a Memory, every mapping of that is removed, too.
    ///
    /// # Arguments
    /// * `a0`: the slot.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `a0`.
    Revoke = 22,
    /// Copy a capability.
    ///
    /// The copy is a child of the source.
    ///
    /// # Arguments
    /// * `a0`: the source slot.
    /// * `a1`: 0 for the caller's own table, or Space (`CONTROL`) whose table gets the copy.
    /// * `a2`: destination, in that table.
    /// * `a3`: rights in bits 5 to 0: the copy has those of them that the source has. Badge in bits 31 to 12: 0 keeps the
    ///   source's.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`: of `a0` or `a1`.
    /// * `WrongKind`, `NoRight`: of `a1`.
    /// * `BadSlot`: the destination; or the Space is being deleted.
    /// * `BadArgument`: a badge, though the source has one or is no Thread.
    /// * `TooDeep`: the copy would lie deeper than 255 in its tree.
    Copy = 23,
    /// Describe a capability.
    ///
    /// It takes no right.
    ///
    /// # Arguments
    /// * `a0`: the slot.
    ///
    /// # Returns
    /// * `r1`: the object's kind.
    /// * `r2`: rights in bits 5 to 0, badge in bits 31 to 12.
    /// * `r3`: size: bytes of a Memory or Segment (of I/O ports: ports), slots of a Space, byte limit of a Quota, else 0.
    ///
    /// # Errors
    /// * `NoCapability`: of `a0`.
    Identify = 24,

    // --- Threads -------------------------------------------------------------------
    /// Start a stopped native thread.
    ///
    /// Its registers become those of a thread that never ran: TLS descriptors, debug registers and FPU, too. It finds the
    /// address of its UTCB slot in the register of `r1` and its argument in that of `r2`.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: entry.
    /// * `a2`: stack pointer.
    /// * `a3`: argument.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread is an alien, has no Space, or is neither stopped nor halted.
    /// * `BadAddress`: the entry is at or above `USER_END`, or the stack pointer above it.
    Start = 32,
    /// Stop a thread.
    ///
    /// A native thread ends the IPC that it waits in, or the call that it is in the middle of, with `Interrupted`, and stops. An alien that runs raises an event of
    /// vector `STOPPED`; one that does not run stays as it is.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`). It may be the caller.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread has no Space.
    Stop = 33,
    /// Take a thread out of its Space, and bind it to a Space anew.
    ///
    /// Capabilities to it stay valid. Who waits for it fails with `PeerRestarted`. The thread is stopped then; an alien
    /// waits as after `CreateThread`.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: Space (`CONTROL`), where the thread will run.
    /// * `a2`: as `a3` of `CreateThread`.
    ///
    /// # Returns
    /// * `r1`, `r2`: as `CreateThread`.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`, `a1` or `a2`.
    /// * `BadArgument`: `a1` and `a2` do not go together, or `a1` is a home; or the thread is the caller.
    /// * `QuotaExceeded`, `PoolExhausted`, `BadState`: of the UTCB slot, as for `CreateThread`. The thread has no Space
    ///   then; `Reset` can be called again.
    Reset = 34,
    /// Set a thread's priority.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: priority, 0 to 255.
    /// * `a2`: the highest priority that the thread may give to others, 0 to 255.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadArgument`: a priority above 255.
    /// * `BadPriority`: a priority above the highest that the caller may give.
    SetPriority = 35,
    /// Name the thread that gets a thread's exceptions, or an alien's events.
    ///
    /// The kernel keeps a copy of the capability: it is revoked with the one used. A thread halts at an exception if it has
    /// no handler, is its own, or has one without a Space.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: Thread (`CALL`), the handler, which will see the badge of this capability; or 0 for none.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0` or `a1`.
    /// * `TooDeep`: the copy would lie deeper than 255 in its tree.
    SetHandler = 36,
    /// Set a part of a thread's state that only its kind of processor has.
    ///
    /// On IA-32 there are these parts:
    /// * 0 to 2: TLS descriptors, with the selectors 0x33, 0x3b and 0x43. `a2` is the base. `a3` has the limit in bits 19
    ///   to 0; bit 20: the limit is in pages; bit 21: read-only; bit 22: 16-bit; bit 23: present.
    /// * 16 to 19: the addresses of breakpoints, below `USER_END`, in `a2`.
    /// * 23: the control register of breakpoints: local enable bits, conditions and lengths in `a2`.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: the part.
    /// * `a2`, `a3`: its value.
    ///
    /// # Returns
    /// * `r1`: for parts from 16 on the status register of breakpoints, as of the last debug exception, which is then
    ///   cleared; else 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread has no Space.
    /// * `BadArgument`: there is no such part; a limit has a bit above 23; an address is not the user's; the control
    ///   register has another bit, or a breakpoint on I/O ports.
    SetState = 37,
    /// Read the registers of a thread that does not run.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    ///
    /// # Returns
    /// A status. The registers are in the first words that are in no register (IA-32: UTCB words 3 to 18), as a `Frame`.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread has no Space, or runs or is ready.
    GetRegisters = 38,
    /// Write the registers of a stopped native thread, and let it run.
    ///
    /// What the thread may not have is masked. TLS descriptors, debug registers and FPU stay as they are.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    /// * `a1`: 1 to let it run, 0 to leave it stopped.
    /// * UTCB: the first words that are in no register (IA-32: 3 to 18) are the registers, as a `Frame`.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread has no Space, is an alien, or is neither stopped nor halted.
    /// * `BadArgument`: `a1` is neither 0 nor 1.
    SetRegisters = 39,
    /// Put a thread's FPU registers into its UTCB slot.
    ///
    /// The area in the slot is the truth until the thread uses the FPU again. `fpu` of the UTCB says whether this call is
    /// needed.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadState`: the thread has no Space.
    FpuSync = 41,

    // --- Memory -----------------------------------------------------------------------
    /// Map, unmap, change rights, or clean caches, by up to 16 records.
    ///
    /// The records are carried out in order until one fails. What was done of that one stays done. `MapRecord` in
    /// `abi/src/map_record.rs` has the layout:
    /// * `MAP` puts a part of a Memory into a Space or Segment, or opens I/O ports to a Space. What was there is replaced.
    /// * `UNMAP` takes away what is there, or closes I/O ports. It is no error if nothing is there.
    /// * `PROTECT` changes rights. It gives none that the mapping did not have when it was made.
    /// * `CACHE` and the four behind it do to a Space's pages what `Cache` does: so a batch can clean one address of a page
    ///   before it maps the page at another.
    ///
    /// Rights that a record asks for are those of a capability: `READ`, `WRITE`, `EXECUTE`. Ports take `WRITE`.
    ///
    /// `MAP` with the flag `UNCACHED` maps RAM so that reads and writes go to memory, for a device that does not see the
    /// caches. What was written through another, cached mapping comes to memory when that is unmapped or by `Cache`.
    /// `PROTECT` keeps the flag. Of a Memory of device registers it changes nothing: they are never cached.
    ///
    /// # Arguments
    /// * `a0`: number of records, 1 to 16.
    /// * UTCB: the records, in words 0 to 63. Each names a Space or Segment (`CONTROL`) and, to map, a Memory. If the call
    ///   goes in steps, the kernel writes into a record what is left of it.
    ///
    /// # Returns
    /// * `r1`: the number of records done, after an error, too.
    ///
    /// # Errors
    /// * `BadArgument`: the number of records is not 1 to 16. Of a record: there is no such operation; the length is 0 or
    ///   no multiple of a page; `MAP` asks for no right, or the offset is no multiple of a page, or the part is not within
    ///   the Memory, or that is of addresses.
    /// * `NoCapability`, `WrongKind`: of the Space or Segment, or of the Memory to map. `WrongKind` also if ports are mapped
    ///   into a Segment.
    /// * `NoRight`: the Space or Segment lacks `CONTROL`, or the Memory a right that the record asks for.
    /// * `BadAddress`: the range is not within the Segment, or not within the part of the Space that is the user's. In a
    ///   native Space the kernel's part is not (IA-32: 4 MiB from the place on that `CreateSpace` was given). Of a server only
    ///   its window is; of a small Space nothing from its size on.
    /// * `BadState`: the Memory or Segment is being deleted; or the Quota that would pay was deleted.
    /// * `Occupied`: a Segment is attached where a page is to be mapped.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota of the Space or Segment pays.
    Map = 48,
    /// Attach a Segment to a Space, show a server in it, or make a Space small.
    ///
    /// A server is a Space that [`Serve`](Self::Serve) made one. Who shows it gives it all that the Space's threads can reach,
    /// and the Space nothing. The addresses of its window are not the Space's any more.
    ///
    /// A Space that is attached to a home is *small*: its addresses end at its size. It has them from 0 on as before, and its threads
    /// go on. But they run by the home's page tables, where these addresses begin at `a1`. So a switch between two small
    /// Spaces of one home costs no change of tables. It is in one home at most.
    ///
    /// If the caller is stopped before the call ends, the Segment may be there in part; `Detach` takes it away. A server
    /// that is there in part does not run in the Space, and a small Space not in its home.
    ///
    /// # Arguments
    /// * `a0`: Space (`CONTROL`). It is a home to make another small.
    /// * `a1`: address, a multiple of `TABLE_SPAN`, and of a small Space's size.
    /// * `a2`: Segment, with all rights of `a3`; or Space (`CONTROL`), a server, whose window is at the address; or Space
    ///   (`CONTROL`) that becomes small.
    /// * `a3`: rights that the Space gets: `READ`, and `WRITE` and `EXECUTE` at choice; of a server and of a small Space all
    ///   three. For a small Space its size is added, a power of two from `TABLE_SPAN` to 1 GiB.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0` or `a2`.
    /// * `BadArgument`: the rights lack `READ`, or have another bit than these three; or they are not all three of a Space; or
    ///   there is no such size.
    /// * `BadAddress`: the address is no multiple of `TABLE_SPAN`, or the Segment would not lie within the part of the
    ///   Space that is the user's; or the server's window is not there; or the small Space would not lie in the home.
    /// * `Occupied`: page tables, large pages, another Segment or a server are there. (A second server whose window begins elsewhere
    ///   is `BadAddress`.)
    ///   Or the small Space is in a home already, or has something beyond its size, or shows a server whose window begins below that.
    /// * `BadState`: the Segment, server or small Space is being deleted; or the Quota of `a0` was deleted; or `a2` is a
    ///   Space that is no server, and there is no size; or `a0` is a server: it has nothing attached; or there is a size, and `a0`
    ///   is no home, or `a2` a home or server.
    /// * `Unsupported`: a Space cannot be small on this machine.
    /// * `QuotaExceeded`, `PoolExhausted`: the Quota of the Space pays.
    Attach = 49,
    /// Detach a Segment from a Space, show a server in it no more, or make a small Space large again.
    ///
    /// # Arguments
    /// * `a0`: Space (`CONTROL`); the home of a small Space.
    /// * `a1`: the address where the Segment, server or small Space was attached.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `NotThere`: nothing was attached at this address.
    Detach = 50,
    /// Write back or empty caches for a range of a Space.
    ///
    /// It is free where caches are physical and coherent, as on IA-32.
    ///
    /// # Arguments
    /// * `a0`: Space (`CONTROL`).
    /// * `a1`: address.
    /// * `a2`: length in bytes.
    /// * `a3`: 0 to clean, 1 to clean and invalidate, 2 for that and for instructions, too, 3 to lock lines, 4 to unlock them
    ///   (`CacheOp`).
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadAddress`: the range ends above `USER_END`, in the window of a server that the Space shows, or beyond a small Space's
    ///   size.
    ///   Of lines to be locked also: nothing can be read there, or it is not cached.
    /// * `BadArgument`: `a3` is above 4, or lines to be locked are not in one page, or a part of another range that is locked.
    /// * `Unsupported`: lines are to be locked or unlocked, and this machine cannot.
    /// * `QuotaExceeded`: lines are to be locked, and the Quota of the Space has no range left.
    /// * `NotThere`: no lines of the range are locked that are to be unlocked.
    Cache = 51,
    /// Read what is mapped at an address, as the threads of a Space find it.
    ///
    /// It tells no physical address.
    ///
    /// # Arguments
    /// * `a0`: Space (`CONTROL`).
    /// * `a1`: address.
    /// * `a2`: Memory, in which the page is looked for; or 0.
    ///
    /// # Returns
    /// * `r1`: the rights in bits 5 to 0, 0 if nothing can be reached there; bit 6: what is there is not cached.
    /// * `r2`: how many bytes the same entry is for, at a multiple of that: `PAGE_SIZE` or `TABLE_SPAN`.
    /// * `r3`: the page's offset in the Memory; all ones if it is no page of that, or `a2` is 0.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`: of `a0` or `a2`.
    /// * `NoRight`: of `a0`.
    /// * `BadAddress`: the address is at or above `USER_END`, in the window of a server that the Space shows, or behind a small
    ///   Space's size.
    /// * `BadArgument`: the Memory is of I/O ports or addresses.
    Lookup = 52,
    /// Make a Space a server, which others can show: `Attach`.
    ///
    /// A server runs in the Spaces that show it without a switch to its own tables, and reaches what their threads reach. They
    /// do not reach it. (IA-32: it runs at ring 1, on pages of the supervisor's.) It maps in its window alone, which
    /// ends at `USER_END`. It is a server until it is deleted.
    ///
    /// # Arguments
    /// * `a0`: Space (`CONTROL`), native, without threads, with nothing mapped or attached. The kernel's part is at the
    ///   window's start.
    /// * `a1`: Memory (`CONTROL`) of addresses: the window.
    /// * `a2`: 1 if it is the only server as long as it lives, else 0. Then a change of tables leaves its translations in the TLB.
    ///   A Space that does not show it and maps something in its window may find the server's pages in the place: it faults.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0` or `a1`.
    /// * `BadArgument`: the Memory is not of addresses; or `a2` is above 1.
    /// * `Occupied`: there is another server, and it or this one is to be the only one.
    /// * `BadAddress`: the window does not begin where the kernel's part does, or does not end at `USER_END`.
    /// * `BadState`: the Space or Memory is being deleted; or the Space is for aliens, a server already, has threads, or something is
    ///   mapped or attached.
    /// * `Unsupported`: this machine has no servers: `FEATURE_SERVERS` is missing in the information page.
    Serve = 53,

    // --- Interrupts, time, information ---------------------------------------------------
    /// Deliver an interrupt line to a thread, as notification bits.
    ///
    /// The bits are the badge of the Thread capability. The line is masked; the first `AckIrq` unmasks it.
    ///
    /// # Arguments
    /// * `a0`: Irq (`CONTROL`).
    /// * `a1`: Thread (`NOTIFY`), or 0 to unbind.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0` or `a1`.
    /// * `Occupied`: the line is bound already: unbind it first.
    /// * `TooDeep`: the kernel's copy of the capability would lie deeper than 255 in its tree.
    BindIrq = 56,
    /// Let an interrupt line interrupt again, after its device was served.
    ///
    /// # Arguments
    /// * `a0`: Irq (`CONTROL`).
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `NotThere`: the line is not bound.
    AckIrq = 57,
    /// Set notification bits of the caller at an absolute time.
    ///
    /// A thread has one alarm: a new one replaces the old. A time that has passed counts at once.
    ///
    /// # Arguments
    /// * `a0`: low half of the time, in nanoseconds since boot.
    /// * `a1`: high half.
    /// * `a2`: the bits; 0 cancels.
    ///
    /// # Returns
    /// A status.
    ///
    /// # Errors
    /// * None.
    Alarm = 60,
    /// Read what a Quota has and what is charged to it.
    ///
    /// # Arguments
    /// * `a0`: Quota (`CONTROL`).
    /// * `a1`: 0: of memory and threads; 1: of slots of relocation; 2: of ranges of locked lines.
    ///
    /// # Returns
    /// * `r1`: bytes used; or slots, or ranges.
    /// * `r2`: limit in bytes; or in slots, or ranges.
    /// * `r3`: of memory and threads: threads used in bits 15 to 0, their limit in bits 31 to 16.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    /// * `BadArgument`: `a1` is above 2.
    QuotaInfo = 61,
    /// Read a thread's state.
    ///
    /// # Arguments
    /// * `a0`: Thread (`CONTROL`).
    ///
    /// # Returns
    /// * `r1`: a `ThreadState`: 0 stopped; 1 ready or running; 2 waiting to receive; 3 waiting to send; 4 waiting for a
    ///   reply; 5 halted by an exception that nobody handles, or without a Space.
    ///
    /// # Errors
    /// * `NoCapability`, `WrongKind`, `NoRight`: of `a0`.
    ThreadInfo = 62,
}

/// All operations, in the order of their numbers.
pub const ALL: [Op; 39] = [
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
    Op::Serve,
    Op::BindIrq,
    Op::AckIrq,
    Op::Alarm,
    Op::QuotaInfo,
    Op::ThreadInfo,
];

/// The same by their numbers: a search costs each system call more than it does.
#[expect(clippy::indexing_slicing, reason = "the compiler makes it")]
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

    /// Whether it returns a delivery; all others return a status.
    #[must_use]
    pub const fn returns_delivery(self) -> bool {
        matches!(self, Self::Call | Self::ReplyWait | Self::Receive | Self::Run | Self::MapReplyWait | Self::MapRun)
    }
}
