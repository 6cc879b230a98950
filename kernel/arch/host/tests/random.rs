// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random system calls on a simulated machine. After each, what must always hold is
//! computed naively from all objects and compared.

use abi::{Op, PAGE_SIZE, TABLE_SPAN, Tag};
use arch_host::{Host, RAM, boot, boot_elsewhere, slot};
use kcore::attach;
use kcore::memory::class;
use kcore::thread::gate;
use kcore::{Kernel, Memory, Port, Space, Thread};
use mmu::Format;
use mmu::ia32::Ia32;
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashSet;

/// Makes a system call for the current thread; its status.
fn call(kernel: &mut Kernel<Host>, op: u32, args: [u32; 4]) -> Option<[u32; 5]> {
    let me = kernel.current()?;
    arch_host::set_arguments(&mut kernel.pool[me], [op, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    for _ in 0..1_000_000 {
        if !kernel.carry_on() {
            break;
        }
    }
    Some(arch_host::results(&kernel.pool[me]))
}

fn threads(kernel: &Kernel<Host>) -> Vec<Ref<Thread>> {
    (0..kernel.threads.count).filter_map(|i| kernel.threads.get(i)).filter(|t| !kernel.pool[*t].space.is_null()).collect()
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
        assert_eq!(ready, runs || queued.contains(&thread.address()), "ready means queued or running");
        assert!(!(runs && queued.contains(&thread.address())), "the running thread is in a queue");
    }
    let top = kernel.sched.top().unwrap_or(0);
    assert_eq!(kernel.port.cpu().top, top, "the cached top is wrong");
    if let Some(current) = current {
        assert!(kernel.pool[current].priority >= top, "a more urgent thread waits");
    }
}

/// Whoever sends is in its receiver's queue; whoever waits for a reply has a partner.
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
            assert!(t.partner.get().is_some_and(|p| !kernel.pool[p].space.is_null()), "nobody waits for the dead");
        }
        if t.state() == gate::RUN {
            let alien = t.partner.get().map(|p| &kernel.pool[p]);
            assert!(alien.is_some_and(|a| a.is_alien() && !a.space.is_null()), "who runs an alien has one");
        }
    }
}

/// Every page of RAM in a space's tables is covered by an attachment of a Memory that lives.
fn check_authority(kernel: &Kernel<Host>, spaces: &[Ref<Space>]) {
    for space in spaces {
        let Some(top) = kernel.pool[*space].region.top.get() else { continue };
        let mut covered = Vec::new();
        attach::for_each(&kernel.pool, kernel.pool[*space].region.attached, &mut |at| {
            let m: &Memory = &kernel.pool[Ref::new(kernel.pool[at].source)];
            if m.class == class::RAM {
                covered.push((m.base, m.bytes));
            }
        });
        for entry in kernel.port.walker[&top.address()] {
            let pages: Vec<u32> = if let Some((leaf, false)) = Ia32::decode_large(entry) {
                (0..TABLE_SPAN).step_by(PAGE_SIZE as usize).map(|offset| leaf.physical + offset).collect()
            } else if let Some((table, false)) = Ia32::decode_table(entry) {
                kernel.port.walker[&kernel.port.pool_address(table)]
                    .iter()
                    .filter_map(|e| Ia32::decode(*e))
                    .map(|leaf| leaf.physical)
                    .collect()
            } else {
                continue;
            };
            for page in pages {
                let in_ram = page.wrapping_sub(RAM.base) < RAM.bytes;
                let allowed = covered.iter().any(|(base, bytes)| page.wrapping_sub(*base) < *bytes);
                assert!(!in_ram || allowed, "page {page:#x} is mapped without authority");
            }
        }
    }
}

/// Spaces that live, by the capabilities in the root server's table.
fn spaces(kernel: &Kernel<Host>, root: Ref<Space>) -> Vec<Ref<Space>> {
    let slots = (1..200).map(|i| kernel.pool[Space::slot(root, i)]);
    slots.filter(|s| !s.is_empty() && s.kind() == abi::Kind::Space).map(|s| s.object()).collect()
}

