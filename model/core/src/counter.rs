// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what a processor executes: the part that is the same for all processors.
//!
//! A [`Processor`] says whose code is executed and when the kernel is entered, and has TLBs, caches
//! and a checker. It adds its own instructions and accesses to [`Counter`] as functions (`special`
//! and `access`). This module names no processor.

use crate::chunk::{Chunk, Privilege};
use crate::events::{Events, Owner};
use crate::interval::Repetition;
use crate::latency::Latency;
use crate::ledger::Ledger;
use crate::marker::Marker;
use crate::memory::Linear;
use crate::report::Report;
use crate::symbols::Symbols;
use crate::violation::Rule;
use std::ops::Range;

/// What to count besides instructions and the kernel's lines, with a processor's machine and
/// checker.
pub struct Setup<M, C> {
    /// TLBs and caches.
    pub machine: Option<M>,
    /// Uses of what should have been flushed.
    pub checker: Option<C>,
    /// The addresses of the Linux server's code in spaces of native components; on IA-32, if they
    /// are high, in every space that shows the server.
    pub server: Range<u64>,
    /// Where the kernel's part of the addresses begins.
    pub kernel: u32,
    /// What user code may access, if that is to be checked. It is not checked on ARM: the emulator
    /// enforces the rights of pages and domains.
    pub window: Option<Range<u32>>,
    /// How long the kernel does not check for interrupts.
    pub latency: Option<Latency>,
    /// Where the kernel's function is whose events are also counted apart, with those of the
    /// functions that it calls (PowerPC).
    pub apart: Option<u32>,
    /// Rules of which one violation is enough: then [`Counter::is_enough`] is true.
    pub until: Vec<Rule>,
    /// Names for the report.
    pub symbols: Symbols,
}

impl<M, C> Default for Setup<M, C> {
    fn default() -> Self {
        let (symbols, until) = (Symbols::default(), Vec::new());
        Self {
            machine: None,
            checker: None,
            server: 0..0,
            kernel: 0,
            window: None,
            latency: None,
            apart: None,
            until,
            symbols,
        }
    }
}

/// The way in which the kernel is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// By a system call that has a gate of its own (`sysenter`, `syscall`).
    Sysenter,
    /// By an instruction that asks for it.
    Trap,
    /// By an exception or an interrupt.
    Fault,
}

impl Entry {
    const fn count(self, events: &mut Events) -> &mut u64 {
        match self {
            Self::Sysenter => &mut events.sysenter_entries,
            Self::Trap => &mut events.trap_entries,
            Self::Fault => &mut events.fault_entries,
        }
    }
}

/// A kind of processor: its state while its code is counted.
pub trait Processor: Sized {
    /// Its TLBs and caches.
    type Machine;
    /// What finds missing flushes.
    type Checker;
    /// The type of its linear addresses.
    type Linear: Linear;

    /// The state before anything is counted.
    fn new(setup: &Setup<Self::Machine, Self::Checker>) -> Self;

    /// A marker has been executed, so user mode is running.
    fn marked(&mut self);

    /// The address that TLBs and caches use.
    fn modified(&self, address: Self::Linear) -> Self::Linear;

    /// Whether the present code is not counted, because the emulator needs it and the modelled
    /// processor does not.
    fn is_aside(&self) -> bool {
        false
    }

    /// Errors: what it could not find out, as text.
    fn errors(&self, errors: &mut Vec<String>);
}

/// A processor that follows code, and gets what it needs from the emulator by a `W`.
pub trait Follow<W>: Processor {
    /// Counting begins.
    fn arm(&mut self, world: &mut W);

    /// A chunk of code at address `base` begins. Returns whose code it is, and how the kernel was
    /// entered, if it was.
    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: Self::Linear,
        world: &mut W,
    ) -> (Owner, Option<Entry>);

    /// Its instructions are fetched.
    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: Self::Linear, world: &mut W);
}

/// The instrument, for one processor; see the crate's head for the units.
pub struct Counter<P: Processor> {
    pub(crate) setup: Setup<P::Machine, P::Checker>,
    pub(crate) ledger: Ledger,
    pub(crate) processor: P,
    /// Address of the chunk in execution.
    pub(crate) base: P::Linear,
    /// Instructions executed when the chunk in execution began.
    pub(crate) now: u64,
    /// Accesses for which the tables have no translation.
    pub(crate) unknown: u64,
    /// Accesses to data that the checker has checked.
    pub(crate) accesses: u64,
}

