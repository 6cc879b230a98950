// SPDX-License-Identifier: MIT OR Apache-2.0
//! A random system, and what its threads may do next: mostly what the fast paths are made for.

use crate::processor::{ARGUMENTS, Event, Found, Kernel, Processor, all, any, below};
use crate::system::{ALIENS, MEMORIES, PEERS, SEGMENTS, SPACES, THREADS, populate};
use abi::utcb::Utcb;
use abi::{Frame, MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END, Word};
use core::mem::offset_of;
use fastrand::Rng;
use kcore::space::HEADER_BYTES;
use kcore::thread::{SEQUENCE, flag, gate};
use kcore::{Slot, Space, Thread};
use pool::{Link, Ref};
use std::cell::Cell;

const POOL_BYTES: u32 = 88 * size_of::<Word>() as u32 * 1024;
/// The offsets in a UTCB of the bits that its thread accepts, and of those that are pending.
const ACCEPT: u32 = offset_of!(Utcb, accept) as u32;
const PENDING: u32 = offset_of!(Utcb, pending) as u32;

/// Addresses of 64 bits, of which tables of four levels see 48.
const IS_WIDE: bool = Word::BITS == 64;
const WRAP: Word = if IS_WIDE { !0 << (Word::BITS - 16) } else { 0 };

/// A system, and what is known about it.
pub struct Scenario<P: Processor> {
    /// The kernel.
    pub kernel: Kernel<P>,
    /// Selectors.
    pub found: Found,
    spaces: P::Spaces,
    /// The record that was made last, and the thread that made it.
    last: Cell<Option<(Link<Space>, [Word; 4])>>,
}

impl<P: Processor> Scenario<P> {
    /// Spaces, threads with priorities that are often equal, capabilities. The root server then
    /// waits.
    pub fn new(paths: &P, rng: &mut Rng) -> Self {
        let mut kernel = arch_host::boot_with(POOL_BYTES);
        let me = kernel.current().expect("the root server runs");
        let found = populate::<P>(&mut kernel, rng);
        for thread in all::<P>(&kernel) {
            // What users may write: words of messages.
            let (utcb, bytes) = (kernel.pool[thread].utcb, ACCEPT - offset_of!(Utcb, words) as u32);
            kernel.pool.bytes_mut(utcb, bytes).iter_mut().for_each(|byte| *byte = rng.u8(..));
        }
        let spaces = paths.set_up(&mut kernel, &found, rng);
        arch_host::set_arguments::<P::Registers>(
            &mut kernel.pool[me],
            [Tag::new(Op::Receive, 0, 0).0 as Word, 0, 0, 0, 0],
        );
        P::by_system_call(&mut kernel.pool[me]);
        kernel.system_call();
        Self { kernel, found, spaces, last: Cell::new(None) }
    }

    /// A random event; none if no thread can do anything any more.
    pub fn next(&mut self, paths: &P, rng: &mut Rng) -> Option<Event> {
        let me = self.kernel.current()?;
        paths.meanwhile(&mut self.kernel, &self.found, &mut self.spaces, me, rng);
        self.users_write(me, rng);
        self.others_act(me, rng);
        // Who has no pager stops.
        let faults = if self.kernel.pool[me].is_alien() { 9 } else { 6 };
        Some(match rng.u32(..32) {
            0 => Event::Tick,
            number if number <= faults => Event::Fault,
            _ => Event::Call(self.any_call(me, rng)),
        })
    }

    fn set_bits(&mut self, at: u32, bits: u32) {
        self.kernel.pool.bytes_mut(at, 4).copy_from_slice(&bits.to_ne_bytes());
    }

