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
    /// Where the Linux server's code is: in spaces of native components; on IA-32 in every space
    /// that shows the server if the range lies high.
    pub server: Range<u64>,
    /// Where the kernel's part of the addresses begins.
    pub kernel: u32,
    /// What user code may access, if that is to be checked. Of ARM it is not looked at: the
    /// emulator has the rights of pages and domains.
    pub window: Option<Range<u32>>,
    /// How long the kernel does not check for interrupts.
    pub latency: Option<Latency>,
    /// Where the function of the kernel is whose events are counted apart, too, with those of what
    /// it calls (PowerPC).
    pub apart: Option<u32>,
    /// Rules of which one that is broken is enough: then [`Counter::is_enough`].
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

/// How the kernel is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// By a system call that has a gate of its own (`sysenter`, `syscall`).
    Sysenter,
    /// By an instruction that asks for it.
    Trap,
    /// By what the user did not ask for.
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

/// What a kind of processor knows while its code is counted.
pub trait Processor: Sized {
    /// Its TLBs and caches.
    type Machine;
    /// What finds missing flushes.
    type Checker;
    /// Its linear addresses.
    type Linear: Linear;

    /// Before anything is counted.
    fn new(setup: &Setup<Self::Machine, Self::Checker>) -> Self;

    /// A marker has been executed: user mode is.
    fn marked(&mut self);

    /// The address by which TLBs and caches are looked up.
    fn modified(&self, address: Self::Linear) -> Self::Linear;

    /// Whether what it executes is set aside: it is the emulator's need, and none of the processor
    /// that is modelled.
    fn is_aside(&self) -> bool {
        false
    }

    /// What it could not find out, in words.
    fn errors(&self, errors: &mut Vec<String>);
}

/// How a processor follows code that runs in a world of kind `W`: what it asks of the emulator.
pub trait Follow<W>: Processor {
    /// Counting begins.
    fn arm(&mut self, world: &mut W);

    /// A chunk of code at address `base` begins: whose it is, and how it has entered the kernel if
    /// it has.
    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: Self::Linear,
        world: &mut W,
    ) -> (Owner, Option<Entry>);

    /// Its instructions are fetched.
    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: Self::Linear, world: &mut W);
}

/// The instrument. One processor; see the crate's head for the units.
pub struct Counter<P: Processor> {
    pub(crate) setup: Setup<P::Machine, P::Checker>,
    pub(crate) ledger: Ledger,
    pub(crate) processor: P,
    /// Address of the chunk in execution.
    pub(crate) base: P::Linear,
    /// Instructions executed when the chunk in execution began.
    pub(crate) now: u64,
    /// Accesses whose translation the tables do not tell.
    pub(crate) unknown: u64,
    /// Accesses to data that the checker looked at.
    pub(crate) accesses: u64,
}

impl<P: Processor> Default for Counter<P> {
    fn default() -> Self {
        Self::new(Setup::default())
    }
}

impl<P: Processor> Counter<P> {
    /// A counter that counts nothing before it is armed.
    #[must_use]
    pub fn new(mut setup: Setup<P::Machine, P::Checker>) -> Self {
        let ledger = Ledger::until(std::mem::take(&mut setup.until));
        let (processor, base) = (P::new(&setup), P::Linear::default());
        Self { processor, setup, ledger, base, now: 0, unknown: 0, accesses: 0 }
    }

    /// Whether a rule was broken of which one time is enough: what comes after it does not
    /// matter.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.ledger.is_enough()
    }

    /// Whether anything but markers need be told: from the first interval's beginning, or from
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

    /// Begins to count, with nothing in TLBs and caches, after `executed` instructions.
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

    /// The report as of now; what is still open is an error in it.
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
