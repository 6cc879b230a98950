// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls in steps: interrupted, stopped, started again.

use crate::common;

use abi::{Error, MapRecord, Op, PAGE_SIZE, Rights, Word};
use arch_host::{Host, RAM, boot};
use common::{results, set_arguments, set_words, slot, tag};
use kcore::thread::{flag, gate};
use kcore::{Kernel, Thread};
use pool::Ref;

const THREAD: Word = slot::FREE;

/// Makes a system call, which may be interrupted: its status.
fn call(kernel: &mut Kernel<Host>, op: Op, args: [Word; 4]) -> Word {
    let me = kernel.current().expect("somebody runs");
    set_arguments(&mut kernel.pool[me], [tag(op, 0, 0), args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    results(&kernel.pool[me])[0]
}

/// A second thread of the root server's space that is in the middle of a long `map`;
/// the first one runs again.
fn in_the_middle(kernel: &mut Kernel<Host>) -> Ref<Thread> {
    let me = kernel.current().expect("the root server runs");
    assert_eq!(call(kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, THREAD, 0]), 0);
    assert_eq!(call(kernel, Op::Start, [THREAD, 0x40_0000, 0x50_0000, 0]), 0);
    assert_eq!(call(kernel, Op::Yield, [0; 4]), 0);
    let other = kernel.current().filter(|t| *t != me).expect("the second thread runs");
    let record = MapRecord::new(
        MapRecord::MAP,
        slot::SPACE,
        0x1000_0000,
        slot::RAM,
        0,
        RAM.bytes,
        Rights(3),
    );
    set_words(kernel, other, 0, &record.0);
    kernel.port.pending = true;
    call(kernel, Op::Map, [1, 0, 0, 0]);
    kernel.port.pending = false;
    assert_ne!(kernel.pool[other].flags & flag::AGAIN, 0, "the map was interrupted");
    kernel.port.now += 20_000_000;
    kernel.tick();
    assert_eq!(kernel.current(), Some(me), "the first thread has its turn");
    other
}

#[test]
fn an_interrupted_call_is_carried_on() {
    let mut kernel = boot();
    let other = in_the_middle(&mut kernel);
    call(&mut kernel, Op::Yield, [0; 4]);
    assert_eq!(kernel.current(), Some(other));
    assert!(kernel.carry_on());
    assert!(!kernel.carry_on());
    assert_eq!(results(&kernel.pool[other])[..2], [0, 1], "done, one record");
}

#[test]
fn a_stopped_call_is_not_carried_on() {
    let mut kernel = boot();
    let other = in_the_middle(&mut kernel);
    assert_eq!(call(&mut kernel, Op::Stop, [THREAD, 0, 0, 0]), 0);
    assert_eq!(kernel.pool[other].state(), gate::STOPPED);
    let result = results(&kernel.pool[other])[0];
    assert_eq!(
        result,
        Error::Interrupted as Word,
        "what it finds if it goes on by `set_registers`"
    );
    assert_eq!(call(&mut kernel, Op::Start, [THREAD, 0x40_0000, 0x50_0000, 0]), 0);
    call(&mut kernel, Op::Yield, [0; 4]);
    assert_eq!(kernel.current(), Some(other));
    assert!(!kernel.carry_on(), "a thread that was started again makes no system call");
    assert_eq!(kernel.pool[other].progress, 0);
}

#[test]
fn a_failed_map_leaves_nothing_of_its_arguments() {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let record =
        MapRecord::new(MapRecord::MAP, slot::SPACE, 0x1000_0000, THREAD, 0, PAGE_SIZE, Rights(3));
    set_words(&mut kernel, me, 0, &record.0);
    assert_eq!(call(&mut kernel, Op::Map, [1, 7, 8, 9]), Error::NoCapability as Word);
    assert_eq!(results(&kernel.pool[me])[1..4], [0; 3], "no record was done");
}
