// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes components of the network fail, by a seed, and looks how long frames go nowhere afterwards.
//!
//! Arguments: `faults=N`, `seed=N`, `kinds=N` (the first N of [`KINDS`]), `rest=N` (the longest that nothing fails,
//! in milliseconds). The victims are what the description lets it control; the memory of all ports is shared with
//! it, and it may notify the victims with bits of its choice. After each fault it asks the network's gateway for its address until the
//! answer comes. A victim that is alive but of no use is killed after a while, as a person would do.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod fault;
mod probe;

use fault::{Fault, KINDS, Victims};
use macadamia::alloc::vec::Vec;
use macadamia::start::status;
use macadamia::{Env, Thread, println, result, time};
use probe::{Outcome, Probe};

macadamia::main!(run);

const MILLISECOND: u64 = 1_000_000;
/// After so many questions without an answer, 3 seconds at least, a victim that is of no use is killed. Time alone says nothing: the
/// machine may have stood still.
const USELESS: u32 = 150;
/// After so many the system is lost.
const LOST: u32 = 10 * USELESS;
/// Request of a rhythm (`user/demo/crash`): its beats, those missed, and the latest's delay in microseconds.
const REPORT: u32 = 2;

/// xorshift32 (Marsaglia 2003).
pub struct Random(u32);

impl Random {
    /// The next number.
    pub fn draw(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// The next below an end.
    pub fn below(&mut self, end: u32) -> u32 {
        self.draw() % end
    }
}

/// What came of faults of a kind.
#[derive(Clone, Default)]
struct Tally {
    /// Nanoseconds until the next answer.
    recoveries: Vec<u64>,
    killed: u32,
}

fn run(env: Env) {
    let [faults, seed, rest] = ["faults", "seed", "rest"].map(|name| env.number(name));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) | 1);
    let victims = Victims::new(&env, env.number("kinds"));
    let mut probe = Probe::new(&env).unwrap_or_else(|error| panic!("no port: {}", error.text()));
    let mut tallies: Vec<Tally> = KINDS.iter().map(|_| Tally::default()).collect();
    let mut number = 0;
    if recover(&mut probe, &victims, None, &mut number).is_none() {
        result!("not ok chaos.begins: no answer of the gateway");
        return result!("done");
    }
    for count in 0..faults {
        let end = time::now() + u64::from(random.below(rest.max(1))) * MILLISECOND;
        while time::now() < end {
            // Others work while they fail.
            let _ = probe.ask(number).map(|_| number += 1);
        }
        let fault = victims.choose(&mut random);
        let began = time::now();
        victims.inject(&fault, &mut random);
        match recover(&mut probe, &victims, Some(&fault), &mut number) {
            Some(killed) => {
                tallies[fault.kind].recoveries.push(time::now() - began);
                tallies[fault.kind].killed += u32::from(killed);
            }
            None => {
                result!("not ok chaos.recovers: fault {count} of seed {seed}, {fault}: no answer of the gateway any more");
                return result!("done");
            }
        }
    }
    report(&env, &victims, tallies, faults, probe.attached);
}

/// Asks until the next answer. Whether a victim had to be killed for that; `None` if none comes.
fn recover(probe: &mut Probe, victims: &Victims, fault: Option<&Fault>, number: &mut u32) -> Option<bool> {
    let mut killed = false;
    for asked in 0..LOST {
        *number += 1;
        match probe.ask(*number) {
            Ok(Outcome::Answered) => return Some(killed),
            Ok(Outcome::Again) => _ = probe.attach(),
            Ok(Outcome::Silence) => {}
            Err(_) => _ = probe.rest(),
        }
        if let Some(fault) = fault.filter(|_| asked == USELESS) {
            victims.kill(fault.victim);
            killed = true;
        }
    }
    None
}

fn report(env: &Env, victims: &Victims, tallies: Vec<Tally>, faults: u32, attached: u32) {
    for (kind, tally) in KINDS.iter().zip(tallies) {
        let mut times = tally.recoveries;
        times.sort_unstable();
        let at = |part: usize| times.get(times.len().saturating_sub(1) * part / 100).map_or(0, |time| time / 1000);
        let (count, killed) = (times.len(), tally.killed);
        result!(
            "# {kind}: {count} faults, frames again after {} us (median), {} (99 %), {} (most); {killed} killed",
            at(50),
            at(99),
            at(100)
        );
    }
    for name in victims.names() {
        let restarts = status(name).map_or(0, |status| status.restarts);
        println!("{name}: {restarts} restarts");
        let good = restarts > 0;
        verdict(good, format_args!("chaos.restarts.{name}"), "no fault took it down");
    }
    println!("attached {attached} times");
    verdict(true, format_args!("chaos.recovers"), "");
    println!("{faults} faults");
    if let Some(rhythm) = env.given("rhythm").map(|given| Thread(given.slot)) {
        let good = match rhythm.ask([REPORT, 0, 0]) {
            Ok([beats, missed, latest]) => {
                println!("the rhythm: {beats} beats, {missed} missed, the latest {latest} us late");
                missed == 0 && beats > 0
            }
            Err(_) => false,
        };
        verdict(good, format_args!("chaos.rhythm"), "missed a beat");
    }
    result!("done");
}

fn verdict(good: bool, name: core::fmt::Arguments<'_>, why: &str) {
    if good {
        result!("ok {name}");
    } else {
        result!("not ok {name}: {why}");
    }
}
