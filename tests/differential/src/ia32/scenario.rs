// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems of threads, and what their threads may do next.

use abi::frame::{BY_SYSEXIT, vector};
use abi::state::tls::{PAGES, PRESENT};
use abi::{Error, Frame, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag};
use arch_host::{boot_with, slot};
use fastrand::Rng;
use ia32_context::hw::{DIRECTORY, ENTER, EVENT, HOME, LARGE_SERVER, REGION_HIGH, REGION_LOW, SEGMENTS, SERVER};
use ia32_context::loaded::FLAGS;
use ia32_context::selector::{SERVER_CODE, SERVER_DATA, SMALL_CODE, SMALL_DATA, USER_CODE, USER_DATA};
use ia32_context::{Ia32, word};
use kcore::port::Processor;
use kcore::thread::{SEQUENCE, flag, gate};
use kcore::{Kernel, Memory, Space, Thread, attach};
use pool::{Link, Ref};

const POOL_BYTES: u32 = 512 << 10;
/// Where a UTCB has the bits that its thread accepts.
const ACCEPT: u32 = core::mem::offset_of!(abi::utcb::Utcb, accept) as u32;
/// Capability slots that a space's threads have other threads in: from 1 on.
const PEERS: u32 = 12;
/// Behind them, slots of memories and then of spaces.
const MEMORIES: u32 = 4;
const SPACES: u32 = 3;
/// Bytes of the smaller memories, and of the range of addresses where pages are mapped.
const BYTES: u32 = 16 * PAGE_SIZE;
/// That range, in the middle of a table.
const RANGE: u32 = 0x1010_0000;
/// Spaces in which others may be small.
const HOMES: usize = 2;
/// Bytes of a small space, or half as many.
const SMALL_BYTES: u32 = 256 << 20;
/// First slot of the root server's table that this uses.
const FIRST: u32 = slot::FREE;

/// A word that the port keeps of a space.
pub fn hw(kernel: &Kernel<Host>, space: Ref<Space>, index: usize) -> u32 {
    kernel.pool[space].hw[index]
}

/// The code segment and the stack segment of a space's threads.
pub fn code_and_stack(kernel: &Kernel<Host>, space: Ref<Space>) -> [u32; 2] {
    let segments = hw(kernel, space, SEGMENTS);
    [segments & 0xffff, segments >> 16]
}

/// The segment descriptor that a small space's threads have as data.
pub fn region(kernel: &Kernel<Host>, space: Ref<Space>) -> Option<[u32; 2]> {
    let words = [REGION_LOW, REGION_HIGH].map(|index| hw(kernel, space, index));
    (words[0] != 0).then_some(words)
}

/// Addresses of the ways into large spaces, servers and small spaces: of a thread that goes on, and of an alien's event.
#[derive(Clone, Copy)]
pub struct Ways {
    pub large: [u32; 2],
    pub server: [u32; 2],
    pub small: [u32; 2],
}

/// A system, and what is known about it.
pub struct Scenario {
    /// The kernel.
    pub kernel: Kernel<Host>,
    /// The root server's space, whose threads handle the aliens.
    root: Ref<Space>,
    /// Selectors of threads in the root server's table.
    threads: Vec<u32>,
    /// Of memories.
    memories: Vec<u32>,
    /// Of native spaces.
    spaces: Vec<u32>,
    /// Of spaces of aliens.
    aliens: Vec<u32>,
    /// Of homes.
    homes: Vec<u32>,
    /// Whether spaces become small and large while their threads wait.
    moves: bool,
    ways: Ways,
}

/// What the processor does next.
pub enum Event {
    /// The running thread executes `sysenter` with these registers (`eax ebx esi edi ebp`).
    Sysenter([u32; 5]),
    /// The same by `int`.
    Int([u32; 5]),
    /// The running thread, mostly an alien, executes `int 0x80`.
    AlienCall,
    /// The running thread has a page fault.
    PageFault,
    /// The timer interrupts.
    Tick,
}

/// The machine whose memory the assembly gets: IA-32's registers and translation tables.
pub type Host = arch_host::Host<Ia32, mmu::ia32::Ia32>;

