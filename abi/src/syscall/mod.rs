// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls: numbers, arguments, results, errors.
//!
//! [`Op`] has the numbers. For each operation there is a structure of its name in [`call`], whose
//! fields are its arguments; the modules beside it have them by groups.
//!
//! `./macadamia manual` makes `docs/system-calls.md` from the comments here, of the structures, and
//! of `error.rs`.
//!
//! # Registers
//!
//! A system call takes a *tag* and four arguments, `a0` to `a3`. It returns five results, `r0` to
//! `r4`. Each is one word: 32 or 64 bits, as the processor's user registers have. A table says in
//! which registers they are, and so does the section of each call; nothing else names registers of
//! a processor. Both are made from `REGISTERS` in `abi/src/arch`.
//!
//! # Tag
//!
//! Bits 31 to 12 of the tag are the operation's number. Bit 11 is reserved and must be 0. For IPC
//! the other bits say how many words (bits 6 to 0, at most 64) and capabilities (bits 8 and 7) are
//! sent, and hold two flags: `POLL` (bit 9) and `NOTIFICATIONS_ONLY` (bit 10). Other system calls
//! ignore them.
//!
//! # Results
//!
//! `Call`, `ReplyWait`, `Receive`, `Run`, `MapReplyWait` and `MapRun` return a *delivery*. `r0`
//! says what arrived: its kind, the badge of the capability that was used, and the number of words
//! and capabilities. `r1` is the reply handle, or 0 if no thread waits for a reply. `r2`, `r3` and
//! `r4` are words 0 to 2; further words are in the UTCB. If the call fails, the kind is `Failed`,
//! the badge is the error's code, and the other results are 0.
//!
//! All other system calls return a status in `r0`: 0, or the error's code. Their results are in
//! `r1` to `r3`. A result that the section of a call does not name is 0, and all results are 0
//! after an error. `r4` is left as it was.
//!
//! A call that fails has changed nothing, unless its section says otherwise.
//!
//! # Capabilities
//!
//! A *selector* is an index into the caller's capability table. Slot 0 is always empty. A table has
//! at most 65,536 slots, so a selector fits 16 bits. Where a section says `Thread (CALL)`, the
//! argument is the selector of a capability to a Thread that carries the right `CALL`. The kernel
//! looks it up and may find three errors:
//!
//! * `NoCapability`: the selector is 0, or beyond the table, or its slot is empty.
//! * `WrongKind`: the capability is to an object of another kind.
//! * `NoRight`: the capability lacks the right.
//!
//! A *destination* is a slot of the caller's own table, unless a section names another table. It
//! must be empty.
//!
//! # Errors of every call
//!
//! * `BadOperation`: no operation has this number, or bit 11 of the tag is set.
//!
//! The sections below do not repeat this error.
//!
//! # Who pays
//!
//! A call that makes something charges a Quota. Two errors can follow:
//!
//! * `QuotaExceeded`: the Quota has too little left.
//! * `PoolExhausted`: the Quota has enough, but the kernel has no free block of that size, or no
//!   free thread.
//!
//! Page tables, pages with UTCBs, attachments and the map of I/O ports are charged to the Quota of
//! the Space or Segment that they belong to. If that Quota was deleted, the call fails with
//! `BadState`.
//!
//! # Calls in steps
//!
//! `CreateSpace`, `Delete`, `Revoke`, `Reset`, `Map`, `Attach`, `MapReplyWait` and `MapRun` can
//! take long. The kernel executes them in steps, and takes interrupts between two steps. When it
//! continues such a call, it looks capabilities and handles up again. If one of them was deleted
//! meanwhile, the call fails with the error for that, and what was done stays done.

pub mod call;
mod event;
mod ipc;
mod memory;
mod object;
mod packed;
mod page;
mod thread;

pub use packed::Selector;
pub use page::{Field, Group, Page};

use call::SystemCall;

/// Most slots of a capability table.
pub const MAX_SLOTS: u32 = 1 << 16;

/// Makes the enumeration out of the numbers, and with it what lists all operations.
macro_rules! operations {
    ($($group:literal { $($name:ident = $number:literal),* })*) => {
        /// Operation numbers.
        #[repr(u32)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Op {
            $($(
                #[doc = concat!("[`call::", stringify!($name), "`]")]
                $name = $number,
            )*)*
        }

        /// All operations, in the order of their numbers.
        pub const ALL: [Op; [$($(Op::$name),*),*].len()] = [$($(Op::$name),*),*];

        /// The pages of all operations, in the same order.
        pub const GROUPS: &[Group] = &[$(Group { name: $group, pages: &[$(call::$name::PAGE),*] }),*];
    };
}

operations! {
    "IPC" {
        Call = 1, ReplyWait = 2, Send = 3, Receive = 4, Reply = 5, Run = 6, Notify = 7, Yield = 8, MapReplyWait = 9, MapRun = 10
    }
    "Objects and capabilities" {
        CreateQuota = 16, CreateSpace = 17, CreateSegment = 18, CreateThread = 19, DeriveMemory = 20, Delete = 21, Revoke = 22, Copy = 23,
        Identify = 24
    }
    "Threads" {
        Start = 32, Stop = 33, Reset = 34, SetPriority = 35, SetHandler = 36, SetState = 37, GetRegisters = 38, SetRegisters = 39,
        FpuSync = 41
    }
    "Memory" { Map = 48, Attach = 49, Detach = 50, Cache = 51, Lookup = 52, Serve = 53 }
    "Interrupts, time, information" { BindIrq = 56, AckIrq = 57, Alarm = 60, QuotaInfo = 61, ThreadInfo = 62 }
}

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
        matches!(
            self,
            Self::Call
                | Self::ReplyWait
                | Self::Receive
                | Self::Run
                | Self::MapReplyWait
                | Self::MapRun
        )
    }
}
