// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random system calls on a simulated machine. After each one, the test computes naively from all
//! objects what must always hold, and compares.

use crate::common;

use abi::utcb::AREA_END;
use abi::{MapRecord, Op, PAGE_SIZE, Rights, TABLE_SPAN, Tag, USER_END, Word};
use arch_host::{Host, HostFormat, RAM, boot};
use common::{PAGE, call, call_tag, leaves_of, low, seed, set_words, slot, slot_of, tag, used};
use kcore::attach;
use kcore::memory::class;
use kcore::port::Processor;
use kcore::thread::gate;
use kcore::{Kernel, Memory, Owner, Space, Thread};
use mmu::Format;
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashSet;

fn threads(kernel: &Kernel<Host>) -> Vec<Ref<Thread>> {
    (0..kernel.threads.count)
        .filter_map(|i| kernel.threads.get(i))
        .filter(|t| !kernel.pool[*t].space.is_null())
        .collect()
}

/// A ready thread runs or is in the queue of its priority, once; a waiting one is in none.
fn check_queues(kernel: &mut Kernel<Host>) {
    let current = kernel.current();
    let mut queued = HashSet::new();
    for priority in 0..256 {
        let Some(first) = kernel.sched.first(priority) else { continue };
        let mut at = first;
        loop {
            assert!(queued.insert(at.address()), "a thread is queued twice");
            assert_eq!(kernel.pool[at].priority, priority);
            at = kernel.pool[at].next.get().expect("a queue is a circle");
            if at == first {
                break;
            }
        }
    }
    for thread in threads(kernel) {
        let ready = kernel.pool[thread].state() == gate::READY;
        let runs = current == Some(thread);
        assert_eq!(
            ready,
            runs || queued.contains(&thread.address()),
            "ready means queued or running"
        );
        assert!(!(runs && queued.contains(&thread.address())), "the running thread is in a queue");
    }
    let top = kernel.sched.top().unwrap_or(0);
    assert_eq!(kernel.port.cpu().top, top, "the cached top is wrong");
    if let Some(current) = current {
        assert!(kernel.pool[current].priority >= top, "a more urgent thread waits");
    }
}

/// A thread that sends is in its receiver's queue; one that waits for a reply has a partner.
fn check_partners(kernel: &Kernel<Host>) {
    for thread in threads(kernel) {
        let t = &kernel.pool[thread];
        if t.state() == gate::SENDING {
            let partner = t.partner.get().expect("a sender has a receiver");
            let first = kernel.pool[partner].senders.get().expect("its queue is not empty");
            let (mut at, mut found) = (first, false);
            loop {
                found |= at == thread;
                at = kernel.pool[at].next.get().expect("a circle");
                if at == first {
                    break;
                }
            }
            assert!(found, "a sender is in its receiver's queue");
        }
        if t.state() == gate::REPLY {
            assert!(
                t.partner.get().is_some_and(|p| !kernel.pool[p].space.is_null()),
                "nobody waits for the dead"
            );
        }
        if t.state() == gate::RUN {
            let alien = t.partner.get().map(|p| &kernel.pool[p]);
            assert!(
                alien.is_some_and(|a| a.is_alien() && !a.space.is_null()),
                "who runs an alien has one"
            );
        }
    }
}

/// Every page of RAM in a space's tables is covered by an attachment of a Memory that lives.
fn check_authority(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    for space in spaces {
        let mut covered = Vec::new();
        attach::for_each(&kernel.pool, kernel.pool[*space].region.attached, &mut |at| {
            let m: &Memory = &kernel.pool[Ref::new(kernel.pool[at].source)];
            if m.class == class::RAM {
                covered.push((m.base, m.bytes));
            }
        });
        for page in
            leaves_of(kernel, Owner::Space(*space)).into_iter().filter(|found| !found.shared)
        {
            let in_ram = page.physical.offset_from(RAM.base) < RAM.bytes;
            let allowed =
                covered.iter().any(|(base, bytes)| page.physical.offset_from(*base) < *bytes);
            assert!(!in_ram || allowed, "{page:?} is mapped without authority");
        }
    }
}

/// A Space counts the threads that run in it or have their UTCB slots in it.
fn check_counts(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    for space in spaces {
        let bound = |thread: &&Ref<Thread>| {
            kernel.pool[**thread].space.is(*space) || kernel.pool[**thread].home.is(*space)
        };
        assert_eq!(
            usize::from(kernel.pool[*space].threads),
            threads(kernel).iter().filter(bound).count(),
            "threads of a Space"
        );
    }
}

