// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes intervals of what a MIPS processor executes.
//!
//! Exceptions enter the kernel at two addresses: one for TLB misses of users, one for all others.
//! QEMU's TLB has other misses than the model's. So the handler of misses is not counted while it
//! runs, and the machine counts a handler for each miss of its own TLB.

use super::bits::Bits;
use super::checker::{Checker, Finding};
use super::machine::{Access, Counts, Handler, Machine};
use super::registers::{Effect, Registers};
use super::tlb::{Dropped, Key};
use super::walk::walk;
use crate::counter::{Counter, Entry, Follow, Processor};
use crate::events::Owner;
use crate::interval::Repetition;
use crate::latency::Latency;
use crate::memory::Physical;
use crate::{Chunk, Privilege};
use abi::arch::mips::layout::KIP_ADDRESS;
use abi::kip::MAGIC;
use std::ops::Range;
use std::rc::Rc;

/// What to count of MIPS.
pub type Setup = crate::counter::Setup<Machine, Checker>;

/// Where the vectors are, in kseg0: lower halves of addresses.
const VECTORS: Range<u32> = 0x8000_0000..0x8000_0200;
/// Bytes from each to the next.
const VECTOR: u32 = 0x80;
/// The handler of misses of users.
const MISSES: Range<u32> = 0x8000_0080..0x8000_0100;
/// Bytes of an instruction.
const INSTRUCTION: u32 = 4;
/// Entries of the TLB.
const ENTRIES: u32 = 48;
/// Bits of an address that are set if it is not a user's.
const KERNELS: u64 = 1 << 63;

/// The vectors' names, as lines of a table of symbols: the kernel copies the vectors there.
pub const VECTOR_NAMES: &str = "80000000 miss_32\n80000080 miss\n80000100 cache_error\n80000180 exception\n80000200 fast_path\n";

/// What measures how long the kernel does not check for interrupts: which entry is a system call it
/// is told later ([`Latency::asked`]).
#[must_use]
pub fn latency() -> Latency {
    Latency::of(Vec::new())
}

/// Whether a block of kernel code at this address is the first one of an exception.
#[must_use]
pub fn is_vector(address: u32) -> bool {
    VECTORS.contains(&address) && address.is_multiple_of(VECTOR)
}

/// Whether code at this address is a user's.
#[must_use]
pub const fn is_user(address: u64) -> bool {
    address & KERNELS == 0
}

/// The handler of misses runs.
struct Reloading {
    /// After this many instructions.
    since: u64,
    /// Whether user mode had executed anything since the kernel was left.
    from_user: bool,
    /// Whether it has filled the TLB.
    filled: bool,
    /// The handler's instructions and reads so far.
    handler: Handler,
}

/// The chunk of code in execution.
#[derive(Default)]
struct Block {
    /// Its address.
    address: u64,
    /// Its instructions, if they are the kernel's.
    code: Option<Rc<[u32]>>,
    /// This many of them were followed.
    done: usize,
    /// Whether it has read memory.
    has_read: bool,
}

/// The chunk of user code that began last.
#[derive(Clone, Copy, Default)]
struct Begun {
    address: u32,
    bytes: u32,
    /// After this many instructions.
    at: u64,
}

/// What is known of the processor.
#[derive(Default)]
pub struct Mips {
    registers: Registers,
    /// The highest table of the space that is entered, and where the kernel keeps its address.
    top: Option<u32>,
    hot: Option<u32>,
    block: Block,
    begun: Begun,
    /// Whether the kernel's code is executed.
    kernel: bool,
    /// Whether user mode executes the code of a native component, if that is known.
    native: Option<bool>,
    /// Whether user mode has executed `syscall`, or the kernel `eret`, and nothing was executed
    /// after that.
    called: bool,
    returned: bool,
    /// EntryHi of a probe whose result the kernel has not used yet.
    probed: Option<Bits>,
    /// How many entries of the TLB were emptied one after the other.
    emptied: u64,
    reloading: Option<Reloading>,
    /// Whether there is a machine, of another kind of processor.
    is_misfit: bool,
}