    /// Writes what user code may write by itself: UTCBs and aliens' frames.
    fn users_write(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let Thread { signals, utcb, .. } = self.kernel.pool[me];
        if rng.u32(..8) == 0 {
            // Mostly what waits already: it is taken then.
            let waits = signals & !self.accepts(me) != 0;
            let accept = if waits { signals | rng.u32(..) } else { rng.u32(..) & rng.u32(..) };
            self.set_bits(utcb + ACCEPT, accept);
        }
        if rng.u32(..32) == 0 {
            // Bits that came while they were not accepted.
            self.kernel.pool[me].signals |= rng.u32(..16);
            self.set_bits(utcb + PENDING, self.kernel.pool[me].signals);
        }
        for alien in all::<P>(&self.kernel) {
            let Thread { utcb, .. } = self.kernel.pool[alien];
            if self.kernel.pool[alien].is_alien() {
                let bytes = self.kernel.pool.bytes_mut(utcb, size_of::<Frame>() as u32);
                let mut frame: Vec<Word> = bytes
                    .chunks_exact(size_of::<Word>())
                    .map(bytemuck::pod_read_unaligned)
                    .collect();
                P::write_frame(&mut frame, rng);
                bytes.copy_from_slice(bytemuck::cast_slice(&frame));
            }
        }
    }

    /// Does what other threads would do about aliens and handlers meanwhile, which would take many
    /// events.
    fn others_act(&mut self, me: Ref<Thread>, rng: &mut Rng) {
        let others = all::<P>(&self.kernel);
        let pool = &mut self.kernel.pool;
        let mine = others
            .iter()
            .find(|t| pool[**t].gate == gate::REPLY | gate::ALIEN && pool[**t].partner.is(me))
            .copied();
        let faulted = others
            .iter()
            .find(|t| pool[**t].gate == gate::REPLY | gate::EXCEPTION && pool[**t].partner.is(me))
            .copied();
        if let Some(faulted) = faulted.filter(|_| rng.u32(..3) == 0) {
            pool[faulted].priority = [50, 60, 70][rng.usize(..3)];
        }
        if let Some(alien) = mine.filter(|_| rng.u32(..24) == 0) {
            // Another thread of the space ran it, and was interrupted.
            let beside: Vec<_> =
                others.iter().filter(|t| pool[**t].space == pool[me].space).collect();
            pool[alien].partner = beside[rng.usize(..beside.len())].link();
        } else if rng.u32(..12) == 0 {
            let handler: Ref<Thread> = pool[me].handler.object();
            if !pool[me].handler.is_empty() && matches!(pool[handler].gate, gate::RUN | gate::OPEN)
            {
                pool[handler].priority = [50, 60, 70][rng.usize(..3)];
            }
        }
    }

    /// Notification bits that a thread accepts.
    fn accepts(&self, thread: Ref<Thread>) -> u32 {
        let at = self.kernel.pool[thread].utcb + ACCEPT;
        self.kernel.pool.bytes_at(at, 4).try_into().map_or(0, u32::from_ne_bytes)
    }

    /// Selectors that a thread may have of other threads.
    fn peers(&self, me: Ref<Thread>) -> Vec<u32> {
        if self.kernel.pool[me].space.is(self.found.root) {
            self.found.threads.clone()
        } else {
            (1..=PEERS).collect()
        }
    }

    /// The selectors that a thread has of memories, and of spaces and Segments.
    fn known(&self, me: Ref<Thread>) -> (Vec<u32>, Vec<u32>) {
        let found = &self.found;
        if self.kernel.pool[me].space.is(found.root) {
            return (
                found.memories.clone(),
                [&found.natives[..], &found.aliens, &found.segments].concat(),
            );
        }
        let first = PEERS + 1 + MEMORIES;
        ((PEERS + 1..first).collect(), (first..first + (SPACES + SEGMENTS) as u32).collect())
    }

    /// The capability that a thread has at a selector, if its table has that.
    fn slot(&self, me: Ref<Thread>, selector: u32) -> Option<Slot> {
        let pool = &self.kernel.pool;
        let space = pool[me].space.get().filter(|space| selector < pool[*space].slots)?;
        Some(pool[Space::slot(space, selector)])
    }

