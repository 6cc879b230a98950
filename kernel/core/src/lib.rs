// SPDX-License-Identifier: MIT OR Apache-2.0
//! The portable kernel: what every port shares, and no architecture.
//!
//! [`Kernel`] is the guard of the one kernel lock. A port enters with the
//! current thread's registers saved in [`thread::Thread::context`], calls one of
//! [`Kernel::system_call`], [`Kernel::exception`], [`Kernel::interrupt`] or
//! [`Kernel::tick`], and leaves to the thread that [`port::Cpu::current`] then names.
//!
//! | module | room for |
//! |---|---|
//! | `port` | the port contract |
//! | `thread`, `space`, `cap`, `memory`, `quota` | objects and what they hold |
//! | `ipc`, `transfer`, `fault`, `notify` | messages, exceptions, notifications, interrupts, alarms |
//! | `sched` | who runs |
//! | `map`, `large`, `segment`, `attach` | translation tables, and who is mapped where |
//! | `ports` | I/O ports |
//! | `destroy`, `reap` | deleting and revoking in steps |
//! | `control` | system calls on objects |
//! | `syscall` | decoding |
//! | `kdb` | what the kernel debugger shows |
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod attach;
pub mod boot;
pub mod cap;
mod control;
mod create;
mod destroy;
mod fault;
mod ipc;
#[cfg(feature = "kdb")]
mod kdb;
mod large;
mod lookup;
mod map;
pub mod memory;
mod notify;
pub mod port;
mod ports;
pub mod quota;
pub mod reap;
mod sched;
mod segment;
pub mod space;
mod syscall;
pub mod thread;
mod transfer;

pub use fault::FRAME_OFFSET;
pub use port::{Cpu, Port};
pub use sched::Scheduler;

use abi::Error;
use pool::{Link, Pool, Ref};
use thread::Thread;

/// The whole state of the kernel beside the port's.
pub struct Kernel<P: Port> {
    /// Every object.
    pub pool: Pool,
    /// The machine.
    pub port: P,
    /// Ready queues and the time slice.
    pub sched: Scheduler,
    /// Threads: where the table is and which entries are free.
    pub threads: thread::Table,
    /// Head of the list of dying Quotas that nothing is charged to any more.
    emptied: Link<quota::Quota>,
    /// The alarms that are set.
    alarms: notify::Alarms,
    /// The Irq objects by line.
    irqs: [Link<memory::Irq>; port::MAX_IRQS],
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
    Done([u32; 3]),
    /// The thread waits, or was given its result by other means.
    Handled,
    /// An interrupt is pending: call it again when the thread runs again.
    Again,
}

type Result<T> = core::result::Result<T, Error>;

/// Success without results.
const NOTHING: [u32; 3] = [0; 3];

impl<P: Port> Kernel<P> {
    /// The thread that the processor last ran; none while it idles.
    pub fn current(&mut self) -> Option<Ref<Thread>> {
        self.port.cpu().current.get()
    }
}