impl<P: Processor> Default for Counter<P> {
    fn default() -> Self {
        Self::new(Setup::default())
    }
}

impl<P: Processor> Counter<P> {
    /// A counter that is not armed yet, and so counts nothing.
    #[must_use]
    pub fn new(mut setup: Setup<P::Machine, P::Checker>) -> Self {
        let ledger = Ledger::until(std::mem::take(&mut setup.until));
        let (processor, base) = (P::new(&setup), P::Linear::default());
        Self { processor, setup, ledger, base, now: 0, unknown: 0, accesses: 0 }
    }

    /// Whether a rule was broken of which one violation is enough: what follows does not matter.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.ledger.is_enough()
    }

    /// Whether it has to be told of more than markers: from the first interval's begin on, or from
    /// [`arm`](Self::arm) on.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.ledger.is_armed()
    }

    /// Whether TLBs and caches are modelled, or flushes checked: then tables are walked.
    #[must_use]
    pub fn wants_tables(&self) -> bool {
        self.setup.machine.is_some() || self.setup.checker.is_some()
    }

    /// What measures how long the kernel does not check for interrupts; it gets its data
    /// separately.
    pub const fn latency(&mut self) -> Option<&mut Latency> {
        self.setup.latency.as_mut()
    }

    /// Begins to count, with empty TLBs and caches, after `executed` instructions.
    pub fn arm<W>(&mut self, executed: u64, world: &mut W)
    where
        P: Follow<W>,
    {
        self.ledger.arm(executed);
        self.processor.arm(world);
    }

    /// A marker is executed after `executed` instructions; markers are not among them.
    pub fn mark<W>(&mut self, marker: Marker, privilege: Privilege, executed: u64, world: &mut W)
    where
        P: Follow<W>,
    {
        if !self.ledger.accepts(marker, privilege) {
            return;
        }
        let arms = !self.ledger.is_armed();
        if arms {
            self.arm(executed, world);
        }
        self.ledger.mark(marker, executed, arms);
        self.processor.marked();
    }

    /// A chunk of code at address `base` begins, after `executed` instructions.
    pub fn chunk<W>(&mut self, chunk: &Chunk, base: P::Linear, executed: u64, world: &mut W)
    where
        P: Follow<W>,
    {
        self.now = executed;
        let (owner, entry) = P::begins(self, chunk, base, world);
        self.ledger.pass(owner, entry.is_some(), executed);
        if let Some(entry) = entry {
            *entry.count(self.ledger.events()) += 1;
            self.ledger.each(Repetition::enter_kernel);
        }
        if chunk.privilege == Privilege::Kernel && !self.processor.is_aside() {
            let address = self.processor.modified(base);
            self.ledger.each(|repetition| repetition.fetch(address, u32::from(chunk.bytes)));
        }
        P::fetches(self, chunk, base, world);
    }

    /// The report so far; an interval that is still open is an error in it.
    #[must_use]
    pub fn report(&self) -> Report {
        let mut report = self.ledger.report(&self.setup.symbols);
        if self.unknown > 0 {
            let unknown = self.unknown;
            report
                .errors
                .push(format!("the translation of {unknown} accesses was not found: the tables cannot be read, or do not have it"));
        }
        self.processor.errors(&mut report.errors);
        Report {
            checked: self.setup.checker.is_some().then_some(self.accesses),
            latency: self.setup.latency.as_ref().map(|latency| latency.report(&self.setup.symbols)),
            ..report
        }
    }

    /// The address of the instruction `offset` bytes from the beginning of the chunk in execution.
    #[must_use]
    pub fn instruction(&self, offset: u16) -> P::Linear {
        self.base.after(offset)
    }

    /// An instruction flushes something.
    pub(crate) fn flushes(&mut self, instruction: P::Linear) {
        if let Some(id) = self.ledger.free() {
            self.ledger.violate(Rule::FlushInFreeInterval, instruction, u32::from(id), None);
        }
    }
}
