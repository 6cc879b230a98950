// SPDX-License-Identifier: MIT OR Apache-2.0
//! The heap of alarms against a naive model: a list that is searched.

mod common;

use abi::boot::slot;
use abi::{Op, Tag};
use arch_host::{Host, boot, results, set_arguments};
use common::{call, seed};
use kcore::space::Space;
use kcore::thread::{Thread, flag, gate};
use kcore::{Kernel, Port};
use pool::Ref;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Threads beside the root server's.
const THREADS: usize = 12;
/// Slot of thread `i`.
const FIRST: u32 = slot::FREE;
/// Most alarms that one tick delivers.
const FIRE: usize = 4;

fn set_up() -> (Kernel<Host>, Vec<Ref<Thread>>) {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let root = kernel.pool[me].space.get().expect("in its space");
    let threads = (0..THREADS as u32).map(|i| {
        assert_eq!(call(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, FIRST + i, 0])[0], 0);
        kernel.pool[Space::slot(root, FIRST + i)].object()
    });
    let threads = threads.collect();
    (kernel, threads)
}

/// A stopped thread makes a system call in the root server's place, and stops again if it does not wait.
fn as_thread(kernel: &mut Kernel<Host>, thread: Ref<Thread>, tag: u32, args: [u32; 4]) -> [u32; 5] {
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(seed()), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn alarms_come_when_they_are_due(steps in prop::collection::vec((0u32..6, 0..THREADS, 1u64..400), 1..150)) {
        let (mut kernel, threads) = set_up();
        let mut model: [Option<u64>; THREADS] = [None; THREADS];
        let mut signals = [0; THREADS];
        kernel.port.now = 1000;
        for (what, i, value) in steps {
            let (past, at) = (kernel.port.now - value, kernel.port.now + value);
            let alarm = Tag::new(Op::Alarm, 0, 0).0;
            match what {
                0..=2 => {
                    as_thread(&mut kernel, threads[i], alarm, [at as u32, 0, 1, 0]);
                    model[i] = Some(at);
                }
                3 => {
                    as_thread(&mut kernel, threads[i], alarm, [at as u32, 0, 0, 0]);
                    model[i] = None;
                }
                4 => {
                    as_thread(&mut kernel, threads[i], alarm, [past as u32, 0, 2, 0]);
                    model[i] = None;
                    signals[i] |= 2;
                }
                _ => {
                    kernel.port.now += value;
                    loop {
                        let mut due: Vec<u64> = model.iter().flatten().copied().filter(|at| *at <= kernel.port.now).collect();
                        due.sort_unstable();
                        kernel.tick();
                        // The earliest went off; which of those that are due at one time is not said.
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
