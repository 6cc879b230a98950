// SPDX-License-Identifier: MIT OR Apache-2.0
//! ARMv5's fast paths.
//!
//! Besides what the crate's head says, the way out must bring all of the user's registers back.
//!
//! The fast path's tests are held to be needed, too: where it gives up, it is executed once more for each test that it made, which
//! is passed then whatever it finds. Each test must have been the only one between an event and a wrong result.

mod code;
mod compare;
mod machine;
mod scenario;
mod step;

use crate::run::{Count, FastPaths};
use anyhow::Result;
use code::{Code, TESTS};
use fastrand::Rng;
use scenario::Scenario;
use std::path::Path;

/// Each way must have been taken in at least so many of ten thousand events.
const LEAST: u64 = 20;
/// Each test must have been the only one that was needed in at least so many of a hundred thousand.
const LEAST_NEEDED: u64 = 1;

/// The code, and what it did.
pub struct Armv5 {
    code: Code,
    tally: step::Tally,
}

impl FastPaths for Armv5 {
    type System = Scenario;

    fn read(kernel: &Path) -> Result<Self> {
        Ok(Self { code: Code::read(kernel)?, tally: step::Tally::default() })
    }

    fn system(&self, rng: &mut Rng) -> Scenario {
        Scenario::new(rng)
    }

    fn step(&mut self, system: &mut Scenario, rng: &mut Rng) -> Option<Result<()>> {
        let event = system.next(rng)?;
        Some(step::step(&mut system.kernel, &event, &self.code, rng, &mut self.tally))
    }

    fn events(&self) -> u64 {
        self.tally.events
    }

    fn taken(&self) -> Vec<Count> {
        let tally = &self.tally;
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
        taken.map(|(name, count)| Count { name, count, least: LEAST * tally.events / 10_000 }).into()
    }

    fn further(&self) -> Vec<Count> {
        let counts = |number| self.tally.without.get(&number).copied().unwrap_or_default();
        let tests = || (0..).zip(TESTS).filter_map(|(number, test)| Some((test?.0, counts(number))));
        let text: Vec<String> = tests().map(|(name, [needed, careful])| format!("{name} {needed} (and {careful})")).collect();
        println!("# the only test before a wrong result (a right one): {}", text.join(", "));
        tests().map(|(name, [count, _])| Count { name, count, least: LEAST_NEEDED * self.tally.events / 100_000 }).collect()
    }

    fn missed(&self) -> Vec<String> {
        self.code.missed(&self.tally.executed)
    }
}