    /// A system call of any kind. Its record or its bits are in the thread's UTCB.
    fn any_call(&mut self, me: Ref<Thread>, rng: &mut Rng) -> [Word; ARGUMENTS] {
        let mut arguments = self.call(me, rng);
        let odd = |op: Op, rng: &mut Rng| Tag::new(op, rng.u32(..64) / 63, 0).0 as Word;
        let often = |op: Op| if P::FAST.contains(&op) { 8 } else { 64 };
        let is_mapped = P::FAST.contains(&Op::MapRun);
        let is_run = arguments[0] == Tag::new(Op::Run, 0, 0).0 as Word;
        if is_run && rng.u32(..5) < if is_mapped { 3 } else { 1 } {
            (arguments[0], arguments[2]) = (odd(Op::MapRun, rng), 1 + below(24, rng) / 22);
            if rng.u32(..12) == 0 {
                // Of one that waits for nobody, or for somebody else.
                arguments[1] = self.any_alien(rng) as Word;
            }
            if IS_WIDE && rng.u32(..12) == 0 {
                // Another call, or a flag.
                arguments[0] ^= 1 << rng.u32(Tag::POLL.trailing_zeros()..16);
            }
            self.write_record(me, true, rng);
        } else if rng.u32(..often(Op::Map)) == 0 {
            (arguments[0], arguments[1]) = (odd(Op::Map, rng), 1 + below(24, rng) / 22);
            self.write_record(me, false, rng);
        } else if rng.u32(..often(Op::Cache)) == 0 {
            let op = if rng.u32(..24) == 0 { Op::Lookup } else { Op::Cache };
            arguments[0] = odd(op, rng);
            arguments[1..5].copy_from_slice(&self.lines(me, rng));
        }
        arguments
    }

    /// Records in a thread's UTCB.
    fn write_record(&mut self, me: Ref<Thread>, for_alien: bool, rng: &mut Rng) {
        // The second one does not count, mostly.
        let (at, records) =
            (self.kernel.pool[me].utcb, [(); 2].map(|()| self.record(me, for_alien, rng)));
        self.kernel
            .pool
            .bytes_mut(at, size_of_val(&records) as u32)
            .copy_from_slice(bytemuck::cast_slice(&records));
    }

    /// A record that can often be mapped: mostly of one page, and mostly for a native's space,
    /// otherwise for an alien's.
    fn record(&self, me: Ref<Thread>, for_alien: bool, rng: &mut Rng) -> [Word; 4] {
        let (memories, mut owners) = self.known(me);
        let maps_several = P::FAST.contains(&Op::Map);
        if self.kernel.pool[me].space.is(self.found.root)
            && rng.u32(..8) < if for_alien { 6 } else { 1 }
        {
            owners.clone_from(&self.found.aliens);
        } else if !maps_several && rng.u32(..4) > 0 {
            owners.truncate(owners.len() - SEGMENTS);
        }
        let mut memories = memories;
        if self.kernel.pool[me].space.is(self.found.root) && rng.u32(..16) == 0 {
            owners.clone_from(&self.found.uncontrolled);
        } else if self.kernel.pool[me].space.is(self.found.root) && rng.u32(..32) == 0 {
            memories.clone_from(&self.found.segments);
        }
        let most = P::PAGES as Word;
        let pages = match rng.u32(..if maps_several { 16 } else { 64 }) {
            0 => 1 + below(most, rng),
            1..=3 => 2 + below(3, rng),
            _ => 1,
        };
        let odd = |rng: &mut Rng, usual: Word| match rng.u32(..64) {
            0 => any(rng),
            1 => 0,
            2 => below(2 * most, rng) * PAGE_SIZE,
            _ => usual,
        };
        let [memory, owner] = [memories, owners].map(|all| {
            let usual = all[rng.usize(..all.len())];
            // Of another kind.
            let usual = if rng.u32(..24) == 0 {
                rng.u32(1..PEERS + MEMORIES + SPACES as u32)
            } else {
                usual
            };
            odd(rng, usual as Word)
        });
        let range = self.found.range as Word;
        let [address, offset] = [range, 0].map(|base| {
            let usual = base + below(most - pages + 1, rng) * PAGE_SIZE;
            odd(rng, usual)
        });
        // The last of several pages is beyond the end.
        let offset =
            if pages > 1 && rng.u32(..8) == 0 { (most + 1 - pages) * PAGE_SIZE } else { offset };
        let address = match rng.u32(..48) {
            // The simulated port has its part of a space at the start, others at the end.
            0 => USER_END + below(most, rng) * PAGE_SIZE,
            // What the processor's tables would take for it; the kernel's part; where the space has
            // no directory.
            2 if IS_WIDE => range.wrapping_add(below(most, rng) * PAGE_SIZE) | WRAP,
            3 if IS_WIDE => below(most, rng) * PAGE_SIZE,
            4..=6 if IS_WIDE => address ^ (TABLE_SPAN << rng.u32(..26)),
            // It goes on in the next table, or nearly.
            1 => range.next_multiple_of(TABLE_SPAN) - (1 + below(pages, rng)) * PAGE_SIZE,
            _ => address.max(TABLE_SPAN),
        };
        let op = if rng.u32(..24) == 0 { rng.u32(..4) } else { MapRecord::MAP };
        let rights = if rng.u32(..16) == 0 { rng.u32(..64) * rng.u32(..2) } else { rng.u32(1..8) };
        let bytes = match rng.u32(..48) {
            0 => 0,
            1 => any(rng),
            _ => pages * PAGE_SIZE,
        };
        let space = self.kernel.pool[me].space;
        let record = match self.last.get() {
            // The same with another right.
            Some((by, [selectors, what, offset, bytes])) if by == space && rng.u32(..8) == 0 => {
                [selectors, what & !7 | 1 | below(8, rng), offset, bytes]
            }
            _ => MapRecord::new(op, owner, address, memory, offset, bytes, Rights(rights)).0,
        };
        self.last.set(Some((space, record)));
        let [selectors, what, offset, bytes] = record;
        [
            selectors,
            what | (below(12, rng) / 11) << 6,
            offset | (below(24, rng) / 23) << rng.u32(..12),
            bytes,
        ]
    }

