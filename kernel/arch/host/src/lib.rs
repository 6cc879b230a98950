// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port to the host: the contract over simulated registers, for tests of the portable kernel.
//!
//! It owns registers and translation tables of its own, in two shapes: with 32-bit words and two
//! levels of tables, and, with the feature `wide`, with 64-bit words and four. A test can use a
//! processor's registers and tables instead. Only tests walk the tables: this port has no processor
//! that runs a thread.
#![warn(missing_docs)]

mod format;
mod memory;
mod numbers;
mod registers;

pub use format::HostFormat;
pub use numbers::{NUMBERS, Numbers};
pub use registers::{ARGUMENTS, HostRegisters, set_vector};

use abi::kip::Kip;
use abi::utcb::{AREA_BYTES, AREA_END};
use abi::{CacheOp, Error, PAGE_SIZE, PhysAddr, USER_END, UserAddr, Word};
use bytemuck::Zeroable;
use kcore::boot::{self, Machine, thread_table};
use kcore::port::{Area, Board, Caches, Change, Placement, Processor, Registers, Translation};
use kcore::{Charge, Cpu, Irq, Kernel, Port, Quota, Segment, Space, Table, Thread};
use memory::Memory;
use mmu::Format;
use mmu::slots::Slots;
use pool::{Link, Pool, Ref};
use std::collections::{BTreeSet, HashMap};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;

/// The address that the pool pretends to have.
pub const POOL_BASE: u32 = pool::BASE;
/// Bytes of the pool.
pub const POOL_BYTES: u32 = 4 << 20;
/// The bits of physical addresses above bit 31, if they are that long.
const HIGH: Word = (0x12 as Word).unbounded_shl(32);
/// Physical address of the pool.
pub const POOL_PHYSICAL: PhysAddr = PhysAddr(HIGH + 0x0700_0000);
/// The RAM that the root server gets.
pub const RAM: boot::Range = boot::Range { base: PhysAddr(HIGH + 0x0100_0000), bytes: 16 << 20 };

/// Where windows of servers may begin.
pub const WINDOWS: Word = USER_END - (0x1000_0000 as Word);

/// Interrupt lines: more than a word has bits.
pub const LINES: usize = 40;

/// Selectors in the root server's table.
pub mod slot {
    pub use abi::boot::slot::*;
    /// First slot that is empty.
    pub const FREE: u32 = IRQ + super::LINES as u32;
}

/// A place for the kernel's part of a native space that is not at its start. Its first page has
/// UTCBs, the last but one the information page.
pub const ELSEWHERE: Area = Area {
    start: UserAddr(0x2000_0000),
    end: UserAddr(0x2000_0000 + AREA_BYTES),
    kip: Some(UserAddr(0x2000_0000 + AREA_BYTES - 2 * PAGE_SIZE)),
    first_slot: UserAddr(0x2000_0000),
};

/// Where the kernel accesses UTCBs if not in the pool ([`Host::window`]).
const WINDOW: u32 = 0xc000_0000;

/// The place of a new space that asks for a slot.
pub const RELOCATED: Word = 4;
/// How many slots there are.
pub const SLOTS: usize = 4;

/// How many ranges of lines can be locked.
pub const LOCKS: u16 = 4;

/// A range of a space, by the space's kernel address.
pub type Part = (u32, Range<UserAddr>);

