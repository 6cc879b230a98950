// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems of threads, and what their threads may do next.

use abi::frame;
use abi::utcb::{SLOT_SIZE, Utcb};
use abi::{Error, Op, Rights, Tag};
use arch_host::{boot_with, slot};
use armv5_context::{Armv5, hw, vector, word};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::space::HEADER_BYTES;
use kcore::thread::{SEQUENCE, gate};
use kcore::{Kernel, Slot, Space, Thread};
use pool::Ref;

/// The machine whose memory the assembly gets: ARMv5's registers and translation tables.
pub type Host = arch_host::Host<Armv5, mmu::armv5::Armv5>;

const POOL_BYTES: u32 = 512 << 10;
/// Capability slots that a space's threads have other threads in: from 1 on.
const PEERS: u32 = 12;
/// Native spaces, the root server's among them.
const SPACES: usize = 3;
/// Native threads beside the root server's.
const THREADS: usize = 7;
/// Aliens: their selectors follow those of all native threads.
const ALIENS: usize = 3;
/// Words of the contract's system calls that travel in registers, with the tag and `a0`.
pub const ARGUMENTS: usize = 2 + abi::tag::REGISTER_WORDS as usize;

/// A system, and what is known about it.
pub struct Scenario {
    /// The kernel.
    pub kernel: Kernel<Host>,
    root: Ref<Space>,
    /// Selectors of threads in the root server's table.
    threads: Vec<u32>,
}

/// What the processor does next.
pub enum Event {
    /// The running thread executes `swi` with these in r0 to r9.
    Swi([u32; ARGUMENTS]),
    /// It has a page fault.
    PageFault,
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

/// Two spaces beside the root server's, with capabilities of all kinds of rights to its threads. Returns the threads' selectors.
fn populate(kernel: &mut Kernel<Host>, rng: &mut Rng) -> Vec<u32> {
    let mut free = slot::FREE..;
    let mut fresh = || free.next().unwrap_or_default();
    let mut spaces = vec![slot::SPACE];
    while spaces.len() < SPACES {
        let space = fresh();
        call(kernel, Op::CreateSpace, [slot::QUOTA, PEERS + 1, space, 0]);
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
    for _ in 0..ALIENS {
        let (space, alien) = (fresh(), fresh());
        call(kernel, Op::CreateSpace, [slot::QUOTA, 0, space, 0]);
        call(kernel, Op::CreateThread, [slot::QUOTA, space, alien, slot::SPACE]);
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
    threads
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
        let threads = populate(&mut kernel, rng);
        for thread in all(&kernel) {
            // What the port would keep of its space, and what users may write.
            let space = kernel.pool[thread].space.get().expect("it has a space");
            let words = &mut kernel.pool[space].hw;
            words[hw::DACR] = rng.u32(..);
            words[hw::PID] = if rng.u32(..3) == 0 { hw::INDIFFERENT } else { rng.u32(..4) << 25 };
            let (utcb, first) = (kernel.pool[thread].utcb, offset_of!(Utcb, words) as u32);
            kernel.pool.bytes_mut(utcb + first, SLOT_SIZE - first).iter_mut().for_each(|byte| *byte = rng.u8(..));
        }
        arch_host::set_arguments::<Armv5>(&mut kernel.pool[me], [Tag::new(Op::Receive, 0, 0).0, 0, 0, 0, 0]);
        kernel.system_call();
        Self { kernel, root, threads }
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
            0..=1 => Event::PageFault,
            2 => Event::Tick,
            _ => Event::Swi(self.system_call(me, rng)),
        })
    }

    /// What other threads have done about aliens meanwhile, which takes many events.
    fn others_act(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let mine = self.alien_of(me);
        let pool = &mut self.kernel.pool;
        if let Some(alien) = mine.filter(|_| rng.u32(..16) == 0) {
            // Another thread of the space ran it, and was interrupted.
            let others: Vec<_> =
                all(&self.kernel).into_iter().filter(|t| self.kernel.pool[*t].space == self.kernel.pool[me].space).collect();
            self.kernel.pool[alien].partner = others[rng.usize(..others.len())].link();
        } else if pool[me].is_alien() && rng.u32(..4) == 0 {
            let handler: Ref<Thread> = pool[me].handler.object();
            if !pool[me].handler.is_empty() && pool[handler].gate == gate::RUN {
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
        let mine = if space == self.root { self.threads.clone() } else { (1..=PEERS).collect() };
        let waiting: Vec<u32> = mine.iter().copied().filter(|selector| self.calls(me, *selector)).collect();
        match rng.u32(..32) {
            0 => rng.u32(..),
            1 => 0,
            // A slot that is not this space's, but where the table would go on.
            2..=3 => {
                let other = if space == self.root { space } else { self.root };
                let at = Space::slot(other, self.threads[rng.usize(..self.threads.len())]).address();
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
                [plain(Op::SetHandler), self.threads[1 + THREADS + rng.usize(..ALIENS)]]
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
