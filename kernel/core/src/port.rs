// SPDX-License-Identifier: MIT OR Apache-2.0
//! The port contract: all that a processor and its board must supply.
//!
//! A port saves the registers of the thread that ran in its [`Context`] and decides in its own entry
//! code which of the kernel's entries to call. On the way out it loads what the thread in
//! [`Cpu::current`] needs: its space, its rarely loaded state, its registers.
//!
//! A port may have a fast path. It may do exactly what the portable code would have done, and only if the
//! hot words of both threads say so ([`crate::thread::gate`]).
//!
//! The functions of [`Port`] are called with interrupts off. Each takes a bounded time: no longer than
//! 10,000 instructions for the largest range that a caller can name, or it puts the rest off.
//!
//! The columns of the tables below say what the ports do that exist (IA-32) or are planned.

use crate::{Charge, Irq, Segment, Space, Table, Thread};
use abi::utcb::{AREA_END, AREA_START, FIRST_SLOT, KIP_ADDRESS};
use abi::{CacheOp, Error, Frame, PhysAddr, Rights, TABLE_SPAN, USER_END, UserAddr, Word};
use bytemuck::Zeroable;
use core::ops::Range;
use mmu::Format;
use pool::{Link, Object, Pool, Ref};

/// Words of a thread's saved registers.
pub const CONTEXT_WORDS: usize = 32;

/// A thread's saved registers, in the port's own layout.
pub type Context = [Word; CONTEXT_WORDS];

/// Words of a thread's rarely loaded state.
pub const STATE_WORDS: usize = 17;

/// A thread's rarely loaded state, in the port's own layout: what is loaded only for a thread that
/// has any of it. All zeros is none.
pub type State = [Word; STATE_WORDS];

/// The words of a processor that its fast path reads. They share one cache line with what the processor
/// itself reads on each entry. On IA-32 that is the start of the task-state segment: `port` is its first word,
/// and its second, the stack pointer for ring 0, is `current`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    /// Thread whose rarely loaded state (on IA-32 segment registers, TLS, FPU, debug registers, I/O
    /// ports) is in the processor, plus flags of the port's; 0: none.
    pub loaded: u32,
    /// Highest priority in the ready queues, 0 if they are empty.
    pub top: u32,
    /// Belongs to the port.
    pub port: u32,
    /// The thread that runs.
    pub current: Link<Thread>,
}

/// What the port did about a translation fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultIn {
    /// What the processor looks at was only a cache of the space's tables, and has the entry now: the thread
    /// tries again.
    Repaired,
    /// The space's tables say so, too: the thread's handler has to know.
    Report,
}

/// What is about to happen to mappings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// They go.
    Remove,
    /// They go, and others take their place.
    Replace,
    /// They stay, with these rights at most. Some may gain a right, others lose one.
    Protect(Rights),
}

/// The registers of threads that do not run: what of a processor is only a layout of words, so that a test on another
/// machine can have it, too.
pub trait Registers {
    /// System-call argument `index`: 0 the tag, 1 to 4 the arguments `a0` to `a3`. The words of a message begin at 2;
    /// there are as many as `abi::tag::REGISTER_WORDS` says.
    fn argument(context: &Context, index: usize) -> Word;
    /// Sets result register `index`, `r0` to `r4`: 0 delivery or status, 1 handle or first result, and so on. The words of
    /// a message begin at 2.
    fn set_result(context: &mut Context, index: usize, value: Word);
    /// The registers as a handler sees them. If the thread stopped for a page fault, `address` is
    /// [`Thread::fault_address`].
    fn frame(thread: &Thread) -> Frame;
    /// Takes registers from a frame that a user wrote: masks flags, replaces what cannot be loaded. Whatever
    /// `Frame::changed` does not name stays as it is.
    fn load_frame(thread: &mut Thread, frame: &Frame);
    /// Registers of a thread that starts: entry, stack pointer, UTCB address, argument.
    fn start(context: &mut Context, entry: UserAddr, stack: UserAddr, utcb: UserAddr, argument: Word);
    /// Whether the thread, now waiting in IPC, may be resumed by the fast path.
    fn resumes_fast(thread: &Thread) -> bool;
    /// Sets part `item` of the rarely loaded state of a thread that is not loaded, and
    /// [`Thread::lazy`]. The parts are the port's own (`abi::state`). Returns a result of the part's.
    ///
    /// # Errors
    /// `BadArgument` if there is no such part, or the value could reach the kernel.
    fn set_state(thread: &mut Thread, item: Word, values: [Word; 2]) -> Result<Word, Error>;
}

