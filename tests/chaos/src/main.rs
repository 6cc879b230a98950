// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes components of the network and the disk fail, by a seed, and measures how long it takes
//! until everything works again.
//!
//! Arguments: `faults=N`, `seed=N`, `kinds=WORD,WORD,...` (the words of [`Kind`]; all of them if
//! absent), `rest=N` (the longest time without a fault, in milliseconds), `address=`, the IP
//! server's address or that of another host to ask. The victims are the components that the
//! description lets it control, those whose memory it shares, and those that it may notify
//! ([`Victims::new`]). After each fault it asks everything that it can ask until answers come: the
//! network's gateway, a connection through the IP server, a range of a disk. If a victim lives but
//! does nothing useful for a while, it is killed, as a person would do.
//!
//! It owns the choice of faults. It does not know how a server works inside: it has only what any
//! component could be given.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod fault;
mod probe;

use fault::{Fault, Kind, Victims};
use macadamia::alloc::boxed::Box;
use macadamia::alloc::format;
use macadamia::alloc::vec::Vec;
use macadamia::start::{Usage, status};
use macadamia::{Env, Thread, Word, println, result, time};
use probe::Probe;

macadamia::main!(run);

const MILLISECOND: u64 = 1_000_000;
/// After this many questions without an answer, and at least 3 seconds, a victim that does nothing
/// useful is killed. The time by itself is no criterion, because the machine may have been stopped.
const USELESS: u32 = 150;
/// After this many questions without an answer the test fails.
const LOST: u32 = 10 * USELESS;
/// Request of a rhythm (`user/demo/crash`): its beats, those missed, and the latest's delay in
/// microseconds.
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

/// The results of a kind of fault.
#[derive(Clone, Default)]
struct Tally {
    /// Nanoseconds until the next answer.
    recoveries: Vec<u64>,
    killed: u32,
}

/// The probes, and the number of the next question.
struct Probes {
    all: Vec<Box<dyn Probe>>,
    number: u32,
}

fn run(env: Env) {
    let [faults, seed, longest] = ["faults", "seed", "rest"].map(|name| env.number(name));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9) | 1);
    let victims = Victims::new(&env);
    let mut probes = Probes { all: probe::all(&env), number: 0 };
    let mut tallies: Vec<Tally> = Kind::ALL.iter().map(|_| Tally::default()).collect();
    if probes.recover(&victims, None).is_none() {
        result!("not ok chaos.begins: no answer");
        return result!("done");
    }
    let began = Usage::of_root();
    for count in 0..faults {
        let end = time::now() + u64::from(random.below(longest.max(1))) * MILLISECOND;
        let mut answered = true;
        while time::now() < end {
            // Others work while they fail.
            answered = probes.ask();
        }
        let fault = victims.choose(&mut random);
        // What a slow disk has not answered yet comes first where what is under way could go wrong.
        if fault.kind.is_at_any_moment() {
            probes.begin();
        } else if !answered && probes.recover(&victims, None).is_none() {
            let why = format!("before fault {count} of seed {seed}, {fault}: no answer any more");
            verdict(false, format_args!("chaos.recovers"), &why);
            return result!("done");
        }
        let began = time::now();
        victims.inject(&fault, &mut random);
        let recovered = probes.recover(&victims, Some(&fault));
        victims.mend(&fault);
        let Some(killed) = recovered else {
            let why = format!("fault {count} of seed {seed}, {fault}: no answer any more");
            verdict(false, format_args!("chaos.recovers"), &why);
            return result!("done");
        };
        let tally =
            &mut tallies[Kind::ALL.iter().position(|kind| *kind == fault.kind).unwrap_or_default()];
        tally.recoveries.push(time::now() - began);
        tally.killed += u32::from(killed);
        if let Some(wrong) = probes.wrong() {
            let why = format!("fault {count} of seed {seed}, {fault}: {wrong} wrong");
            verdict(false, format_args!("chaos.verified"), &why);
            return result!("done");
        }
    }
    verdict(true, format_args!("chaos.verified"), "");
    // All live again, so the root server has as many capabilities as before.
    let (began, ended) =
        (began.map(|usage| usage.slots), Usage::of_root().map(|usage| usage.slots));
    verdict(
        began.is_ok() && began == ended,
        format_args!("chaos.slots"),
        &format!("{began:?} were in use, {ended:?} are"),
    );
    report(&env, &victims, tallies, faults, &probes);
}

impl Probes {
    /// Sends a question to every probe that can be asked without waiting for the answer.
    fn begin(&mut self) {
        self.number += 1;
        self.all.iter_mut().for_each(|probe| probe.begin(self.number));
    }

    /// Asks all probes. Returns whether all have answered.
    fn ask(&mut self) -> bool {
        self.number += 1;
        let number = self.number;
        self.all.iter_mut().all(|probe| {
            probe.ask(number).unwrap_or_else(|_| {
                // If it cannot rest either, the next question is asked at once.
                let _ = probe::rest();
                false
            })
        })
    }

    /// Asks until all probes answer. Returns whether a victim had to be killed for that; `None` if
    /// no answers come.
    fn recover(&mut self, victims: &Victims, fault: Option<&Fault>) -> Option<bool> {
        let mut killed = false;
        for asked in 0..LOST {
            if self.ask() {
                return Some(killed);
            }
            if let Some(fault) = fault.filter(|_| asked == USELESS) {
                killed = victims.kill(fault.victim);
            }
        }
        None
    }

    /// How much was wrong.
    fn wrong(&self) -> Option<u32> {
        Some(self.all.iter().map(|probe| probe.wrong()).sum()).filter(|wrong| *wrong > 0)
    }
}

fn report(env: &Env, victims: &Victims, tallies: Vec<Tally>, faults: u32, probes: &Probes) {
    for (kind, tally) in Kind::ALL.into_iter().zip(tallies) {
        let mut times = tally.recoveries;
        if times.is_empty() {
            continue;
        }
        times.sort_unstable();
        let at = |part: usize| {
            times.get(times.len().saturating_sub(1) * part / 100).map_or(0, |time| time / 1000)
        };
        let (count, killed) = (times.len(), tally.killed);
        let figures = format!(
            "{kind}: {count} faults, all well after {} us (median), {} (99 %), {} (most); {killed} killed",
            at(50),
            at(99),
            at(100)
        );
        println!("{figures}");
        result!("# {figures}");
    }
    for name in victims.names() {
        let restarts = status(name).map_or(0, |status| status.restarts);
        println!("{name}: {restarts} restarts");
        let good = restarts > 0;
        verdict(good, format_args!("chaos.restarts.{name}"), "no fault took it down");
    }
    probes.all.iter().for_each(|probe| probe.report());
    if let Some(rhythm) = env.given("rhythm").map(|given| Thread(given.slot as Word)) {
        let good = match rhythm.ask([REPORT as Word, 0, 0]) {
            Ok([beats, missed, latest]) => {
                println!("the rhythm: {beats} beats, {missed} missed, the latest {latest} us late");
                missed == 0 && beats > 0
            }
            Err(_) => false,
        };
        verdict(good, format_args!("chaos.rhythm"), "missed a beat");
    }
    verdict(true, format_args!("chaos.recovers"), "");
    println!("{faults} faults");
    result!("done");
}

fn verdict(good: bool, name: core::fmt::Arguments<'_>, why: &str) {
    if good {
        result!("ok {name}");
    } else {
        println!("{name}: {why}");
        result!("not ok {name}: {why}");
    }
}