/// An access that was made.
#[derive(Clone, Copy, Debug)]
pub struct Accessed {
    /// Bytes from the beginning of the chunk to its instruction.
    pub offset: u16,
    /// Its address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Whether they were written.
    pub write: bool,
    /// What they are.
    pub value: u64,
    /// Where they are in physical memory, if that is known.
    pub physical: Option<u32>,
}

impl Processor for Mips {
    type Machine = Machine;
    type Checker = Checker;
    type Linear = u32;

    fn new(setup: &Setup) -> Self {
        Self {
            is_misfit: setup.machine.as_ref().is_some_and(|machine| !machine.fits()),
            ..Self::default()
        }
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
        if self.is_misfit {
            errors.push("the CPU model is none of a MIPS".into());
        }
    }
}

impl<W: Physical> Follow<W> for Mips {
    fn arm(&mut self, _: &mut W) {
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
        if kernel && MISSES.contains(&base) {
            return (counter.set_aside(base, chunk.bytes.into()), None);
        }
        let was_kernel = std::mem::replace(&mut counter.processor.kernel, kernel);
        let returned = std::mem::take(&mut counter.processor.returned);
        if let Some(reloading) = counter.processor.reloading.take() {
            if !reloading.filled {
                return (counter.reload_failed(&reloading), None);
            }
            counter.reloaded(reloading, base);
        }
        if kernel {
            // An exception of the kernel itself is an interrupt that it waits for.
            let is_entered = !was_kernel || is_vector(base) && returned;
            return (Owner::Kernel, is_entered.then(|| counter.entered()));
        }
        if was_kernel {
            counter.processor.native = None;
            counter.enter_user(base);
        }
        let (bytes, at) = (chunk.bytes.into(), counter.now);
        counter.processor.begun = Begun { address: base, bytes, at };
        (counter.user_owner(base, world), None)
    }

    fn fetches(counter: &mut Counter<Self>, chunk: &Chunk, base: u32, world: &mut W) {
        if counter.processor.reloading.is_some() {
            return;
        }
        let access = Access {
            address: counter.processor.block.address,
            bytes: u32::from(chunk.bytes),
            write: false,
            user: chunk.privilege != Privilege::Kernel,
            fetch: true,
        };
        counter.accessed(access, None, base, world);
    }
}

impl Mips {
    /// The space whose translations are valid.
    fn counts(&self) -> Counts {
        Counts { asid: self.registers.entry_hi.part(0xff).map(|asid| asid as u8), top: self.top }
    }
}

impl Counter<Mips> {
    /// A chunk of code at an address begins, which is the kernel's if its instructions are given.
    /// It has to be called from power-on on, before [`chunk`](Self::chunk).
    pub fn begins_at(&mut self, address: u64, code: Option<&Rc<[u32]>>) {
        self.follow(usize::MAX);
        if code.is_some() && is_vector(address as u32) {
            self.processor.registers.enter();
        }
        self.processor.block = Block { address, code: code.cloned(), done: 0, has_read: false };
    }

    /// User mode is about to execute `syscall`.
    pub fn system_call(&mut self) {
        self.processor.called = true;
    }

    /// Follows the kernel's code up to this many instructions of the chunk in execution.
    fn follow(&mut self, to: usize) {
        let Some(code) = self.processor.block.code.clone() else { return };
        let (from, to) = (self.processor.block.done, to.min(code.len()));
        for (index, word) in code.iter().enumerate().take(to).skip(from) {
            if let Some(effect) = self.processor.registers.step(*word) {
                self.took_effect(effect, index);
            }
        }
        self.processor.block.done = to.max(from);
    }

    /// The kernel has done something to the TLB, or returns.
    fn took_effect(&mut self, effect: Effect, index: usize) {
        match effect {
            Effect::Probe => {
                self.end_probe();
                self.processor.probed = Some(self.processor.registers.entry_hi);
            }
            Effect::WriteIndexed => self.write_indexed(index),
            Effect::WriteRandom => {
                self.processor.emptied = 0;
                self.processor.reloading.iter_mut().for_each(|reloading| reloading.filled = true);
            }
            Effect::Return => {
                self.end_probe();
                self.processor.returned = true;
                if self.is_armed() && self.processor.reloading.is_none() {
                    self.ledger.events().far_returns += 1;
                }
            }
            Effect::Wait => {}
        }
    }

