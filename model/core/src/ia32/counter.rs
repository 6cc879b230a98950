// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what an IA-32 processor executes.

use super::checker::{Access, Checker, Verdict};
use super::instruction::Class;
use super::machine::{Machine, Tables};
use super::segment::{self, SegmentRegister};
use super::walk::{Mapping, walk};
use crate::counter::{Counter, Entry, Follow, Processor};
use crate::crossing::Crossing;
use crate::events::Owner;
use crate::memory::Physical;
use crate::violation::{Rule, Violation};
use crate::{Chunk, Privilege};
use std::ops::{Range, RangeInclusive};

/// What the counter asks of the emulator.
pub trait World: Physical {
    /// The register that holds the translation root (CR3).
    fn root(&mut self) -> u32;
    /// Whether paging is on.
    fn paging(&mut self) -> bool;
    /// Whether the space whose addresses begin at linear address `base` has a kernel information
    /// page, and so belongs to a native component.
    fn is_native(&mut self, base: u32) -> bool;
    /// The selector in a segment register.
    fn selector(&mut self, register: SegmentRegister) -> u16;
    /// This many bytes from a linear address on, if the present tables map them.
    fn read_linear(&mut self, address: u32, count: usize) -> Option<Vec<u8>>;
}

/// What to count of IA-32.
pub type Setup = crate::counter::Setup<Machine, Checker>;

/// The lowest address at which a server's part of its processes' spaces may begin: 2 GiB below the
/// kernel.
const LOWEST_WINDOW: u32 = 0x6000_0000;

/// What is known of the processor.
pub struct Ia32 {
    /// The end of the addresses that the server may access, if its range is at high addresses,
    /// which none of its processes has. Then it may run at ring 1, in the spaces of its processes,
    /// and its segments end where the kernel's part begins.
    limit: Option<u32>,
    /// Whose code user mode executes in this space, whose addresses begin there: a native
    /// component's or not, if that is known.
    native: Option<(u32, bool)>,
    crossing: Crossing,
    /// The last special instruction is `lgdt`.
    loads_table: bool,
    /// Base and limit of the global descriptor table, once an instruction has loaded them.
    table: Option<(u32, u16)>,
    /// How many returns to ring 1 or to a small space there were while that was unknown.
    blind: u64,
    /// The code selector of large spaces, once it was seen.
    large_code: Option<u16>,
    /// Where ring 3's code segment lies, if it is a small space's.
    region: Option<RangeInclusive<u32>>,
    /// The tables with which ring 3 runs, or ran last, if that was in a small space.
    home: Option<u32>,
    /// A control register was written: what it holds is read when the next chunk begins.
    written: Option<(Class, u16)>,
    root: u32,
    paging: bool,
}

/// The tables as the machine asks for them.
struct Now<'a, W> {
    world: &'a mut W,
    root: u32,
    paging: bool,
    /// How often there was none.
    unknown: u64,
    aliases: u32,
    /// Where the last one was.
    alias: u32,
}

impl<'a, W> Now<'a, W> {
    fn new(world: &'a mut W, processor: &Ia32) -> Self {
        Self {
            world,
            root: processor.root,
            paging: processor.paging,
            unknown: 0,
            aliases: 0,
            alias: 0,
        }
    }
}

impl<W: World> Tables for Now<'_, W> {
    fn translate(&mut self, address: u32) -> Option<Mapping> {
        if !self.paging {
            return Some(Mapping::identity(address));
        }
        let found = walk(self.world, self.root, address, |_| ()).ok();
        self.unknown += u64::from(found.is_none());
        found
    }
    fn alias(&mut self, address: u32) {
        self.aliases += 1;
        self.alias = address;
    }
}

impl Processor for Ia32 {
    type Machine = Machine;
    type Checker = Checker;
    type Linear = u32;

    fn new(setup: &Setup) -> Self {
        let Range { start, end } = setup.server;
        let is_high = start >= LOWEST_WINDOW.into() && end <= setup.kernel.into();
        Self {
            limit: is_high.then_some(setup.kernel),
            native: None,
            crossing: Crossing::new(),
            loads_table: false,
            table: None,
            blind: 0,
            large_code: None,
            region: None,
            home: None,
            written: None,
            root: 0,
            paging: false,
        }
    }

