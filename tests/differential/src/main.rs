// SPDX-License-Identifier: MIT OR Apache-2.0
//! Holds the assembly fast paths against the portable kernel: `differential KERNEL [SEED] [EVENTS]`.
//!
//! The kernel's entry code, as it was built, is executed by [`machine`] on the state
//! of a simulated system; then `kcore` handles the same event. If the fast path
//! went through, every word of the pool that means anything, all registers and the address space must
//! be the same; if it gave up, it must have changed nothing but its scratch words.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod compare;
mod entry;
mod machine;
mod scenario;
mod step;
mod tally;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use scenario::{Scenario, Ways};

/// Events in one system, at most.
const EVENTS_A_SYSTEM: u32 = 80;
/// Each fast path must have been taken in at least so many of ten thousand events.
const LEAST: u64 = 25;
/// Each that only some systems can take.
const LEAST_RARE: u64 = 5;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: differential KERNEL [SEED] [EVENTS]")?;
    let seed = arguments.next().map_or(Ok(1), |s| s.parse())?;
    let wanted: u64 = arguments.next().map_or(Ok(200_000), |s| s.parse())?;
    let mut code = machine::Code::read(path.as_ref())?;
    let ways = Ways {
        large: [code.symbol("enter_large")?, code.symbol("event_large")?],
        server: [code.symbol("enter_server")?, code.symbol("event_server")?],
        small: [code.symbol("enter_small")?, code.symbol("event_small")?],
    };
    let mut rng = Rng::with_seed(seed);
    let mut tally = tally::Tally::default();
    while tally.events < wanted {
        let before = rng.get_seed();
        let mut scenario = Scenario::new(ways, &mut rng);
        for number in 0..EVENTS_A_SYSTEM {
            let Some(event) = scenario.next(&mut rng) else { break };
            step::step(&mut scenario.kernel, &event, &mut code, &mut rng, &mut tally)
                .with_context(|| format!("system of seed {before}, event {number}"))?;
        }
    }
    let taken = [
        ("calls", tally.calls),
        ("replies", tally.replies),
        ("faults", tally.faults),
        ("replies to faults", tally.fault_replies),
        ("of them that map", tally.answers),
        ("alien calls", tally.alien_calls),
        ("alien faults", tally.alien_faults),
        ("alien sysenters", tally.alien_sysenters),
        ("entries into a server", tally.server_entries),
        ("of them from an alien", tally.put_away),
        ("runs by a server", tally.fetched),
        ("runs", tally.runs),
        ("runs by sysexit", tally.quick_runs),
        ("runs of another alien", tally.switches),
        ("runs that map", tally.map_runs),
        ("entries into a small space", tally.small_entries),
        ("alien events to a small handler", tally.small_events),
        ("exits with care", tally.careful),
        ("events of aliens in small spaces", tally.small_aliens),
        ("runs of them", tally.small_runs),
        ("notifications", tally.notifications),
        ("notifications of more urgent threads", tally.preemptions),
        ("given up", tally.given_up),
    ];
    let rare = [
        ("runs of another alien in a small space", tally.small_switches),
        ("runs of another alien without TLS by a server", tally.bare_switches),
        ("notifications of waiting threads", tally.wakes),
        ("receives of notifications", tally.taken),
        ("receives of nothing", tally.polls),
        ("receives that wait", tally.waits),
    ];
    let text: Vec<String> = taken.iter().chain(&rare).map(|(name, count)| format!("{count} {name}")).collect();
    println!("# {} events by fast paths: {}", tally.events, text.join(", "));
    let missed = code.missed();
    ensure!(missed.is_empty(), "never executed: {}", missed.join("; "));
    let all = taken.map(|what| (what, LEAST)).into_iter().chain(rare.map(|what| (what, LEAST_RARE)));
    for ((name, count), least) in all {
        ensure!(count * 10_000 >= tally.events * least, "only {count} {name}: the events are not the right ones");
    }
    Ok(())
}
