// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what an ARM processor executes.
//!
//! Exceptions enter the kernel at fixed addresses, the vectors. The return address says whether
//! user mode was left, even if none of its instructions had begun since the kernel was left last.

use super::checker::{Checker, Finding};
use super::instruction::{Class, Operation, Which};
use super::machine::Machine;
use super::walk::{Access, Controls, walk};
use crate::counter::{Counter, Entry, Follow, Processor};
use crate::events::Owner;
use crate::interval::Repetition;
use crate::latency::Latency;
use crate::memory::Physical;
use crate::{Chunk, Events, Privilege};
use abi::arch::armv5::layout::{AREA_START, AREAS};
use std::ops::Range;

/// What the counter asks of the emulator.
pub trait World: Physical {
    /// The registers that determine how an access is translated.
    fn controls(&mut self) -> Controls;
    /// The link register of the present mode (r14).
    fn link(&mut self) -> u32;
}

/// What to count of ARM.
pub type Setup = crate::counter::Setup<Machine, Checker>;

/// The part of the vectors' page that has code for user mode.
const HELPERS: Range<u32> = 0xffff_0f00..0xffff_1000;
/// Where the vectors are.
const VECTORS_START: u32 = 0xffff_0000;
/// Bytes of the vectors.
const VECTORS: u32 = 32;
/// The word there that is the thread pointer, and the word after it. A program that executes them
/// executes data that the kernel writes, so the checker leaves them out.
const THREAD_POINTER: Range<u32> = 0xffff_0ff0..0xffff_0ff8;
/// The vector of `swi`.
const SYSTEM_CALL: u32 = 8;

/// The vectors' names, as lines of a table of symbols: the kernel copies the vectors there.
pub const VECTOR_NAMES: &str = "ffff0000 reset\nffff0004 undefined\nffff0008 swi\nffff000c prefetch_abort\nffff0010 data_abort\nffff0018 interrupt\nffff0020 helpers\n";

/// What measures how long the kernel does not check for interrupts: `swi` is the entry of system
/// calls.
#[must_use]
pub fn latency() -> Latency {
    Latency::of(vec![VECTORS_START + SYSTEM_CALL])
}

/// Whether a block of kernel code at this address is the first one of an entry: the kernel itself
/// has no exceptions.
#[must_use]
pub fn is_entry(address: u32) -> bool {
    address.wrapping_sub(VECTORS_START) < VECTORS
}

/// What is known of the processor.
#[derive(Default)]
pub struct Armv5 {
    controls: Controls,
    /// Whether the kernel's code is executed.
    kernel: bool,
    /// Whether user mode executes the code of a native component, if that is known.
    native: Option<bool>,
}

impl Processor for Armv5 {
    type Machine = Machine;
    type Checker = Checker;
    type Linear = u32;

    fn new(_: &Setup) -> Self {
        Self::default()
    }

    fn marked(&mut self) {
        self.kernel = false;
    }

    fn modified(&self, address: u32) -> u32 {
        self.controls.modified(address)
    }

    fn errors(&self, _: &mut Vec<String>) {}
}

impl<W: World> Follow<W> for Armv5 {
    fn arm(&mut self, world: &mut W) {
        (self.controls, self.native) = (world.controls(), None);
    }

    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: u32,
        world: &mut W,
    ) -> (Owner, Option<Entry>) {
        let kernel = chunk.privilege == Privilege::Kernel;
        let was_kernel = counter.processor.kernel;
        let vector = base.wrapping_sub(counter.processor.controls.vectors());
        let is_entered =
            kernel && (!was_kernel || vector < VECTORS && counter.is_user(world.link()));
        if !kernel && was_kernel {
            counter.processor.native = None;
        }
        (counter.base, counter.processor.kernel) = (base, kernel);
        let owner = if kernel { Owner::Kernel } else { counter.user_owner(base, world) };
        (
            owner,
            is_entered.then_some(if vector == SYSTEM_CALL { Entry::Trap } else { Entry::Fault }),
        )
    }

    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: u32, world: &mut W) {
        let (controls, user) = (counter.processor.controls, chunk.privilege != Privilege::Kernel);
        let (address, bytes, mut unknown) = (controls.modified(base), u32::from(chunk.bytes), 0);
        if let Some(machine) = &mut counter.setup.machine {
            let translate = |address| find(world, controls, address, &mut unknown);
            machine.fetch((address, bytes), user, controls, translate, counter.ledger.events());
            counter.unknown += unknown;
        }
        counter.check(Access { address, write: false, user, fetch: true }, bytes, base, world);
    }
}

impl Counter<Armv5> {
    /// An instruction of the chunk in execution, `offset` bytes from its start, is about to be
    /// executed, its condition being true. `value` is the value that it moves to the coprocessor.
    pub fn special(&mut self, class: Class, offset: u16, value: u32) {
        match class {
            // What is locked before the first interval is so in it.
            Class::System(operation @ Operation::LockEntry(_)) if !self.is_armed() => {
                if let Some(machine) = &mut self.setup.machine {
                    machine.operate(operation, value, &mut Events::default());
                }
            }
            Class::Return => self.ledger.events().far_returns += 1,
            // In user mode it is undefined: an emulator may tell of it, and then has the kernel
            // entered.
            Class::System(operation) if self.processor.kernel => {
                self.operate(operation, self.instruction(offset), value)
            }
            Class::Plain | Class::AsUser | Class::System(_) => {}
        }
    }

