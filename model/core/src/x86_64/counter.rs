// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what an x86-64 processor executes.

use super::checker::{Access, Checker, Verdict};
use super::instruction::Class;
use super::machine::{Machine, Tables};
use super::walk::{Mapping, Memory, walk};
use crate::counter::{Counter, Entry, Follow, Processor};
use crate::crossing::Crossing;
use crate::events::Owner;
use crate::violation::Rule;
use crate::{Chunk, Privilege};

/// The entry area: all that a server at ring 1 has of the upper half (`mmu::area`), up to its end.
const AREA: u64 = 0xffff_ffff_ffe0_0000;

/// What the counter asks of the emulator.
pub trait World: Memory {
    /// CR3.
    fn root(&mut self) -> u64;
    /// Whether paging is on.
    fn paging(&mut self) -> bool;
    /// Whether the present space has a kernel information page, and so belongs to a native
    /// component.
    fn is_native(&mut self) -> bool;
}

/// What to count of x86-64.
pub type Setup = crate::counter::Setup<Machine, Checker>;

/// What is known of the processor.
pub struct X86_64 {
    /// Whether user mode executes a native component's code in this space, if that is known.
    native: Option<bool>,
    crossing: Crossing,
    /// A control register was written: what it holds is read when the next chunk begins.
    written: Option<(Class, u16)>,
    /// Whether user mode was executed: boot is over.
    has_started: bool,
    /// CR3.
    root: u64,
    paging: bool,
}

/// The tables as the machine asks for them.
struct Now<'a, W> {
    world: &'a mut W,
    root: u64,
    paging: bool,
    /// How often there was none.
    unknown: u64,
}

impl<'a, W> Now<'a, W> {
    const fn new(world: &'a mut W, processor: &X86_64) -> Self {
        Self { world, root: processor.root, paging: processor.paging, unknown: 0 }
    }
}

impl<W: World> Tables for Now<'_, W> {
    fn translate(&mut self, address: u64) -> Option<Mapping> {
        if !self.paging {
            return Some(Mapping::identity(address));
        }
        let found = walk(self.world, self.root, address, |_, _| ()).ok();
        self.unknown += u64::from(found.is_none());
        found
    }
}

impl Processor for X86_64 {
    type Machine = Machine;
    type Checker = Checker;
    type Linear = u64;

    fn new(_: &Setup) -> Self {
        Self {
            native: None,
            crossing: Crossing::new(),
            written: None,
            has_started: false,
            root: 0,
            paging: false,
        }
    }

    fn marked(&mut self) {
        self.crossing.leaves();
    }

    fn modified(&self, address: u64) -> u64 {
        address
    }

    fn errors(&self, _: &mut Vec<String>) {}
}

impl<W: World> Follow<W> for X86_64 {
    fn arm(&mut self, world: &mut W) {
        (self.root, self.paging, self.native) = (world.root(), world.paging(), None);
    }

    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: u64,
        world: &mut W,
    ) -> (Owner, Option<Entry>) {
        if let Some((class, offset)) = counter.processor.written.take() {
            counter.control_written(class, offset, world);
        }
        counter.base = base;
        let kernel = chunk.privilege == Privilege::Kernel;
        let owner = if kernel { Owner::Kernel } else { counter.user_owner(chunk, base, world) };
        counter.processor.has_started |= !kernel;
        (owner, counter.processor.crossing.begins(chunk.privilege))
    }

    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: u64, world: &mut W) {
        if let Some(machine) = &mut counter.setup.machine {
            let mut now = Now::new(world, &counter.processor);
            machine.fetch(chunk, base, &mut now, counter.ledger.events());
            counter.unknown += now.unknown;
        }
        if counter.setup.checker.is_some() {
            let user = chunk.privilege == Privilege::User;
            let last = base.wrapping_add(u64::from(chunk.bytes) - 1);
            let access = Access { address: base, write: false, user, fetch: true };
            counter.check_pages(base, access, last, world);
        }
    }
}

impl Counter<X86_64> {
    /// An instruction of the chunk in execution, `offset` bytes from its start, is about to be
    /// executed. `operand` is the address that an `invlpg` names.
    pub fn special(&mut self, class: Class, offset: u16, operand: u64) {
        let events = self.ledger.events();
        self.processor.crossing.implicit = Some(offset);
        match class {
            Class::Plain | Class::Descriptor | Class::OpenInterrupts | Class::Halt => {}
            Class::WriteCr0 | Class::WriteCr3 | Class::WriteCr4 => {
                self.processor.written = Some((class, offset))
            }
            Class::Invlpg => {
                events.page_flushes += 1;
                self.setup.machine.iter_mut().for_each(|machine| machine.flush_page(operand));
                self.setup.checker.iter_mut().for_each(|checker| checker.flush_page(operand));
                self.flushes(self.instruction(offset));
            }
            Class::FlushCaches => {
                events.cache_flushes += 1;
                self.setup.machine.iter_mut().for_each(Machine::flush_caches);
                self.flushes(self.instruction(offset));
            }
            Class::FarReturn => {
                events.far_returns += 1;
                self.processor.crossing.far_return();
            }
            Class::Sysret => {
                events.sysexits += 1;
                self.processor.crossing.leaves();
            }
            Class::Int => self.processor.crossing.asks(Entry::Trap),
            Class::Syscall => self.processor.crossing.asks(Entry::Sysenter),
            Class::LoadSegment => events.segment_loads += 1,
            Class::Port => events.port_accesses += 1,
        }
        if class == Class::WriteCr3 {
            self.ledger.each(|repetition| repetition.write_cr3());
        }
    }

