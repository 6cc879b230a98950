// SPDX-License-Identifier: MIT OR Apache-2.0
//! From what an ARM processor executes to intervals.
//!
//! Exceptions enter the kernel at fixed addresses, the vectors. The address that is to be returned to tells whether user
//! mode was left, also if none of its instructions began since the kernel was left last.

use super::checker::{Checker, Finding};
use super::instruction::{Class, Operation, Which};
use super::machine::Machine;
use super::walk::{Access, Controls, walk};
use crate::events::Owner;
use crate::interval::Repetition;
use crate::latency::Latency;
use crate::ledger::Ledger;
use crate::symbols::Symbols;
use crate::violation::Rule;
use crate::walk::Physical;
use crate::{Chunk, Events, Marker, Privilege, Report};
use abi::arch::armv5::layout::{AREA_START, AREAS};
use std::ops::Range;

/// What the counter asks of the emulator.
pub trait World: Physical {
    /// The registers that decide about accesses.
    fn controls(&mut self) -> Controls;
    /// The link register of the present mode (r14).
    fn link(&mut self) -> u32;
}

/// What to count besides instructions and the kernel's lines.
#[derive(Default)]
pub struct Setup {
    /// TLBs and caches.
    pub machine: Option<Machine>,
    /// Uses of what should have been flushed or cleaned.
    pub checker: Option<Checker>,
    /// Where the Linux server's code is, in spaces of native components.
    pub server: Range<u32>,
    /// Where the kernel's part of the addresses begins.
    pub kernel: u32,
    /// How long the kernel looks at no interrupts.
    pub latency: Option<Latency>,
    /// Names for the report.
    pub symbols: Symbols,
}

/// Where the vectors' page has code for user mode.
const HELPERS: Range<u32> = 0xffff_0f00..0xffff_1000;
/// Where the vectors are.
const VECTORS_START: u32 = 0xffff_0000;
/// Bytes of the vectors.
const VECTORS: u32 = 32;
/// The word there that is the thread pointer, and the one behind it. Who executes it executes data that the kernel writes: nobody else
/// learns what that does.
const THREAD_POINTER: Range<u32> = 0xffff_0ff0..0xffff_0ff8;
/// The vector of `swi`.
const SYSTEM_CALL: u32 = 8;

/// The vectors' names, as lines of a table of symbols: the kernel has them as a copy.
pub const VECTOR_NAMES: &str = "ffff0000 reset\nffff0004 undefined\nffff0008 swi\nffff000c prefetch_abort\nffff0010 data_abort\nffff0018 interrupt\nffff0020 helpers\n";

impl Latency {
    /// Of ARM: `swi` is the entry of system calls.
    #[must_use]
    pub fn arm() -> Self {
        Self::of(vec![VECTORS_START + SYSTEM_CALL])
    }
}

/// Whether a block of kernel code at this address is the first one of an entry: the kernel itself has no exceptions.
#[must_use]
pub fn is_entry(address: u32) -> bool {
    address.wrapping_sub(VECTORS_START) < VECTORS
}

/// The instrument. One processor.
#[derive(Default)]
pub struct Counter {
    setup: Setup,
    ledger: Ledger,
    controls: Controls,
    /// Whether the kernel's code is executed.
    kernel: bool,
    /// Whether user mode executes a native component's code, if that is known.
    native: Option<bool>,
    /// Virtual address of the chunk in execution.
    base: u32,
    /// Accesses whose translation the tables do not tell.
    unknown: u64,
    accesses: u64,
}

