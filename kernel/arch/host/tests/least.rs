// SPDX-License-Identifier: MIT OR Apache-2.0
//! The smallest port: its default bodies are enough for a processor that walks the tables itself,
//! whose caches are physical, and whose spaces share nothing.

use abi::boot::slot;
use abi::{
    CacheOp, Delivery, Error, HOME, MapRecord, MessageKind, Op, PAGE_SIZE, PhysAddr, Rights,
    TABLE_SPAN, Tag, UserAddr, Word,
};
use arch_host::{
    HostFormat, HostRegisters, POOL_BASE, POOL_BYTES, POOL_PHYSICAL, WINDOWS, boot_port, results,
    set_arguments,
};
use kcore::port::{Board, Caches, Nothing, Placement, Processor, Translation};
use kcore::{Charge, Cpu, Irq, Kernel, Space, Thread};
use pool::{Link, Pool, Ref};
use std::ops::Range;

/// A processor of which the contract's bodies are true.
#[derive(Default)]
struct Least {
    cpu: Cpu,
}

impl Processor for Least {
    type Registers = HostRegisters;
    type Special = Nothing;
    fn cpu(&mut self) -> &mut Cpu {
        &mut self.cpu
    }
}

impl Translation for Least {
    type Format = HostFormat;
    fn physical(&self, address: u32) -> PhysAddr {
        POOL_PHYSICAL + (address - POOL_BASE) as Word
    }
    fn pool_address(&self, physical: PhysAddr) -> u32 {
        (physical - POOL_PHYSICAL) as u32 + POOL_BASE
    }
    fn space_created(&mut self, _: &mut Pool, _: Ref<Space>) {}
    fn space_dropped(&mut self, _: &mut Pool, _: Ref<Space>) -> Charge {
        Charge::NONE
    }
    fn invalidate(&mut self, _: &mut Pool, _: Ref<Space>, _: Range<UserAddr>) {}
    fn invalidate_all(&mut self) {}
}

impl Caches for Least {}

impl Placement for Least {}

impl Board for Least {
    type Irqs = [Link<Irq>; arch_host::LINES];
    fn now(&self) -> u64 {
        0
    }
    fn set_timer(&mut self, _: Option<u64>) {}
    fn set_irq(&mut self, _: u32, _: bool) {}
    fn interrupt_pending(&mut self) -> bool {
        false
    }
}

/// Slots of what is made.
const SPACE: Word = arch_host::slot::FREE as Word;
const OTHER: Word = SPACE + 1;
const SEGMENT: Word = SPACE + 2;
const THREAD: Word = SPACE + 3;

const QUOTA: Word = slot::QUOTA as Word;
const RWX: Word = Rights::RWX.0 as Word;

fn boot() -> Kernel<Least> {
    boot_port(Least::default(), WINDOWS, POOL_BYTES)
}

fn root(kernel: &mut Kernel<Least>) -> Ref<Thread> {
    kernel.current().expect("the root server runs")
}

/// A system call of the thread that runs, to its end.
fn call(kernel: &mut Kernel<Least>, op: Op, args: [Word; 4]) -> [Word; 5] {
    let me = root(kernel);
    let [a0, a1, a2, a3] = args;
    set_arguments::<HostRegisters>(
        &mut kernel.pool[me],
        [Tag::new(op, 0, 0).0 as Word, a0, a1, a2, a3],
    );
    kernel.system_call();
    while kernel.carry_on() {}
    results::<HostRegisters>(&kernel.pool[me])
}

fn succeeds(kernel: &mut Kernel<Least>, op: Op, args: [Word; 4]) {
    assert_eq!(call(kernel, op, args)[0], 0, "{op:?} {args:?}");
}

fn fails(kernel: &mut Kernel<Least>, op: Op, args: [Word; 4], error: Error) {
    assert_eq!(call(kernel, op, args)[0], error as Word, "{op:?} {args:?}");
}

/// Whether something can be reached at an address of a space.
fn is_mapped(kernel: &mut Kernel<Least>, space: Word, address: Word) -> bool {
    call(kernel, Op::Lookup, [space, address, 0, 0])[1] & RWX != 0
}