    /// The instruction `offset` bytes from the chunk's start has read or written `bytes` at linear
    /// address `address`; `value` is what it read or wrote (asked only for a far return).
    pub fn access(
        &mut self,
        offset: u16,
        address: u64,
        bytes: u32,
        write: bool,
        value: impl FnOnce() -> u64,
        world: &mut impl World,
    ) {
        self.processor.crossing.access(value);
        if self.ledger.owner() == Owner::Kernel {
            self.ledger.each(|repetition| repetition.access(address, bytes));
        }
        if let Some(machine) = &mut self.setup.machine {
            let mut now = Now::new(world, &self.processor);
            machine.access(address, bytes, &mut now, self.ledger.events());
            self.unknown += now.unknown;
        }
        if self.setup.checker.is_some() {
            self.accesses += u64::from(self.processor.paging);
            let user = self.processor.crossing.is_users(offset);
            let last = address.wrapping_add(u64::from(bytes) - 1);
            let access = Access { address, write, user, fetch: false };
            self.check_pages(self.instruction(offset), access, last, world);
        }
    }

    /// Whose code is at an address: only a server runs at ring 1.
    fn user_owner(&mut self, chunk: &Chunk, address: u64, world: &mut impl World) -> Owner {
        if chunk.privilege == Privilege::Ring1 {
            return Owner::Server;
        }
        let native = *self.processor.native.get_or_insert_with(|| world.is_native());
        if !native {
            Owner::User
        } else if self.setup.server.contains(&address) {
            Owner::Server
        } else {
            Owner::Components
        }
    }

    fn control_written(&mut self, class: Class, offset: u16, world: &mut impl World) {
        let (old, root) = (self.processor.root, world.root());
        (self.processor.paging, self.processor.root) = (world.paging(), root);
        let instruction = self.instruction(offset);
        let (machine, checker) = (&mut self.setup.machine, &mut self.setup.checker);
        let events = self.ledger.events();
        match class {
            Class::WriteCr3 if root != old => {
                events.space_switches += 1;
                self.processor.native = None;
                let drops = machine.as_mut().is_some_and(|machine| machine.switch(root));
                events.tlb_flushes += u64::from(drops);
                checker.iter_mut().for_each(|checker| checker.flush_local(instruction as u32));
            }
            Class::WriteCr3 => {
                events.tlb_flushes += 1;
                machine.iter_mut().for_each(Machine::flush_tag);
                checker.iter_mut().for_each(|checker| checker.flush_local(instruction as u32));
            }
            Class::WriteCr4 => {
                events.tlb_flushes += 1;
                machine.iter_mut().for_each(Machine::flush_all);
                checker.iter_mut().for_each(Checker::flush_all);
            }
            // Task-switched and write-protect bits; paging itself is switched at boot only.
            _ => return,
        }
        self.flushes(instruction);
    }

    /// Checks an access, and the same at its last byte if that is in another page.
    fn check_pages(&mut self, instruction: u64, access: Access, last: u64, world: &mut impl World) {
        self.check(instruction, access, world);
        if last >> 12 != access.address >> 12 {
            self.check(instruction, Access { address: last, ..access }, world);
        }
    }

    fn check(&mut self, instruction: u64, access: Access, world: &mut impl World) {
        let Some(checker) = self.setup.checker.as_mut().filter(|_| self.processor.paging) else {
            return;
        };
        let mapping = match checker.access(access, self.processor.root, world) {
            Verdict::Good(mapping) => mapping,
            Verdict::Stale(cause) => {
                let cause = Some(cause);
                let rule = Rule::StaleTranslation;
                return self.ledger.violate(rule, instruction, access.address, cause);
            }
            Verdict::Unknown => {
                self.unknown += 1;
                return;
            }
        };
        if access.write {
            checker.stored(mapping.physical(access.address), instruction as u32);
        }
        for rule in self.processor.broken(access, mapping).into_iter().flatten() {
            self.ledger.violate(rule, instruction, access.address & !0xfff, None);
        }
    }
}

impl X86_64 {
    /// The rule that an access by this mapping breaks, if any. Users have the lower half of the
    /// addresses and no global pages; servers also have the entry area. No page of the kernel is
    /// both writable and executable, and the kernel executes no page of users.
    fn broken(&self, access: Access, mapping: Mapping) -> [Option<Rule>; 4] {
        let is_kernels = access.address >> 63 != 0;
        let executes = access.fetch && self.crossing.privilege == Privilege::Kernel;
        let writable = is_kernels && mapping.writable && mapping.executable;
        let is_servers = self.crossing.privilege == Privilege::Ring1;
        [
            (mapping.global && mapping.user).then_some(Rule::GlobalUserPage),
            (self.has_started && (writable || executes && mapping.user))
                .then_some(Rule::WritableCode),
            (is_kernels && access.user).then_some(Rule::OutsideWindow),
            (is_kernels && is_servers && access.address < AREA).then_some(Rule::BeyondLimit),
        ]
    }
}