    /// The emulator's TLB does not have the entry that the kernel looked for. A processor may still
    /// have had it, and then the kernel would have dropped it.
    fn end_probe(&mut self) {
        if let Some(pages) = self.processor.probed.take() {
            self.forget(pages);
        }
    }

    /// An entry of the TLB is written.
    fn write_indexed(&mut self, index: usize) {
        let registers = &self.processor.registers;
        let (pages, entry) = (registers.entry_hi, registers.index.all());
        // What empties an entry is an address of the kernel's, for each entry another one; so it is
        // not known where the entry is not.
        if pages.part(KERNELS) == Some(0) {
            // The kernel fills it, for an address that was missed.
            (self.processor.probed, self.processor.emptied) = (None, 0);
            self.setup.checker.iter_mut().for_each(Checker::fill);
            return;
        }
        let Some(entry) = entry else {
            // It is the one that was looked for.
            self.end_probe();
            self.count_flush(index, true);
            return;
        };
        self.end_probe();
        self.processor.emptied |= 1 << (entry % u64::from(ENTRIES));
        if self.processor.emptied == (1 << ENTRIES) - 1 {
            self.processor.emptied = 0;
            self.setup.machine.iter_mut().for_each(Machine::flush);
            self.setup.checker.iter_mut().for_each(Checker::flush);
            self.count_flush(index, false);
        }
    }

    /// An instruction of the chunk in execution flushes a page, or all.
    fn count_flush(&mut self, index: usize, is_page: bool) {
        if !self.is_armed() {
            return;
        }
        let events = self.ledger.events();
        *(if is_page { &mut events.page_flushes } else { &mut events.tlb_flushes }) += 1;
        let offset = index as u32 * INSTRUCTION;
        self.flushes((self.processor.block.address as u32).wrapping_add(offset));
    }

    /// Two pages are dropped. If it is not known which pages, or of which ASID, everything that
    /// they may be is dropped.
    fn forget(&mut self, pages: Bits) {
        let dropped = match (pages.all(), pages.part(0xff)) {
            (Some(pages), _) => Dropped::Pair(Key::of(pages)),
            (None, Some(asid)) => Dropped::Some(asid as u8),
            (None, None) => {
                self.setup.machine.iter_mut().for_each(Machine::flush);
                self.setup.checker.iter_mut().for_each(Checker::flush);
                return;
            }
        };
        self.setup.machine.iter_mut().for_each(|machine| machine.drop(dropped));
        self.setup.checker.iter_mut().for_each(|checker| checker.drop(dropped));
    }

    /// The kernel is entered from user mode, at a vector.
    fn entered(&mut self) -> Entry {
        self.setup.checker.iter_mut().for_each(Checker::leave_user);
        if std::mem::take(&mut self.processor.called) { Entry::Trap } else { Entry::Fault }
    }

    /// The handler of misses runs: what it executes has no owner yet.
    fn set_aside(&mut self, base: u32, bytes: u32) -> Owner {
        let (since, hot) = (self.now, self.processor.hot);
        let from_user = !self.processor.kernel;
        let reloading = self.processor.reloading.get_or_insert_with(|| Reloading {
            since,
            from_user,
            filled: false,
            handler: Handler { hot, ..Handler::default() },
        });
        reloading.handler.code.push((base, bytes));
        self.ledger.owner()
    }

    /// The handler has filled the TLB, and `base` is executed next. With a CPU model it is counted
    /// at the misses of the model's TLB, without one as it was executed.
    fn reloaded(&mut self, reloading: Reloading, base: u32) {
        let instructions = self.now - reloading.since;
        let Begun { address, bytes, at } = self.processor.begun;
        // An access that missed has been counted, and is again when it is made; in a delay slot
        // with its branch.
        let offset = base.wrapping_sub(address);
        let again = if reloading.from_user && offset < bytes {
            (reloading.since - at).saturating_sub((offset / INSTRUCTION).into())
        } else {
            0
        };
        let owner = self.ledger.owner();
        self.ledger.pass(owner, true, reloading.since - again);
        self.ledger.skip(self.now);
        match &mut self.setup.machine {
            Some(machine) => machine.handled(Handler { instructions, ..reloading.handler }),
            None => self.ledger.events().reload_instructions += instructions,
        }
    }

