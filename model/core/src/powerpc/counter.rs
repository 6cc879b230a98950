// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what a PowerPC processor executes.
//!
//! Exceptions enter the kernel at fixed addresses. On a 603 QEMU's TLB has other misses than the
//! model's. So the handlers that fill QEMU's TLB are not counted while they run, and the machine
//! counts a handler for each miss of its own TLB.

use super::checker::{Checker, Finding};
use super::instruction::{Class, Operation};
use super::machine::{Access, Handler, Machine};
use super::walk::{Controls, Way};
use crate::counter::{Counter, Entry, Follow, Processor};
use crate::cpu::Reload;
use crate::events::Owner;
use crate::interval::Repetition;
use crate::latency::Latency;
use crate::memory::Physical;
use crate::{Chunk, Privilege};
use abi::arch::powerpc::layout::{KIP_ADDRESS, USER_END};
use abi::kip::MAGIC;
use std::ops::Range;

/// What the counter asks of the emulator.
pub trait World: Physical {
    /// The registers that determine how an access is translated, except segment registers, which
    /// the emulator does not report.
    fn controls(&mut self) -> Controls;
    /// SPRG1: the thread that runs.
    fn thread(&mut self) -> u32;
    /// Whether the last exception came from user mode (SRR1).
    fn left_user(&mut self) -> bool;
    /// Whether the last exception of a fetch (SRR1), or of a load or store (DSISR), came because a
    /// search of the hashed table found nothing.
    fn found_nothing(&mut self, fetch: bool) -> bool;
    /// LR: the return address of the function that has just been called.
    fn link(&mut self) -> u32;
}

/// What to count of PowerPC.
pub type Setup = crate::counter::Setup<Machine, Checker>;

/// Where the vectors are.
const VECTORS: Range<u32> = 0x100..0x1500;
/// Bytes of each.
const VECTOR: u32 = 0x100;
/// The handlers of a 603's misses.
const MISSES: Range<u32> = 0x1000..0x1300;
/// Where they go on: this kernel's unusual cases, which are windows of servers and large pages
/// (`kernel/arch/powerpc/src/miss.S`), and the handlers that its boot words select (`layout.rs`).
const OTHER_MISSES: [Range<u32>; 2] = [0x1500..0x1800, 0x3000..0x3800];
/// The handler of misses of code; the others are for data.
const CODE_MISS: u32 = 0x1000;
/// The vector of `sc`.
const SYSTEM_CALL: u32 = 0xc00;
/// The vectors of loads and stores, and of fetches, that cannot be translated.
const DATA_FAULT: u32 = 0x300;
const FETCH_FAULT: u32 = 0x400;

/// The vectors' names, as lines of a table of symbols.
pub const VECTOR_NAMES: &str = "00000100 reset\n00000200 machine_check\n00000300 data_fault\n00000400 fetch_fault\n00000500 interrupt\n00000600 alignment\n00000700 program\n00000800 fpu\n00000900 decrementer\n00000a00 vectors\n00000c00 sc\n00000d00 trace\n00000e00 vectors\n00001000 fetch_miss\n00001100 load_miss\n00001200 store_miss\n00001300 vectors\n";

/// What measures how long the kernel does not check for interrupts: `sc` is the entry of system
/// calls.
#[must_use]
pub fn latency() -> Latency {
    Latency::of(vec![SYSTEM_CALL])
}

/// Whether a block of kernel code at this address is the first one of an exception.
#[must_use]
pub fn is_vector(address: u32) -> bool {
    VECTORS.contains(&address) && address.is_multiple_of(VECTOR)
}

/// A miss handler that runs.
struct Reloading {
    /// Where it began.
    vector: u32,
    /// After this many instructions.
    since: u64,
    /// Whether it has filled the TLB.
    filled: bool,
    /// The handler's instructions and reads so far.
    handler: Handler,
}

/// What is known of the processor.
#[derive(Default)]
pub struct PowerPc {
    controls: Controls,
    /// The thread with which user mode was left, or will be entered.
    thread: u32,
    /// Whether the kernel's code is executed.
    kernel: bool,
    /// Whether user mode executes the code of a native component, if that is known.
    native: Option<bool>,
    reloading: Option<Reloading>,
    /// What fills the machine's TLB, if there is a machine.
    reload: Option<Reload>,
    /// Whether the processor that runs does so by software, when that is known.
    is_software: Option<bool>,
    /// Whether a handler of misses was seen.
    has_handler: bool,
    /// The return address of the function that is counted apart, while it runs.
    returns: Option<u32>,
}