/// The kernel's part of a native space: nobody else maps there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Area {
    /// First address, a multiple of `TABLE_SPAN` if it is among the users' (below `USER_END`).
    pub start: UserAddr,
    /// End (exclusive), a multiple of `TABLE_SPAN` if it is among the users'.
    pub end: UserAddr,
    /// Address of the information page, in the area; none if the port shows it in every space
    /// ([`Port::information_page`]).
    pub kip: Option<UserAddr>,
    /// Address of the first page of UTCB slots. There is room for [`abi::utcb::SLOTS`].
    pub first_slot: UserAddr,
}

impl Area {
    /// The part that the contract names, but at a place.
    ///
    /// # Errors
    /// `BadAddress`: it would not be aligned, or not lie among the users' addresses.
    pub fn at(place: Word) -> Result<Self, Error> {
        let fits = place.is_multiple_of(TABLE_SPAN) && place < USER_END && AREA_END - AREA_START <= USER_END - place;
        let moved = |address: Word| UserAddr(address - AREA_START + place);
        fits.then(|| Self { start: moved(AREA_START), end: moved(AREA_END), kip: Some(moved(KIP_ADDRESS)), first_slot: moved(FIRST_SLOT) })
            .ok_or(Error::BadAddress)
    }
}

/// What a space has of what only this kind of processor has, by number.
///
/// | IA-32 | ARMv5 | PowerPC | x86-64 |
/// |---|---|---|---|
/// | I/O ports: their bitmap | nothing | nothing | as IA-32 |
pub trait Special: Object {
    /// A space has none of them. The object was zero.
    fn close_all(&mut self);
    /// A space has, or has no more, `count` of them from `first` on. It is at least one, and they are within what the board
    /// has ([`Machine::special`](crate::boot::Machine::special)).
    fn set(&mut self, first: u32, count: u32, open: bool);
}

/// A processor and its board.
pub trait Port {
    /// Layout of translation tables.
    type Format: Format;
    /// Layout of a thread's registers.
    type Registers: Registers;
    /// A link for each interrupt line of the board, at most [`abi::boot::MAX_IRQS`]: an array.
    type Irqs: AsRef<[Link<Irq>]> + AsMut<[Link<Irq>]> + Zeroable;
    /// What a space has that is no memory: [`Space::special`] is its address.
    type Special: Special;

    /// How many slots there are that spaces can be relocated to ([`wants_slot`](Self::wants_slot)).
    const SLOTS: u16;
    /// How many ranges of lines can be locked in a cache ([`lock_lines`](Self::lock_lines)).
    const LOCKS: u16;

    // --- Processor ---------------------------------------------------------------
    /// The hot words.
    fn cpu(&mut self) -> &mut Cpu;
    /// Takes a thread's rarely loaded state out of the processor, if it is there: saved to the thread
    /// (`keep`), or lost.
    fn unload(&mut self, pool: &mut Pool, thread: Ref<Thread>, keep: bool);

    /// Initial FPU state, written to the FPU area of a new UTCB slot.
    fn clear_fpu(area: &mut [u8]);

    // --- Memory: the seams of address-space multiplexing ------------------------------
    /// Physical address of a block of the pool.
    fn physical(&self, address: u32) -> PhysAddr;
    /// Address in the pool of a physical address in it.
    fn pool_address(&self, physical: PhysAddr) -> u32;