    /// The handler has not filled the TLB: it was the beginning of an entry.
    fn reload_failed(&mut self, reloading: &Reloading) -> Owner {
        self.ledger.pass(Owner::Kernel, true, reloading.since);
        self.ledger.events().fault_entries += 1;
        self.ledger.each(Repetition::enter_kernel);
        self.processor.called = false;
        self.setup.checker.iter_mut().for_each(Checker::leave_user);
        Owner::Kernel
    }

    /// An instruction of the chunk in execution has read or written memory. For the kernel's
    /// accesses it has to be called from power-on on.
    pub fn access(&mut self, accessed: Accessed, world: &mut impl Physical) {
        let Accessed { offset, address, bytes, write, physical, .. } = accessed;
        let index = usize::from(offset) / INSTRUCTION as usize;
        self.follow(index + 1);
        let is_kernels = self.processor.block.code.is_some();
        if is_kernels {
            self.follow_access(index, accessed);
        }
        if !self.is_armed() || self.processor.reloading.is_some() {
            return;
        }
        let instruction = self.instruction(offset);
        if is_kernels {
            self.ledger.each(|repetition| repetition.access(address as u32, bytes));
        }
        self.accesses += 1;
        let access = Access { address, bytes, write, user: !is_kernels, fetch: false };
        self.accessed(access, physical, instruction, world);
    }

    /// What an access of the kernel shows of registers, and of the tables' place.
    fn follow_access(&mut self, index: usize, accessed: Accessed) {
        let Accessed { address, write, value, .. } = accessed;
        let processor = &mut self.processor;
        let low = address as u32;
        if !write {
            if let Some(word) = processor.block.code.as_ref().and_then(|code| code.get(index)) {
                processor.registers.loaded(*word, value);
            }
            // The handler of misses reads first where the tables are.
            if processor.block.address as u32 == MISSES.start && !processor.block.has_read {
                processor.hot = Some(low);
                processor.top = Some(value as u32);
            }
            processor.block.has_read = true;
        } else if processor.hot == Some(low) {
            processor.top = Some(value as u32);
        }
    }

    fn accessed(
        &mut self,
        access: Access,
        physical: Option<u32>,
        instruction: u32,
        world: &mut impl Physical,
    ) {
        let counts = self.processor.counts();
        if let Some(machine) = &mut self.setup.machine {
            self.unknown += u64::from(!machine.access(access, counts, world, self.ledger.events()));
        }
        if let Some(checker) = self.setup.checker.as_mut().filter(|_| access.user) {
            let ledger = &mut self.ledger;
            let found = |(rule, address): Finding| ledger.violate(rule, instruction, address, None);
            self.unknown += u64::from(!checker.access(access, physical, counts, world, found));
        }
    }

    fn enter_user(&mut self, instruction: u32) {
        self.processor.emptied = 0;
        let counts = self.processor.counts();
        let Some(checker) = &mut self.setup.checker else { return };
        let ledger = &mut self.ledger;
        let found = |(rule, address): Finding| ledger.violate(rule, instruction, address, None);
        self.unknown += u64::from(!checker.enter_user(counts, found));
    }

    /// The owner of the code that user mode executes at an address.
    fn user_owner(&mut self, address: u32, world: &mut impl Physical) -> Owner {
        let top = self.processor.top;
        let native = *self.processor.native.get_or_insert_with(|| is_native(top, world));
        match native {
            false => Owner::User,
            true if self.setup.server.contains(&address.into()) => Owner::Server,
            true => Owner::Components,
        }
    }
}

/// Whether the space that runs is a native component's: it has a kernel information page at that
/// page's address.
fn is_native(top: Option<u32>, memory: &mut impl Physical) -> bool {
    let Some(pair) = top.and_then(|top| walk(memory, top, KIP_ADDRESS, |_| ()).ok()) else {
        return false;
    };
    let page = pair.page(KIP_ADDRESS);
    page.permits(false) && memory.read(page.physical(KIP_ADDRESS)) == Some(MAGIC)
}