    /// Arguments of `Cache`: a Space, an address, a number of bytes, and an operation. Mostly it is
    /// a part of a page.
    fn lines(&self, me: Ref<Thread>, rng: &mut Rng) -> [Word; 4] {
        let (_, owners) = self.known(me);
        let owner = match rng.u32(..24) {
            0 => any(rng),
            1 => below((PEERS + MEMORIES) as Word, rng),
            _ => owners[rng.usize(..owners.len())] as Word,
        };
        let (page, low_end) = (below(USER_END / PAGE_SIZE, rng) * PAGE_SIZE, P::LOW_END as Word);
        let offset = below(PAGE_SIZE, rng);
        let bytes = 1 + below(PAGE_SIZE - offset, rng);
        let (address, bytes) = match rng.u32(..24) {
            0 => (page + offset, 0),
            1 => (page + offset, any(rng)),
            2 => (page + offset, offset.wrapping_neg()),
            3 => (USER_END + offset, bytes),
            4 => (low_end - PAGE_SIZE + offset, PAGE_SIZE - offset + bytes),
            5..=14 => (page % low_end + offset, bytes),
            _ => (page + offset, bytes),
        };
        [owner, address, bytes, if rng.u32(..24) == 0 { below(5, rng) } else { below(2, rng) }]
    }

    /// The handle of some alien.
    fn any_alien(&self, rng: &mut Rng) -> u32 {
        let aliens: Vec<_> = all::<P>(&self.kernel)
            .into_iter()
            .filter(|t| self.kernel.pool[*t].is_alien())
            .collect();
        aliens.get(rng.usize(..aliens.len().max(1))).map_or(0, |t| self.kernel.pool[*t].handle)
    }

    /// A handle that this thread may often reply to: an alien's, or a native's.
    fn handle(&self, me: Ref<Thread>, is_alien: bool, rng: &mut Rng) -> u32 {
        let pool = &self.kernel.pool;
        let waits =
            |t: &Ref<Thread>| pool[*t].state() == gate::REPLY && pool[*t].is_alien() == is_alien;
        let waiting: Vec<_> = all::<P>(&self.kernel).into_iter().filter(waits).collect();
        let mine: Vec<_> = waiting.iter().filter(|t| pool[**t].partner.is(me)).collect();
        let of_anybody =
            waiting.get(rng.usize(..waiting.len().max(1))).map_or(0, |t| pool[*t].handle);
        let of_mine =
            mine.get(rng.usize(..mine.len().max(1))).map_or(of_anybody, |t| pool[**t].handle);
        match rng.u32(..24) {
            0 => 0,
            1 => rng.u32(..),
            2 => of_mine.wrapping_sub(SEQUENCE),
            3 => of_mine ^ self.kernel.threads.count << rng.u32(..8),
            4..=5 => of_anybody,
            _ => of_mine,
        }
    }

