// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads and Spaces end in steps; the threads that remain continue this, and everything is given
//! back.

use crate::common;

use abi::{Error, Op, Rights, Word};
use arch_host::{Host, boot_with};
use common::{begin, call, delivery, named, results, slot, slot_of, succeeds, used};
use kcore::thread::gate;
use kcore::{Kernel, Space, Thread};
use pool::Ref;

const FIRST: Word = slot::FREE;
const ENTRY: Word = 0x40_0000;
const STACK: Word = 0x50_0000;
/// Priority of the first thread, and of those that wait for their turn.
const HIGH: Word = abi::PRIORITIES as Word - 1;
const LOW: Word = 100;
/// Bytes of the pool: for 2,048 threads.
const POOL: u32 = 16 << 20;

/// A machine whose first thread is the root server's, which is as urgent as all others here.
fn machine() -> (Kernel<Host>, Ref<Thread>, Ref<Space>) {
    let mut kernel = boot_with(POOL);
    let me = kernel.current().unwrap();
    let root = kernel.pool[me].space.get().unwrap();
    (kernel, me, root)
}

/// A thread of the root server's space, which runs only when it is let ([`run`]).
fn thread(kernel: &mut Kernel<Host>, root: Ref<Space>, slot: Word) -> Ref<Thread> {
    succeeds(kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, slot, 0]);
    succeeds(kernel, Op::SetPriority, [slot, LOW, LOW, 0]);
    succeeds(kernel, Op::Start, [slot, ENTRY, STACK, 0]);
    named(kernel, root, slot)
}

/// Makes the thread in `slot` as urgent as the first one, and yields to it.
fn run(kernel: &mut Kernel<Host>, root: Ref<Space>, slot: Word) {
    let thread: Ref<Thread> = named(kernel, root, slot);
    succeeds(kernel, Op::SetPriority, [slot, HIGH, HIGH, 0]);
    call(kernel, Op::Yield, [0; 4]);
    assert_eq!(kernel.current(), Some(thread));
}

/// The first thread yields until the reaper has nothing to do.
fn reaped(kernel: &mut Kernel<Host>, me: Ref<Thread>) {
    let reaper = kernel.threads.reaper();
    while kernel.pool[reaper].state() == gate::READY {
        assert_eq!(kernel.current(), Some(me));
        call(kernel, Op::Yield, [0; 4]);
    }
}

/// Carries on what was begun until nothing is to be carried on, one check for interrupts at a time;
/// the steps it took.
fn finish(kernel: &mut Kernel<Host>) -> u32 {
    let mut steps = 0;
    while kernel.carry_on() {
        steps += 1;
        assert!(steps < 100_000, "it never ends");
    }
    kernel.port.pending = false;
    steps
}

/// Threads in `slots` call the one in `to`; the first thread of the machine runs then.
fn callers(
    kernel: &mut Kernel<Host>,
    root: Ref<Space>,
    to: Word,
    slots: core::ops::Range<Word>,
) -> Vec<Ref<Thread>> {
    let make = |slot| {
        let caller = thread(kernel, root, slot);
        run(kernel, root, slot);
        call(kernel, Op::Call, [to, 0, 0, 0]);
        succeeds(kernel, Op::SetPriority, [slot, LOW, LOW, 0]);
        caller
    };
    slots.map(make).collect()
}

fn failed(kernel: &Kernel<Host>, thread: Ref<Thread>) -> Option<Error> {
    (kernel.pool[thread].state() == gate::READY)
        .then(|| delivery(&kernel.pool[thread]).error())
        .flatten()
}