/// A thread's registers as if it had just made a system call by `sysenter`.
fn set_arguments(thread: &mut Thread, arguments: [u32; 5]) {
    arch_host::set_arguments::<Ia32>(thread, arguments);
    thread.context[word::VECTOR] = vector::SYSENTER;
}

/// Makes a system call for the running thread.
fn call(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> Result<[u32; 3], Error> {
    let me = kernel.current().expect("the root server runs");
    set_arguments(&mut kernel.pool[me], [Tag::new(op, 0, 0).0, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    let [status, a, b, c, _] = arch_host::results::<Ia32>(&kernel.pool[me]);
    if status == 0 { Ok([a, b, c]) } else { Err(Error::from_code(status).expect("a known error")) }
}

/// Three parts of the RAM and a device's registers: the other spaces get them and the spaces, and mostly a page of
/// each is mapped, in the spaces of aliens, too. Now and then a space has a Segment's table or a large page there, a memory or a space is
/// being deleted, or a revoke is under way.
fn give_memory(kernel: &mut Kernel<Host>, spaces: &[u32], aliens: &[u32], fresh: &mut impl FnMut() -> u32, rng: &mut Rng) -> Vec<u32> {
    let me = kernel.current().expect("the root server runs");
    let set_words = |kernel: &mut Kernel<Host>, first: u32, words: &[u32]| {
        let at = kernel.pool[me].utcb + first * 4;
        kernel.pool.bytes_mut(at, words.len() as u32 * 4).copy_from_slice(bytemuck::cast_slice(words));
    };
    let must = |what: Result<[u32; 3], Error>| what.expect("there is room");
    let mut memories = vec![slot::DEVICES];
    for part in 0..3 {
        let memory = fresh();
        set_words(kernel, 3, &[slot::QUOTA]);
        must(call(kernel, Op::DeriveMemory, [slot::RAM, part * BYTES, BYTES, memory]));
        memories.push(memory);
    }
    for space in &spaces[1..] {
        let mut slots = PEERS + 1..;
        for memory in &memories {
            let rights = if rng.u32(..4) > 0 { Rights::RWX.0 } else { rng.u32(..8) };
            must(call(kernel, Op::Copy, [*memory, *space, slots.next().unwrap_or(0), rights]));
        }
        for other in spaces {
            let rights = if rng.u32(..8) > 0 { Rights::CONTROL.0 } else { 0 };
            must(call(kernel, Op::Copy, [*other, *space, slots.next().unwrap_or(0), rights]));
        }
    }
    for space in spaces.iter().chain(aliens) {
        if rng.u32(..16) == 0 {
            let segment = fresh();
            must(call(kernel, Op::CreateSegment, [slot::QUOTA, TABLE_SPAN, segment, 0]));
            set_words(kernel, 0, &MapRecord::new(MapRecord::MAP, segment, 0, memories[1], 0, PAGE_SIZE, Rights::READ).0);
            must(call(kernel, Op::Map, [1, 0, 0, 0]));
            must(call(kernel, Op::Attach, [*space, RANGE & !(TABLE_SPAN - 1), segment, Rights::RWX.0]));
            continue;
        }
        if rng.u32(..16) == 0 {
            let table = RANGE & !(TABLE_SPAN - 1);
            let records = [(table, slot::RAM, TABLE_SPAN), (table + TABLE_SPAN, memories[1], PAGE_SIZE)];
            for (at, (address, memory, bytes)) in (0..).step_by(4).zip(records) {
                set_words(kernel, at, &MapRecord::new(MapRecord::MAP, *space, address, memory, 0, bytes, Rights::RWX).0);
            }
            must(call(kernel, Op::Map, [2, 0, 0, 0]));
            continue;
        }
        for memory in &memories {
            if rng.u32(..8) == 0 {
                continue;
            }
            let address = RANGE + rng.u32(..BYTES / PAGE_SIZE) * PAGE_SIZE;
            set_words(kernel, 0, &MapRecord::new(MapRecord::MAP, *space, address, *memory, 0, PAGE_SIZE, Rights::READ).0);
            must(call(kernel, Op::Map, [1, 0, 0, 0]));
        }
    }
    let root = kernel.pool[me].space.get().expect("in its space");
    let object = |kernel: &Kernel<Host>, selector: u32| kernel.pool[Space::slot(root, selector)];
    if rng.u32(..16) == 0 {
        let memory: Ref<Memory> = object(kernel, memories[rng.usize(1..4)]).object();
        kernel.pool[memory].header.dying = 1;
    }
    if rng.u32(..16) == 0 {
        let space: Ref<Space> = object(kernel, spaces[rng.usize(1..3)]).object();
        kernel.pool[space].region.header.dying = 1;
    }
    for selector in spaces.iter().chain(aliens) {
        let root = kernel.pool[object(kernel, *selector).object::<Space>()].region.attached;
        let mut found = Vec::new();
        attach::for_each(&kernel.pool, root, &mut |at| found.push(at));
        found.into_iter().for_each(|at| kernel.pool[at].cursor = rng.u32(..4));
    }
    memories
}

/// What the port keeps of spaces. In every other system that of the handlers is a server, which most spaces of aliens show, and some others.
/// In some systems some spaces are small, in one of the homes. The last two natives are the homes.
fn set_up_spaces(kernel: &mut Kernel<Host>, root: Ref<Space>, (natives, aliens): (&[u32], &[u32]), ways: Ways, rng: &mut Rng) {
    let homes = &natives[natives.len() - HOMES..];
    let has_small = rng.bool();
    let serves = rng.bool();
    for (number, selector) in (1..).zip(natives.iter().chain(aliens)) {
        let space: Ref<Space> = kernel.pool[Space::slot(root, *selector)].object();
        let is_server = serves && space == root;
        let often = if aliens.contains(selector) || homes.contains(selector) { 7 } else { 2 };
        let shows = is_server || serves && rng.u32(..8) < often;
        let hw = &mut kernel.pool[space].hw;
        hw[DIRECTORY] = number << 12;
        [hw[ENTER], hw[EVENT]] = if is_server { ways.server } else { ways.large };
        hw[HOME] = space.address();
        hw[SERVER] = if shows { root.address() } else { 0 };
        let [code, stack] = if is_server { [SERVER_CODE, SERVER_DATA] } else { [USER_CODE, USER_DATA] };
        hw[SEGMENTS] = u32::from(code) | u32::from(stack) << 16;
    }
    for selector in natives[..natives.len() - HOMES].iter().chain(aliens) {
        let space: Ref<Space> = kernel.pool[Space::slot(root, *selector)].object();
        let often = if !aliens.contains(selector) || serves { 6 } else { 1 };
        if !has_small || serves && space == root || rng.u32(..8) >= often {
            continue;
        }
        let home: Ref<Space> = kernel.pool[Space::slot(root, homes[rng.usize(..HOMES)])].object();
        move_in(kernel, space, home, ways, rng);
    }
}

/// What the port does when a space becomes small.
fn move_in(kernel: &mut Kernel<Host>, space: Ref<Space>, home: Ref<Space>, ways: Ways, rng: &mut Rng) {
    let directory = kernel.pool[home].hw[DIRECTORY];
    let hw = &mut kernel.pool[space].hw;
    (hw[DIRECTORY], hw[HOME], hw[LARGE_SERVER]) = (directory, home.address(), hw[SERVER]);
    [hw[ENTER], hw[EVENT]] = ways.small;
    hw[SEGMENTS] = u32::from(SMALL_CODE) | u32::from(SMALL_DATA) << 16;
    [hw[REGION_LOW], hw[REGION_HIGH]] = mmu::descriptor::region(rng.u32(..3) * SMALL_BYTES, SMALL_BYTES >> rng.u32(..2));
}

/// The same when it is large again, with this directory.
fn move_out(kernel: &mut Kernel<Host>, space: Ref<Space>, directory: u32, ways: Ways) {
    let hw = &mut kernel.pool[space].hw;
    (hw[DIRECTORY], hw[HOME], hw[SERVER], hw[REGION_LOW]) = (directory, space.address(), hw[LARGE_SERVER], 0);
    [hw[ENTER], hw[EVENT]] = ways.large;
    hw[SEGMENTS] = u32::from(USER_CODE) | u32::from(USER_DATA) << 16;
}

impl Scenario {
    /// Spaces, threads with priorities that are often equal, capabilities with all kinds of rights,
    /// three aliens whose handlers are in the root server's space. The root server then waits.
    pub fn new(ways: Ways, rng: &mut Rng) -> Self {
        let mut kernel = boot_with(POOL_BYTES);
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let mut next = FIRST;
        let mut fresh = || {
            next += 1;
            next - 1
        };
        let must = |what: Result<[u32; 3], Error>| what.expect("there is room");
        let k = &mut kernel;
        let mut spaces = vec![slot::SPACE];
        for _ in 0..2 {
            let space = fresh();
            must(call(k, Op::CreateSpace, [slot::QUOTA, PEERS + MEMORIES + SPACES + 1, space, 0]));
            spaces.push(space);
        }
        let (mut threads, mut handlers) = (vec![slot::THREAD], Vec::new());
        for _ in 0..6 {
            let (thread, space) = (fresh(), spaces[rng.usize(..spaces.len())]);
            must(call(k, Op::CreateThread, [slot::QUOTA, space, thread, 0]));
            if space == slot::SPACE {
                handlers.push(thread);
            }
            threads.push(thread);
        }
        let native = threads.clone();
        let mut aliens = Vec::new();
        for _ in 0..3 {
            let (space, thread) = (fresh(), fresh());
            must(call(k, Op::CreateSpace, [slot::QUOTA, 0, space, 0]));
            must(call(k, Op::CreateThread, [slot::QUOTA, space, thread, slot::SPACE]));
            // Mostly the same, which switches between them then.
            let which = if rng.u32(..4) == 0 { rng.usize(..handlers.len().max(1)) } else { 0 };
            if let Some(handler) = handlers.get(which) {
                let badged = fresh();
                must(call(k, Op::Copy, [*handler, 0, badged, Rights::CALL.0 | rng.u32(1..0x1000) << 12]));
                must(call(k, Op::SetHandler, [thread, badged, 0, 0]));
            }
            for index in 0..3 {
                if rng.u32(..16) > index.min(1) * 14 {
                    // Not even in a small space is the second behind the end.
                    let base = [0, 1 << 20, SMALL_BYTES][rng.usize(..16) / 7];
                    must(call(k, Op::SetState, [thread, index, base, (rng.u32(..8).min(1) * (PRESENT | PAGES)) | 0xf_ffff]));
                }
            }
            threads.push(thread);
            aliens.push(space);
        }
        // Some natives have pagers.
        for thread in &native[1..] {
            let pager = native[rng.usize(1..native.len())];
            if pager != *thread && rng.u32(..3) > 0 {
                let badged = fresh();
                must(call(k, Op::Copy, [pager, 0, badged, Rights::CALL.0 | rng.u32(1..0x1000) << 12]));
                must(call(k, Op::SetHandler, [*thread, badged, 0, 0]));
            }
        }
        for space in &spaces[1..] {
            for slot in 1..=PEERS {
                let rights = if rng.u32(..4) > 0 { Rights::CALL.0 | Rights::NOTIFY.0 } else { rng.u32(..64) };
                let badge = rng.u32(..0x1000) << 12;
                let source = if rng.bool() { native[rng.usize(1..native.len())] } else { threads[rng.usize(1..threads.len())] };
                must(call(k, Op::Copy, [source, *space, slot, rights | badge]));
            }
        }
        // The root server's own are to have badges, too: the bits of a notification.
        for thread in &native[1..] {
            let badged = fresh();
            must(call(k, Op::Copy, [*thread, 0, badged, Rights::ALL.0 | rng.u32(1..0x1000) << 12]));
            threads.push(badged);
        }
        let memories = give_memory(k, &spaces, &aliens, &mut fresh, rng);
        for thread in &threads[1..threads.len() + 1 - native.len()] {
            let priority = [50, 50, 50, 60, 70][rng.usize(..5)];
            must(call(k, Op::SetPriority, [*thread, priority, 100, 0]));
        }
        for thread in &native[1..] {
            must(call(k, Op::Start, [*thread, 0x40_0000, 0x50_0000, 0]));
        }
        let mut natives = spaces.clone();
        for _ in 0..HOMES {
            let home = fresh();
            must(call(k, Op::CreateSpace, [slot::QUOTA, 0, home, 0]));
            natives.push(home);
        }
        set_up_spaces(k, root, (&natives, &aliens), ways, rng);
        let selectors = code_and_stack(&kernel, root);
        [kernel.pool[me].context[word::CS], kernel.pool[me].context[word::SS]] = selectors;
        set_arguments(&mut kernel.pool[me], [Tag::new(Op::Receive, 0, 0).0, 0, 0, 0, 0]);
        kernel.system_call();
        Self {
            kernel,
            root,
            threads,
            memories,
            spaces,
            aliens,
            homes: natives.split_off(natives.len() - HOMES),
            moves: rng.u32(..4) == 0,
            ways,
        }
    }

    /// Some space, of which nobody runs or has anything loaded, becomes small or large: its threads wait on.
    fn move_one(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let object = |kernel: &Kernel<Host>, selector: u32| -> Ref<Space> { kernel.pool[Space::slot(self.root, selector)].object() };
        let home = object(&self.kernel, self.homes[rng.usize(..HOMES)]);
        let (natives, aliens) = (self.spaces.len(), self.aliens.len());
        let index = if rng.bool() { rng.usize(..natives) } else { natives + rng.usize(..aliens) };
        // The directories of homes lie between theirs.
        let (selector, number) = if index < natives { (self.spaces[index], index) } else { (self.aliens[index - natives], index + HOMES) };
        let space = object(&self.kernel, selector);
        let loaded = Link::<Thread>::from_value(self.kernel.port.cpu().loaded & !FLAGS).get();
        let in_use = |thread: Ref<Thread>| self.kernel.pool[thread].space.is(space);
        if in_use(me) || loaded.is_some_and(in_use) || hw(&self.kernel, space, SERVER) == space.address() {
            return;
        }
        if hw(&self.kernel, space, REGION_LOW) == 0 {
            move_in(&mut self.kernel, space, home, self.ways, rng);
        } else {
            move_out(&mut self.kernel, space, (number as u32 + 1) << 12, self.ways);
            // To another place, mostly.
            if rng.u32(..4) > 0 {
                move_in(&mut self.kernel, space, home, self.ways, rng);
            }
        }
    }

    /// A random event; mostly one that the fast paths are made for.
    pub fn next(&mut self, rng: &mut Rng) -> Option<Event> {
        let me = self.kernel.current()?;
        if self.kernel.pool[me].is_alien() {
            return Some(match rng.u32(..10) {
                0..=2 => Event::PageFault,
                3 => Event::Tick,
                4..=5 => {
                    let eax = if rng.u32(..4) == 0 { Tag::new(Op::Run, 0, 0).0 } else { rng.u32(..) };
                    Event::Sysenter([eax, self.handle(me, true, rng), rng.u32(..), rng.u32(..), rng.u32(..)])
                }
                _ => Event::AlienCall,
            });
        }
        if self.moves && rng.u32(..8) == 0 {
            self.move_one(me, rng);
        }
        self.prepare(me, rng);
        let mut registers = self.system_call(me, rng);
        if registers[0] == Tag::new(Op::Run, 0, 0).0 && rng.bool() {
            (registers[0], registers[2]) = (Tag::new(Op::MapRun, rng.u32(..64) / 63, 0).0, 1 + rng.u32(..24) / 22);
            self.prepare_record(me, rng);
        }
        Some(match rng.u32(..40) {
            0 => Event::Int(registers),
            1..=8 => Event::PageFault,
            9 => Event::Tick,
            10 => Event::AlienCall,
            _ => Event::Sysenter(registers),
        })
    }

    /// What user code may write by itself: UTCBs and aliens' frames.
    fn prepare(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        // Mostly what waits already: it is taken then.
        let waits = self.kernel.pool[me].signals;
        if rng.u32(..8) == 0 {
            let accept = if waits & !self.accepts(me) != 0 { waits | rng.u32(..) } else { rng.u32(..) & rng.u32(..) };
            let at = self.kernel.pool[me].utcb + ACCEPT;
            self.kernel.pool.bytes_mut(at, 4).copy_from_slice(&accept.to_ne_bytes());
        }
        if rng.u32(..32) == 0 {
            // Bits that came while they were not accepted.
            let at = self.kernel.pool[me].utcb + core::mem::offset_of!(abi::utcb::Utcb, pending) as u32;
            self.kernel.pool[me].signals |= rng.u32(..16);
            let signals = self.kernel.pool[me].signals;
            self.kernel.pool.bytes_mut(at, 4).copy_from_slice(&signals.to_ne_bytes());
        }
        let mut aliens = self.all();
        aliens.retain(|t| self.kernel.pool[*t].is_alien());
        for alien in aliens {
            let at = self.kernel.pool[alien].utcb;
            let bytes = self.kernel.pool.bytes_mut(at, size_of::<Frame>() as u32);
            let mut frame: Frame = bytemuck::pod_read_unaligned(bytes);
            match rng.u32(..32) {
                0 => (frame.changed, frame.fs_gs) = (rng.u32(..8), rng.u32(..)),
                1 => frame.ds_es = rng.u32(..),
                2..=7 => {
                    frame = Frame { changed: 0, ds_es: 0x23_0023, ..frame };
                    [frame.eax, frame.ecx, frame.esp, frame.eip, frame.eflags] = [(); 5].map(|()| rng.u32(..));
                }
                8..=21 => {
                    // The trap flag, the resume flag.
                    let special = [0x100, 0x100, 0x1_0000].get(rng.u32(..12) as usize).copied().unwrap_or_default();
                    frame = Frame { changed: BY_SYSEXIT, ds_es: 0x23_0023, eflags: rng.u32(..) & !0x1_0100 | special, ..frame };
                }
                _ => {}
            }
            bytes.copy_from_slice(bytemuck::bytes_of(&frame));
        }
    }

    /// A record that can often be carried out, mostly for an alien.
    fn prepare_record(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let [selectors, address, offset] = self.page(me, rng);
        let space = if rng.u32(..8) == 0 { selectors } else { self.aliens[rng.usize(..self.aliens.len())] };
        let bytes = if rng.u32(..24) == 0 { rng.u32(..3) * PAGE_SIZE } else { PAGE_SIZE };
        let record = [selectors & !0xffff | space & 0xffff, address, offset, bytes];
        let at = self.kernel.pool[me].utcb;
        self.kernel.pool.bytes_mut(at, 32).copy_from_slice(bytemuck::cast_slice(&[record; 2]));
    }

    fn all(&self) -> Vec<Ref<Thread>> {
        let kernel = &self.kernel;
        (0..kernel.threads.count).filter_map(|i| kernel.threads.get(i)).filter(|t| !kernel.pool[*t].space.is_null()).collect()
    }

    /// A handle that this thread may often reply to.
    fn handle(&self, me: Ref<Thread>, aliens: bool, rng: &mut Rng) -> u32 {
        let pool = &self.kernel.pool;
        let mut waiting = self.all();
        waiting.retain(|t| pool[*t].state() == gate::REPLY && pool[*t].is_alien() == aliens);
        let mine: Vec<_> = waiting.iter().filter(|t| pool[**t].partner.is(me)).collect();
        let of_anybody = waiting.get(rng.usize(..waiting.len().max(1))).map_or(0, |t| pool[*t].handle);
        match rng.u32(..24) {
            0 => of_anybody,
            1 => 0,
            2 => rng.u32(..),
            3 => of_anybody.wrapping_sub(SEQUENCE),
            _ => mine.get(rng.usize(..mine.len().max(1))).map_or(of_anybody, |t| pool[**t].handle),
        }
    }

    /// A selector, often of a thread that waits for a message.
    fn peer(&self, me: Ref<Thread>, rng: &mut Rng) -> u32 {
        let all = if self.kernel.pool[me].space.is(self.root) { self.threads.clone() } else { (1..=PEERS).collect() };
        let mut waiting = all.clone();
        waiting.retain(|selector| {
            let slot = self.kernel.pool[me].space.get().map(|space| self.kernel.pool[Space::slot(space, *selector)]);
            slot.is_some_and(|s| {
                !s.is_empty() && s.rights().contains(Rights::CALL) && self.kernel.pool[s.object::<Thread>()].state() == gate::OPEN
            })
        });
        match rng.u32(..32) {
            0 => rng.u32(..),
            1 => 0,
            2..=9 => all[rng.usize(..all.len())],
            _ => waiting.get(rng.usize(..waiting.len().max(1))).copied().unwrap_or(all[0]),
        }
    }

    /// Notification bits that a thread accepts.
    fn accepts(&self, thread: Ref<Thread>) -> u32 {
        let at = self.kernel.pool[thread].utcb + ACCEPT;
        self.kernel.pool.bytes_at(at, 4).try_into().map_or(0, u32::from_ne_bytes)
    }

    /// A selector of a thread that waits, and accepts what it would be notified of.
    fn notifiable(&self, me: Ref<Thread>, rng: &mut Rng) -> Option<u32> {
        let space = self.kernel.pool[me].space.get()?;
        let mut all = if space == self.root { self.threads.clone() } else { (1..=PEERS).collect() };
        all.retain(|selector| {
            let slot = self.kernel.pool[Space::slot(space, *selector)];
            let thread = slot.object::<Thread>();
            let waits = |thread: Ref<Thread>| matches!(self.kernel.pool[thread].gate, gate::OPEN | gate::NOTIFIED);
            slot.rights().contains(Rights::NOTIFY) && waits(thread) && slot.badge() & self.accepts(thread) != 0
        });
        all.get(rng.usize(..all.len().max(1))).copied()
    }

    /// Words of a record of one page, which can often be mapped.
    fn page(&self, me: Ref<Thread>, rng: &mut Rng) -> [u32; 3] {
        let (memories, spaces) = if self.kernel.pool[me].space.is(self.root) {
            (self.memories.clone(), self.spaces.clone())
        } else {
            let first = PEERS + 1 + MEMORIES;
            ((PEERS + 1..first).collect(), (first..first + SPACES).collect())
        };
        let page = |rng: &mut Rng| rng.u32(..BYTES / PAGE_SIZE) * PAGE_SIZE;
        let odd = |rng: &mut Rng, usual: u32| match rng.u32(..96) {
            0 => rng.u32(..),
            1 => 0,
            2 => rng.u32(..32) * PAGE_SIZE,
            _ => usual,
        };
        let [memory, space] = [memories, spaces].map(|all| {
            let usual = all[rng.usize(..all.len())];
            odd(rng, usual)
        });
        let [address, offset] = [RANGE, 0].map(|base| {
            let usual = base + page(rng);
            odd(rng, usual)
        });
        let op = if rng.u32(..24) == 0 { rng.u32(..4) } else { MapRecord::MAP };
        let rights = if rng.u32(..24) == 0 { rng.u32(..64) } else { rng.u32(1..8) };
        let [selectors, address, offset, _] = MapRecord::new(op, space, address, memory, offset, PAGE_SIZE, Rights(rights)).0;
        [selectors, address | (rng.u32(..24) / 23) << 6, offset | (rng.u32(..24) / 23) << rng.u32(..12)]
    }

    fn system_call(&self, me: Ref<Thread>, rng: &mut Rng) -> [u32; 5] {
        let words = if rng.u32(..8) == 0 { rng.u32(..70) } else { rng.u32(..4) };
        let flags = if rng.u32(..16) == 0 { rng.u32(..8) << 9 } else { 0 };
        let caps = if rng.u32(..32) == 0 { rng.u32(..4) } else { 0 };
        let message = |op: Op| Tag::new(op, words, caps).0 | flags;
        let [a, b, c] = [(); 3].map(|()| rng.u32(..));
        let pool = &self.kernel.pool;
        let waits = |t: &Ref<Thread>| pool[*t].is_alien() && pool[*t].state() == gate::REPLY && pool[*t].partner.is(me);
        let has_aliens = self.all().iter().any(waits);
        let anybodys = rng.u32(..16) == 0;
        let faulted = |t: &&Ref<Thread>| pool[**t].gate == gate::REPLY | gate::EXCEPTION && (anybodys || pool[**t].partner.is(me));
        if let Some(thread) = self.all().iter().find(faulted)
            && rng.u32(..8) > 0
        {
            let handle = if rng.u32(..16) > 0 { pool[*thread].handle } else { self.handle(me, false, rng) };
            if rng.u32(..5) == 0 {
                return [message(Op::ReplyWait), handle, a, b, c];
            }
            let [selectors, address, offset] = self.page(me, rng);
            let tag = if rng.u32(..16) == 0 { message(Op::MapReplyWait) } else { Tag::new(Op::MapReplyWait, 0, 0).0 };
            return [tag, handle, selectors, address, offset];
        }
        if let Some(selector) = self.notifiable(me, rng).filter(|_| rng.u32(..3) == 0) {
            return [Tag::new(Op::Notify, 0, 0).0, selector, a, b, c];
        }
        let accepted = pool[me].signals & self.accepts(me) != 0;
        let waits_its_turn = self.kernel.sched.top().and_then(|top| self.kernel.sched.first(top)).map_or(0, |next| pool[next].flags);
        if rng.u32(..if accepted || waits_its_turn & flag::BRIEF != 0 { 4 } else { 40 }) == 0 {
            let flags = [0, 0, Tag::NOTIFICATIONS_ONLY, Tag::NOTIFICATIONS_ONLY, Tag::POLL][rng.usize(..5)];
            return [Tag::new(Op::Receive, 0, 0).0 | flags, rng.u32(..24) / 23, a, b, c];
        }
        match rng.u32(..100) {
            0..=89 if has_aliens => [Tag::new(Op::Run, rng.u32(..64) / 63, 0).0 | flags, self.handle(me, true, rng), a, b, c],
            0..=31 => [message(Op::Call), self.peer(me, rng), a, b, c],
            32..=72 => [message(Op::ReplyWait), self.handle(me, false, rng), a, b, c],
            73..=82 if rng.u32(..3) > 0 => [Tag::new(Op::Receive, 0, 0).0, 0, a, b, c],
            73..=78 => [message(Op::Receive), if rng.bool() { 0 } else { self.peer(me, rng) }, a, b, c],
            79..=82 => {
                let aliens = rng.bool();
                [message(Op::Reply), self.handle(me, aliens, rng), a, b, c]
            }
            83..=86 => [message(Op::Send), self.peer(me, rng), a, b, c],
            87..=89 => [Tag::new(Op::Notify, 0, 0).0, self.peer(me, rng), a, b, c],
            90 => [Tag::new(Op::Notify, 0, 0).0, rng.u32(..PEERS + 4), a, b, c],
            91..=93 => [Tag::new(Op::SetPriority, 0, 0).0, self.peer(me, rng), [50, 60, 70][rng.usize(..3)], 100, c],
            94 => [Tag::new(Op::SetState, 0, 0).0, self.peer(me, rng), a % 3, b, rng.u32(..2) << 23 | c & 0xf_ffff],
            96 if a & 1 == 0 => [Tag::new(Op::Yield, 0, 0).0, a, b, c, 0],
            96 => {
                let at = self.kernel.port.now + rng.u64(..30_000_000);
                [Tag::new(Op::Alarm, 0, 0).0, at as u32, (at >> 32) as u32, 1 << rng.u32(..4), 0]
            }
            95 => [Tag::new(Op::SetHandler, 0, 0).0, self.peer(me, rng), 0, b, c],
            97 => [Tag::new(Op::Stop, 0, 0).0, self.peer(me, rng), a, b, c],
            98 => [Tag::new(Op::Start, 0, 0).0, self.peer(me, rng), 0x40_0000, 0x50_0000, c],
            _ => [rng.u32(..), rng.u32(..), a, b, c],
        }
    }
}