    /// Whether a selector is of a thread that waits for a message.
    fn calls(&self, me: Ref<Thread>, selector: u32) -> bool {
        let slot = self.slot(me, selector);
        slot.is_some_and(|slot| {
            slot.rights().contains(Rights::CALL)
                && self.kernel.pool[slot.object::<Thread>()].state() == gate::OPEN
        })
    }

    /// A selector, often of a thread that waits for a message.
    fn peer(&self, me: Ref<Thread>, rng: &mut Rng) -> u32 {
        let pool = &self.kernel.pool;
        let Some(space) = pool[me].space.get().filter(|_| !pool[me].is_alien()) else {
            return rng.u32(..PEERS);
        };
        let mine = self.peers(me);
        match rng.u32(..32) {
            0 => rng.u32(..),
            1 => 0,
            // A slot that is not this space's, but where the table would go on.
            2..=3 => {
                let other = if space == self.found.root { space } else { self.found.root };
                let at =
                    Space::slot(other, self.found.threads[rng.usize(..self.found.threads.len())])
                        .address();
                at.wrapping_sub(space.address() + HEADER_BYTES) / size_of::<Slot>() as u32
            }
            4..=9 => mine[rng.usize(..mine.len())],
            _ => {
                let waiting: Vec<u32> =
                    mine.iter().copied().filter(|selector| self.calls(me, *selector)).collect();
                waiting.get(rng.usize(..waiting.len().max(1))).copied().unwrap_or(mine[0])
            }
        }
    }

    /// A selector of a thread that waits, and accepts the bits that it would get.
    fn notifiable(&self, me: Ref<Thread>, rng: &mut Rng) -> Option<u32> {
        let mut peers = self.peers(me);
        peers.retain(|selector| {
            self.slot(me, *selector).is_some_and(|slot| {
                let thread = slot.object::<Thread>();
                let waits = |thread: Ref<Thread>| {
                    matches!(self.kernel.pool[thread].gate, gate::OPEN | gate::NOTIFIED)
                };
                slot.rights().contains(Rights::NOTIFY)
                    && waits(thread)
                    && slot.badge() & self.accepts(thread) != 0
            })
        });
        peers.get(rng.usize(..peers.len().max(1))).copied()
    }

    /// The thread that runs next, if it got its turn by a fast path: then a `receive` may be one.
    fn next_is_brief(&self) -> bool {
        let next = self.kernel.sched.top().and_then(|top| self.kernel.sched.first(top));
        next.is_some_and(|next| self.kernel.pool[next].flags & flag::BRIEF != 0)
    }