/// An instruction that is about to be executed, with what it needs of registers.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// What it is.
    pub class: Class,
    /// Bytes from the beginning of the chunk.
    pub offset: u16,
    /// (rA|0) + rB.
    pub address: u32,
    /// rS.
    pub value: u32,
}

impl Processor for PowerPc {
    type Machine = Machine;
    type Checker = Checker;
    type Linear = u32;

    fn new(setup: &Setup) -> Self {
        Self { reload: setup.machine.as_ref().map(Machine::reload), ..Self::default() }
    }

    fn marked(&mut self) {
        self.kernel = false;
    }

    fn modified(&self, address: u32) -> u32 {
        address
    }

    fn is_aside(&self) -> bool {
        self.reloading.is_some()
    }

    fn errors(&self, errors: &mut Vec<String>) {
        let wants = match self.reload {
            Some(Reload::Software) => true,
            Some(Reload::Hash) => false,
            Some(Reload::Walk) => return errors.push("the CPU model is none of a PowerPC".into()),
            None => return,
        };
        if self.is_software.is_some_and(|is| is != wants) {
            errors.push(
                "the CPU model has its TLB filled otherwise than the processor that ran".into(),
            );
        }
    }
}

impl<W: World> Follow<W> for PowerPc {
    fn arm(&mut self, world: &mut W) {
        self.learn(world);
        self.native = None;
    }

    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: u32,
        world: &mut W,
    ) -> (Owner, Option<Entry>) {
        counter.base = base;
        let kernel = chunk.privilege == Privilege::Kernel;
        if kernel
            && (MISSES.contains(&base)
                || counter.processor.reloading.is_some()
                    && OTHER_MISSES.iter().any(|range| range.contains(&base)))
        {
            return (counter.set_aside(base, chunk.bytes.into()), None);
        }
        let was_kernel = std::mem::replace(&mut counter.processor.kernel, kernel);
        if let Some(reloading) = counter.processor.reloading.take() {
            if !reloading.filled {
                return (counter.reload_failed(&reloading), None);
            }
            counter.reloaded(reloading);
        }
        if kernel {
            counter.count_apart(base, world);
            // Linux alone has exceptions in its own code.
            let is_entered = !was_kernel
                || is_vector(base) && (counter.processor.controls.alone != 0 || world.left_user());
            // The emulator has searched, and the access has not been counted.
            if is_entered
                && counter.processor.reload == Some(Reload::Hash)
                && [DATA_FAULT, FETCH_FAULT].contains(&base)
                && world.found_nothing(base == FETCH_FAULT)
            {
                counter.ledger.events().hash_misses += 1;
            }
            return (
                Owner::Kernel,
                is_entered.then_some(if base == SYSTEM_CALL { Entry::Trap } else { Entry::Fault }),
            );
        }
        if was_kernel {
            counter.processor.learn(world);
            counter.processor.native = None;
            counter.enter_user(base, world);
        }
        (counter.user_owner(base, world), None)
    }

    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: u32, world: &mut W) {
        if counter.processor.reloading.is_some() {
            return;
        }
        let user = chunk.privilege != Privilege::Kernel;
        let access = Access {
            address: base,
            bytes: u32::from(chunk.bytes),
            write: false,
            user,
            fetch: true,
        };
        counter.accessed(access, base, world);
    }
}

impl PowerPc {
    /// The registers, including those that the model follows itself: segment registers, and BATs,
    /// which the emulator reports as 0 in any case. The model does not follow those of Linux alone.
    fn learn(&mut self, world: &mut impl World) {
        let told = world.controls();
        let bats = if told.alone == 0 { self.controls.bats } else { told.bats };
        self.controls = Controls { segments: self.controls.segments, bats, ..told };
        self.thread = world.thread();
        // Where software fills the TLB, SDR1 may name what that searches, or Linux alone something
        // else. It is seen to do so.
        let is_software = self.controls.alone == 0 && self.controls.hash == 0 || self.has_handler;
        self.is_software = Some(is_software);
    }
}

impl Counter<PowerPc> {
    /// A handler of a miss runs: what it executes has no owner yet.
    fn set_aside(&mut self, base: u32, bytes: u32) -> Owner {
        let owner = self.ledger.owner();
        if self.processor.reloading.is_none() {
            // An access that missed has been counted, and is again when it is made.
            self.ledger.pass(owner, true, self.now - u64::from(base != CODE_MISS));
            self.processor.reloading = Some(Reloading {
                vector: base,
                since: self.now,
                filled: false,
                handler: Handler::default(),
            });
        }
        self.processor
            .reloading
            .iter_mut()
            .for_each(|reloading| reloading.handler.code.push((base, bytes)));
        (self.processor.is_software, self.processor.has_handler) = (Some(true), true);
        owner
    }