/// A simulated processor and board, with these registers and translation tables.
pub struct Host<R = HostRegisters, F: Format = HostFormat> {
    cpu: Cpu,
    /// The time, which tests advance.
    pub now: u64,
    /// What the timer was last set to.
    pub timer: Option<u64>,
    /// Whether long operations are told that an interrupt is pending.
    pub pending: bool,
    /// Ranges whose translations were dropped.
    pub invalidated: Vec<Part>,
    /// How often all translations were dropped.
    pub all_invalidated: u32,
    /// Ranges of servers whose translations were dropped in all spaces that show them.
    pub shown_invalidated: Vec<Part>,
    /// Ranges whose mappings were announced to change, and how; no range stands for all mappings of
    /// all spaces.
    pub announced: Vec<(Option<Part>, Change)>,
    /// The operations on caches that users asked for.
    pub cached: Vec<(Part, CacheOp)>,
    /// Ranges whose lines are locked in the cache.
    pub locked: Vec<Part>,
    /// Segments that have begun and not ended, by their addresses.
    pub segments: BTreeSet<u32>,
    /// Entries that name leaf tables, by space and number, as the port has learned them from
    /// `directory_written` only.
    pub tops: HashMap<(u32, usize), F::Entry>,
    /// Tables as a walker would find them in memory, if only `entries_written` makes changes
    /// visible.
    pub walker: HashMap<u32, Table>,
    /// Where the kernel's part of a native space is, if not at the place that its creator gave.
    pub area: Option<Area>,
    /// Which space shows which server, by their addresses.
    pub shown: HashMap<u32, u32>,
    /// Where small spaces are: home and place, by their addresses.
    pub moved: HashMap<u32, (u32, Range<UserAddr>)>,
    /// The slots that spaces can be relocated to, and the address of each one's holder.
    slots: Slots<Link<Quota>, SLOTS>,
    relocated: HashMap<u32, usize>,
    /// Whether there can be no servers and no small spaces, as on most processors.
    pub has_no_servers: bool,
    /// Whether the kernel accesses UTCBs by other addresses than those in the pool, as with virtual
    /// caches.
    pub window: bool,
    /// Where windows of servers may begin.
    pub windows: Word,
    /// The pool's memory, if the kernel has not taken it yet.
    memory: Option<Memory>,
    shape: PhantomData<fn() -> (R, F)>,
}

impl<R, F: Format> Default for Host<R, F> {
    fn default() -> Self {
        Self {
            cpu: Cpu::default(),
            now: 0,
            timer: None,
            pending: false,
            invalidated: Vec::new(),
            all_invalidated: 0,
            shown_invalidated: Vec::new(),
            announced: Vec::new(),
            cached: Vec::new(),
            locked: Vec::new(),
            segments: BTreeSet::new(),
            tops: HashMap::new(),
            walker: HashMap::new(),
            area: None,
            shown: HashMap::new(),
            moved: HashMap::new(),
            slots: Slots::new(),
            relocated: HashMap::new(),
            has_no_servers: false,
            window: false,
            windows: WINDOWS,
            memory: None,
            shape: PhantomData,
        }
    }
}

impl<R: Registers, F: Format> Host<R, F> {
    /// The entry that names leaf table `index` of a space; an empty one where no directory is.
    fn top_of(&self, pool: &Pool, space: Ref<Space>, index: usize) -> F::Entry {
        let mut entry = F::empty();
        let mut table = pool[space].region.top.get();
        for level in (1..F::LEVELS).rev() {
            let Some(at) = table else { return F::empty() };
            entry = pool[at].entries::<F>()[index / F::tables_of_entry(level) % F::ENTRIES];
            table = F::decode_table(entry)
                .map(|(physical, _)| Ref::new((physical - POOL_PHYSICAL) as u32 + POOL_BASE));
        }
        entry
    }
}

impl<R, F: Format> Host<R, F> {
    /// Unlocks the lines of these ranges. Returns what was charged for them.
    fn unlock(&mut self, mut is_it: impl FnMut(&Part) -> bool) -> Charge {
        let before = self.locked.len();
        self.locked.retain(|part| !is_it(part));
        Charge { locks: (before - self.locked.len()) as u16, ..Charge::NONE }
    }
}

impl<R: Registers, F: Format> Processor for Host<R, F> {
    type Registers = R;
    type Special = Numbers;

    fn cpu(&mut self) -> &mut Cpu {
        &mut self.cpu
    }
    fn clear_fpu(area: &mut [u8]) {
        area.fill(0);
    }
}

impl<R: Registers, F: Format> Translation for Host<R, F> {
    type Format = F;

