// SPDX-License-Identifier: MIT OR Apache-2.0
//! The queue of senders and the heap of alarms against naive models: a sorted list, and a list that
//! is searched. A receive that skips senders does so in steps.

use crate::common;

use abi::{MessageKind, Op, PAGE_SIZE, Tag, Word};
use arch_host::{Host, boot};
use common::{call, delivery, low, named, results, seed, set_arguments, slot, tag};
use kcore::port::Processor;
use kcore::thread::{flag, gate};
use kcore::{Kernel, Thread};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Threads in addition to the root server's; the first receives.
const THREADS: usize = 12;
/// Slot of thread `i`.
const FIRST: Word = slot::FREE;
/// Most alarms that one tick delivers.
const FIRE: usize = 4;

fn set_up() -> (Kernel<Host>, Vec<Ref<Thread>>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    let threads = (0..THREADS as Word).map(|i| {
        assert_eq!(
            call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, FIRST + i, 0])[0],
            0
        );
        named(&kernel, root, FIRST + i)
    });
    let threads = threads.collect();
    (kernel, threads)
}

/// A stopped thread makes a system call in the root server's place, and stops again if it does not
/// wait.
fn as_thread(
    kernel: &mut Kernel<Host>,
    thread: Ref<Thread>,
    tag: Word,
    args: [Word; 4],
) -> [Word; 5] {
    let root = kernel.current().expect("the root server runs");
    kernel.pool[thread].gate = gate::READY;
    kernel.port.cpu().current = thread.link();
    set_arguments(&mut kernel.pool[thread], [tag, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    if kernel.pool[thread].state() == gate::READY {
        kernel.pool[thread].gate = gate::STOPPED;
    }
    kernel.port.cpu().current = root.link();
    results(&kernel.pool[thread])
}

/// The queue as it is linked, and the first of each priority as those are.
fn queue(kernel: &Kernel<Host>, receiver: Ref<Thread>) -> (Vec<Ref<Thread>>, Vec<Ref<Thread>>) {
    let Some(first) = kernel.pool[receiver].senders.get() else { return (Vec::new(), Vec::new()) };
    let circle = |next: &dyn Fn(&Thread) -> pool::Link<Thread>,
                  prev: &dyn Fn(&Thread) -> pool::Link<Thread>| {
        let mut all = vec![first];
        loop {
            let last = *all.last().expect("the first at least");
            let at = next(&kernel.pool[last]).get().expect("a circle");
            assert!(prev(&kernel.pool[at]).is(last), "linked both ways");
            if at == first {
                return all;
            }
            all.push(at);
        }
    };
    (circle(&|t| t.next, &|t| t.prev), circle(&|t| t.group_next, &|t| t.group_prev))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn senders_wait_in_order(steps in prop::collection::vec((0u32..8, 1..THREADS, 0..5 as Word), 1..120)) {
        let (mut kernel, threads) = set_up();
        let receiver = threads[0];
        let mut priority = [255; THREADS];
        let mut model: Vec<usize> = Vec::new();
        let insert = |model: &mut Vec<usize>, priority: &[Word; THREADS], i: usize| {
            let at = model.iter().position(|other| priority[*other] < priority[i]).unwrap_or(model.len());
            model.insert(at, i);
        };
        for (what, i, value) in steps {
            let waits = model.contains(&i);
            match what {
                0..=3 if !waits => {
                    as_thread(&mut kernel, threads[i], tag(Op::Call, 1, 0), [FIRST, i as Word, 0, 0]);
                    insert(&mut model, &priority, i);
                }
                4..=5 => {
                    call(&mut kernel, Op::SetPriority, [FIRST + i as Word, value, 255, 0]);
                    priority[i] = value;
                    if waits {
                        model.retain(|other| *other != i);
                        insert(&mut model, &priority, i);
                    }
                }
                6 => {
                    call(&mut kernel, Op::Stop, [FIRST + i as Word, 0, 0, 0]);
                    model.retain(|other| *other != i);
                }
                _ => {
                    let found = as_thread(&mut kernel, receiver, tag(Op::Receive, 0, 0) | Tag::POLL as Word, [0; 4]);
                    if model.is_empty() {
                        prop_assert_eq!(delivery(&kernel.pool[receiver]).kind(), MessageKind::Failed);
                    } else {
                        let sender = model.remove(0);
                        prop_assert_eq!(found[2], sender as Word);
                        call(&mut kernel, Op::Stop, [FIRST + sender as Word, 0, 0, 0]);
                    }
                }
            }
            let (all, first) = queue(&kernel, receiver);
            prop_assert_eq!(all, model.iter().map(|i| threads[*i]).collect::<Vec<_>>());
            let is_first = |at: &usize| *at == 0 || priority[model[*at]] != priority[model[*at - 1]];
            prop_assert_eq!(first, (0..model.len()).filter(is_first).map(|at| threads[model[at]]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn alarms_come_when_they_are_due(steps in prop::collection::vec((0u32..6, 0..THREADS, 1u64..400), 1..150)) {
        let (mut kernel, threads) = set_up();
        let mut model: [Option<u64>; THREADS] = [None; THREADS];
        let mut signals = [0; THREADS];
        kernel.port.now = 1000;
        for (what, i, value) in steps {
            let (past, at) = (kernel.port.now - value, kernel.port.now + value);
            let alarm = tag(Op::Alarm, 0, 0);
            match what {
                0..=2 => {
                    as_thread(&mut kernel, threads[i], alarm, [at as Word, 0, 1, 0]);
                    model[i] = Some(at);
                }
                3 => {
                    as_thread(&mut kernel, threads[i], alarm, [at as Word, 0, 0, 0]);
                    model[i] = None;
                }
                4 => {
                    as_thread(&mut kernel, threads[i], alarm, [past as Word, 0, 2, 0]);
                    model[i] = None;
                    signals[i] |= 2;
                }
                _ => {
                    kernel.port.now += value;
                    loop {
                        let mut due: Vec<u64> = model.iter().flatten().copied().filter(|at| *at <= kernel.port.now).collect();
                        due.sort_unstable();
                        kernel.tick();
                        // The earliest alarm fired; the order of alarms of the same time is not
                        // defined.
                        let mut fired = Vec::new();
                        for (i, at) in model.iter_mut().enumerate() {
                            if kernel.pool[threads[i]].flags & flag::ALARM == 0 && let Some(at) = at.take() {
                                signals[i] |= 1;
                                fired.push(at);
                            }
                        }
                        fired.sort_unstable();
                        prop_assert_eq!(&fired[..], &due[..due.len().min(FIRE)]);
                        if due.len() <= FIRE {
                            break;
                        }
                        prop_assert!(kernel.port.timer.is_some_and(|at| at <= kernel.port.now), "the timer ticks at once for the rest");
                    }
                }
            }
            for (thread, signals) in threads.iter().zip(signals) {
                prop_assert_eq!(kernel.pool[*thread].signals, signals);
            }
            let next = model.iter().flatten().min();
            prop_assert!(next.is_none_or(|next| kernel.port.timer.is_some_and(|timer| timer <= *next)), "the timer is set for the first");
        }
    }
}

#[test]
fn a_receive_steps_over_senders_in_steps() {
    let (mut kernel, threads) = set_up();
    let (server, client) = (threads[0], threads[1]);
    as_thread(&mut kernel, client, tag(Op::Call, 0, 0), [FIRST, 0, 0, 0]);
    let handle = as_thread(&mut kernel, server, tag(Op::Receive, 0, 0), [0; 4])[1];
    // Capabilities that do not exist: the selectors in their UTCBs are 0.
    for sender in &threads[2..] {
        as_thread(&mut kernel, *sender, tag(Op::Call, 0, 1), [FIRST, 0, 0, 0]);
    }
    let root = kernel.current().expect("the root server runs");
    let waiting = |kernel: &Kernel<Host>| {
        threads[2..].iter().filter(|t| kernel.pool[**t].state() == gate::SENDING).count()
    };
    kernel.port.pending = true;
    kernel.pool[server].gate = gate::READY;
    kernel.port.cpu().current = server.link();
    set_arguments(&mut kernel.pool[server], [tag(Op::ReplyWait, 1, 0), handle, 7, 0, 0]);
    assert!(!kernel.system_call(), "it is not finished");
    assert_eq!(waiting(&kernel), THREADS - 3, "one was looked at");
    assert_eq!(results(&kernel.pool[client])[2], 7, "the reply was given");
    for left in (0..THREADS - 3).rev() {
        kernel.port.cpu().current = server.link();
        assert!(kernel.carry_on());
        assert_eq!(waiting(&kernel), left);
    }
    kernel.port.cpu().current = server.link();
    assert!(kernel.carry_on());
    assert_eq!(kernel.pool[server].state(), gate::OPEN, "it waits, and did not reply again");
    kernel.port.cpu().current = root.link();
}

#[test]
fn the_first_entry_is_nobodys() {
    let (mut kernel, threads) = set_up();
    let first = kernel.threads.get(0).expect("the table has entries");
    assert!(!threads.contains(&first) && kernel.current() != Some(first));
    assert_eq!(kernel.pool[first].gate, gate::STOPPED);
    assert!(threads.iter().all(|t| kernel.pool[*t].handle != 0));
    assert_eq!(kernel.threads.named(0), first);
}

#[test]
fn an_entry_that_is_used_again_has_other_handles() {
    let (mut kernel, threads) = set_up();
    let (server, client) = (threads[0], threads[1]);
    let epoch = |handle: u32, kernel: &Kernel<Host>| {
        handle % kcore::thread::SEQUENCE / kernel.threads.count
    };
    let mut seen = Vec::new();
    for _ in 0..20 {
        as_thread(&mut kernel, client, tag(Op::Call, 0, 0), [FIRST, 0, 0, 0]);
        let handle = low(as_thread(&mut kernel, server, tag(Op::Receive, 0, 0), [0; 4])[1]);
        assert_eq!(kernel.threads.named(handle), client);
        assert!(!seen.contains(&epoch(handle, &kernel)), "an ended call's number");
        seen.push(epoch(handle, &kernel));
        assert_eq!(call(&mut kernel, Op::Delete, [FIRST + 1, 0, 0, 0])[0], 0);
        assert_eq!(
            call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, FIRST + 1, 0])[0],
            0
        );
    }
}

#[test]
fn an_entry_that_is_worn_out_is_used_no_more_until_its_quota_ends() {
    let (mut kernel, threads) = set_up();
    let server = threads[0];
    let (quota, victim, next) =
        (FIRST + THREADS as Word, FIRST + THREADS as Word + 1, FIRST + THREADS as Word + 2);
    let root =
        kernel.current().and_then(|me| kernel.pool[me].space.get()).expect("the root server runs");
    let in_slot = |kernel: &Kernel<Host>, slot| named::<Thread>(kernel, root, slot);
    let threads_used = |kernel: &mut Kernel<Host>, quota| {
        call(kernel, Op::QuotaInfo, [quota, 0, 0, 0])[3] & 0xffff
    };
    let before = threads_used(&mut kernel, slot::QUOTA);
    assert_eq!(call(&mut kernel, Op::CreateQuota, [slot::QUOTA, PAGE_SIZE, quota, 3])[0], 0);
    assert_eq!(call(&mut kernel, Op::CreateThread, [quota, slot::SPACE, victim, 0])[0], 0);
    let client = in_slot(&kernel, victim);
    for _ in 0..kernel.threads.epochs() / 2 {
        as_thread(&mut kernel, client, tag(Op::Call, 0, 0), [FIRST, 0, 0, 0]);
        as_thread(&mut kernel, server, tag(Op::Receive, 0, 0), [0; 4]);
        call(&mut kernel, Op::Stop, [victim, 0, 0, 0]);
    }
    call(&mut kernel, Op::Delete, [victim, 0, 0, 0]);
    assert_eq!(threads_used(&mut kernel, quota), 1, "who wore it out goes on paying");
    assert_eq!(call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, next, 0])[0], 0);
    assert_ne!(in_slot(&kernel, next), client);
    call(&mut kernel, Op::Delete, [next, 0, 0, 0]);
    call(&mut kernel, Op::Delete, [quota, 0, 0, 0]);
    assert_eq!(threads_used(&mut kernel, slot::QUOTA), before, "everything came back");
    assert_eq!(call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, next, 0])[0], 0);
    assert_eq!(in_slot(&kernel, next), client, "it is as good as new");
    assert_eq!(kernel.pool[client].epochs, 0);
}