    /// The handler has filled the TLB. With a CPU model it is counted at the misses of the model's
    /// TLB, without one as it was executed.
    fn reloaded(&mut self, reloading: Reloading) {
        let instructions = self.now - reloading.since;
        self.ledger.skip(self.now);
        match &mut self.setup.machine {
            Some(machine) => {
                machine.handled(
                    reloading.vector == CODE_MISS,
                    Handler { instructions: instructions as u32, ..reloading.handler },
                );
            }
            None => self.ledger.events().reload_instructions += instructions,
        }
    }

    /// The handler has not filled the TLB: it was the beginning of an entry.
    fn reload_failed(&mut self, reloading: &Reloading) -> Owner {
        self.ledger.pass(Owner::Kernel, true, reloading.since);
        self.ledger.events().fault_entries += 1;
        self.ledger.each(Repetition::enter_kernel);
        Owner::Kernel
    }

    /// A block of the kernel begins: the first of the function that is counted apart, or the one to
    /// which it returns.
    fn count_apart(&mut self, base: u32, world: &mut impl World) {
        match self.processor.returns {
            Some(to) if to == base => {
                self.processor.returns = None;
                self.ledger.end_apart(self.now);
            }
            None if self.setup.apart == Some(base) => {
                self.processor.returns = Some(world.link());
                self.ledger.begin_apart(self.now);
            }
            _ => {}
        }
    }

    /// A segment register is written: the emulator does not report its value, so the model follows
    /// it from the machine's start on.
    pub fn write_segment(&mut self, segment: u32, value: u32, offset: u16) {
        let (index, instruction) = ((segment & 15) as usize, self.instruction(offset));
        self.processor.controls.segments[index] = value;
        if let Some(checker) = &mut self.setup.checker {
            checker.write_segment(index, instruction);
        }
        if self.is_armed() {
            self.ledger.events().segment_loads += 1;
        }
    }

    /// An instruction of the chunk in execution is about to be executed.
    pub fn special(&mut self, counted: Counted, world: &mut impl World) {
        let Counted { class, offset, address, value } = counted;
        let instruction = self.instruction(offset);
        let aside = self.processor.reloading.is_some();
        match class {
            Class::Return if !aside => self.ledger.events().far_returns += 1,
            Class::Reserve => {
                let thread = self.processor.thread;
                self.setup
                    .checker
                    .iter_mut()
                    .for_each(|checker| checker.reserve(thread, instruction));
            }
            Class::Release => self.setup.checker.iter_mut().for_each(Checker::release),
            // Before anything is counted nobody has told who executes; only the kernel's are
            // told.
            Class::System(Operation::WriteSegment(number))
                if self.processor.kernel || !self.is_armed() =>
            {
                self.write_segment(number.map_or(address >> 28, u32::from), value, offset);
            }
            Class::System(Operation::WriteSpecial(register))
                if self.processor.kernel || aside || !self.is_armed() =>
            {
                self.write_special(register, value, instruction)
            }
            Class::System(Operation::Load { .. }) => {
                self.processor.reloading.iter_mut().for_each(|reloading| reloading.filled = true);
                let controls = &self.processor.controls;
                self.setup.checker.iter_mut().for_each(|checker| checker.load(address, controls));
            }
            Class::System(Operation::FlushEntry) if self.processor.kernel => {
                self.flush(Some(address), instruction)
            }
            Class::System(Operation::FlushTlb) if self.processor.kernel => {
                self.flush(None, instruction)
            }
            Class::System(operation) if !aside => {
                self.operate(operation, address, instruction, world)
            }
            _ => {}
        }
    }

    fn write_special(&mut self, register: u16, value: u32, instruction: u32) {
        if self.processor.controls.write(register, value) {
            return;
        }
        if let Some(machine) = &mut self.setup.machine {
            machine.write(register, value);
        }
        if let Some(checker) = &mut self.setup.checker {
            checker.write(register, value);
        }
        if register == super::special::HID0
            && value & (super::machine::DROP_CODE | super::machine::DROP_DATA) != 0
        {
            self.ledger.events().cache_flushes += 1;
            self.flushes(instruction);
        }
    }

