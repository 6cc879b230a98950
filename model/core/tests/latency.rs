// SPDX-License-Identifier: MIT OR Apache-2.0
//! What measures how long the kernel does not check for interrupts, against sequences of events
//! whose stretches are known.

use model_core::ia32::latency;
use model_core::{Latency, LatencyReport, Symbols};

const SYSENTER: u32 = 0xe000_0000;
const INTERRUPT: u32 = 0xe000_1000;
const WALK: u32 = 0xe000_2000;
const DELETE: u32 = (abi::Op::Delete as u32) << abi::Tag::OP_SHIFT;

fn symbols() -> Symbols {
    let mut symbols = Symbols::default();
    symbols.add("e0000000 sysenter_entry\ne0001000 vector_32\ne0002000 walk\n");
    symbols
}

/// Feeds what the emulator would: blocks of kernel code, and user mode between them.
struct Stream {
    latency: Latency,
    executed: u64,
}

impl Stream {
    /// A machine that has booted.
    fn new() -> Self {
        let mut stream = Self { latency: latency(&symbols()), executed: 0 };
        stream.kernel(SYSENTER, 1_000_000);
        stream.leave();
        stream
    }

    /// User mode, then an entry with `count` instructions at an address.
    fn enter(&mut self, address: u32, eax: u32, count: u64) {
        self.executed += 50_000;
        assert!(self.latency.is_entry());
        let block = self.latency.intern(address);
        self.latency.enter(block, eax, self.executed);
        self.kernel(address, count);
    }

    fn kernel(&mut self, address: u32, count: u64) {
        let block = self.latency.intern(address);
        self.latency.block(block, self.executed);
        self.executed += count;
    }

    fn leave(&mut self) {
        self.latency.leave(self.executed);
    }

    fn report(&self) -> LatencyReport {
        self.latency.report(&symbols())
    }

    /// Instructions, case and cause of each.
    fn found(&self) -> Vec<(u64, String, String)> {
        self.report()
            .stretches
            .into_iter()
            .map(|stretch| (stretch.instructions, stretch.case, stretch.cause))
            .collect()
    }
}

fn one(instructions: u64, case: &str, cause: &str) -> (u64, String, String) {
    (instructions, case.into(), cause.into())
}

#[test]
fn boot_and_user_mode_do_not_count() {
    let mut stream = Stream::new();
    assert_eq!(stream.report(), LatencyReport::default());
    stream.enter(SYSENTER, DELETE, 30);
    stream.leave();
    assert_eq!(stream.found(), [one(30, "", "delete")]);
}

#[test]
fn a_look_divides() {
    let mut stream = Stream::new();
    stream.enter(SYSENTER, DELETE, 30);
    for count in [100, 200, 50] {
        stream.kernel(WALK, count);
        stream.latency.look(false, stream.executed);
    }
    stream.kernel(WALK, 120);
    stream.leave();
    let report = stream.report();
    assert_eq!((report.longest, stream.found()), (200, vec![one(200, "", "delete")]));
    assert_eq!(report.stretches[0].functions, [("walk".into(), 200)]);
}

#[test]
fn what_follows_a_halt_is_nobodys() {
    let mut stream = Stream::new();
    stream.enter(SYSENTER, DELETE, 30);
    stream.latency.look(true, stream.executed);
    stream.kernel(INTERRUPT, 70);
    stream.leave();
    assert_eq!(stream.found(), [one(70, "", "idle"), one(30, "", "delete")]);
}

#[test]
fn functions_are_those_of_the_longest_alone() {
    let mut stream = Stream::new();
    for walked in [500, 1000, 700] {
        stream.enter(SYSENTER, DELETE, 10);
        stream.kernel(WALK, walked);
        stream.kernel(SYSENTER, 5);
        stream.leave();
    }
    let [stretch] = &stream.report().stretches[..] else { panic!("one cause") };
    assert_eq!(stretch.functions, [("walk".into(), 1000), ("sysenter_entry".into(), 15)]);
    assert_eq!(stretch.to_string(), "1015 instructions by delete: walk 1000, sysenter_entry 15");
}

#[test]
fn cases_and_causes_are_apart() {
    let mut stream = Stream::new();
    for (case, count) in [("first", 10), ("second", 30), ("first", 20)] {
        stream.latency.name(case.into());
        stream.enter(SYSENTER, DELETE | 5, count);
        stream.leave();
        // What EAX holds is no system call's number here.
        stream.enter(INTERRUPT, DELETE, 1);
        stream.leave();
    }
    let expected = [
        one(30, "second", "delete"),
        one(20, "first", "delete"),
        one(1, "first", "vector_32"),
        one(1, "second", "vector_32"),
    ];
    assert_eq!(stream.found(), expected);
    let cases: Vec<u64> = stream.report().cases().map(|stretch| stretch.instructions).collect();
    assert_eq!(cases, [30, 20]);
}

#[test]
fn what_does_not_end_is_a_panic() {
    let mut stream = Stream::new();
    stream.enter(SYSENTER, DELETE, 30);
    stream.leave();
    stream.enter(SYSENTER, DELETE, 9_000_000);
    assert_eq!(stream.report().longest, 30);
}

#[test]
fn every_case_is_reported_and_of_the_rest_the_longest() {
    let mut stream = Stream::new();
    for case in 0..100_u32 {
        stream.latency.name(case.to_string());
        for op in abi::syscall::ALL {
            stream.enter(SYSENTER, (op as u32) << abi::Tag::OP_SHIFT, u64::from(1000 - case));
            stream.leave();
        }
    }
    let report = stream.report();
    assert_eq!(report.cases().count(), 100);
    assert_eq!(report.stretches.len(), 100 + 97);
}
