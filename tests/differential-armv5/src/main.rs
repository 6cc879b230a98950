// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds ARMv5's assembly fast paths against the portable kernel: `differential-armv5 KERNEL [SEED] [EVENTS]`.
//!
//! The kernel's entry code, as it was built, is executed by [`machine`] on the state of a simulated system; then `kcore` handles the
//! same event. If the fast path went through, every word of the pool that means anything, all registers and the space must be the same; if
//! it gave up, it must have changed nothing but the words where the user's registers are saved. Then the way out must bring all of
//! them back.
//!
//! The fast path's tests are held to be needed, too: where it gives up, it is executed once more for each test that it made, which
//! is passed then whatever it finds. Each test must have been the only one between an event and a wrong result.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod code;
mod compare;
mod machine;
mod scenario;
mod step;

use anyhow::{Context, Result, ensure};
use code::{Code, TESTS};
use fastrand::Rng;
use scenario::Scenario;

/// Events in one system, at most.
const EVENTS_A_SYSTEM: u32 = 80;
/// Each way must have been taken in at least so many of ten thousand events.
const LEAST: u64 = 20;
/// Each test must have been the only one that was needed in at least so many of a hundred thousand.
const LEAST_NEEDED: u64 = 1;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: differential-armv5 KERNEL [SEED] [EVENTS]")?;
    let seed = arguments.next().map_or(Ok(1), |s| s.parse())?;
    let wanted: u64 = arguments.next().map_or(Ok(200_000), |s| s.parse())?;
    let code = Code::read(path.as_ref())?;
    let mut rng = Rng::with_seed(seed);
    let mut tally = step::Tally::default();
    while tally.events < wanted {
        let before = rng.get_seed();
        let mut scenario = Scenario::new(&mut rng);
        for number in 0..EVENTS_A_SYSTEM {
            let Some(event) = scenario.next(&mut rng) else { break };
            step::step(&mut scenario.kernel, &event, &code, &mut rng, &mut tally)
                .with_context(|| format!("system of seed {before}, event {number}"))?;
        }
    }
    let taken = [
        ("calls", tally.calls),
        ("replies", tally.replies),
        ("alien calls", tally.alien_calls),
        ("runs", tally.runs),
        ("page faults", tally.faults),
        ("answers by a page", tally.map_replies),
        ("page faults of aliens", tally.alien_faults),
        ("runs with a page", tally.map_runs),
        ("maps", tally.maps),
        ("operations on caches", tally.caches),
        ("pages in the place of others", tally.replaced),
        ("fetches", tally.fetches),
        ("with another process identifier", tally.pids),
        ("calls at the priority of a ready thread", tally.equal_calls),
        ("replies at one", tally.equal_replies),
        ("given up", tally.given_up),
        ("given up as a frame's domain is closed", tally.closed),
    ];
    let text: Vec<String> = taken.iter().map(|(name, count)| format!("{count} {name}")).collect();
    println!("# {} events: {}", tally.events, text.join(", "));
    let counts = |number| tally.without.get(&number).copied().unwrap_or_default();
    let tests = || (0..).zip(TESTS).filter_map(|(number, test)| Some((test?.0, counts(number))));
    let text: Vec<String> = tests().map(|(name, [needed, careful])| format!("{name} {needed} (and {careful})")).collect();
    println!("# the only test before a wrong result (a right one): {}", text.join(", "));
    let missed = code.missed(&tally.executed);
    ensure!(missed.is_empty(), "never executed: {}", missed.join("; "));
    let all = taken.map(|(name, count)| (name, count, LEAST * tally.events / 10_000));
    for (name, count, least) in
        all.into_iter().chain(tests().map(|(name, [needed, _])| (name, needed, LEAST_NEEDED * tally.events / 100_000)))
    {
        ensure!(count >= least, "only {count} {name}: the events are not the right ones");
    }
    Ok(())
}
