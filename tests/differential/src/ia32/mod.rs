// SPDX-License-Identifier: MIT OR Apache-2.0
//! IA-32's fast paths.

mod compare;
mod entry;
mod machine;
mod scenario;
mod step;
mod tally;

use crate::run::{Count, FastPaths};
use anyhow::Result;
use fastrand::Rng;
use scenario::{Scenario, Ways};
use std::path::Path;

/// Each fast path must have been taken in at least so many of ten thousand events.
const LEAST: u64 = 25;
/// Each that only some systems can take.
const LEAST_RARE: u64 = 5;

/// The code, and what it did.
pub struct Ia32 {
    code: machine::Code,
    ways: Ways,
    tally: tally::Tally,
}

impl FastPaths for Ia32 {
    type System = Scenario;

    fn read(kernel: &Path) -> Result<Self> {
        let code = machine::Code::read(kernel)?;
        let ways = Ways {
            large: [code.symbol("enter_large")?, code.symbol("event_large")?],
            server: [code.symbol("enter_server")?, code.symbol("event_server")?],
            small: [code.symbol("enter_small")?, code.symbol("event_small")?],
        };
        Ok(Self { code, ways, tally: tally::Tally::default() })
    }

    fn system(&self, rng: &mut Rng) -> Scenario {
        Scenario::new(self.ways, rng)
    }

    fn step(&mut self, system: &mut Scenario, rng: &mut Rng) -> Option<Result<()>> {
        let event = system.next(rng)?;
        Some(step::step(&mut system.kernel, &event, &mut self.code, rng, &mut self.tally))
    }

    fn events(&self) -> u64 {
        self.tally.events
    }

    fn taken(&self) -> Vec<Count> {
        let tally = &self.tally;
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
        let all = taken.map(|what| (what, LEAST)).into_iter().chain(rare.map(|what| (what, LEAST_RARE)));
        all.map(|((name, count), least)| Count { name, count, least: (tally.events * least).div_ceil(10_000) }).collect()
    }

    fn missed(&self) -> Vec<String> {
        self.code.missed()
    }
}