    /// The information page was written, by its address in the pool. It is called once, before there is any space.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | nothing: each native space maps it | cleans it, and shows it in all spaces | nothing |
    fn information_page(&mut self, physical: PhysAddr);
    /// A space was made. Its highest table is empty. Afterwards [`Space::hw`] and the kernel's part of that
    /// table are filled in: its threads can run.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | copies the kernel's entries; `hw` is the directory's physical address | picks a slot for the PID, no domain yet | takes VSIDs | as IA-32, and takes a PCID |
    fn space_created(&mut self, pool: &mut Pool, space: Ref<Space>);
    /// A space's tables are about to be freed. No thread runs in it any more. Afterwards nothing in the
    /// processor names its tables, no cache has anything of its pages by their addresses there, and its tags may be another's. It
    /// may be called twice.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | leaves its directory, if that is loaded | takes its entries out of the caching page directory; domain and slot become free | its hash entries go when the VSIDs are used again | as IA-32; the PCID becomes free |
    ///
    /// Returns what its Quota has paid for and gets back: a slot, if it was the last there ([`give_slot`](Self::give_slot)), and ranges
    /// of lines that it had locked ([`lock_lines`](Self::lock_lines)).
    fn space_dropped(&mut self, pool: &mut Pool, space: Ref<Space>) -> Charge;
    /// Where a native space, which has no tables yet, will have its UTCBs and the information page. `place` is what its
    /// maker says of that; 0 is nothing.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | at the address `place` | a part of its own for each: no address is two spaces'; `place` is as for aliens ([`place`](Self::place)) | as IA-32 | as IA-32 |
    ///
    /// # Errors
    /// `BadAddress`: it cannot be there. `BadArgument`: the place says nothing. `PoolExhausted`: all places have been given.
    fn area(&mut self, pool: &mut Pool, space: Ref<Space>, place: Word) -> Result<Area, Error>;
    /// What the maker of a space of aliens, which has no tables yet, says of its place; not 0.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | there is nothing to say | whether it is relocated, and its vspace (`abi::arch::armv5::place`) | nothing |
    ///
    /// # Errors
    /// `BadArgument`: that says nothing.
    fn place(&mut self, pool: &mut Pool, space: Ref<Space>, place: Word) -> Result<(), Error>;
    /// Whether what the maker of a space says of its place asks for a slot.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | no: small spaces are attached to a home | whether it is to be relocated | no |
    fn wants_slot(place: Word) -> bool;
    /// A space that wants one gets a slot: one that nobody has, which its Quota has paid for (`is_own`), or one that spaces of the same
    /// Quota have. If there is none it has no slot. It has no tables yet.
    fn give_slot(&mut self, pool: &mut Pool, space: Ref<Space>, is_own: bool);
    /// What the maker of a space is told of its place.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | 0 | the number of its slot | 0 |
    fn place_of(&self, pool: &Pool, space: Ref<Space>) -> Word;
    /// A space without threads becomes a server: [`Space::window`] says so. Afterwards its threads run privileged enough for pages
    /// that [`Format::supervisor`] keeps from others, and not enough for the kernel's.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | its threads run at ring 1, if segment limits hold | none: user pages are told apart by domains | none | none: a PCID makes the switch cheap |
    ///
    /// # Errors
    /// `Unsupported`: there are none on this machine.
    fn space_served(&mut self, pool: &mut Pool, space: Ref<Space>) -> Result<(), Error>;
    /// A space shows a server from now on, or none any more. The entries are there, or will be gone. Afterwards the server's threads run
    /// by the space's tables while these are the processor's, or by their own.
    ///
    /// | IA-32 | others |
    /// |---|---|
    /// | noted for the switch | nothing |
    fn server_shown(&mut self, pool: &mut Pool, space: Ref<Space>, server: Link<Space>);
    /// Whether spaces can be small: [`space_moved`](Self::space_moved).
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | if segment limits hold | by the PID | no |
    fn has_small_spaces(&self) -> bool;
    /// A space is small from now on: its home's tables have its entries at `place`. Afterwards its threads run by
    /// its home's tables, with the addresses from 0 on that there are from `place` on, and reach nothing outside. Or its home is null
    /// and the space large again: its threads run by its own tables. It may be loaded either time, and it may be large already.
    ///
    /// | IA-32 | ARMv5 |
    /// |---|---|
    /// | base and limit of its threads' segments | its slot |
    fn space_moved(&mut self, pool: &mut Pool, space: Ref<Space>, home: Link<Space>, place: Range<UserAddr>);
    /// A UTCB slot was taken in the page at `page` of the pool, which is mapped at `address` of a space. Returns the address by
    /// which the kernel reaches that page from now on. It is in the pool, or in what [`Pool::add_window`] names. No cache
    /// has anything of the page by another address afterwards. The page goes as any mapping does:
    /// by [`before_change`](Self::before_change).
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | `page`: caches are physical | `address`: the cache would have two copies otherwise; the lines of `page` are written back | `page` | `page` |
    fn utcb_page(&mut self, page: u32, address: UserAddr) -> u32;
    /// A Segment was made: it has no tables yet, and is attached nowhere.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing | no domain yet | takes VSIDs | nothing |
    fn segment_created(&mut self, pool: &mut Pool, segment: Ref<Segment>);
    /// A Segment ends. It is attached nowhere and has no tables any more but its empty directory. Its tags may be another's afterwards.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing | its domain becomes free | its VSIDs become free | nothing |
    fn segment_dropped(&mut self, pool: &mut Pool, segment: Ref<Segment>);

