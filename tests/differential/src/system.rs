// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems: spaces, threads, capabilities, memory.

use crate::processor::{Found, Host, Kernel, Processor};
use abi::utcb::AREA_END;
use abi::{Error, MapRecord, Op, Rights, Tag, Word};
use arch_host::slot;
use fastrand::Rng;
use kcore::{Memory, Region, Segment, Space, attach};
use pool::Ref;

/// Bytes of a page, and the bytes that a table spans: everything that is mapped here is below 4
/// GiB.
const PAGE_SIZE: u32 = abi::PAGE_SIZE as u32;
const TABLE_SPAN: u32 = abi::TABLE_SPAN as u32;
/// Capability slots of a space for other threads: from 1 on.
pub const PEERS: u32 = 12;
/// The slots after those: of memories, and then of spaces.
pub const MEMORIES: u32 = 4;
/// The number of native spaces, including the root server's.
pub const SPACES: usize = 3;
/// The slots after those of spaces: of Segments.
pub const SEGMENTS: usize = 2;
/// The number of native threads besides the root server's.
pub const THREADS: usize = 6;
/// The number of aliens: their selectors follow those of all native threads.
pub const ALIENS: usize = 3;
/// The range of addresses where pages are mapped, in the middle of a table: in half of the systems
/// where the processor relocates addresses, in the others above that ([`Processor::HIGH_RANGE`]).
/// The root server's image, right after the kernel's area, is in a table before it.
const LOW_RANGE: u32 = {
    let (usual, image) = (0x0090_0000, AREA_END as u32 / TABLE_SPAN);
    if image > 0 && image == usual / TABLE_SPAN {
        (image + 1) * TABLE_SPAN + 0x0010_0000
    } else {
        usual
    }
};
/// Where Segments are attached: outside of that range.
const PLACES: [u32; 2] = {
    // The table after that of the pages may have one.
    let after = LOW_RANGE / TABLE_SPAN * TABLE_SPAN + 2 * TABLE_SPAN;
    [if after > 0x0100_0000 { after } else { 0x0100_0000 }, 0x6000_0000]
};

/// A system that is being made.
struct Maker<'a, P: Processor> {
    kernel: &'a mut Kernel<P>,
    rng: &'a mut Rng,
    /// The next slot of the root server's table that is free.
    next: u32,
}

/// Makes spaces besides the root server's, with threads and memory, and with capabilities of all
/// kinds of rights to them.
pub fn populate<P: Processor>(kernel: &mut Kernel<P>, rng: &mut Rng) -> Found {
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    let mut maker = Maker::<P> { kernel, rng, next: slot::FREE };
    let mut found = Found {
        root,
        threads: vec![slot::THREAD],
        memories: vec![slot::DEVICES],
        natives: vec![slot::SPACE],
        aliens: Vec::new(),
        uncontrolled: Vec::new(),
        empty: Vec::new(),
        segments: Vec::new(),
        range: 0,
    };
    found.range = [LOW_RANGE, P::HIGH_RANGE][maker.rng.usize(..2)];
    maker.threads(&mut found);
    maker.memory(&mut found);
    maker.odd(&found);
    // The root server controls all spaces, but not by each capability.
    let uncontrolled = [&found.natives[..], &found.aliens].concat();
    found.uncontrolled = uncontrolled.into_iter().map(|space| maker.copy(space, 0)).collect();
    found.empty = (0..P::EMPTY_SPACES).map(|_| maker.space(0)).collect();
    found
}