    fn marked(&mut self) {
        self.crossing.leaves();
    }

    fn modified(&self, address: u32) -> u32 {
        address
    }

    fn errors(&self, errors: &mut Vec<String>) {
        if self.blind > 0 {
            errors.push(format!(
                "the descriptor table was not known at {} returns to ring 1 or small spaces",
                self.blind
            ));
        }
    }
}

impl<W: World> Follow<W> for Ia32 {
    fn arm(&mut self, world: &mut W) {
        (self.root, self.paging, self.native) = (world.root(), world.paging(), None);
    }

    fn begins(
        counter: &mut Counter<Self>,
        chunk: &Chunk,
        base: u32,
        world: &mut W,
    ) -> (Owner, Option<Entry>) {
        if let Some((class, offset)) = counter.processor.written.take() {
            counter.control_written(class, offset, world);
        }
        if counter.processor.crossing.privilege == Privilege::Kernel {
            match chunk.privilege {
                Privilege::Kernel => {}
                Privilege::Ring1 => counter.check_segments(world),
                Privilege::User => counter.check_small(chunk.segment, world),
            }
        }
        counter.base = base;
        let kernel = chunk.privilege == Privilege::Kernel;
        let owner = if kernel { Owner::Kernel } else { counter.user_owner(chunk, base, world) };
        (owner, counter.processor.crossing.begins(chunk.privilege))
    }

    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: u32, world: &mut W) {
        if let Some(machine) = &mut counter.setup.machine {
            let mut now = Now::new(world, &counter.processor);
            machine.fetch(chunk, base, &mut now, counter.ledger.events());
            counter.unknown += now.unknown;
            if now.aliases > 0 {
                counter.ledger.violate(Rule::CacheAlias, base, now.alias, None);
            }
        }
        if counter.setup.checker.is_some() {
            let last = base.wrapping_add(u32::from(chunk.bytes) - 1);
            counter.check_reach(base, (base, last), None, world);
            let user = chunk.privilege == Privilege::User;
            counter.check(base, Access { address: base, write: false, user }, world);
            if last >> 12 != base >> 12 {
                counter.check(base, Access { address: last, write: false, user }, world);
            }
        }
    }
}

impl Counter<Ia32> {
    /// Whether accesses of user code have to be reported.
    #[must_use]
    pub fn wants_user_accesses(&self) -> bool {
        self.wants_tables() || self.setup.window.is_some()
    }

    /// An instruction of the chunk in execution, `offset` bytes from its start, is about to be
    /// executed. `operand` is the address that an `invlpg` names.
    pub fn special(&mut self, class: Class, offset: u16, operand: u32) {
        let events = self.ledger.events();
        self.processor.crossing.implicit = Some(offset);
        self.processor.loads_table = class == Class::LoadTable;
        match class {
            Class::Plain
            | Class::Descriptor
            | Class::OpenInterrupts
            | Class::Halt
            | Class::LoadTable => {}
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
            Class::Sysexit => {
                events.sysexits += 1;
                self.processor.crossing.leaves();
            }
            Class::Int => self.processor.crossing.asks(Entry::Trap),
            Class::Sysenter => self.processor.crossing.asks(Entry::Sysenter),
            Class::LoadSegment => events.segment_loads += 1,
            Class::Port => events.port_accesses += 1,
        }
        if class == Class::WriteCr3 {
            self.ledger.each(|repetition| repetition.write_cr3());
        }
    }