#[test]
fn a_thread_that_deletes_itself_leaves_the_rest_to_the_reaper() {
    let (mut kernel, me, root) = machine();
    let before = used(&mut kernel);
    thread(&mut kernel, root, FIRST);
    let callers = callers(&mut kernel, root, FIRST, FIRST + 1..FIRST + 101);
    run(&mut kernel, root, FIRST);
    assert!(begin(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]), "it checks for interrupts");
    finish(&mut kernel);
    assert_eq!(kernel.current(), Some(me), "it is gone");
    begin(&mut kernel, Op::Yield, [0; 4]);
    let steps = finish(&mut kernel);
    assert!(steps > 20, "{steps} steps: it checks for interrupts");
    reaped(&mut kernel, me);
    for caller in callers {
        assert_eq!(failed(&kernel, caller), Some(Error::PeerGone));
    }
    for i in 1..101 {
        succeeds(&mut kernel, Op::Delete, [FIRST + i, 0, 0, 0]);
    }
    assert_eq!(used(&mut kernel), before, "everything came back");
}

/// A machine in which the thread in `FIRST + 1` is interrupted in `op` on that in `FIRST`, which
/// 100 others call.
fn interrupted(op: Op) -> (Kernel<Host>, Ref<Thread>, Vec<Ref<Thread>>) {
    let (mut kernel, me, root) = machine();
    thread(&mut kernel, root, FIRST);
    thread(&mut kernel, root, FIRST + 1);
    let callers = callers(&mut kernel, root, FIRST, FIRST + 2..FIRST + 102);
    run(&mut kernel, root, FIRST + 1);
    assert!(begin(&mut kernel, op, [FIRST, slot::SPACE, 0, 0]), "it was interrupted");
    kernel.port.pending = false;
    kernel.port.now += 20_000_000;
    kernel.tick();
    assert_eq!(kernel.current(), Some(me), "its slice is over");
    assert!(callers.iter().any(|caller| failed(&kernel, *caller).is_none()), "it is not done");
    (kernel, me, callers)
}

/// A thread is stopped (`Stop`) or deleted (`Delete`) in the middle of `op` on a thread that others
/// call.
fn ended_midway(op: Op, by: Op, expected: Error) {
    let (mut kernel, me, callers) = interrupted(op);
    succeeds(&mut kernel, by, [FIRST + 1, 0, 0, 0]);
    reaped(&mut kernel, me);
    for caller in callers {
        assert_eq!(failed(&kernel, caller), Some(expected));
    }
}

#[test]
fn nobody_hangs_when_a_deleter_is_stopped() {
    ended_midway(Op::Delete, Op::Stop, Error::PeerGone);
}

#[test]
fn nobody_hangs_when_a_deleter_is_deleted() {
    ended_midway(Op::Delete, Op::Delete, Error::PeerGone);
}

#[test]
fn nobody_hangs_when_a_resetter_is_stopped() {
    ended_midway(Op::Reset, Op::Stop, Error::PeerRestarted);
}

#[test]
fn nobody_hangs_when_a_resetter_is_deleted() {
    ended_midway(Op::Reset, Op::Delete, Error::PeerRestarted);
}

#[test]
fn who_deletes_what_another_is_resetting_helps_and_does_not_free_it_twice() {
    let (mut kernel, me, callers) = interrupted(Op::Reset);
    let root = kernel.pool[me].space.get().unwrap();
    let threads = |kernel: &mut Kernel<Host>| {
        succeeds(kernel, Op::QuotaInfo, [slot::QUOTA, 0, 0, 0])[3] & 0xffff
    };
    let before = threads(&mut kernel);
    succeeds(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]);
    assert!(
        callers.iter().all(|caller| failed(&kernel, *caller).is_some()),
        "all know when delete has ended"
    );
    run(&mut kernel, root, FIRST + 1);
    while kernel.carry_on() {}
    succeeds(&mut kernel, Op::Stop, [FIRST + 1, 0, 0, 0]);
    while kernel.current() != Some(me) {
        call(&mut kernel, Op::Yield, [0; 4]);
    }
    reaped(&mut kernel, me);
    assert_eq!(threads(&mut kernel), before - 1, "it is free, once");
}

