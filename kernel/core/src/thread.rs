// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads: each is an entry of a table whose place and size are fixed at boot. So one comparison
//! checks a reply handle's index, and any index below the limit names a Thread.
//!
//! A reference to a Thread points to the word after its saved registers. On IA-32 that is where the
//! processor starts to push when it leaves user mode, so the words that IPC needs are on both sides
//! of the reference:
//!
//! ```text
//! below context     registers, in the port's layout, the last pushed first
//!    0  hot         the 32 bytes that IPC reads of both partners
//!   32  warm        handler, UTCB: what an alien's entry reads, too
//!   64  the rest
//! ```

use crate::port::{Context, State};
use crate::work::{List, Work};
use crate::{ALIGN, Header, Slot, Space};
use abi::{UserAddr, Word};
use bytemuck::{Pod, Zeroable};
use pool::{Link, Object, Ref};

/// Bytes of a Thread, and distance between two.
pub const BYTES: u32 = 128 * size_of::<Word>() as u32;
/// 32-bit words of a Thread beside its registers and its rarely loaded state: two are words of the
/// processor, and one aligns them.
const FIELDS: usize = 41 + 3 * ALIGN;
/// 32-bit words that nothing needs.
const UNUSED: usize = BYTES as usize / 4 - FIELDS - size_of::<(Context, State)>() / 4;
/// Where the table begins. Page directories, pages of pipes and what else begins with a page share
/// the first sets of a virtual cache, and every other Thread would be in them, as a set of 32 lines
/// is found by the lower ten bits of an address: so threads begin a few sets later.
pub const TABLE: u32 = pool::BASE + 256;
/// Distance from a Thread's start to where a reference points.
pub const ANCHOR: u32 = size_of::<Context>() as u32;
/// Most threads: a power of two.
pub const MAX_THREADS: u32 = 1 << 16;
/// What one call adds to a handle; what overflows is lost.
pub const SEQUENCE: u32 = 1 << 24;
const _: () = assert!(MAX_THREADS < SEQUENCE, "a handle has room for an epoch");

/// States of a thread and the flags beside them: one word, the *gate*, equal to a
/// plain state exactly when the fast path may act on the thread.
pub mod gate {
    /// Does not run until somebody starts it.
    pub const STOPPED: u32 = 0;
    /// Runs or is in a ready queue.
    pub const READY: u32 = 1;
    /// Waits for a message from anybody.
    pub const OPEN: u32 = 2;
    /// Waits for a message from `partner`.
    pub const CLOSED: u32 = 3;
    /// Waits for the reply of a thread of `partner`'s space.
    pub const REPLY: u32 = 4;
    /// Waits for the next event of the alien `partner`.
    pub const RUN: u32 = 5;
    /// In `partner`'s queue of senders.
    pub const SENDING: u32 = 6;
    /// Stopped by an exception that nobody handles, or without a space.
    pub const HALTED: u32 = 7;
    /// Waits for notifications only.
    pub const NOTIFIED: u32 = 8;
    /// The state.
    pub const STATE: u32 = 0xf;
    /// Flag: only the portable code may resume it.
    pub const SLOW: u32 = 0x10;
    /// Flag: an alien whose registers are in its UTCB slot.
    pub const ALIEN: u32 = 0x20;
    /// Flag: waits for the reply to an exception, with all its registers in `context` and
    /// nothing to load.
    pub const EXCEPTION: u32 = 0x40;
}

/// Values of `Thread::flags`.
pub mod flag {
    /// An alien.
    pub const ALIEN: u32 = 1;
    /// The system call in `context` is to be carried on when the thread runs.
    pub const AGAIN: u32 = 2;
    /// Its slice ran out while it lent it to a server.
    pub const EXPIRED: u32 = 4;
    /// Has an alarm in the heap.
    pub const ALARM: u32 = 8;
    /// A thread may wait for this one that is not in its queue of senders and that it does not
    /// know as its partner: for a message only from it, or for an alien's next event
    /// without being its handler.
    pub const WATCHED: u32 = 16;
    /// Its handler changed while a space waited to reply to it, which may still have the handle.
    pub const PASSED_ON: u32 = 32;
    /// On a work list (`reap.rs`), and only its worker may free it.
    pub const LISTED: u32 = 64;
    /// Has a work list of its own.
    pub const WORKS: u32 = 128;
    /// In a ready queue, and a fast path put it there in its system call: of its registers only
    /// what a system call returns or keeps counts, and all of that is in `context`. So a fast path
    /// may take it from there.
    pub const BRIEF: u32 = 256;
}