#[test]
fn spaces_and_segments_have_pages() {
    let mut kernel = boot();
    succeeds(&mut kernel, Op::CreateSpace, [QUOTA, 0, SPACE, 0]);
    succeeds(&mut kernel, Op::CreateSegment, [QUOTA, TABLE_SPAN, SEGMENT, 0]);
    succeeds(&mut kernel, Op::Attach, [SPACE, TABLE_SPAN, SEGMENT, RWX]);
    let me = root(&mut kernel);
    let map = |kernel: &mut Kernel<Least>, record: MapRecord| {
        let utcb = kernel.pool[me].utcb;
        let words = bytemuck::bytes_of(&record.0);
        kernel.pool.bytes_mut(utcb, words.len() as u32).copy_from_slice(words);
        succeeds(kernel, Op::Map, [1, 0, 0, 0]);
    };
    for owner in [SPACE, SEGMENT] {
        map(
            &mut kernel,
            MapRecord::new(MapRecord::MAP, owner, 0, slot::RAM as Word, 0, PAGE_SIZE, Rights::RWX),
        );
    }
    for address in [0, TABLE_SPAN] {
        assert!(is_mapped(&mut kernel, SPACE, address), "{address:#x}");
    }
    succeeds(&mut kernel, Op::Cache, [SPACE, 0, PAGE_SIZE, CacheOp::Clean as Word]);
    map(&mut kernel, MapRecord::new(MapRecord::UNMAP, SPACE, 0, 0, 0, PAGE_SIZE, Rights::NONE));
    assert!(!is_mapped(&mut kernel, SPACE, 0));
    for made in [SPACE, SEGMENT] {
        succeeds(&mut kernel, Op::Delete, [made, 0, 0, 0]);
    }
}

#[test]
fn a_message_arrives() {
    let mut kernel = boot();
    succeeds(&mut kernel, Op::CreateThread, [QUOTA, slot::SPACE as Word, THREAD, 0]);
    let from = root(&mut kernel);
    let space = kernel.pool[from].space.get().expect("in its space");
    let to: Ref<Thread> = kernel.pool[Space::slot(space, THREAD as u32)].object();
    kernel.pool[to].gate = kcore::thread::gate::OPEN;
    set_arguments::<HostRegisters>(
        &mut kernel.pool[from],
        [Tag::new(Op::Send, 3, 0).0 as Word, THREAD, 7, 8, 9],
    );
    kernel.system_call();
    let [delivery, _, words @ ..] = results::<HostRegisters>(&kernel.pool[to]);
    assert_eq!(Delivery(delivery as u32).kind(), MessageKind::Send);
    assert_eq!(words, [7, 8, 9]);
}

#[test]
fn what_it_has_not_is_unsupported() {
    let mut kernel = boot();
    succeeds(&mut kernel, Op::CreateSpace, [QUOTA, 0, SPACE, HOME]);
    succeeds(&mut kernel, Op::CreateSpace, [QUOTA, 4, OTHER, WINDOWS]);
    fails(&mut kernel, Op::Attach, [SPACE, 0, OTHER, TABLE_SPAN + RWX], Error::Unsupported);
    fails(&mut kernel, Op::Serve, [OTHER, slot::WINDOWS as Word, 0, 0], Error::Unsupported);
    fails(&mut kernel, Op::Attach, [SPACE, WINDOWS, OTHER, RWX], Error::BadState);
    fails(&mut kernel, Op::Cache, [OTHER, 0, PAGE_SIZE, CacheOp::Lock as Word], Error::Unsupported);
    fails(
        &mut kernel,
        Op::Cache,
        [OTHER, 0, PAGE_SIZE, CacheOp::Clear as Word],
        Error::Unsupported,
    );
    fails(
        &mut kernel,
        Op::Cache,
        [OTHER, 1, PAGE_SIZE, CacheOp::Clear as Word],
        Error::BadArgument,
    );
    fails(&mut kernel, Op::CreateSpace, [QUOTA, 0, SEGMENT, TABLE_SPAN], Error::BadArgument);
}