/// A machine in which the thread in `FIRST + 1` is interrupted in deleting the space in `FIRST`, in
/// which that in `FIRST + 2` runs.
fn half_deleted() -> (Kernel<Host>, Ref<Thread>, Ref<Thread>) {
    let (mut kernel, me, root) = machine();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 16, FIRST, 0]);
    thread(&mut kernel, root, FIRST + 1);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, FIRST, FIRST + 2, 0]);
    succeeds(&mut kernel, Op::SetPriority, [FIRST + 2, LOW, LOW, 0]);
    succeeds(&mut kernel, Op::Start, [FIRST + 2, ENTRY, STACK, 0]);
    run(&mut kernel, root, FIRST + 1);
    assert!(begin(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]), "it was interrupted");
    kernel.port.pending = false;
    kernel.port.now += 20_000_000;
    kernel.tick();
    assert_eq!(kernel.current(), Some(me), "its slice is over");
    let inhabitant: Ref<Thread> = named(&kernel, root, FIRST + 2);
    assert!(!kernel.pool[inhabitant].space.is_null(), "it is not out yet");
    // What it began is not urgent any more.
    succeeds(&mut kernel, Op::SetPriority, [FIRST + 1, 0, 0, 0]);
    (kernel, me, inhabitant)
}

#[test]
fn what_a_deleted_thread_was_ending_ends_with_it() {
    let (mut kernel, _, inhabitant) = half_deleted();
    succeeds(&mut kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
    assert!(kernel.pool[inhabitant].space.is_null());
}

#[test]
fn what_a_stopped_thread_was_ending_ends_as_urgently_as_who_stopped_it() {
    let (mut kernel, me, inhabitant) = half_deleted();
    succeeds(&mut kernel, Op::Stop, [FIRST + 1, 0, 0, 0]);
    reaped(&mut kernel, me);
    assert!(kernel.pool[inhabitant].space.is_null());
}

#[test]
fn a_thread_of_a_dying_space_ends_at_the_next_tick() {
    let (mut kernel, me, inhabitant) = half_deleted();
    succeeds(&mut kernel, Op::SetPriority, [FIRST + 2, HIGH, HIGH, 0]);
    call(&mut kernel, Op::Yield, [0; 4]);
    assert_eq!(kernel.current(), Some(inhabitant));
    kernel.tick();
    assert!(kernel.pool[inhabitant].space.is_null());
    reaped(&mut kernel, me);
}

#[test]
fn who_is_bound_again_while_another_lists_it_can_be_deleted() {
    let (mut kernel, _, callers) = interrupted(Op::Reset);
    let me = kernel.current().unwrap();
    let root = kernel.pool[me].space.get().unwrap();
    let victim: Ref<Thread> = named(&kernel, root, FIRST);
    succeeds(&mut kernel, Op::Reset, [FIRST, slot::SPACE, 0, 0]);
    assert!(callers.iter().all(|caller| failed(&kernel, *caller) == Some(Error::PeerRestarted)));
    succeeds(&mut kernel, Op::Start, [FIRST, ENTRY, STACK, 0]);
    succeeds(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]);
    assert!(kernel.pool[victim].space.is_null(), "it runs no more");
}

#[test]
fn nobody_waits_for_a_thread_that_had_no_space_when_it_went() {
    const ALIEN: Word = FIRST + 2;
    let (mut kernel, _, root) = machine();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 16, FIRST, 0]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, FIRST, FIRST + 1, 0]);
    succeeds(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, FIRST, 0]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, FIRST, ALIEN, slot::SPACE]);
    succeeds(&mut kernel, Op::SetHandler, [ALIEN, FIRST + 1, 0, 0]);
    let alien: Ref<Thread> = named(&kernel, root, ALIEN);
    assert_eq!(kernel.pool[alien].state(), gate::REPLY);
    succeeds(&mut kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
    assert_eq!(kernel.pool[alien].state(), gate::HALTED);
    assert!(kernel.pool[alien].partner.is_null());
}