    fn operate(&mut self, operation: Operation, instruction: u32, value: u32) {
        let events = self.ledger.events();
        let mut uncounted = 0;
        let counter = match operation {
            Operation::WriteControl => {
                self.processor.controls.control = value;
                return;
            }
            Operation::WriteRoot => {
                self.processor.controls.root = value;
                &mut events.space_switches
            }
            Operation::WriteDomains => {
                self.processor.controls.domains = value;
                &mut events.domain_writes
            }
            Operation::WriteProcess => {
                self.processor.controls.process = value;
                &mut events.process_writes
            }
            Operation::InvalidateCaches(_) => &mut events.cache_flushes,
            Operation::InvalidateLine(Which::Code) => &mut events.code_line_invalidations,
            Operation::InvalidateLine(_) => &mut events.line_invalidations,
            Operation::CleanLine(false) => &mut events.line_cleans,
            Operation::CleanLine(true) => &mut events.line_flushes,
            Operation::TestClean(_) => &mut events.test_cleans,
            Operation::AllocateLine => &mut events.line_allocations,
            Operation::LockLines | Operation::UnlockLines | Operation::LockEntry(_) => {
                &mut uncounted
            }
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
            checker.operate(operation, value, instruction, |(rule, address, cause)| {
                ledger.violate(rule, instruction, address, cause)
            });
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
        if flushes {
            self.flushes(instruction);
        }
    }

    /// The instruction `offset` bytes from the chunk's start has read or written `bytes` at virtual
    /// address `address`, with the rights of user mode if `as_user`.
    pub fn access(
        &mut self,
        offset: u16,
        address: u32,
        bytes: u32,
        write: bool,
        as_user: bool,
        world: &mut impl World,
    ) {
        let address = self.processor.modified(address);
        if self.processor.kernel {
            self.ledger.each(|repetition| repetition.access(address, bytes));
        }
        let access =
            Access { address, write, user: as_user || !self.processor.kernel, fetch: false };
        let (controls, mut unknown) = (self.processor.controls, 0);
        if let Some(machine) = &mut self.setup.machine {
            let translate = |address| find(world, controls, address, &mut unknown);
            machine.access(access, bytes, controls, translate, self.ledger.events());
            self.unknown += unknown;
        }
        self.accesses += 1;
        self.check(access, bytes, self.instruction(offset), world);
    }

    /// This many bytes were written to a device's register at this physical address.
    pub fn register_written(&mut self, address: u32, bytes: u32, value: u32) {
        if let Some(checker) = &mut self.setup.checker {
            checker.register_written(address, bytes, value);
        }
    }

    /// Whether the values that are written to the page of a physical address are needed.
    #[must_use]
    pub fn reads(&self, physical: u32) -> bool {
        self.setup.checker.as_ref().is_some_and(|checker| checker.reads(physical))
    }

    /// The instruction `offset` bytes from the chunk's start has written this many bytes of memory,
    /// and what.
    pub fn memory_written(
        &mut self,
        offset: u16,
        physical: u32,
        written: (u32, u32),
        world: &mut impl World,
    ) {
        let instruction = self.instruction(offset);
        let Some(checker) = &mut self.setup.checker else { return };
        let ledger = &mut self.ledger;
        let found =
            |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
        self.unknown +=
            u64::from(!checker.memory_written(physical, written, instruction, world, found));
    }

    fn check(&mut self, access: Access, bytes: u32, instruction: u32, world: &mut impl World) {
        let Some(checker) = &mut self.setup.checker else { return };
        if access.fetch
            && access.address < THREAD_POINTER.end
            && access.address.saturating_add(bytes) > THREAD_POINTER.start
        {
            return;
        }
        let ledger = &mut self.ledger;
        let found =
            |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
        self.unknown += u64::from(!checker.access(
            access,
            bytes,
            self.processor.controls,
            instruction,
            world,
            found,
        ));
    }

    fn is_user(&self, address: u32) -> bool {
        address < self.setup.kernel || HELPERS.contains(&address)
    }

    /// The owner of the code that user mode executes at an address.
    fn user_owner(&mut self, address: u32, world: &mut impl World) -> Owner {
        let native =
            *self.processor.native.get_or_insert_with(|| is_native(self.processor.controls, world));
        match native {
            false => Owner::User,
            true if self.setup.server.contains(&address.into()) => Owner::Server,
            true => Owner::Components,
        }
    }
}

/// Whether the space that runs is a native component's: then it can access a MiB of UTCBs of its
/// own.
fn is_native(controls: Controls, memory: &mut impl Physical) -> bool {
    (0..AREAS).any(|area| {
        let entry = memory.read(controls.table() + ((AREA_START >> 20) + area) * 4).unwrap_or(0);
        entry & 3 != 0 && controls.domains >> (2 * (entry >> 5 & 15)) & 3 != 0
    })
}

/// The mapping of a modified virtual address; `unknown` counts addresses without one.
fn find(
    memory: &mut impl Physical,
    controls: Controls,
    address: u32,
    unknown: &mut u64,
) -> Option<super::walk::Mapping> {
    let found = walk(memory, controls.root, address, |_| ()).ok();
    *unknown += u64::from(found.is_none());
    found
}