    /// The instruction `offset` bytes from the chunk's start has read or written `bytes` at linear
    /// address `address`; `value` is what it read or wrote (asked only for a far return and
    /// `lgdt`).
    pub fn access(
        &mut self,
        offset: u16,
        address: u32,
        bytes: u32,
        write: bool,
        value: impl FnOnce() -> u32,
        world: &mut impl World,
    ) {
        let crossing = &mut self.processor.crossing;
        let is_implicit = crossing.implicit == Some(offset);
        let user = crossing.is_users(offset);
        if crossing.is_returning() {
            crossing.access(|| value().into());
        } else if self.processor.loads_table && is_implicit {
            // The limit comes first.
            self.processor.table = match self.processor.table {
                Some((_, limit)) if bytes == 4 => Some((value(), limit)),
                _ => Some((0, value() as u16)),
            };
        }
        let kernel = self.ledger.owner() == Owner::Kernel;
        let instruction = self.instruction(offset);
        if kernel {
            self.ledger.each(|repetition| repetition.access(address, bytes));
        } else if user
            && [address, address.wrapping_add(bytes - 1)]
                .into_iter()
                .any(|end| self.is_outside(end))
        {
            self.ledger.violate(Rule::OutsideWindow, instruction, address, None);
        }
        if let Some(machine) = &mut self.setup.machine {
            let mut now = Now::new(world, &self.processor);
            machine.access(address, bytes, write, &mut now, self.ledger.events());
            self.unknown += now.unknown;
            if now.aliases > 0 {
                self.ledger.violate(Rule::CacheAlias, instruction, now.alias, None);
            }
        }
        if self.setup.checker.is_some() {
            self.accesses += u64::from(self.processor.paging);
            let last = address.wrapping_add(bytes - 1);
            if !is_implicit {
                self.check_reach(instruction, (address, last), Some(write), world);
            }
            self.check(instruction, Access { address, write, user }, world);
            if last >> 12 != address >> 12 {
                self.check(instruction, Access { address: last, write, user }, world);
            }
        }
    }

    /// Whether an address is outside the window of ring 3. What the server has is its own: it may
    /// also run at ring 3. A home of components shows no server, so its small spaces may be
    /// anywhere below the kernel; what each may access is checked by its region.
    fn is_outside(&self, address: u32) -> bool {
        let Some(window) = &self.setup.window else { return false };
        let end = match self.ledger.owner() {
            Owner::Server => self.processor.limit.unwrap_or(window.end),
            Owner::Components if self.processor.region.is_some() => self.setup.kernel,
            _ => window.end,
        };
        !(window.start..end).contains(&address)
    }

    /// Whose code is at an address. High addresses are the server's in every space except small
    /// ones, and only the server runs at ring 1.
    fn user_owner(&mut self, chunk: &Chunk, address: u32, world: &mut impl World) -> Owner {
        let is_high = chunk.segment == 0 && self.setup.server.contains(&address.into());
        if self.processor.limit.is_some() && (chunk.privilege == Privilege::Ring1 || is_high) {
            return Owner::Server;
        }
        // Small spaces lie side by side below one directory.
        let known = self.processor.native.filter(|(base, _)| *base == chunk.segment);
        let (_, native) = *self
            .processor
            .native
            .insert(known.unwrap_or_else(|| (chunk.segment, world.is_native(chunk.segment))));
        if !native {
            Owner::User
        } else if self.processor.limit.is_none() && self.setup.server.contains(&address.into()) {
            Owner::Server
        } else {
            Owner::Components
        }
    }

    fn control_written(&mut self, class: Class, offset: u16, world: &mut impl World) {
        let (old, root) = (self.processor.root, world.root());
        self.processor.paging = world.paging();
        self.processor.root = root;
        let instruction = self.instruction(offset);
        let events = self.ledger.events();
        match class {
            Class::WriteCr3 if root != old => {
                events.space_switches += 1;
                self.processor.native = None;
                self.setup.machine.iter_mut().for_each(|machine| machine.switch(root));
                self.setup.checker.iter_mut().for_each(|checker| checker.flush_local(instruction));
            }
            Class::WriteCr3 => {
                events.tlb_flushes += 1;
                self.setup.machine.iter_mut().for_each(Machine::flush_local);
                self.setup.checker.iter_mut().for_each(|checker| checker.flush_local(instruction));
            }
            Class::WriteCr4 => {
                events.tlb_flushes += 1;
                self.setup.machine.iter_mut().for_each(Machine::flush_all);
                self.setup.checker.iter_mut().for_each(Checker::flush_all);
            }
            // Task-switched and write-protect bits; paging itself is switched at boot only.
            _ => return,
        }
        self.flushes(self.instruction(offset));
    }

    fn check(&mut self, instruction: u32, access: Access, world: &mut impl World) {
        let Some(checker) = self.setup.checker.as_mut().filter(|_| self.processor.paging) else {
            return;
        };
        match checker.access(access, self.processor.root, world) {
            Verdict::Good(mapping) => {
                if access.write {
                    checker.stored(mapping.physical(access.address), instruction);
                }
                if mapping.global && mapping.user && self.processor.limit.is_some() {
                    self.ledger.violate(
                        Rule::GlobalUserPage,
                        instruction,
                        access.address & !0xfff,
                        None,
                    );
                }
            }
            Verdict::Stale(cause) => self.ledger.violate(
                Rule::StaleTranslation,
                instruction,
                access.address,
                Some(cause),
            ),
            Verdict::Unknown => self.unknown += 1,
        }
    }

