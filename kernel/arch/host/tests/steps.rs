// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls in steps: interrupted, stopped, started again.

use abi::syscall::MapRecord;
use abi::{Error, Op, Rights, Tag};
use arch_host::{Host, RAM, boot, slot};
use kcore::thread::{flag, gate};
use kcore::{Kernel, Thread};
use pool::Ref;

const THREAD: u32 = slot::FREE;

fn call(kernel: &mut Kernel<Host>, op: Op, args: [u32; 4]) -> u32 {
    let me = kernel.current().expect("somebody runs");
    arch_host::set_arguments(&mut kernel.pool[me], [Tag::new(op, 0, 0).0, args[0], args[1], args[2], args[3]]);
    kernel.system_call();
    arch_host::results(&kernel.pool[me])[0]
}

/// A second thread of the root server's space that is in the middle of a long `map`;
/// the first one runs again.
fn in_the_middle(kernel: &mut Kernel<Host>) -> Ref<Thread> {
    let me = kernel.current().expect("the root server runs");
    assert_eq!(call(kernel, Op::CreateThread, [slot::QUOTA, slot::SPACE, THREAD, 0]), 0);
    assert_eq!(call(kernel, Op::Start, [THREAD, 0x40_0000, 0x50_0000, 0]), 0);
    assert_eq!(call(kernel, Op::Yield, [0; 4]), 0);
    let other = kernel.current().filter(|t| *t != me).expect("the second thread runs");
    let record = MapRecord::new(MapRecord::MAP, slot::SPACE, 0x1000_0000, slot::RAM, 0, RAM.bytes, Rights(3));
    let utcb = kernel.pool[other].utcb;
    for (i, word) in record.0.iter().enumerate() {
        kernel.pool.bytes_mut(utcb + i as u32 * 4, 4).copy_from_slice(&word.to_ne_bytes());
    }
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
    assert_eq!(arch_host::results(&kernel.pool[other])[..2], [0, 1], "done, one record");
}

#[test]
fn a_stopped_call_is_not_carried_on() {
    let mut kernel = boot();
    let other = in_the_middle(&mut kernel);
    assert_eq!(call(&mut kernel, Op::Stop, [THREAD, 0, 0, 0]), 0);
    assert_eq!(kernel.pool[other].state(), gate::STOPPED);
    let result = arch_host::results(&kernel.pool[other])[0];
    assert_eq!(result, Error::Interrupted as u32, "what it finds if it goes on by `set_registers`");
    assert_eq!(call(&mut kernel, Op::Start, [THREAD, 0x40_0000, 0x50_0000, 0]), 0);
    call(&mut kernel, Op::Yield, [0; 4]);
    assert_eq!(kernel.current(), Some(other));
    assert!(!kernel.carry_on(), "a thread that was started anew makes no system call");
    assert_eq!(kernel.pool[other].progress, 0);
}

#[test]
fn a_failed_map_leaves_nothing_of_its_arguments() {
    let mut kernel = boot();
    let me = kernel.current().expect("the root server runs");
    let utcb = kernel.pool[me].utcb;
    let record = MapRecord::new(MapRecord::MAP, slot::SPACE, 0x1000_0000, THREAD, 0, abi::PAGE_SIZE, Rights(3));
    kernel.pool.bytes_mut(utcb, 16).copy_from_slice(bytemuck::bytes_of(&record.0));
    assert_eq!(call(&mut kernel, Op::Map, [1, 7, 8, 9]), Error::NoCapability as u32);
    assert_eq!(arch_host::results(&kernel.pool[me])[1..4], [0; 3], "no record was done");
}