/// Spaces each of which has the original capabilities of the next one and of its thread in its
/// table.
#[test]
fn spaces_within_spaces_all_end() {
    const DEEP: u32 = 100;
    let (mut kernel, me, root) = machine();
    let before = used(&mut kernel);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 16, FIRST, 0]);
    succeeds(&mut kernel, Op::Copy, [slot::QUOTA, FIRST, 1, Rights::ALL.0 as Word]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, FIRST, FIRST + 1, 0]);
    succeeds(&mut kernel, Op::Start, [FIRST + 1, ENTRY, STACK, 0]);
    let mut maker: Ref<Thread> = named(&kernel, root, FIRST + 1);
    for _ in 0..DEEP {
        while kernel.current() != Some(maker) {
            call(&mut kernel, Op::Yield, [0; 4]);
        }
        let space = kernel.pool[maker].space.get().unwrap();
        succeeds(&mut kernel, Op::CreateSpace, [1, 16, 2, 0]);
        succeeds(&mut kernel, Op::Copy, [1, 2, 1, Rights::ALL.0 as Word]);
        succeeds(&mut kernel, Op::CreateThread, [1, 2, 3, 0]);
        succeeds(&mut kernel, Op::Start, [3, ENTRY, STACK, 0]);
        maker = named(&kernel, space, 3);
    }
    while kernel.current() != Some(me) {
        call(&mut kernel, Op::Yield, [0; 4]);
    }
    assert!(begin(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]));
    let steps = finish(&mut kernel);
    assert!(steps < DEEP * 200, "{steps} steps");
    succeeds(&mut kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
    assert_eq!(used(&mut kernel), before, "everything came back");
}

/// The search for threads looks at all that the machine has.
#[test]
fn a_space_without_threads_ends_without_a_search_for_them() {
    let (mut kernel, _, _) = machine();
    let steps = |kernel: &mut Kernel<Host>, made: bool, gone: bool| {
        succeeds(kernel, Op::CreateSpace, [slot::QUOTA, 0, FIRST, 0]);
        if made {
            succeeds(kernel, Op::CreateThread, [slot::QUOTA, FIRST, FIRST + 1, slot::SPACE]);
        }
        if made && gone {
            succeeds(kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
        }
        assert!(begin(kernel, Op::Delete, [FIRST, 0, 0, 0]));
        let steps = finish(kernel);
        if made && !gone {
            succeeds(kernel, Op::Delete, [FIRST + 1, 0, 0, 0]);
        }
        steps
    };
    let none = steps(&mut kernel, false, false);
    assert!(none < 20, "{none} steps");
    assert_eq!(steps(&mut kernel, true, true), none, "it had one, which is gone");
    assert!(steps(&mut kernel, true, false) > none, "one is to be found");
}

#[test]
fn a_large_table_is_cleared_in_steps_and_complete_in_the_end() {
    let (mut kernel, me, root) = machine();
    let before = used(&mut kernel);
    // What was there before is not zero.
    let dirty = kernel.pool.allocate(1 << 20).unwrap();
    kernel.pool.bytes_mut(dirty, 1 << 20).fill(0xff);
    kernel.pool.free(dirty, 1 << 20);
    assert!(begin(&mut kernel, Op::CreateSpace, [slot::QUOTA, 40_000, FIRST, 0]));
    let begun: Ref<Space> = named(&kernel, root, FIRST);
    assert!(kernel.pool[begun].slots < 40_000, "what is not cleared is no slot yet");
    let steps = finish(&mut kernel);
    assert!(steps > 50, "{steps} steps");
    assert_eq!(results(&kernel.pool[me])[..2], [0, kernel.pool[begun].slots as Word]);
    assert!((40_000..=65_536).contains(&kernel.pool[begun].slots));
    assert!((1..kernel.pool[begun].slots).all(|i| slot_of(&kernel, begun, i as Word).is_empty()));
    succeeds(&mut kernel, Op::Delete, [FIRST, 0, 0, 0]);
    assert_eq!(used(&mut kernel), before);
}

#[test]
fn a_table_has_at_most_what_a_record_can_name() {
    let (mut kernel, _, _) = machine();
    let [_, slots, ..] = succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 65_536, FIRST, 0]);
    assert_eq!(slots, 65_536);
    assert_eq!(
        call(&mut kernel, Op::CreateSpace, [slot::QUOTA, 65_537, FIRST + 1, 0])[0],
        Error::BadArgument as Word
    );
}