    fn physical(&self, address: u32) -> PhysAddr {
        POOL_PHYSICAL + (address - POOL_BASE) as Word
    }
    fn pool_address(&self, physical: PhysAddr) -> u32 {
        (physical - POOL_PHYSICAL) as u32 + POOL_BASE
    }
    fn space_created(&mut self, _: &mut Pool, _: Ref<Space>) {}
    fn space_dropped(&mut self, _: &mut Pool, space: Ref<Space>) -> Charge {
        self.tops.retain(|(of, _), _| *of != space.address());
        let left_slot =
            self.relocated.remove(&space.address()).is_some_and(|slot| self.slots.leave(slot));
        let locks = self.unlock(|(of, _)| *of == space.address());
        Charge { slots: left_slot.into(), ..locks }
    }
    fn segment_created(&mut self, _: &mut Pool, segment: Ref<Segment>) {
        assert!(self.segments.insert(segment.address()), "a Segment begins twice");
    }
    fn segment_dropped(&mut self, pool: &mut Pool, segment: Ref<Segment>) {
        assert!(self.segments.remove(&segment.address()), "a Segment ends twice");
        assert!(pool[segment].region.uses.is_null(), "it is attached somewhere");
    }
    fn entries_written(&mut self, pool: &Pool, table: Ref<Table>, range: Range<usize>) {
        let seen = self.walker.entry(table.address()).or_insert_with(Table::zeroed);
        seen.entries_mut::<F>()[range.clone()].copy_from_slice(&pool[table].entries::<F>()[range]);
    }
    fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>) {
        for index in range {
            let entry = self.top_of(pool, space, index);
            self.tops.insert((space.address(), index), entry);
        }
    }
    fn invalidate(&mut self, _: &mut Pool, space: Ref<Space>, range: Range<UserAddr>) {
        self.invalidated.push((space.address(), range));
    }
    fn invalidate_all(&mut self) {
        self.all_invalidated += 1;
    }
    fn invalidate_shown(&mut self, _: &mut Pool, server: Ref<Space>, range: Range<UserAddr>) {
        self.shown_invalidated.push((server.address(), range));
    }
}

impl<R: Registers, F: Format> Caches for Host<R, F> {
    const LOCKS: u16 = LOCKS;

    fn utcb_page(&mut self, page: u32, _: UserAddr) -> u32 {
        if self.window { page - POOL_BASE + WINDOW } else { page }
    }
    fn before_change(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        change: Change,
    ) {
        self.announced.push((Some((space.address(), range)), change));
    }
    fn before_change_anywhere(&mut self, change: Change) {
        self.announced.push((None, change));
    }
    fn cache(&mut self, _: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, what: CacheOp) {
        self.cached.push(((space.address(), range), what));
    }
    fn lock_lines(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        range: Range<UserAddr>,
        is_paid: bool,
    ) -> Result<bool, Error> {
        let lock = (space.address(), range);
        if self.locked.contains(&lock) {
            return Ok(false);
        }
        if !is_paid {
            return Err(Error::QuotaExceeded);
        }
        self.locked.push(lock);
        Ok(true)
    }
    fn unlock_lines(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        range: &Range<UserAddr>,
    ) -> Result<Charge, Error> {
        let charged = self.unlock(|(of, part)| {
            *of == space.address() && part.start < range.end && range.start < part.end
        });
        if charged == Charge::NONE { Err(Error::NotThere) } else { Ok(charged) }
    }
}

impl<R: Registers, F: Format> Placement for Host<R, F> {
    const SLOTS: u16 = SLOTS as u16;
    const SERVERS: bool = true;
    const HOMES: bool = true;

    fn area(&mut self, _: &mut Pool, _: Ref<Space>, place: Word) -> Result<Area, Error> {
        self.area.map_or_else(|| Area::at(place), Ok)
    }
    fn place(&mut self, _: &mut Pool, _: Ref<Space>, place: Word) -> Result<(), Error> {
        if place == RELOCATED { Ok(()) } else { Err(Error::BadArgument) }
    }
    fn wants_slot(place: Word) -> bool {
        place == RELOCATED
    }
    fn give_slot(&mut self, pool: &mut Pool, space: Ref<Space>, is_own: bool) {
        let slot = self.slots.take(pool[space].region.header.quota, is_own);
        self.relocated.extend(slot.map(|slot| (space.address(), slot)));
    }
    fn place_of(&self, _: &Pool, space: Ref<Space>) -> Word {
        self.relocated.get(&space.address()).map_or(0, |slot| 1 + *slot as Word)
    }
    fn space_served(&mut self, _: &mut Pool, _: Ref<Space>) -> Result<(), Error> {
        if self.has_no_servers { Err(Error::Unsupported) } else { Ok(()) }
    }
    fn server_shown(&mut self, _: &mut Pool, space: Ref<Space>, server: Link<Space>) {
        match server.get() {
            Some(server) => drop(self.shown.insert(space.address(), server.address())),
            None => drop(self.shown.remove(&space.address())),
        }
    }
    fn has_small_spaces(&self) -> bool {
        !self.has_no_servers
    }
    fn space_moved(
        &mut self,
        _: &mut Pool,
        space: Ref<Space>,
        home: Link<Space>,
        place: Range<UserAddr>,
    ) {
        match home.get() {
            Some(home) => drop(self.moved.insert(space.address(), (home.address(), place))),
            None => drop(self.moved.remove(&space.address())),
        }
    }
}

impl<R: Registers, F: Format> Board for Host<R, F> {
    type Irqs = [Link<Irq>; LINES];