impl<P: Processor> Maker<'_, P> {
    const fn fresh(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    /// Makes a system call for the root server.
    fn call(&mut self, op: Op, args: [u32; 4]) {
        let me = self.kernel.current().expect("the root server runs");
        arch_host::set_arguments::<P::Registers>(
            &mut self.kernel.pool[me],
            [Tag::new(op, 0, 0).0, args[0], args[1], args[2], args[3]].map(|word| word as Word),
        );
        P::by_system_call(&mut self.kernel.pool[me]);
        self.kernel.system_call();
        let [status, ..] = arch_host::results::<P::Registers>(&self.kernel.pool[me]);
        assert_eq!(Error::from_code(status as u32), None, "{op:?}");
    }

    fn space(&mut self, slots: u32) -> u32 {
        let space = self.fresh();
        self.call(Op::CreateSpace, [slot::QUOTA, slots, space, 0]);
        space
    }

    fn thread(&mut self, space: u32, handler_space: u32) -> u32 {
        let thread = self.fresh();
        self.call(Op::CreateThread, [slot::QUOTA, space, thread, handler_space]);
        thread
    }

    /// One of these.
    fn one_of(&mut self, all: &[u32]) -> u32 {
        all[self.rng.usize(..all.len())]
    }

    /// A capability to the same object with these rights, and a badge.
    fn copy(&mut self, source: u32, rights: u32) -> u32 {
        let copy = self.fresh();
        self.call(Op::Copy, [source, 0, copy, rights]);
        copy
    }

    /// A capability to this thread with a badge.
    fn badged(&mut self, thread: u32, rights: Rights) -> u32 {
        let badge = self.rng.u32(1..0x1000);
        self.copy(thread, rights.0 | badge << 12)
    }

    /// Native threads with priorities that are often equal and mostly with a pager, and aliens,
    /// whose handlers are in the root server's space.
    fn threads(&mut self, found: &mut Found) {
        while found.natives.len() < SPACES {
            let space = self.space(PEERS + 1 + MEMORIES + (SPACES + SEGMENTS) as u32);
            found.natives.push(space);
        }
        let mut handlers = Vec::new();
        for _ in 0..THREADS {
            let space =
                if self.rng.u32(..3) == 0 { slot::SPACE } else { self.one_of(&found.natives) };
            let thread = self.thread(space, 0);
            if space == slot::SPACE {
                handlers.push(thread);
            }
            found.threads.push(thread);
        }
        let natives = found.threads.clone();
        for _ in 0..ALIENS {
            let space = self.space(0);
            let thread = self.thread(space, slot::SPACE);
            // Mostly the same handler, which switches between them then.
            let which =
                if self.rng.u32(..4) == 0 { self.rng.usize(..handlers.len().max(1)) } else { 0 };
            self.set_handler(thread, handlers.get(which).copied());
            self.set_state(thread, true);
            found.threads.push(thread);
            found.aliens.push(space);
        }
        for thread in &natives[1..] {
            let pager = Some(self.one_of(&natives[1..]))
                .filter(|pager| pager != thread && self.rng.u32(..6) > 0);
            self.set_handler(*thread, pager);
        }
        for space in &found.natives[1..] {
            for slot in 1..=PEERS {
                let rights = if self.rng.u32(..4) > 0 {
                    Rights::CALL.0 | Rights::NOTIFY.0
                } else {
                    self.rng.u32(..64)
                };
                let source = if self.rng.u32(..4) > 0 { &natives } else { &found.threads };
                let (source, badge) = (self.one_of(&source[1..]), self.rng.u32(..0x1000));
                self.call(Op::Copy, [source, *space, slot, rights | badge << 12]);
            }
        }
        for thread in &found.threads[1..] {
            let priority = self.one_of(&[50, 50, 50, 60, 70]);
            self.call(Op::SetPriority, [*thread, priority, 100, 0]);
        }
        for thread in &natives[1..] {
            self.call(Op::Start, [*thread, 0x40_0000, 0x50_0000, 0]);
            self.set_state(*thread, false);
            // The root server's own are to have badges, too: the bits of a notification.
            let badged = self.badged(*thread, Rights::ALL);
            found.threads.push(badged);
        }
    }

    fn set_handler(&mut self, thread: u32, handler: Option<u32>) {
        if let Some(handler) = handler {
            let badged = self.badged(handler, Rights::CALL);
            self.call(Op::SetHandler, [thread, badged, 0, 0]);
        }
    }

    fn set_state(&mut self, thread: u32, is_alien: bool) {
        for [item, first, second] in P::state(is_alien, self.rng) {
            self.call(Op::SetState, [thread, item, first, second]);
        }
    }

    /// Writes words into the root server's UTCB.
    fn set_words(&mut self, first: u32, words: &[Word]) {
        let me = self.kernel.current().expect("the root server runs");
        let at = self.kernel.pool[me].utcb + first * size_of::<Word>() as u32;
        self.kernel
            .pool
            .bytes_mut(at, size_of_val(words) as u32)
            .copy_from_slice(bytemuck::cast_slice(words));
    }

    fn map(&mut self, records: &[MapRecord]) {
        for (at, record) in (0..).step_by(4).zip(records) {
            self.set_words(at, &record.0);
        }
        self.call(Op::Map, [records.len() as u32, 0, 0, 0]);
    }

    /// Three parts of the RAM and a device's registers: the other spaces get them and the spaces,
    /// and mostly a page of each is mapped, in the spaces of aliens, too. Now and then a space has
    /// a Segment's table or a large page there.
    fn memory(&mut self, found: &mut Found) {
        let range = found.range;
        for _ in 0..SEGMENTS {
            let segment = self.segment(range.next_multiple_of(TABLE_SPAN) + TABLE_SPAN);
            found.segments.push(segment);
        }
        let bytes = P::PAGES * PAGE_SIZE;
        for part in 0..MEMORIES - 1 {
            let memory = self.fresh();
            self.set_words(3, &[slot::QUOTA as Word]);
            self.call(Op::DeriveMemory, [slot::RAM, part * bytes, bytes, memory]);
            found.memories.push(memory);
        }
        for space in &found.natives[1..] {
            let mut slots = PEERS + 1..;
            for memory in &found.memories {
                let rights = if self.rng.u32(..4) > 0 { Rights::RWX.0 } else { self.rng.u32(..8) };
                self.call(Op::Copy, [*memory, *space, slots.next().unwrap_or(0), rights]);
            }
            for other in found.natives.iter().chain(&found.segments) {
                let rights = if self.rng.u32(..8) > 0 { Rights::CONTROL.0 } else { 0 };
                self.call(Op::Copy, [*other, *space, slots.next().unwrap_or(0), rights]);
            }
        }
        let page_of = |memory: u32, owner: u32, address: u32| {
            record([owner, address, memory, PAGE_SIZE], Rights::READ)
        };
        for owner in found.natives.iter().chain(&found.aliens).chain(&found.segments) {
            let is_alien = found.aliens.contains(owner);
            if is_alien && self.rng.u32(..8) == 0 {
                continue;
            }
            let table = range & !(TABLE_SPAN - 1);
            if !found.segments.contains(owner) && self.rng.u32(..8) == 0 {
                let segment = self.segment(TABLE_SPAN);
                self.map(&[page_of(found.memories[1], segment, 0)]);
                // Where pages are mapped, or elsewhere.
                let place = table + self.rng.u32(..2) * 32 * TABLE_SPAN;
                self.call(Op::Attach, [*owner, place, segment, Rights::RWX.0]);
                if place < range {
                    continue;
                }
            }
            if self.rng.u32(..16) == 0 {
                let large =
                    |address, memory, bytes| record([*owner, address, memory, bytes], Rights::RWX);
                self.map(&[
                    large(table, slot::RAM, TABLE_SPAN),
                    large(table + TABLE_SPAN, found.memories[1], PAGE_SIZE),
                ]);
                continue;
            }
            for memory in &found.memories {
                if self.rng.u32(..8) > 0 {
                    let address = range + self.rng.u32(..P::PAGES) * PAGE_SIZE;
                    self.map(&[page_of(*memory, *owner, address)]);
                }
            }
        }
        // The first Segment is attached to two spaces at most, at one address or at two, the second
        // to one.
        let mut others: Vec<u32> =
            found.natives[1..].iter().chain(&found.aliens).copied().collect();
        self.rng.shuffle(&mut others);
        for (number, space) in others.iter().take(self.rng.usize(..4)).enumerate() {
            let place = if range == LOW_RANGE { self.one_of(&PLACES) } else { PLACES[1] };
            self.call(Op::Attach, [*space, place, found.segments[number / 2], Rights::RWX.0]);
        }
    }

    fn segment(&mut self, bytes: u32) -> u32 {
        let segment = self.fresh();
        self.call(Op::CreateSegment, [slot::QUOTA, bytes, segment, 0]);
        segment
    }

    /// Now and then a memory or a space is being deleted, or a change of a Segment or a revoke is
    /// under way.
    fn odd(&mut self, found: &Found) {
        let root = found.root;
        let object = |kernel: &kcore::Kernel<Host<P>>, selector: u32| {
            kernel.pool[Space::slot(root, selector)]
        };
        if self.rng.u32(..16) == 0 {
            let memory: Ref<Memory> =
                object(self.kernel, found.memories[self.rng.usize(1..4)]).object();
            self.kernel.pool[memory].header.dying = 1;
        }
        if self.rng.u32(..16) == 0 {
            let spaces = [&found.natives[1..], &found.aliens].concat();
            let space: Ref<Space> =
                object(self.kernel, spaces[self.rng.usize(..spaces.len())]).object();
            self.kernel.pool[space].region.header.dying = 1;
        }
        if self.rng.u32(..16) == 0 {
            // A change of its directory has been written to no copy yet.
            let segment: Ref<Segment> =
                object(self.kernel, found.segments[self.rng.usize(..SEGMENTS)]).object();
            self.kernel.pool[segment].region.changing = 1;
        }
        for selector in found.natives.iter().chain(&found.aliens).chain(&found.segments) {
            let attached =
                self.kernel.pool[object(self.kernel, *selector).object::<Region>()].attached;
            let mut records = Vec::new();
            attach::for_each(&self.kernel.pool, attached, &mut |at| records.push(at));
            records.into_iter().for_each(|at| self.kernel.pool[at].cursor = self.rng.u32(..4));
        }
    }
}

/// What maps the start of a memory: a space, an address, the memory and how many bytes.
fn record(what: [u32; 4], rights: Rights) -> MapRecord {
    let [owner, address, memory, bytes] = what.map(|word| word as Word);
    MapRecord::new(MapRecord::MAP, owner, address, memory, 0, bytes, rights)
}
