// SPDX-License-Identifier: MIT OR Apache-2.0
//! One event, handled by the assembly and by the portable kernel.

use crate::compare::{Before, compare};
use crate::processor::{Event, Executed, Kernel, Outcome, Processor, Run};
use crate::scenario::Scenario;
use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use kcore::Thread;
use kcore::thread::flag;
use pool::Ref;
use std::collections::BTreeMap;

/// One in this many events that take the fast path is tried with other results of its tests.
const TURNED_THROUGH: u32 = 2;

/// How often each thing has happened.
#[derive(Default)]
pub struct Tally {
    /// Events.
    pub events: u64,
    /// Those that were left to the portable kernel.
    pub given_up: u64,
    /// Ways that were taken.
    pub ways: BTreeMap<&'static str, u64>,
    /// For each test: the number of events in which the assembly would have had a wrong result if
    /// this test had had the opposite result; and of those in which it would have continued and had
    /// the right result.
    pub turned: BTreeMap<usize, [u64; 2]>,
    /// Instructions that were executed.
    pub executed: Executed,
    before: Before,
}

impl Tally {
    fn note<O>(&mut self, run: &Run<O>) {
        run.ways.iter().for_each(|way| *self.ways.entry(way).or_default() += 1);
        run.steps.iter().for_each(|(at, is_met)| {
            self.executed.entry(*at).or_default()[usize::from(!is_met)] += 1
        });
    }
}

/// The result, if the event was not left to the portable kernel.
type Left<P> = Option<Outcome<<P as Processor>::Left>>;
/// The results with one test's result reversed, by the test's number; nothing if the result is
/// wrong whatever the portable kernel does.
type Turned<P> = Vec<(usize, Left<P>)>;

/// Makes the running thread do this.
pub fn step<P: Processor>(
    paths: &P,
    system: &mut Scenario<P>,
    event: &Event,
    rng: &mut Rng,
    tally: &mut Tally,
) -> Result<()> {
    let kernel = &mut system.kernel;
    let me = kernel.current().context("nobody runs")?;
    tally.events += 1;
    let entered = paths.enter(kernel, &system.found, me, event, rng);
    let (outcome, turned) = match event {
        Event::Tick => (None, Vec::new()),
        _ => assembly(paths, kernel, me, &entered, (rng, tally))?,
    };
    paths.way_in(kernel, me, &entered);
    if outcome.is_some() || turned.iter().any(|(_, outcome)| outcome.is_some()) {
        tally.before.note::<P>(kernel);
    }
    let timer = kernel.port.timer.take();
    kernel.port.invalidated.clear();
    kernel.port.announced.clear();
    kernel.port.cached.clear();
    paths.portable(kernel, me, event, &entered);
    if matches!(event, Event::Tick) {
        kernel.port.now += rng.u64(..12_000_000);
        kernel.tick();
    }
    for (test, outcome) in &turned {
        let is_right = outcome.as_ref().is_some_and(|outcome| {
            compare(paths, kernel, (&mut tally.before, &entered), me, outcome).is_ok()
        });
        tally.turned.entry(*test).or_default()[usize::from(is_right)] += 1;
    }
    if let Some(outcome) = &outcome {
        for thread in compare(paths, kernel, (&mut tally.before, &entered), me, outcome)? {
            kernel.pool[thread].flags |= flag::BRIEF;
        }
    }
    kernel.port.timer = kernel.port.timer.or(timer);
    settle::<P>(kernel);
    if let Some(run) = paths.leave(kernel, rng).context("on the way out")? {
        tally.note(&run);
    }
    Ok(())
}

/// The entry code's result, and the results that it would have had if one of its tests had had the
/// opposite result.
fn assembly<P: Processor>(
    paths: &P,
    kernel: &mut Kernel<P>,
    me: Ref<Thread>,
    entered: &P::Entered,
    (rng, tally): (&mut Rng, &mut Tally),
) -> Result<(Left<P>, Turned<P>)> {
    let run = paths.run(kernel, me, entered, None)?;
    tally.note(&run);
    ensure!(
        run.ways.iter().all(|way| P::WAYS.iter().any(|(name, _)| name == way)),
        "ways without a name: {:?}",
        run.ways
    );
    let is_given_up = run.outcome.is_none();
    tally.given_up += u64::from(is_given_up && !run.steps.is_empty());
    let mut turned = Vec::new();
    if is_given_up || rng.u32(..TURNED_THROUGH) == 0 {
        for test in run.tests {
            match paths.run(kernel, me, entered, Some(test)) {
                Ok(Run { outcome: None, .. }) => {}
                Ok(Run { outcome, .. }) => turned.push((test, outcome)),
                Err(_) => turned.push((test, None)),
            }
        }
    }
    Ok((run.outcome, turned))
}

/// Continues until a thread runs. If no thread is ready, only an alarm can make one ready.
fn settle<P: Processor>(kernel: &mut Kernel<P>) {
    while kernel.carry_on() {}
    for _ in 0..4 {
        if kernel.current().is_none() {
            kernel.port.now += 10_000_000;
            kernel.tick();
            while kernel.carry_on() {}
        }
    }
}
