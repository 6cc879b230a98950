// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems of threads, and what their threads may do next.

use abi::arch::armv5::layout::SLOT_BYTES;
use abi::frame::{self, vector as named};
use abi::utcb::{SLOT_USED, Utcb};
use abi::{Error, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END};
use arch_host::{boot_with, slot};
use armv5_context::{Armv5, hw, vector, word};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::space::HEADER_BYTES;
use kcore::thread::{SEQUENCE, gate};
use kcore::{Kernel, Memory, Region, Segment, Slot, Space, Thread, attach};
use mmu::fass::client;
use pool::{Link, Ref};
use std::cell::Cell;

/// The machine whose memory the assembly gets: ARMv5's registers and translation tables.
pub type Host = arch_host::Host<Armv5, mmu::armv5::Armv5>;

const POOL_BYTES: u32 = 512 << 10;
/// Capability slots that a space's threads have other threads in: from 1 on.
const PEERS: u32 = 12;
/// Native spaces, the root server's among them.
const SPACES: usize = 3;
/// Native threads beside the root server's.
const THREADS: usize = 7;
/// Behind the peers, slots of memories, and then of spaces.
const MEMORIES: u32 = 4;
/// Behind the spaces, Segments.
const SEGMENTS: usize = 2;
/// Bytes of the smaller memories, and of the range of addresses where pages are mapped.
const BYTES: u32 = 40 * PAGE_SIZE;
/// That range, in the middle of a table: in some systems where addresses are relocated, in the others above.
const RANGES: [u32; 2] = [0x0090_0000, 0x5010_0000];
/// Where Segments are attached, elsewhere.
const PLACES: [u32; 2] = [0x0100_0000, 0x6000_0000];
/// Aliens: their selectors follow those of all native threads.
const ALIENS: usize = 3;
/// Words of the contract's system calls that travel in registers, with the tag and `a0`.
pub const ARGUMENTS: usize = 2 + abi::tag::REGISTER_WORDS as usize;

/// A system, and what is known about it.
pub struct Scenario {
    /// The kernel.
    pub kernel: Kernel<Host>,
    root: Ref<Space>,
    /// Selectors in the root server's table.
    found: Found,
    /// The record that was made last, and by whom.
    last: Cell<Option<(Link<Space>, [u32; 4])>>,
}

/// Selectors in the root server's table.
struct Found {
    threads: Vec<u32>,
    memories: Vec<u32>,
    /// Of spaces of native threads and of aliens, and of Segments.
    owners: Vec<u32>,
    /// Where pages are mapped.
    range: u32,
}

/// An access that fails.
pub struct Fault {
    /// What the processor says of it.
    pub status: u32,
    /// See `status`.
    pub address: u32,
    /// Which one.
    pub access: Access,
}

/// What fails.
#[derive(Clone, Copy)]
pub enum Access {
    /// This instruction.
    Data(u32),
    /// To fetch it.
    Fetch,
}

impl Access {
    /// The entry code's number.
    pub const fn number(self) -> u32 {
        match self {
            Self::Data(_) => named::PAGE_FAULT,
            Self::Fetch => named::BREAKPOINT,
        }
    }
}

/// Status of a fault: the entry of a coarse table is empty.
pub const MISSING: u32 = 7;

/// What the processor does next.
pub enum Event {
    /// The running thread executes `swi` with these in r0 to r9.
    Swi([u32; ARGUMENTS]),
    /// Its access fails.
    Abort(Fault),
    /// The timer interrupts.
    Tick,
}