    /// Mappings in this range of a space are about to change. The old ones can still be used. Afterwards no
    /// cache has anything that only the old ones reach.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: caches are physical | cleans the data cache, and invalidates it unless the mappings stay | nothing | nothing |
    fn before_change(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, change: Change);
    /// As [`before_change`](Self::before_change), for any mapping of any space.
    fn before_change_anywhere(&mut self, change: Change);
    /// These entries of a table were written; all of them when the table is new. Afterwards the
    /// processor finds them in memory. Whether it may still use older ones is [`invalidate`](Self::invalidate)'s matter.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: the walker reads through the caches | cleans the entries' lines: the walker reads memory | nothing: no walker | nothing |
    fn entries_written(&mut self, pool: &Pool, table: Ref<Table>, range: Range<usize>);
    /// Of the entries that name a space's leaf tables these were written, as far as there are directories that have them.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: this is the level that the processor walks | the old ones go from the caching page directory | nothing | nothing |
    fn directory_written(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<usize>);
    /// Mappings in this range of a space were changed. Afterwards the processor uses no older translation; of a small space
    /// ([`space_moved`](Self::space_moved)) at no place in its home, whoever of that runs.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | `invlpg`, or a write of CR3, if the directory is loaded | TLB operations by address | takes entries out of the hash table and the TLB | `invlpg`, or marks the PCID as stale |
    fn invalidate(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>);
    /// As [`invalidate`](Self::invalidate), for any translation of any space.
    fn invalidate_all(&mut self);
    /// A thread of the space had a translation fault at an address.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | never repaired | the caching page directory gets the entry; the data cache is cleaned if the section was another's | the hash table gets the entry | never repaired |
    fn fault_in(&mut self, pool: &mut Pool, space: Ref<Space>, address: UserAddr, access: Rights) -> FaultIn;
    /// Cache maintenance on a range of a space, asked for by a user: for code that was written, for memory at several addresses, and
    /// by drivers for DMA, which the kernel has no part in.
    ///
    /// | IA-32 | ARMv5 | PowerPC | x86-64 |
    /// |---|---|---|---|
    /// | nothing: caches are physical, and coherent with the instruction side | by line, or all of it | `dcbst`, `icbi` | nothing |
    fn cache(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, what: CacheOp);
    /// The lines of a range of a space are to stay in the cache. `is_paid`: its Quota is charged for one range more. Returns whether it
    /// is to stay charged: the range was not locked before.
    ///
    /// | IA-32 | ARMv5 | others |
    /// |---|---|---|
    /// | `Unsupported` | on an XScale core | `Unsupported` |
    ///
    /// # Errors
    /// `Unsupported`: lines cannot be locked on this machine. If they can, what [`Op::Cache`](abi::Op::Cache) says of that;
    /// `QuotaExceeded` if it is not paid.
    fn lock_lines(&mut self, pool: &mut Pool, space: Ref<Space>, range: Range<UserAddr>, is_paid: bool) -> Result<bool, Error>;
    /// Lines of a range of a space are to stay no more. Returns what its Quota gets back.
    ///
    /// # Errors
    /// `Unsupported`: as above. `NotThere`: none are locked.
    fn unlock_lines(&mut self, pool: &mut Pool, space: Ref<Space>, range: &Range<UserAddr>) -> Result<Charge, Error>;

    // --- Board ------------------------------------------------------------------------------
    /// Nanoseconds since boot.
    fn now(&self) -> u64;
    /// Asks for a tick at this time, or for none. Early ticks are allowed.
    fn set_timer(&mut self, deadline: Option<u64>);
    /// Lets a line interrupt, or not.
    fn set_irq(&mut self, line: u32, enabled: bool);
    /// Whether an interrupt waits to be taken: long operations then stop.
    fn interrupt_pending(&mut self) -> bool;
}