    fn now(&self) -> u64 {
        self.now
    }
    fn set_timer(&mut self, deadline: Option<u64>) {
        self.timer = deadline;
    }
    fn set_irq(&mut self, _: u32, _: bool) {}
    fn interrupt_pending(&mut self) -> bool {
        self.pending
    }
}

/// A thread's registers as if it had just made a system call: the tag and `a0` to `a3`.
pub fn set_arguments<R: Registers>(thread: &mut Thread, arguments: [Word; 5]) {
    arguments
        .into_iter()
        .enumerate()
        .for_each(|(index, argument)| R::set_result(&mut thread.context, index, argument));
}

/// The registers that a system call's results are in, `r0` to `r4`.
#[must_use]
pub fn results<R: Registers>(thread: &Thread) -> [Word; 5] {
    // Arguments and results are in the same registers of every processor so far.
    std::array::from_fn(|index| R::argument(&thread.context, index))
}

/// A kernel with a root server that is about to run.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn boot() -> Kernel<Host> {
    boot_with(POOL_BYTES)
}

/// As [`boot()`], with a pool of this size, a multiple of a page.
///
/// # Panics
/// If the root server does not fit.
#[must_use]
pub fn boot_with<R: Registers, F: Format>(pool_bytes: u32) -> Kernel<Host<R, F>> {
    boot_on(Host::default(), pool_bytes)
}

/// As [`boot()`], with the kernel's part of a native space elsewhere, and UTCBs that the kernel
/// does not access in the pool.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn boot_elsewhere() -> Kernel<Host> {
    boot_on(Host { area: Some(ELSEWHERE), window: true, ..Host::default() }, POOL_BYTES)
}

/// As [`boot()`], with windows of servers from this address on.
///
/// # Panics
/// If the host has no memory.
#[must_use]
pub fn boot_with_windows(windows: Word) -> Kernel<Host> {
    boot_on(Host { windows, ..Host::default() }, POOL_BYTES)
}

fn boot_on<R: Registers, F: Format>(mut host: Host<R, F>, bytes: u32) -> Kernel<Host<R, F>> {
    let (windows, memory) = (host.windows, Memory::of(bytes));
    let start = memory.start();
    host.memory = Some(memory);
    boot_in(host, windows, (start, bytes))
}

/// As [`boot_with`], with another port, whose pool is at [`POOL_PHYSICAL`], and windows of servers
/// from this address on.
///
/// # Panics
/// If the root server does not fit.
#[must_use]
pub fn boot_port<P: Port>(port: P, windows: Word, pool_bytes: u32) -> Kernel<P> {
    // The port has no place for it.
    let memory = ManuallyDrop::new(Memory::of(pool_bytes));
    boot_in(port, windows, (memory.start(), pool_bytes))
}

/// As [`boot_port`], with a pool of this many bytes.
fn boot_in<P: Port>(port: P, windows: Word, (start, bytes): (*mut u8, u32)) -> Kernel<P> {
    let (_, reserved) = thread_table(bytes);
    // SAFETY: both callers give memory of this size, whole pages. One never gives it to anybody else.
    // The other has the port keep it, which is dropped with the kernel: tests take neither the port nor
    // the pool out of a kernel. The window has no memory of its own.
    let pool = unsafe {
        let mut pool = Pool::new(start, bytes, reserved);
        pool.add_window(WINDOW, bytes);
        pool
    };
    let mut kernel = Kernel::new(pool, port);
    let header = abi::boot::Header {
        root_bytes: PAGE_SIZE as u32,
        root_address: AREA_END as u32,
        root_offset: PAGE_SIZE as u32,
        total: 2 * PAGE_SIZE as u32,
        ..abi::boot::Header::zeroed()
    };
    let machine = Machine {
        ram: &[RAM],
        devices: [
            boot::Range { base: PhysAddr(0x0800_0000), bytes: 0x10_0000 },
            boot::Range { base: PhysAddr(0xa_0000), bytes: 0x6_0000 },
        ],
        special: boot::Range { base: PhysAddr(0), bytes: NUMBERS as Word },
        windows: boot::Range { base: PhysAddr(windows), bytes: USER_END - windows },
        tables: boot::Range::default(),
        list: PhysAddr::default(),
        image: PhysAddr(0x0300_0000),
        header,
        irq_lines: &[1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 39],
    };
    kernel.start_root(&machine, &Kip::zeroed()).expect("the root server fits");
    kernel
}