    /// The addresses from `first` to `last` are used; `write` says how if they are of data.
    fn check_reach(
        &mut self,
        instruction: u32,
        (first, last): (u32, u32),
        write: Option<bool>,
        world: &mut impl World,
    ) {
        let (rule, address) =
            match (self.processor.crossing.privilege, self.processor.limit, &self.processor.region)
            {
                (Privilege::Ring1, Some(limit), _) if first.max(last) >= limit => {
                    (Rule::BeyondLimit, first.max(limit))
                }
                (Privilege::User, _, Some(region)) if !region.contains(&first) => {
                    (Rule::OutsideRegion, first)
                }
                (Privilege::User, _, Some(region)) if !region.contains(&last) => {
                    (Rule::OutsideRegion, last)
                }
                _ => return,
            };
        let register = match write {
            None => Some(SegmentRegister::Cs),
            Some(write) => {
                code(instruction, world).and_then(|bytes| SegmentRegister::used_by(&bytes, write))
            }
        };
        let segment = register.map(|register| register.segment(world.selector(register)));
        let owner = self.ledger.owner();
        let (instruction, address) = (instruction.into(), address.into());
        self.ledger.add(Violation { rule, instruction, address, owner, segment, cause: None });
    }

    /// The far return that was executed last has led to ring 1.
    fn check_segments(&mut self, world: &mut impl World) {
        let Some(limit) = self.processor.limit.filter(|_| self.setup.checker.is_some()) else {
            return;
        };
        let Some(table) = self.read_table(world) else {
            self.processor.blind += 1;
            return;
        };
        for (rule, selector) in segment::violations(&table, &data_selectors(world), limit) {
            self.ledger.violate(rule, self.returned(), selector, None);
        }
    }

    /// The global descriptor table, if it is known.
    fn read_table(&self, world: &mut impl World) -> Option<Vec<u8>> {
        self.processor.table.and_then(|(base, last)| world.read_linear(base, usize::from(last) + 1))
    }

    /// The instruction by which the kernel was left.
    fn returned(&self) -> u32 {
        self.base.wrapping_add(u32::from(self.processor.crossing.implicit.unwrap_or(0)))
    }

    /// The kernel has been left for ring 3, whose code segment begins at `base`.
    fn check_small(&mut self, base: u32, world: &mut impl World) {
        if self.setup.checker.is_none() {
            return;
        }
        let code = world.selector(SegmentRegister::Cs);
        // Reading the table takes time, and most code has this selector.
        let is_large = base == 0 && self.processor.large_code == Some(code);
        let table = if is_large { None } else { self.read_table(world) };
        self.processor.region =
            table.as_ref().and_then(|table| segment::region(table, code, self.setup.kernel));
        match (&self.processor.region, table) {
            (Some(region), Some(table)) => {
                let found = segment::small_violations(&table, code, &data_selectors(world), region);
                self.processor.home = Some(self.processor.root);
                for (rule, selector) in found {
                    self.ledger.violate(rule, self.returned(), selector, None);
                }
            }
            _ if base != 0 => self.processor.blind += 1,
            (_, table) => {
                self.processor.large_code = table.map(|_| code).or(self.processor.large_code);
                if self.processor.home.take() == Some(self.processor.root) {
                    self.ledger.violate(Rule::LargeInHome, self.returned(), code, None);
                }
            }
        }
    }
}

/// The selectors by which code can reach data.
fn data_selectors(world: &mut impl World) -> [u16; 4] {
    SegmentRegister::DATA.map(|register| world.selector(register))
}

/// An instruction's bytes, and perhaps others after them.
fn code(instruction: u32, world: &mut impl World) -> Option<Vec<u8>> {
    const LONGEST: usize = 15;
    const PAGE: usize = 4096;
    let to_page_end = PAGE - instruction as usize % PAGE;
    world
        .read_linear(instruction, LONGEST)
        .or_else(|| world.read_linear(instruction, LONGEST.min(to_page_end)))
}