    /// A system call without records.
    fn call(&self, me: Ref<Thread>, rng: &mut Rng) -> [Word; ARGUMENTS] {
        let words =
            if rng.u32(..8) == 0 { rng.u32(..70) } else { rng.u32(..=abi::tag::REGISTER_WORDS) };
        let flags = if rng.u32(..16) == 0 { rng.u32(..8) << 9 } else { 0 };
        let caps = if rng.u32(..24) == 0 { rng.u32(..4) } else { 0 };
        let tag = |op: Op| Tag::new(op, words, caps).0 | flags;
        let plain = |op: Op| Tag::new(op, 0, 0).0;
        let pool = &self.kernel.pool;
        let threads = all::<P>(&self.kernel);
        let mut arguments: [Word; ARGUMENTS] = std::array::from_fn(|_| any(rng));
        let anybodys = rng.u32(..16) == 0;
        let faulted = |t: &&Ref<Thread>| {
            pool[**t].gate == gate::REPLY | gate::EXCEPTION
                && (anybodys || pool[**t].partner.is(me))
        };
        if let Some(thread) = threads.iter().find(faulted)
            && rng.u32(..8) > 0
        {
            let handle =
                if rng.u32(..3) > 0 { pool[*thread].handle } else { self.handle(me, false, rng) };
            let op = if rng.u32(..5) == 0 { Op::ReplyWait } else { Op::MapReplyWait };
            let tag = if rng.u32(..16) == 0 { tag(op) } else { plain(op) };
            arguments[..2].copy_from_slice(&[tag, handle].map(|word| word as Word));
            arguments[2..5].copy_from_slice(&self.record(me, false, rng)[..3]);
            return arguments;
        }
        let is_fast = |op: Op| P::FAST.contains(&op);
        if is_fast(Op::Notify)
            && let Some(selector) = self.notifiable(me, rng).filter(|_| rng.u32(..3) == 0)
        {
            arguments[..2].copy_from_slice(&[plain(Op::Notify), selector].map(|word| word as Word));
            return arguments;
        }
        let may_take = pool[me].signals & self.accepts(me) != 0 || self.next_is_brief();
        if rng.u32(..if is_fast(Op::Receive) && may_take { 4 } else { 40 }) == 0 {
            let flags =
                [0, 0, Tag::NOTIFICATIONS_ONLY, Tag::NOTIFICATIONS_ONLY, Tag::POLL][rng.usize(..5)];
            let head = [plain(Op::Receive) | flags, rng.u32(..24) / 23];
            arguments[..2].copy_from_slice(&head.map(|word| word as Word));
            return arguments;
        }
        let waits = |t: &Ref<Thread>| pool[*t].state() == gate::REPLY && pool[*t].partner.is(me);
        let has_alien = threads.iter().any(|t| waits(t) && pool[*t].is_alien());
        let answers = threads.iter().any(|t| waits(t) && !pool[*t].is_alien());
        let (peer, peers) = (self.peer(me, rng), self.peers(me));
        let any = peers[rng.usize(..peers.len())];
        let alien = self.found.threads[1 + THREADS..][rng.usize(..ALIENS)];
        let head = match rng.u32(..100) {
            0..=88 if has_alien => {
                let handle =
                    if rng.u32(..8) > 0 { self.handle(me, true, rng) } else { self.any_alien(rng) };
                [Tag::new(Op::Run, rng.u32(..64) / 63, 0).0 | flags, handle]
            }
            0..=15 => [tag(Op::Call), peer],
            16..=29 => [tag(Op::ReplyWait), self.handle(me, false, rng)],
            // What keeps messages going.
            30..=69 if answers => [tag(Op::ReplyWait), self.handle(me, false, rng)],
            30..=69 if self.calls(me, peer) => [tag(Op::Call), peer],
            30..=69 => [plain(Op::Receive), 0],
            70..=72 => [plain(Op::Receive), rng.u32(..8) / 7 * peer],
            73..=75 => {
                let is_alien = rng.bool();
                [tag(Op::Reply), self.handle(me, is_alien, rng)]
            }
            76..=79 => [tag(Op::Send), peer],
            80..=81 => [plain(Op::Notify), if rng.bool() { any } else { peer }],
            82..=86 => [plain(Op::Run), self.any_alien(rng)],
            87..=90 => {
                (arguments[2], arguments[3]) = ([50, 60, 70][rng.usize(..3)], 100);
                [plain(Op::SetPriority), peer]
            }
            91 => {
                arguments[2] = 0;
                [plain(Op::SetHandler), if has_alien && rng.bool() { alien } else { peer }]
            }
            92 => {
                let state = P::state(true, rng);
                if let Some(state) = state.get(rng.usize(..state.len().max(1))) {
                    arguments[2..]
                        .iter_mut()
                        .zip(state)
                        .for_each(|(argument, value)| *argument = *value as Word);
                }
                [plain(Op::SetState), if has_alien && rng.bool() { alien } else { any }]
            }
            94 => [plain(Op::Yield), peer],
            93 | 95 => {
                let at = self.kernel.port.now + rng.u64(..30_000_000);
                (arguments[2], arguments[3]) = ((at >> 32) as Word, 1 << rng.u32(..4));
                [plain(Op::Alarm), at as u32]
            }
            96 => [plain(Op::Stop), peer],
            97..=98 => {
                (arguments[2], arguments[3]) = (0x40_0000, 0x50_0000);
                [plain(Op::Start), peer]
            }
            _ => [arguments[0] as u32, peer],
        };
        arguments[..2].copy_from_slice(&head.map(|word| word as Word));
        arguments
    }
}