    fn flush(&mut self, address: Option<u32>, instruction: u32) {
        let events = self.ledger.events();
        *(if address.is_some() { &mut events.page_flushes } else { &mut events.tlb_flushes }) += 1;
        if let Some(machine) = &mut self.setup.machine {
            machine.flush(address);
        }
        if let Some(checker) = &mut self.setup.checker {
            checker.flush(address, &self.processor.controls);
        }
        self.flushes(instruction);
    }

    /// Operations on a line, by an owner that may access its page.
    fn operate(
        &mut self,
        operation: Operation,
        address: u32,
        instruction: u32,
        world: &mut impl World,
    ) {
        let events = self.ledger.events();
        match operation {
            Operation::CleanLine => events.line_cleans += 1,
            Operation::FlushLine => events.line_flushes += 1,
            Operation::InvalidateLine => events.line_invalidations += 1,
            Operation::AllocateLine => events.line_allocations += 1,
            Operation::DropCodeLine => events.code_line_invalidations += 1,
            Operation::Drain => events.drains += 1,
            _ => {}
        }
        if matches!(operation, Operation::Drain | Operation::Order | Operation::WriteState)
            || !self.wants_tables()
        {
            return;
        }
        let (controls, user) = (&self.processor.controls, !self.processor.kernel);
        let mapping = match controls.way(address, user, false) {
            Way::Block(mapping) => Some(mapping),
            Way::Page(_) if controls.alone != 0 && self.processor.reload == Some(Reload::Hash) => {
                controls.search(world, address, |_| ()).ok()
            }
            Way::Page(_) => controls.walk(world, address, |_| ()).ok(),
        };
        // On a page that nobody has it does nothing, or faults.
        let Some(physical) =
            mapping.filter(|mapping| mapping.is_cached()).map(|mapping| mapping.physical(address))
        else {
            return;
        };
        if let Some(machine) = &mut self.setup.machine {
            machine.operate(operation, physical, self.ledger.events());
        }
        if let Some(checker) = &mut self.setup.checker {
            let ledger = &mut self.ledger;
            checker.operate(operation, physical, instruction, |(rule, address, cause)| {
                ledger.violate(rule, instruction, address, cause)
            });
        }
    }

    /// The instruction `offset` bytes from the chunk's start has read or written `bytes` at an
    /// address.
    pub fn access(
        &mut self,
        offset: u16,
        address: u32,
        bytes: u32,
        write: bool,
        world: &mut impl World,
    ) {
        if let Some(Reloading { handler, .. }) = &mut self.processor.reloading {
            handler.reads += u32::from(!write);
            handler.is_uncached |= matches!(self.processor.controls.way(address, false, false), Way::Block(mapping) if !mapping.is_cached());
            return;
        }
        if self.processor.kernel {
            self.ledger.each(|repetition| repetition.access(address, bytes));
        }
        self.accesses += 1;
        let access = Access { address, bytes, write, user: !self.processor.kernel, fetch: false };
        self.accessed(access, self.instruction(offset), world);
    }

    fn accessed(&mut self, access: Access, instruction: u32, world: &mut impl World) {
        let controls = &self.processor.controls;
        if let Some(machine) = &mut self.setup.machine {
            self.unknown +=
                u64::from(!machine.access(access, controls, world, self.ledger.events()));
        }
        if let Some(checker) = &mut self.setup.checker {
            let ledger = &mut self.ledger;
            let found =
                |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
            self.unknown += u64::from(!checker.access(access, controls, instruction, world, found));
        }
    }

    fn enter_user(&mut self, instruction: u32, world: &mut impl World) {
        let Some(checker) = &mut self.setup.checker else { return };
        let (ledger, processor) = (&mut self.ledger, &self.processor);
        let found =
            |(rule, address, cause): Finding| ledger.violate(rule, instruction, address, cause);
        checker.enter_user(instruction, processor.thread, &processor.controls, world, found);
    }

    /// The owner of the code that user mode executes at an address.
    fn user_owner(&mut self, address: u32, world: &mut impl World) -> Owner {
        let controls = self.processor.controls;
        if controls.alone != 0 {
            return Owner::User;
        }
        let native = *self.processor.native.get_or_insert_with(|| is_native(&controls, world));
        match native {
            false => Owner::User,
            true if self.setup.server.contains(&address.into()) && address < USER_END => {
                Owner::Server
            }
            true => Owner::Components,
        }
    }
}

/// Whether the space that runs is a native component's: it has a kernel information page at that
/// page's address.
fn is_native(controls: &Controls, memory: &mut impl Physical) -> bool {
    let page = controls.walk(memory, KIP_ADDRESS, |_| ()).ok();
    page.is_some_and(|page| memory.read(page.physical(KIP_ADDRESS)) == Some(MAGIC))
}
