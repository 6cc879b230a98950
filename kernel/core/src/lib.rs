// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel: everything that does not depend on the processor.
//!
//! [`Kernel`] is the guard of the one kernel lock. A port enters with the
//! current thread's registers saved in [`thread::Thread::context`], calls one of
//! [`Kernel::system_call`], [`Kernel::exception`], [`Kernel::interrupt`] or
//! [`Kernel::tick`], and leaves to the thread that [`port::Cpu::current`] then names.
//!
//! | module | room for |
//! |---|---|
//! | `port` | the port contract |
//! | `syscall` | decoding |
//! | `quota`, `cap` | who pays, and who may |
//! | `thread`, `bind`, `registers` | threads: data, making and binding, starting, stopping, setting |
//! | `ipc`, `transfer`, `utcb` | messages |
//! | `fault` | exceptions and aliens |
//! | `notify`, `irq`, `alarm` | notifications, and what sends them |
//! | `sched` | who runs |
//! | `space`, `segment`, `server`, `tables` | translation tables: who has them |
//! | `attach`, `share` | what is mapped there, and which directories have copies of which |
//! | `memory`, `map`, `large`, `lookup` | mapping memory, taking it back, looking it up |
//! | `special` | what only one kind of processor has |
//! | `destroy`, `work`, `reap` | deleting and revoking in steps |
//! | `boot`, `ram` | the first objects, and what RAM is free for them |
//! | `kdb` | what the kernel debugger shows |
//!
//! The objects refer to each other, so every module imports their types from here.
#![no_std]
#![forbid(unsafe_code)]
// Nothing that a user says ends in a panic. Arithmetic is not among these lints: it wraps in a
// kernel as built, and the tests on the host run with every check of it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![warn(missing_docs)]

mod alarm;
pub mod attach;
mod bind;
pub mod boot;
pub mod cap;
mod destroy;
pub mod fault;
mod home;
mod ipc;
mod irq;
#[cfg(feature = "kdb")]
mod kdb;
mod large;
mod lookup;
mod map;
pub mod memory;
mod notify;
pub mod port;
pub mod quota;
pub mod ram;
mod reap;
mod registers;
pub mod sched;
pub mod segment;
mod server;
mod share;
pub mod space;
mod special;
mod syscall;
mod tables;
pub mod thread;
mod transfer;
mod utcb;
pub mod work;

pub use attach::Attachment;
pub use cap::Slot;
pub use fault::FRAME_OFFSET;
pub use irq::Irq;
pub use memory::Memory;
pub use port::{Cpu, Port};
pub use quota::{Charge, Header, Quota};
pub use sched::Scheduler;
pub use segment::Segment;
pub use space::Space;
pub use tables::{Owner, Region, Table};
pub use thread::Thread;
pub use utcb::SlotMap;

use abi::{Error, Word};
use pool::{Link, Pool, Ref};

/// The whole state of the kernel beside the port's.
#[repr(C)]
pub struct Kernel<P: Port> {
    /// Ready queues and the time slice: first, where fast paths know them.
    pub sched: Scheduler,
    /// The machine, after them: what it begins with may be known to fast paths, too.
    pub port: P,
    /// Every object.
    pub pool: Pool,
    /// Threads: where the table is and which entries are free.
    pub threads: thread::Table,
    /// Head of the list of dying Quotas that nothing is charged to any more.
    emptied: Link<Quota>,
    /// The alarms that are set.
    alarms: alarm::Alarms,
    /// The Irq objects by line.
    irqs: P::Irqs,
    /// How many servers there are.
    servers: u32,
    /// The one whose pages are global: there is no other then.
    global: Link<Space>,
    /// Pages' worth of work of `map` since its last look at the interrupt controller.
    unlooked: u32,
    /// Work lists that nobody works off but the reaper.
    left: reap::Left,
    /// Address of the kernel information page in the pool.
    kip: u32,
}

/// How a system call ended.
enum Outcome {
    /// With this status and these results.
    Done([Word; 3]),
    /// The thread waits, or was given its result by other means.
    Handled,
    /// An interrupt is pending: call it again when the thread runs again.
    Again,
}

/// How far work was carried out that may take longer than interrupts can wait.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// All of it.
    Done,
    /// Not all: an interrupt is pending, or this was a step, after which one is to be looked for.
    /// It is to be carried on.
    Interrupted,
}

impl Progress {
    /// Of work that is carried out when this holds.
    const fn done_if(all: bool) -> Self {
        if all { Self::Done } else { Self::Interrupted }
    }
}

type Result<T> = core::result::Result<T, Error>;

/// An entry of a translation table.
type Entry<P> = <<P as port::Translation>::Format as mmu::Format>::Entry;

/// Bytes of a page, as the pool counts them.
const PAGE: u32 = abi::PAGE_SIZE as u32;

/// 32-bit words that align a word after an odd number of them.
const ALIGN: usize = size_of::<Word>() / 4 - 1;

/// An argument that no word has more than 32 bits of.
///
/// # Errors
/// `BadArgument`: this one has.
fn narrow(word: Word) -> Result<u32> {
    u32::try_from(word).map_err(|_| Error::BadArgument)
}

/// Success without results.
const NOTHING: [Word; 3] = [0; 3];

impl<P: Port> Kernel<P> {
    /// The thread that the processor last ran; none while it idles.
    pub fn current(&mut self) -> Option<Ref<Thread>> {
        self.port.cpu().current.get()
    }
}