/// A thread of execution.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Thread {
    /// Saved registers, in the port's layout.
    pub context: Context,

    /// State and flags: see [`gate`].
    pub gate: u32,
    /// Priority.
    pub priority: u32,
    /// The space it runs in; null when that is gone.
    pub space: Link<Space>,
    /// Slots of its space's capability table; 0 for an alien.
    pub cap_limit: u32,
    /// Reply handle of its latest call: index, epoch and sequence.
    ///
    /// ```text
    ///  31       24 23        n n-1     0
    /// | sequence  |   epoch   |  index  |      2 to the power of n threads
    /// ```
    /// Each call adds 1 to the sequence, which wraps after 256. That is enough, as an answered call
    /// leaves no handle: the space that could use it has used it. A call that ends
    /// unanswered leaves one that its server does not know to be dead: the epoch is changed, which
    /// no number of calls does, so the handle stays dead whatever the thread calls, at any rate and
    /// for ever. (An alien's handler that takes the alien knows that, and spends none.) With 2,048
    /// threads an entry of the table has 8,192 epochs; one that has spent half of them is not used
    /// again when its thread is deleted, until the Quota that paid for it ends (`free_thread`). So
    /// a handle never names a call of another thread than the one it was given for, unless a server
    /// keeps it beyond the end of the component that it got it from. To come upon it again its own
    /// thread has to end 8,191 calls more unanswered, which takes who controls the thread or its
    /// servers and could change what it gets anyway.
    pub handle: u32,
    /// What it waits for, by state.
    pub partner: Link<Thread>,
    /// Notification bits that arrived and were not taken.
    pub signals: u32,
    /// First of the queue of threads that wait to send to it.
    pub senders: Link<Thread>,

    /// Who gets its exceptions, with the badge that it will see.
    pub handler: Slot,
    /// Address by which the kernel reaches its UTCB slot
    /// ([`Caches::utcb_page`](crate::port::Caches::utcb_page)).
    pub utcb: u32,
    /// `flag::*`.
    pub flags: u32,
    /// Which parts of its rarely loaded state it has, a bit each, as the port says. A thread with
    /// any of them is resumed by the slow path.
    pub lazy: u32,
    /// Aligns what follows to a word.
    pub gap: [u32; ALIGN],
    /// Address of its UTCB slot in `home`.
    pub utcb_address: UserAddr,

    /// Who pays, original capability.
    pub header: Header,
    /// The space that its UTCB slot is in.
    pub home: Link<Space>,
    /// Next in the ready queue or the queue of senders it is in (circular), or in the free list.
    pub next: Link<Thread>,
    /// Previous in that queue.
    pub prev: Link<Thread>,
    /// Highest priority it may give to others.
    pub max_priority: u32,

    /// What it sends or waits for a reply to: a message kind.
    pub sending: u32,
    /// Badge of the capability that it sends with.
    pub badge: u32,
    /// Address of its last page fault.
    pub fault_address: UserAddr,
    /// Rarely loaded state, while it is not in the processor.
    pub lazy_state: State,
    /// Where a system call in steps goes on.
    pub progress: u32,
    /// What is left of its slice, in nanoseconds.
    pub slice_left: u32,
    /// When the alarm is due.
    pub alarm_at: u64,
    /// Notification bits of its alarm.
    pub alarm_bits: u32,
    /// Place of its alarm in the heap of alarms.
    pub alarm_index: u32,
    /// The first sender of the next priority, while it is the first of its own in a queue of
    /// senders (circular).
    pub group_next: Link<Thread>,
    /// The first sender of the previous priority.
    pub group_prev: Link<Thread>,
    /// Epochs that were spent, by all threads that this entry was.
    pub epochs: u32,
    /// While it is taken out of its space and not all who wait for it have failed: the error they
    /// fail with.
    pub leaving: u32,
    /// What it has to end before its system call ends.
    pub work: List,
    /// A thread on another's list whose waiters it helps to fail.
    pub helps: Link<Thread>,
    /// Next on the work list that it is on.
    pub work_next: Work,
    /// Fills the entry.
    pub unused: [u32; UNUSED],
}

impl Object for Thread {
    const ANCHOR: u32 = ANCHOR;
}

const _: () = assert!(size_of::<Thread>() == BYTES as usize);
const _: () = assert!(core::mem::offset_of!(Thread, gate) == ANCHOR as usize);

impl Thread {
    /// The state without flags.
    #[must_use]
    pub const fn state(&self) -> u32 {
        self.gate & gate::STATE
    }
    /// A native thread that is ready counts as one that calls: what the fast path,
    /// which only knows calls, may then leave unwritten.
    pub(crate) const fn forget_sending(&mut self) {
        if !self.is_alien() {
            self.sending = abi::MessageKind::Call as u32;
        }
    }
    /// Whether it is an alien.
    #[must_use]
    pub const fn is_alien(&self) -> bool {
        self.flags & flag::ALIEN != 0
    }
}

/// The table of all threads.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Kernel address of the first entry.
    pub start: u32,
    /// Number of entries, a power of two and at most [`MAX_THREADS`]. The first is the kernel's: no
    /// handle is 0.
    pub count: u32,
    /// Free entries, linked by `next`. The first is never free: it is the [`reaper`](Self::reaper).
    pub free: Link<Thread>,
}

impl Table {
    /// The thread with this index.
    #[must_use]
    pub const fn get(&self, index: u32) -> Option<Ref<Thread>> {
        if index < self.count { Some(Ref::new(self.start + index * BYTES + ANCHOR)) } else { None }
    }
    /// The only thread that this may be a handle of.
    #[must_use]
    pub const fn named(&self, handle: u32) -> Ref<Thread> {
        Ref::new(self.start + (handle & (self.count - 1)) * BYTES + ANCHOR)
    }
    /// How many epochs an entry has.
    #[must_use]
    pub const fn epochs(&self) -> u32 {
        SEQUENCE / self.count
    }
    /// Whether an entry has spent so many epochs that another thread's handles might come round to
    /// one that is not answered.
    pub(crate) const fn is_worn(&self, epochs: u32) -> bool {
        epochs >= self.epochs() / 2
    }
    /// The handle in the next epoch.
    #[must_use]
    pub const fn next_epoch(&self, handle: u32) -> u32 {
        let epoch = SEQUENCE - self.count;
        handle & !epoch | handle.wrapping_add(self.count) & epoch
    }
    /// The kernel's own thread, which never leaves it (`reap.rs`). Its index is no caller's, so no
    /// reply handle is 0.
    #[must_use]
    pub const fn reaper(&self) -> Ref<Thread> {
        Ref::new(self.start + ANCHOR)
    }
    /// Index of a thread.
    #[must_use]
    pub const fn index(&self, thread: Ref<Thread>) -> u32 {
        (thread.address() - ANCHOR - self.start) / BYTES
    }
}