/// Spaces that live, by the capabilities in the root server's table.
fn spaces(kernel: &Kernel<Host>, root: Ref<Space>) -> Vec<Ref<Space>> {
    let slots = (1..200).map(|i| slot_of(kernel, root, i));
    slots.filter(|s| !s.is_empty() && s.kind() == abi::Kind::Space).map(|s| s.object()).collect()
}

const FIRST: Word = slot::FREE;

fn selector() -> impl Strategy<Value = Word> {
    prop_oneof![6 => FIRST..FIRST + 24, 1 => Just(slot::QUOTA), 1 => Just(slot::RAM), 1 => 0..70 as Word]
}

fn value() -> impl Strategy<Value = Word> {
    prop_oneof![
        4 => selector(),
        1 => Just(0),
        1 => any::<Word>(),
        1 => (0..64 as Word).prop_map(|n| n * PAGE_SIZE),
        1 => Just(TABLE_SPAN),
        1 => (0..16 as Word).prop_map(|n| AREA_END + n * PAGE_SIZE),
        // Far apart, up to the end and above.
        1 => (1..10 as Word).prop_map(|n| USER_END / 8 * n),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    op: Op,
    args: [Word; 4],
    words: [Word; 8],
    pending: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(abi::syscall::ALL.to_vec());
    (op, selector(), [value(), value(), value()], prop::array::uniform8(value()), any::<bool>())
        .prop_map(|(op, a, [b, c, d], words, pending)| {
            let first = match op {
                Op::Map => a % 3,
                Op::MapReplyWait => b & (a % 2).wrapping_neg(),
                // Its own Quota, Space and Thread stay; so does the RAM, whose parts are enough to
                // revoke.
                Op::Delete | Op::Revoke | Op::Stop | Op::Reset | Op::SetPriority if a < FIRST => {
                    FIRST
                }
                _ => a,
            };
            Step { op, args: [first, b, c, d], words, pending }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_must_hold_holds_after_every_call(steps in prop::collection::vec(step(), 1..250)) {
        let mut kernel = boot();
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let empty: Vec<Word> = (1..kernel.pool[root].slots as Word).filter(|i| slot_of(&kernel, root, *i).is_empty()).collect();
        let before = used(&mut kernel);
        for mut s in steps {
            set_words(&mut kernel, me, 0, &s.words);
            // A record that is often good: RAM or a part of it into one of the spaces.
            let [memory, space, address, op, offset, bytes, ..] = s.words;
            let (op, bytes) = (low(op % 3), PAGE_SIZE + (bytes & 0x3000));
            let record = MapRecord::new(op, space % 128, address, memory % 128, offset & 0xf000, bytes, Rights(3));
            match s.op {
                Op::MapReplyWait => s.args[1..].copy_from_slice(&record.0[..3]),
                Op::Map => set_words(&mut kernel, me, 0, &record.0),
                _ => {}
            }
            kernel.port.pending = s.pending;
            // Woken threads of the same priority would take the processor from the one that tests.
            if kernel.current() != Some(me) {
                kernel.port.now += 20_000_000;
                kernel.tick();
            }
            if kernel.current() == Some(me) {
                // Polling always: the one thread that makes the calls must not wait.
                let words = if s.op == Op::MapReplyWait { 0 } else { 3 };
                call_tag(&mut kernel, tag(s.op, words, 0) | Tag::POLL as Word, s.args);
            }
            check_queues(&mut kernel);
            check_partners(&kernel);
            check_authority(&kernel, &spaces(&kernel, root));
            check_counts(&kernel, &spaces(&kernel, root));
        }
        kernel.port.pending = false;
        for _ in 0..600 {
            if kernel.current() == Some(me) {
                break;
            }
            kernel.port.now += 20_000_000;
            kernel.tick();
        }
        if kernel.current() == Some(me) {
            for selector in &empty {
                call(&mut kernel, Op::Delete, [*selector, 0, 0, 0]);
            }
            call(&mut kernel, Op::Revoke, [slot::RAM, 0, 0, 0]);
            let after = used(&mut kernel);
            // What it mapped into its own space stays: tables of each level below the highest, and
            // attachments.
            prop_assert!(after <= before + 16 * (HostFormat::LEVELS - 1) * PAGE, "{} bytes before, {} after", before, after);
        }
    }
}