/// The same calls each time, unless MACADAMIA_SEED asks for others.
fn seed() -> u64 {
    std::env::var("MACADAMIA_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1)
}

const FIRST: u32 = slot::FREE;

fn selector() -> impl Strategy<Value = u32> {
    prop_oneof![6 => FIRST..FIRST + 24, 1 => Just(slot::QUOTA), 1 => Just(slot::RAM), 1 => 0u32..70]
}

fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => selector(),
        1 => Just(0u32),
        1 => any::<u32>(),
        1 => (0u32..64).prop_map(|n| n << 12),
        1 => Just(4u32 << 20),
        1 => (0u32..16).prop_map(|n| 0x40_0000 + (n << 12)),
    ]
}

#[derive(Clone, Debug)]
struct Step {
    op: u32,
    args: [u32; 4],
    words: [u32; 8],
    pending: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let op = prop::sample::select(abi::syscall::ALL.to_vec());
    (op, selector(), [value(), value(), value()], prop::array::uniform8(value()), any::<bool>()).prop_map(
        |(op, a, [b, c, d], words, pending)| {
            // Polling always: the one thread that makes the calls must not wait.
            let tag = Tag::new(op, if op == Op::MapReplyWait { 0 } else { 3 }, 0).0 | Tag::POLL;
            let first = match op {
                Op::Map => a % 3,
                Op::MapReplyWait => b & (a % 2).wrapping_neg(),
                // Its own Quota, Space and Thread stay; so does the RAM, whose parts are enough to revoke.
                Op::Delete | Op::Revoke | Op::Stop | Op::Reset | Op::SetPriority if a < FIRST => FIRST,
                _ => a,
            };
            Step { op: tag, args: [first, b, c, d], words, pending }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_must_hold_holds_after_every_call(steps in prop::collection::vec(step(), 1..250), elsewhere in any::<bool>()) {
        let mut kernel = if elsewhere { boot_elsewhere() } else { boot() };
        let me = kernel.current().expect("the root server runs");
        let root = kernel.pool[me].space.get().expect("in its space");
        let empty: Vec<u32> = (1..kernel.pool[root].slots).filter(|i| kernel.pool[Space::slot(root, *i)].is_empty()).collect();
        let before = call(&mut kernel, Tag::new(Op::QuotaInfo, 0, 0).0, [slot::QUOTA, 0, 0, 0]).expect("it runs")[1];
        for mut s in steps {
            let utcb = kernel.pool[me].utcb;
            for (i, word) in s.words.iter().enumerate() {
                kernel.pool.bytes_mut(utcb + i as u32 * 4, 4).copy_from_slice(&word.to_ne_bytes());
            }
            // A record that is often good: RAM or a part of it into one of the spaces.
            let record = [((s.words[0] % 128) << 16) | (s.words[1] % 128), (s.words[2] & !0xfff) | ((s.words[3] % 3) << 8) | 3, s.words[4] & 0xf000, 0x1000 + (s.words[5] & 0x3000)];
            if s.op >> 12 == Op::MapReplyWait as u32 {
                s.args[1..].copy_from_slice(&record[..3]);
            } else if s.op >> 12 == Op::Map as u32 {
                for (i, word) in record.iter().enumerate() {
                    kernel.pool.bytes_mut(utcb + i as u32 * 4, 4).copy_from_slice(&word.to_ne_bytes());
                }
            }
            kernel.port.pending = s.pending;
            // Woken threads of the same priority would take the processor from the one that tests.
            if kernel.current() != Some(me) {
                kernel.port.now += 20_000_000;
                kernel.tick();
            }
            if kernel.current() == Some(me) {
                call(&mut kernel, s.op, s.args);
            }
            check_queues(&mut kernel);
            check_partners(&kernel);
            check_authority(&kernel, &spaces(&kernel, root));
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
                call(&mut kernel, Tag::new(Op::Delete, 0, 0).0, [*selector, 0, 0, 0]);
            }
            call(&mut kernel, Tag::new(Op::Revoke, 0, 0).0, [slot::RAM, 0, 0, 0]);
            let after = call(&mut kernel, Tag::new(Op::QuotaInfo, 0, 0).0, [slot::QUOTA, 0, 0, 0]).expect("it runs")[1];
            // What it mapped into its own space stays: tables and attachments.
            prop_assert!(after <= before + 16 * 4096, "{} bytes before, {} after", before, after);
        }
    }
}
