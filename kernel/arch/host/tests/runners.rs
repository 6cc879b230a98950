// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that runs an alien and is not its handler: it must not wait for a thread that is no
//! longer its alien, and must not stop it.

use crate::common;

use abi::frame::vector;
use abi::{Delivery, Error, MessageKind, Op, Rights, Word};
use arch_host::{Host, boot, set_vector};
use common::{call, delivery, named, slot, succeeds};
use core::mem::offset_of;
use kcore::thread::gate;
use kcore::{Kernel, Thread};
use pool::Ref;

const SPACE: Word = slot::FREE;
const ALIEN: Word = slot::FREE + 1;
const RUNNER: Word = slot::FREE + 2;
const OTHER: Word = slot::FREE + 3;
const VICTIM: Word = slot::FREE + 4;
const BELL: Word = slot::FREE + 5;
const RINGER: Word = slot::FREE + 6;

const ENTRY: Word = 0x40_0000;
const STACK: Word = 0x50_0000;

/// The first thread handles an alien and has received its system call; meanwhile another of its
/// space runs the alien. The machine, the alien, the runner.
fn run_by_another() -> (Kernel<Host>, Ref<Thread>, Ref<Thread>) {
    let mut kernel = boot();
    let me = kernel.current().unwrap();
    let root = kernel.pool[me].space.get().unwrap();
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 0, SPACE, 0]);
    let handle =
        succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, SPACE, ALIEN, slot::SPACE])[2];
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, RUNNER, 0]);
    succeeds(&mut kernel, Op::SetHandler, [ALIEN, slot::THREAD, 0, 0]);
    succeeds(&mut kernel, Op::Start, [RUNNER, ENTRY, STACK, 0]);
    let (alien, runner) = (named(&kernel, root, ALIEN), named(&kernel, root, RUNNER));
    call(&mut kernel, Op::Receive, [0; 4]);
    assert_eq!(kernel.current(), Some(runner));
    call(&mut kernel, Op::Run, [handle, 0, 0, 0]);
    assert_eq!(kernel.current(), Some(alien));
    set_vector(&mut kernel.pool[alien].context, vector::SYSTEM_CALL);
    kernel.exception();
    assert_eq!(kernel.current(), Some(me), "the handler has the event");
    assert_eq!(kernel.pool[runner].gate & gate::STATE, gate::RUN, "the runner waits still");
    (kernel, alien, runner)
}

#[test]
fn it_fails_when_the_alien_is_reset() {
    let (mut kernel, _, runner) = run_by_another();
    succeeds(&mut kernel, Op::Reset, [ALIEN, slot::SPACE, 0, 0]);
    assert_eq!(kernel.pool[runner].gate, gate::READY);
    assert_eq!(delivery(&kernel.pool[runner]).error(), Some(Error::PeerRestarted));
}

#[test]
fn it_gets_no_thread_that_takes_the_aliens_entry() {
    let (mut kernel, alien, runner) = run_by_another();
    let root = kernel.pool[runner].space.get().unwrap();
    succeeds(&mut kernel, Op::Delete, [ALIEN, 0, 0, 0]);
    succeeds(&mut kernel, Op::CreateSpace, [slot::QUOTA, 16, OTHER, 0]);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, OTHER, VICTIM, 0]);
    succeeds(&mut kernel, Op::Start, [VICTIM, ENTRY, STACK, 0]);
    let victim: Ref<Thread> = named(&kernel, root, VICTIM);
    assert_eq!(victim, alien, "the same entry");
    accept(&mut kernel, runner);
    succeeds(&mut kernel, Op::Notify, [BELL, 0, 0, 0]);
    assert_eq!(kernel.pool[victim].gate, gate::READY, "it goes on");
    assert!(!kernel.pool[victim].partner.is(runner));
}

#[test]
fn it_does_not_stop_an_alien_that_its_handler_runs() {
    let (mut kernel, alien, runner) = run_by_another();
    let me = kernel.current().unwrap();
    let root = kernel.pool[me].space.get().unwrap();
    let handle = kernel.pool[alien].handle as Word;
    accept(&mut kernel, runner);
    succeeds(&mut kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, RINGER, 0]);
    succeeds(&mut kernel, Op::Start, [RINGER, ENTRY, STACK, 0]);
    succeeds(&mut kernel, Op::SetPriority, [ALIEN, 1, 1, 0]);
    call(&mut kernel, Op::Run, [handle, 0, 0, 0]);
    assert_eq!(
        kernel.current(),
        Some(named(&kernel, root, RINGER)),
        "the alien is ready, but less urgent"
    );
    succeeds(&mut kernel, Op::Notify, [BELL, 0, 0, 0]);
    assert_eq!(kernel.pool[alien].gate, gate::READY);
    assert!(kernel.pool[alien].partner.is(me));
    assert_eq!(delivery(&kernel.pool[runner]).kind(), MessageKind::Notification);
}

/// Bit 0 is for the thread's next receive, and `BELL` rings it.
fn accept(kernel: &mut Kernel<Host>, thread: Ref<Thread>) {
    let at = kernel.pool[thread].utcb + offset_of!(abi::utcb::Utcb, accept) as u32;
    kernel.pool.bytes_mut(at, 4).copy_from_slice(&1_u32.to_ne_bytes());
    succeeds(
        kernel,
        Op::Copy,
        [RUNNER, 0, BELL, (Rights::NOTIFY.0 | 1 << Delivery::BADGE_SHIFT) as Word],
    );
}