/// Makes a system call for the running thread.
fn call(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> u32 {
    let me = kernel.current().expect("the root server runs");
    arch_host::set_arguments::<Armv5>(&mut kernel.pool[me], [Tag::new(op, 0, 0).0, args[0], args[1], args[2], args[3]]);
    kernel.pool[me].context[word::VECTOR] = vector::SWI;
    kernel.system_call();
    let [status, result, ..] = arch_host::results::<Armv5>(&kernel.pool[me]);
    assert_eq!(Error::from_code(status), None, "{op:?}");
    result
}

/// Two spaces beside the root server's, with capabilities of all kinds of rights to its threads. Memory is given to them as well.
fn populate(kernel: &mut Kernel<Host>, rng: &mut Rng) -> Found {
    let mut free = slot::FREE..;
    let mut fresh = || free.next().unwrap_or_default();
    let mut spaces = vec![slot::SPACE];
    while spaces.len() < SPACES {
        let space = fresh();
        call(kernel, Op::CreateSpace, [slot::QUOTA, PEERS + 1 + MEMORIES + (SPACES + SEGMENTS) as u32, space, 0]);
        spaces.push(space);
    }
    let (mut threads, mut here) = (vec![slot::THREAD], Vec::new());
    for _ in 0..THREADS {
        let (thread, space) = (fresh(), spaces[rng.usize(..SPACES)]);
        call(kernel, Op::CreateThread, [slot::QUOTA, space, thread, 0]);
        if space == slot::SPACE {
            here.push(thread);
        }
        threads.push(thread);
    }
    let natives = threads.clone();
    // Aliens, whose handlers are in the root server's space.
    let mut aliens = Vec::new();
    for _ in 0..ALIENS {
        let (space, alien) = (fresh(), fresh());
        call(kernel, Op::CreateSpace, [slot::QUOTA, 0, space, 0]);
        call(kernel, Op::CreateThread, [slot::QUOTA, space, alien, slot::SPACE]);
        aliens.push(space);
        let handler = here.get(rng.usize(..here.len().max(1))).copied();
        set_handler(kernel, alien, handler, fresh(), rng);
        threads.push(alien);
    }
    for thread in &natives[1..] {
        let pager = Some(natives[rng.usize(1..natives.len())]).filter(|pager| pager != thread && rng.u32(..3) > 0);
        set_handler(kernel, *thread, pager, fresh(), rng);
    }
    for space in &spaces[1..] {
        for slot in 1..=PEERS {
            let rights = if rng.u32(..4) > 0 { Rights::CALL.0 | Rights::NOTIFY.0 } else { rng.u32(..64) };
            let source = natives[rng.usize(1..natives.len())];
            call(kernel, Op::Copy, [source, *space, slot, rights | rng.u32(..0x1000) << 12]);
        }
    }
    for thread in &threads[1..] {
        // A handler that is less urgent than its alien may find others ready.
        let priorities = if natives.contains(thread) { [50, 50, 60, 60, 70] } else { [50, 60, 70, 70, 70] };
        call(kernel, Op::SetPriority, [*thread, priorities[rng.usize(..5)], 100, 0]);
    }
    for thread in &natives[1..] {
        call(kernel, Op::Start, [*thread, 0x40_0000, 0x50_0000, 0]);
        if rng.u32(..8) == 0 {
            call(kernel, Op::SetState, [*thread, abi::state::THREAD_POINTER, rng.u32(1..), 0]);
        }
        // The root server's own are to have badges, too.
        let badged = fresh();
        call(kernel, Op::Copy, [*thread, 0, badged, Rights::ALL.0 | rng.u32(1..0x1000) << 12]);
        threads.push(badged);
    }
    let segments: Vec<u32> = (0..SEGMENTS).map(|_| fresh()).collect();
    let range = RANGES[rng.usize(..2)];
    for segment in &segments {
        call(kernel, Op::CreateSegment, [slot::QUOTA, range.next_multiple_of(TABLE_SPAN) + TABLE_SPAN, *segment, 0]);
    }
    let memories = give_memory(kernel, &spaces, &aliens, &segments, &mut fresh, (range, rng));
    Found { threads, memories, owners: [spaces, aliens, segments].concat(), range }
}

/// Three parts of the RAM and a device's registers: the other spaces get them and the spaces, and mostly a page of each is mapped, in the
/// spaces of aliens, too. Now and then a space has a Segment's table or a large page there, a memory or a space is being deleted, or a
/// revoke is under way.
fn give_memory(
    kernel: &mut Kernel<Host>,
    spaces: &[u32],
    aliens: &[u32],
    segments: &[u32],
    fresh: &mut impl FnMut() -> u32,
    (range, rng): (u32, &mut Rng),
) -> Vec<u32> {
    let me = kernel.current().expect("the root server runs");
    let set_words = |kernel: &mut Kernel<Host>, first: u32, words: &[u32]| {
        let at = kernel.pool[me].utcb + first * 4;
        kernel.pool.bytes_mut(at, words.len() as u32 * 4).copy_from_slice(bytemuck::cast_slice(words));
    };
    let mut memories = vec![slot::DEVICES];
    for part in 0..3 {
        let memory = fresh();
        set_words(kernel, 3, &[slot::QUOTA]);
        call(kernel, Op::DeriveMemory, [slot::RAM, part * BYTES, BYTES, memory]);
        memories.push(memory);
    }
    for space in &spaces[1..] {
        let mut slots = PEERS + 1..;
        for memory in &memories {
            let rights = if rng.u32(..4) > 0 { Rights::RWX.0 } else { rng.u32(..8) };
            call(kernel, Op::Copy, [*memory, *space, slots.next().unwrap_or(0), rights]);
        }
        for other in spaces.iter().chain(segments) {
            let rights = if rng.u32(..8) > 0 { Rights::CONTROL.0 } else { 0 };
            call(kernel, Op::Copy, [*other, *space, slots.next().unwrap_or(0), rights]);
        }
    }
    for space in spaces.iter().chain(aliens).chain(segments) {
        if aliens.contains(space) && rng.u32(..8) == 0 {
            continue;
        }
        if !segments.contains(space) && rng.u32(..8) == 0 {
            let segment = fresh();
            call(kernel, Op::CreateSegment, [slot::QUOTA, TABLE_SPAN, segment, 0]);
            set_words(kernel, 0, &MapRecord::new(MapRecord::MAP, segment, 0, memories[1], 0, PAGE_SIZE, Rights::READ).0);
            call(kernel, Op::Map, [1, 0, 0, 0]);
            // Where pages are mapped, or elsewhere.
            let place = (range & !(TABLE_SPAN - 1)) + rng.u32(..2) * 32 * TABLE_SPAN;
            call(kernel, Op::Attach, [*space, place, segment, Rights::RWX.0]);
            if place < range {
                continue;
            }
        }
        if rng.u32(..16) == 0 {
            let table = range & !(TABLE_SPAN - 1);
            for (at, (address, memory, bytes)) in
                (0..).step_by(4).zip([(table, slot::RAM, TABLE_SPAN), (table + TABLE_SPAN, memories[1], PAGE_SIZE)])
            {
                set_words(kernel, at, &MapRecord::new(MapRecord::MAP, *space, address, memory, 0, bytes, Rights::RWX).0);
            }
            call(kernel, Op::Map, [2, 0, 0, 0]);
            continue;
        }
        for memory in &memories {
            if rng.u32(..8) == 0 {
                continue;
            }
            let address = range + rng.u32(..BYTES / PAGE_SIZE) * PAGE_SIZE;
            set_words(kernel, 0, &MapRecord::new(MapRecord::MAP, *space, address, *memory, 0, PAGE_SIZE, Rights::READ).0);
            call(kernel, Op::Map, [1, 0, 0, 0]);
        }
    }
    // The first Segment is attached to two spaces at most, at one address or at two, the second to one.
    let mut others: Vec<u32> = spaces[1..].iter().chain(aliens).copied().collect();
    rng.shuffle(&mut others);
    for (number, space) in others.iter().take(rng.usize(..4)).enumerate() {
        let place = if range == RANGES[0] { PLACES[rng.usize(..2)] } else { PLACES[1] };
        call(kernel, Op::Attach, [*space, place, segments[number / 2], Rights::RWX.0]);
    }
    let root = kernel.pool[me].space.get().expect("in its space");
    let object = |kernel: &Kernel<Host>, selector: u32| kernel.pool[Space::slot(root, selector)];
    if rng.u32(..16) == 0 {
        let memory: Ref<Memory> = object(kernel, memories[rng.usize(1..4)]).object();
        kernel.pool[memory].header.dying = 1;
    }
    if rng.u32(..16) == 0 {
        let space: Ref<Space> = object(kernel, spaces[rng.usize(1..SPACES)]).object();
        kernel.pool[space].region.header.dying = 1;
    }
    if rng.u32(..16) == 0 {
        // A change of its directory has been written to no copy yet.
        let segment: Ref<Segment> = object(kernel, segments[rng.usize(..SEGMENTS)]).object();
        kernel.pool[segment].region.changing = 1;
    }
    for selector in spaces.iter().chain(aliens).chain(segments) {
        let root = kernel.pool[object(kernel, *selector).object::<Region>()].attached;
        let mut found = Vec::new();
        attach::for_each(&kernel.pool, root, &mut |at| found.push(at));
        found.into_iter().for_each(|at| kernel.pool[at].cursor = rng.u32(..4));
    }
    memories
}

fn set_handler(kernel: &mut Kernel<Host>, thread: u32, handler: Option<u32>, fresh: u32, rng: &mut Rng) {
    if let Some(handler) = handler {
        call(kernel, Op::Copy, [handler, 0, fresh, Rights::CALL.0 | rng.u32(1..0x1000) << 12]);
        call(kernel, Op::SetHandler, [thread, fresh, 0, 0]);
    }
}

impl Scenario {
    /// Spaces, threads with priorities that are often equal, capabilities. The root server then waits.
    pub fn new(rng: &mut Rng) -> Self {
        let mut kernel = boot_with(POOL_BYTES);
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let found = populate(&mut kernel, rng);
        for thread in all(&kernel) {
            // What the port would keep of its space, and what users may write.
            let space = kernel.pool[thread].space.get().expect("it has a space");
            let words = &mut kernel.pool[space].hw;
            words[hw::DOMAIN] = rng.u32(3..16);
            // It has lost that now and then, and runs by a Segment's.
            words[hw::DACR] = rng.u32(..) | client(if rng.u32(..8) > 1 { words[hw::DOMAIN] } else { rng.u32(3..16) });
            words[hw::PID] = if rng.u32(..3) == 0 { hw::INDIFFERENT } else { rng.u32(..4) << 25 };
            let (utcb, first) = (kernel.pool[thread].utcb, offset_of!(Utcb, words) as u32);
            kernel.pool.bytes_mut(utcb + first, SLOT_USED - first).iter_mut().for_each(|byte| *byte = rng.u8(..));
        }
        arch_host::set_arguments::<Armv5>(&mut kernel.pool[me], [Tag::new(Op::Receive, 0, 0).0, 0, 0, 0, 0]);
        kernel.system_call();
        Self { kernel, root, found, last: Cell::new(None) }
    }

    /// A random event; mostly one that the fast path is made for.
    pub fn next(&mut self, rng: &mut Rng) -> Option<Event> {
        let me = self.kernel.current()?;
        if rng.u32(..16) == 0 {
            let at = self.kernel.pool[me].utcb + offset_of!(Utcb, accept) as u32;
            self.kernel.pool.bytes_mut(at, 4).copy_from_slice(&(rng.u32(..) & rng.u32(..)).to_ne_bytes());
        }
        if let Some(alien) = self.alien_of(me).filter(|_| rng.u32(..4) == 0) {
            // Its handler writes registers and status, and what it has to say of the rest.
            let frame = self.kernel.pool[alien].utcb;
            let word = rng.u32(..frame::WORDS);
            let value = if word + 1 == frame::WORDS { rng.u32(..4) } else { rng.u32(..) };
            self.kernel.pool.bytes_mut(frame + word * 4, 4).copy_from_slice(&value.to_ne_bytes());
        }
        self.others_act(me, rng);
        Some(match rng.u32(..32) {
            0..=8 => Event::Abort(self.fault(me, rng)),
            9 => Event::Tick,
            _ => {
                let mut registers = self.system_call(me, rng);
                if registers[0] == Tag::new(Op::Run, 0, 0).0 && rng.bool() {
                    (registers[0], registers[2]) = (Tag::new(Op::MapRun, rng.u32(..64) / 63, 0).0, 1 + rng.u32(..24) / 22);
                    if rng.u32(..4) == 0 {
                        // Of one that waits for nobody, or for somebody else.
                        let aliens: Vec<_> = all(&self.kernel).into_iter().filter(|t| self.kernel.pool[*t].is_alien()).collect();
                        registers[1] = self.kernel.pool[aliens[rng.usize(..aliens.len())]].handle;
                    }
                    self.write_record(me, rng);
                } else if rng.u32(..8) == 0 {
                    (registers[0], registers[1]) = (Tag::new(Op::Map, rng.u32(..64) / 63, 0).0, 1 + rng.u32(..24) / 22);
                    self.write_record(me, rng);
                } else if rng.u32(..8) == 0 {
                    let op = if rng.u32(..24) == 0 { Op::Lookup } else { Op::Cache };
                    registers[0] = Tag::new(op, rng.u32(..64) / 63, 0).0;
                    registers[1..5].copy_from_slice(&self.lines(me, rng));
                }
                Event::Swi(registers)
            }
        })
    }

    /// A record in a thread's UTCB.
    fn write_record(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let (at, record) = (self.kernel.pool[me].utcb, self.record(me, rng));
        self.kernel.pool.bytes_mut(at, size_of_val(&record) as u32).copy_from_slice(bytemuck::cast_slice(&record));
    }

    /// A fault of this thread, mostly for a page that is not there.
    fn fault(&self, me: Ref<Thread>, rng: &mut Rng) -> Fault {
        let pool = &self.kernel.pool;
        let Some(words) = pool[me].space.get().map(|space| pool[space].hw) else {
            return Fault { status: 0, address: 0, access: Access::Fetch };
        };
        let open: Vec<u32> = (0..16).filter(|domain| words[hw::DACR] & client(*domain) != 0).collect();
        let domain = match rng.u32(..8) {
            0 => rng.u32(..16),
            1 => words[hw::DOMAIN],
            _ => open[rng.usize(..open.len())],
        };
        let kind = if rng.u32(..8) == 0 { [1, 5, 8, 9, 0xb, 0xd, 0xf][rng.usize(..7)] } else { MISSING };
        let address = if rng.bool() { self.found.range + rng.u32(..BYTES) } else { rng.u32(..) };
        // Loads and stores of words, bytes and several words, and others.
        let class = if rng.u32(..8) == 0 { rng.u32(..8) } else { rng.u32(2..5) };
        let instruction = rng.u32(..) & !(7 << 25) | class << 25;
        // Bits of an extra load or store.
        let instruction = if class == 0 { instruction | 0x90 } else { instruction };
        Fault { status: domain << 4 | kind, address, access: if rng.u32(..5) == 0 { Access::Fetch } else { Access::Data(instruction) } }
    }

    /// The selectors that a thread has of memories, and of spaces and Segments.
    fn known(&self, me: Ref<Thread>) -> (Vec<u32>, Vec<u32>) {
        if self.kernel.pool[me].space.is(self.root) {
            return (self.found.memories.clone(), self.found.owners.clone());
        }
        let first = PEERS + 1 + MEMORIES;
        ((PEERS + 1..first).collect(), (first..first + (SPACES + SEGMENTS) as u32).collect())
    }

    /// A record that can often be mapped, of one page mostly.
    fn record(&self, me: Ref<Thread>, rng: &mut Rng) -> [u32; 4] {
        let (memories, owners) = self.known(me);
        let pages = match rng.u32(..16) {
            0 => 1 + rng.u32(..BYTES / PAGE_SIZE),
            1..=3 => 2 + rng.u32(..3),
            _ => 1,
        };
        let odd = |rng: &mut Rng, usual: u32| match rng.u32(..64) {
            0 => rng.u32(..),
            1 => 0,
            2 => rng.u32(..2 * BYTES / PAGE_SIZE) * PAGE_SIZE,
            _ => usual,
        };
        let [memory, owner] = [memories, owners].map(|all| {
            let usual = all[rng.usize(..all.len())];
            // Of another kind.
            let usual = if rng.u32(..24) == 0 { rng.u32(1..PEERS + MEMORIES + SPACES as u32) } else { usual };
            odd(rng, usual)
        });
        let range = self.found.range;
        let [address, offset] = [range, 0].map(|base| {
            let usual = base + rng.u32(..=BYTES / PAGE_SIZE - pages) * PAGE_SIZE;
            odd(rng, usual)
        });
        // The last of several pages is behind the end.
        let offset = if pages > 1 && rng.u32(..8) == 0 { BYTES - (pages - 1) * PAGE_SIZE } else { offset };
        let address = match rng.u32(..48) {
            // The simulated port has its part of a space at the start, ARM's at the end.
            0 => USER_END + rng.u32(..BYTES),
            // It goes on in the next table, or nearly.
            1 => range.next_multiple_of(TABLE_SPAN) - (1 + rng.u32(..pages)) * PAGE_SIZE,
            _ => address.max(TABLE_SPAN),
        };
        let op = if rng.u32(..24) == 0 { rng.u32(..4) } else { MapRecord::MAP };
        let rights = if rng.u32(..16) == 0 { rng.u32(..64) * rng.u32(..2) } else { rng.u32(1..8) };
        let bytes = match rng.u32(..48) {
            0 => 0,
            1 => rng.u32(..),
            _ => pages * PAGE_SIZE,
        };
        let space = self.kernel.pool[me].space;
        let record = match self.last.get() {
            // The same with another right.
            Some((by, [selectors, what, offset, bytes])) if by == space && rng.u32(..8) == 0 => {
                [selectors, what & !7 | 1 | rng.u32(..8), offset, bytes]
            }
            _ => MapRecord::new(op, owner, address, memory, offset, bytes, Rights(rights)).0,
        };
        self.last.set(Some((space, record)));
        let [selectors, what, offset, bytes] = record;
        [selectors, what | (rng.u32(..8) / 7) << 6, offset | (rng.u32(..24) / 23) << rng.u32(..12), bytes]
    }

    /// What a thread asks the caches for: a Space, where, how many bytes, and what. Mostly it is a part of a page.
    fn lines(&self, me: Ref<Thread>, rng: &mut Rng) -> [u32; 4] {
        let (_, owners) = self.known(me);
        let owner = match rng.u32(..24) {
            0 => rng.u32(..),
            1 => rng.u32(..PEERS + MEMORIES),
            _ => owners[rng.usize(..owners.len())],
        };
        let page = rng.u32(..USER_END / PAGE_SIZE) * PAGE_SIZE;
        let offset = rng.u32(..PAGE_SIZE);
        let bytes = 1 + rng.u32(..PAGE_SIZE - offset);
        let (address, bytes) = match rng.u32(..24) {
            0 => (page + offset, 0),
            1 => (page + offset, rng.u32(..)),
            2 => (page + offset, offset.wrapping_neg()),
            3 => (USER_END + offset, bytes),
            // The first bytes are relocated, perhaps.
            4 => (SLOT_BYTES - PAGE_SIZE + offset, PAGE_SIZE - offset + bytes),
            5..=14 => (page % SLOT_BYTES + offset, bytes),
            _ => (page + offset, bytes),
        };
        [owner, address, bytes, if rng.u32(..24) == 0 { rng.u32(..5) } else { rng.u32(..2) }]
    }

    /// What other threads have done about aliens and handlers meanwhile, which takes many events.
    fn others_act(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let mine = self.alien_of(me);
        let faulted = all(&self.kernel).into_iter().find(|t| {
            let thread = &self.kernel.pool[*t];
            thread.gate == gate::REPLY | gate::EXCEPTION && thread.partner.is(me)
        });
        let pool = &mut self.kernel.pool;
        if let Some(faulted) = faulted.filter(|_| rng.u32(..3) == 0) {
            pool[faulted].priority = [50, 60, 70][rng.usize(..3)];
        }
        if let Some(alien) = mine.filter(|_| rng.u32(..16) == 0) {
            // Another thread of the space ran it, and was interrupted.
            let others: Vec<_> =
                all(&self.kernel).into_iter().filter(|t| self.kernel.pool[*t].space == self.kernel.pool[me].space).collect();
            self.kernel.pool[alien].partner = others[rng.usize(..others.len())].link();
        } else if rng.u32(..4) == 0 {
            let handler: Ref<Thread> = pool[me].handler.object();
            if !pool[me].handler.is_empty() && matches!(pool[handler].gate, gate::RUN | gate::OPEN) {
                pool[handler].priority = [50, 60, 70][rng.usize(..3)];
            }
        }
    }

    /// An alien that waits for this thread.
    fn alien_of(&self, me: Ref<Thread>) -> Option<Ref<Thread>> {
        let pool = &self.kernel.pool;
        all(&self.kernel).into_iter().find(|t| pool[*t].gate == gate::REPLY | gate::ALIEN && pool[*t].partner.is(me))
    }

    /// Whether somebody waits for this thread's reply.
    fn answers(&self, me: Ref<Thread>) -> bool {
        let pool = &self.kernel.pool;
        all(&self.kernel).into_iter().any(|t| pool[t].gate == gate::REPLY && pool[t].partner.is(me))
    }

    /// Whether a selector is of a thread that waits for a message.
    fn calls(&self, me: Ref<Thread>, selector: u32) -> bool {
        let pool = &self.kernel.pool;
        let table = pool[me].space.get().filter(|space| selector < pool[*space].slots);
        let slot = table.map(|space| pool[Space::slot(space, selector)]);
        slot.is_some_and(|slot| slot.rights().contains(Rights::CALL) && pool[slot.object::<Thread>()].state() == gate::OPEN)
    }

    /// A handle that this thread may often reply to.
    fn handle(&self, me: Ref<Thread>, rng: &mut Rng) -> u32 {
        let pool = &self.kernel.pool;
        let waiting: Vec<_> = all(&self.kernel).into_iter().filter(|t| pool[*t].state() == gate::REPLY).collect();
        let mine: Vec<_> = waiting.iter().filter(|t| pool[**t].partner.is(me)).collect();
        let of_anybody = waiting.get(rng.usize(..waiting.len().max(1))).map_or(0, |t| pool[*t].handle);
        let of_mine = mine.get(rng.usize(..mine.len().max(1))).map_or(of_anybody, |t| pool[**t].handle);
        match rng.u32(..16) {
            0 => 0,
            1 => rng.u32(..),
            2 => of_mine.wrapping_sub(SEQUENCE),
            3 => of_mine ^ self.kernel.threads.count << rng.u32(..8),
            4 => of_anybody,
            _ => of_mine,
        }
    }

    /// A selector, often of a thread that waits for a message.
    fn peer(&self, me: Ref<Thread>, rng: &mut Rng) -> u32 {
        let pool = &self.kernel.pool;
        let Some(space) = pool[me].space.get().filter(|_| !pool[me].is_alien()) else { return rng.u32(..PEERS) };
        let mine = if space == self.root { self.found.threads.clone() } else { (1..=PEERS).collect() };
        let waiting: Vec<u32> = mine.iter().copied().filter(|selector| self.calls(me, *selector)).collect();
        match rng.u32(..32) {
            0 => rng.u32(..),
            1 => 0,
            // A slot that is not this space's, but where the table would go on.
            2..=3 => {
                let other = if space == self.root { space } else { self.root };
                let at = Space::slot(other, self.found.threads[rng.usize(..self.found.threads.len())]).address();
                at.wrapping_sub(space.address() + HEADER_BYTES) / size_of::<Slot>() as u32
            }
            4..=9 => mine[rng.usize(..mine.len())],
            _ => waiting.get(rng.usize(..waiting.len().max(1))).copied().unwrap_or(mine[0]),
        }
    }

    /// r0 to r9 of a system call.
    fn system_call(&self, me: Ref<Thread>, rng: &mut Rng) -> [u32; ARGUMENTS] {
        let words = if rng.u32(..8) == 0 { rng.u32(..70) } else { rng.u32(..9) };
        let flags = if rng.u32(..16) == 0 { rng.u32(..8) << 9 } else { 0 };
        let caps = if rng.u32(..24) == 0 { rng.u32(..4) } else { 0 };
        let tag = |op: Op| Tag::new(op, words, caps).0 | flags;
        let plain = |op: Op| Tag::new(op, 0, 0).0;
        let mut registers: [u32; ARGUMENTS] = std::array::from_fn(|_| rng.u32(..));
        let (peer, handle) = (self.peer(me, rng), self.handle(me, rng));
        let alien = self.alien_of(me).map(|alien| self.kernel.pool[alien].handle);
        // Another thread of the space may run it, too.
        let some = |t: &Ref<Thread>| self.kernel.pool[*t].is_alien();
        let any_alien = all(&self.kernel).into_iter().filter(some).nth(rng.usize(..ALIENS)).map_or(handle, |t| self.kernel.pool[t].handle);
        let anybodys = rng.u32(..16) == 0;
        let faulted = |t: &Ref<Thread>| {
            self.kernel.pool[*t].gate == gate::REPLY | gate::EXCEPTION && (anybodys || self.kernel.pool[*t].partner.is(me))
        };
        if let Some(thread) = all(&self.kernel).into_iter().find(faulted)
            && rng.u32(..8) > 0
        {
            let handle = if rng.u32(..6) > 0 { self.kernel.pool[thread].handle } else { handle };
            let op = if rng.u32(..5) == 0 { Op::ReplyWait } else { Op::MapReplyWait };
            let tag = if rng.u32(..16) == 0 { tag(op) } else { plain(op) };
            registers[..2].copy_from_slice(&[tag, handle]);
            registers[2..5].copy_from_slice(&self.record(me, rng)[..3]);
            return registers;
        }
        let head = match rng.u32(..100) {
            0..=39 if alien.is_some() => [
                plain(Op::Run) | flags,
                match rng.u32(..16) {
                    0 => alien.map_or(handle, |alien| alien.wrapping_sub(SEQUENCE)),
                    1..=2 => any_alien,
                    _ => alien.unwrap_or(handle),
                },
            ],
            0..=15 => [tag(Op::Call), peer],
            16..=29 => [tag(Op::ReplyWait), handle],
            // What keeps messages going.
            30..=69 if self.answers(me) => [tag(Op::ReplyWait), handle],
            30..=69 if self.calls(me, peer) => [tag(Op::Call), peer],
            30..=69 => [plain(Op::Receive), 0],
            70..=72 => [plain(Op::Receive), rng.u32(..8) / 7 * peer],
            73..=75 => [tag(Op::Reply), handle],
            76..=79 => [tag(Op::Send), peer],
            80..=82 => [plain(Op::Notify), peer],
            83..=85 => [plain(Op::Run), any_alien],
            86..=90 => {
                (registers[2], registers[3]) = ([50, 60, 70][rng.usize(..3)], 100);
                [plain(Op::SetPriority), peer]
            }
            91 if alien.is_some() => {
                registers[2] = 0;
                [plain(Op::SetHandler), self.found.threads[1 + THREADS + rng.usize(..ALIENS)]]
            }
            91..=92 => {
                (registers[2], registers[3]) = (abi::state::THREAD_POINTER, registers[3] * (rng.u32(..4) / 3));
                [plain(Op::SetState), peer]
            }
            94 => [plain(Op::Yield), peer],
            93 | 95 => {
                let at = self.kernel.port.now + rng.u64(..30_000_000);
                (registers[2], registers[3]) = ((at >> 32) as u32, 1 << rng.u32(..4));
                [plain(Op::Alarm), at as u32]
            }
            96 => [plain(Op::Stop), peer],
            97..=98 => {
                (registers[2], registers[3]) = (0x40_0000, 0x50_0000);
                [plain(Op::Start), peer]
            }
            _ => [registers[0], peer],
        };
        registers[..2].copy_from_slice(&head);
        registers
    }
}

/// All threads that have a space.
pub fn all(kernel: &Kernel<Host>) -> Vec<Ref<Thread>> {
    (0..kernel.threads.count).filter_map(|i| kernel.threads.get(i)).filter(|t| !kernel.pool[*t].space.is_null()).collect()
}