impl Counter {
    /// A counter that counts nothing before it is armed.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup, ..Self::default() }
    }

    /// Whether anything but markers need be told: from the first interval's beginning, or from [`arm`](Self::arm) on.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.ledger.is_armed()
    }

    /// What measures how long the kernel looks at no interrupts, if that is asked for.
    pub const fn latency(&mut self) -> Option<&mut Latency> {
        self.setup.latency.as_mut()
    }

    /// Whether tables are walked.
    #[must_use]
    pub fn wants_tables(&self) -> bool {
        self.setup.machine.is_some() || self.setup.checker.is_some()
    }

    /// Begins to count, with nothing in TLBs and caches, after `executed` instructions.
    pub fn arm(&mut self, executed: u64, world: &mut impl World) {
        self.ledger.arm(executed);
        (self.controls, self.native) = (world.controls(), None);
    }

    /// A marker is executed after `executed` instructions; markers are not among them.
    pub fn mark(&mut self, marker: Marker, privilege: Privilege, executed: u64, world: &mut impl World) {
        if !self.ledger.accepts(marker, privilege) {
            return;
        }
        let arms = !self.ledger.is_armed();
        if arms {
            self.arm(executed, world);
        }
        self.ledger.mark(marker, executed, arms);
        self.kernel = false;
    }

    /// A chunk of code at virtual address `base` begins, after `executed` instructions.
    pub fn chunk(&mut self, chunk: &Chunk, base: u32, executed: u64, world: &mut impl World) {
        let kernel = chunk.privilege == Privilege::Kernel;
        let vector = base.wrapping_sub(self.controls.vectors());
        let entered = kernel && (!self.kernel || vector < VECTORS && self.is_user(world.link()));
        if !kernel && self.kernel {
            self.native = None;
        }
        (self.base, self.kernel) = (base, kernel);
        let owner = if kernel { Owner::Kernel } else { self.user_owner(base, world) };
        self.ledger.pass(owner, entered, executed);
        if entered {
            let events = self.ledger.events();
            *(if vector == SYSTEM_CALL { &mut events.trap_entries } else { &mut events.fault_entries }) += 1;
            self.ledger.each(Repetition::enter_kernel);
        }
        let (address, bytes) = (self.controls.modified(base), u32::from(chunk.bytes));
        if kernel {
            self.ledger.each(|repetition| repetition.fetch(address, bytes));
        }
        let (controls, mut unknown) = (self.controls, 0);
        if let Some(machine) = &mut self.setup.machine {
            machine.fetch(
                (address, bytes),
                !kernel,
                controls,
                |address| find(world, controls, address, &mut unknown),
                self.ledger.events(),
            );
            self.unknown += unknown;
        }
        self.check(Access { address, write: false, user: !kernel, fetch: true }, bytes, base, world);
    }

    /// An instruction of the chunk in execution, `offset` bytes from its start, is about to be executed, its condition being
    /// true. `value` is the register that it moves to the coprocessor.
    pub fn special(&mut self, class: Class, offset: u16, value: u32) {
        match class {
            // What is locked before the first interval is so in it.
            Class::System(operation @ Operation::LockEntry(_)) if !self.is_armed() => {
                if let Some(machine) = &mut self.setup.machine {
                    machine.operate(operation, value, &mut Events::default());
                }
            }
            Class::Return => self.ledger.events().far_returns += 1,
            // In user mode it is undefined: an emulator may tell of it, and then has the kernel entered.
            Class::System(operation) if self.kernel => self.operate(operation, self.base.wrapping_add(u32::from(offset)), value),
            Class::Plain | Class::AsUser | Class::System(_) => {}
        }
    }

    fn operate(&mut self, operation: Operation, instruction: u32, value: u32) {
        let events = self.ledger.events();
        let mut uncounted = 0;
        let counter = match operation {
            Operation::WriteControl => {
                self.controls.control = value;
                return;
            }
            Operation::WriteRoot => {
                self.controls.root = value;
                &mut events.space_switches
            }
            Operation::WriteDomains => {
                self.controls.domains = value;
                &mut events.domain_writes
            }
            Operation::WriteProcess => {
                self.controls.process = value;
                &mut events.process_writes
            }
            Operation::InvalidateCaches(_) => &mut events.cache_flushes,
            Operation::InvalidateLine(Which::Code) => &mut events.code_line_invalidations,
            Operation::InvalidateLine(_) => &mut events.line_invalidations,
            Operation::CleanLine(false) => &mut events.line_cleans,
            Operation::CleanLine(true) => &mut events.line_flushes,
            Operation::TestClean(_) => &mut events.test_cleans,
            Operation::AllocateLine => &mut events.line_allocations,
            Operation::LockLines | Operation::UnlockLines | Operation::LockEntry(_) => &mut uncounted,
            Operation::Drain => &mut events.drains,
            Operation::FlushBranches => &mut events.branch_flushes,
            Operation::FlushTlb(_) => &mut events.tlb_flushes,
            Operation::FlushEntry(_) => &mut events.page_flushes,
        };
        *counter += 1;
        if let Some(machine) = &mut self.setup.machine {
            machine.operate(operation, value, events);
        }
        if let Some(checker) = &mut self.setup.checker {
            let ledger = &mut self.ledger;
            checker.operate(operation, value, instruction, |(rule, address, cause)| ledger.violate(rule, instruction, address, cause));
        }
        if operation == Operation::WriteRoot {
            self.ledger.each(Repetition::write_cr3);
        }
        let flushes = matches!(
            operation,
            Operation::WriteRoot
                | Operation::InvalidateCaches(_)
                | Operation::TestClean(_)
                | Operation::FlushTlb(_)
                | Operation::FlushEntry(_)
        );
        if let Some(id) = self.ledger.free().filter(|_| flushes) {
            self.ledger.violate(Rule::FlushInFreeInterval, instruction, id.into(), None);
        }
    }

    /// The instruction `offset` bytes from the chunk's start has read or written `bytes` at virtual address `address`, with
    /// the rights of user mode if `as_user`.
    pub fn access(&mut self, offset: u16, address: u32, bytes: u32, write: bool, as_user: bool, world: &mut impl World) {
        let address = self.controls.modified(address);
        if self.kernel {
            self.ledger.each(|repetition| repetition.access(address, bytes));
        }
        let access = Access { address, write, user: as_user || !self.kernel, fetch: false };
        let (controls, mut unknown) = (self.controls, 0);
        if let Some(machine) = &mut self.setup.machine {
            let translate = |address| find(world, controls, address, &mut unknown);
            machine.access(access, bytes, controls, translate, self.ledger.events());
            self.unknown += unknown;
        }
        self.accesses += 1;
        self.check(access, bytes, self.base.wrapping_add(u32::from(offset)), world);
    }

    /// So many bytes were written to a device's register at this physical address.
    pub fn register_written(&mut self, address: u32, bytes: u32, value: u32) {
        if let Some(checker) = &mut self.setup.checker {
            checker.register_written(address, bytes, value);
        }
    }

    /// Whether what is written in the page of a physical address has to be known.
    #[must_use]
    pub fn reads(&self, physical: u32) -> bool {
        self.setup.checker.as_ref().is_some_and(|checker| checker.reads(physical))
    }

    /// The instruction `offset` bytes from the chunk's start has written so many bytes of memory, and what.
    pub fn memory_written(&mut self, offset: u16, physical: u32, written: (u32, u32), world: &mut impl World) {
        let Some(checker) = &mut self.setup.checker else { return };
        let (ledger, instruction) = (&mut self.ledger, self.base.wrapping_add(u32::from(offset)));
        let found = |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
        self.unknown += u64::from(!checker.memory_written(physical, written, instruction, world, found));
    }

    fn check(&mut self, access: Access, bytes: u32, instruction: u32, world: &mut impl World) {
        let Some(checker) = &mut self.setup.checker else { return };
        if access.fetch && access.address < THREAD_POINTER.end && access.address.saturating_add(bytes) > THREAD_POINTER.start {
            return;
        }
        let ledger = &mut self.ledger;
        let found = |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
        self.unknown += u64::from(!checker.access(access, bytes, self.controls, instruction, world, found));
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
        report.latency = self.setup.latency.as_ref().map(|latency| latency.report(&self.setup.symbols));
        report.checked = self.setup.checker.is_some().then_some(self.accesses);
        report
    }

    fn is_user(&self, address: u32) -> bool {
        address < self.setup.kernel || HELPERS.contains(&address)
    }

    /// Whose code user mode executes at an address.
    fn user_owner(&mut self, address: u32, world: &mut impl World) -> Owner {
        let native = *self.native.get_or_insert_with(|| is_native(self.controls, world));
        match native {
            false => Owner::User,
            true if self.setup.server.contains(&address) => Owner::Server,
            true => Owner::Components,
        }
    }
}

/// Whether the space that runs is a native component's: it may use UTCBs, which have a MiB of their own for each space.
fn is_native(controls: Controls, memory: &mut impl Physical) -> bool {
    (0..AREAS).any(|area| {
        let entry = memory.read(controls.table() + ((AREA_START >> 20) + area) * 4).unwrap_or(0);
        entry & 3 != 0 && controls.domains >> (2 * (entry >> 5 & 15)) & 3 != 0
    })
}

/// The mapping of a modified virtual address; `unknown` counts those that there are none of.
fn find(memory: &mut impl Physical, controls: Controls, address: u32, unknown: &mut u64) -> Option<super::walk::Mapping> {
    let found = walk(memory, controls.root, address, |_| ()).ok();
    *unknown += u64::from(found.is_none());
    found
}
