// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random systems and their events, and whether the events had the intended variety.

use crate::elf::Elf;
use crate::processor::Processor;
use crate::scenario::Scenario;
use crate::step::{Tally, step};
use anyhow::{Context, Result, ensure};
use fastrand::Rng;

/// The most events in one system.
const EVENTS_A_SYSTEM: u32 = 80;
/// A test that is listed as hardly needed may have been needed in at most this many of a hundred
/// thousand events.
const MOST_HARDLY_NEEDED: u64 = 5;

/// Runs the test as the crate's head describes it.
pub fn run<P: Processor>() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: differential KERNEL [SEED] [EVENTS]")?;
    let seed = arguments.next().map_or(Ok(1), |s| s.parse())?;
    let wanted: u64 = arguments.next().map_or(Ok(P::EVENTS), |s| s.parse())?;
    let paths = P::read(&Elf::read(path.as_ref())?)?;
    let mut rng = Rng::with_seed(seed);
    let mut tally = Tally::default();
    paths.check_more(&mut rng.clone())?;
    while tally.events < wanted {
        let before = rng.get_seed();
        let mut system = Scenario::new(&paths, &mut rng);
        for number in 0..EVENTS_A_SYSTEM {
            let Some(event) = system.next(&paths, &mut rng) else { break };
            step(&paths, &mut system, &event, &mut rng, &mut tally)
                .with_context(|| format!("system of seed {before}, event {number}"))?;
        }
    }
    report(&paths, &tally)
}

/// Prints the counts, and reports what was too rare.
fn report<P: Processor>(paths: &P, tally: &Tally) -> Result<()> {
    let ways = P::WAYS
        .iter()
        .map(|(name, least)| (*name, tally.ways.get(name).copied().unwrap_or_default(), *least));
    let text: Vec<String> =
        ways.clone().map(|(name, count, _)| format!("{count} {name}")).collect();
    println!(
        "# {} events by fast paths: {}, {} given up",
        tally.events,
        text.join(", "),
        tally.given_up
    );
    let tests = paths.tests();
    let counts = |number: usize| tally.turned.get(&number).copied().unwrap_or_default();
    let named: Vec<(&str, [u64; 2])> = tests
        .iter()
        .enumerate()
        .filter_map(|(at, name)| Some((name.as_deref()?, counts(at))))
        .collect();
    let is_needed =
        |name: &str| P::HARDLY_NEEDED.iter().all(|(hardly_needed, _)| *hardly_needed != name);
    let mut needed: Vec<_> = named.iter().filter(|(name, _)| is_needed(name)).collect();
    needed.sort_by_key(|(_, [count, _])| *count);
    let rarest: Vec<String> =
        needed.iter().take(5).map(|(name, [count, _])| format!("{name} {count}")).collect();
    println!(
        "# {} tests, {} of them once the only one before a wrong result; most rarely {}",
        named.len(),
        needed.len(),
        rarest.join(", ")
    );
    let mut wrong: Vec<String> = paths
        .missed(&tally.executed)
        .into_iter()
        .map(|what| format!("never executed: {what}"))
        .collect();
    for (name, count, least) in ways {
        if count < (tally.events * least).div_ceil(10_000) {
            wrong.push(format!("only {count} {name}: the events are not the right ones"));
        }
    }
    for (name, [count, careful]) in needed {
        if *count == 0 {
            wrong.push(never_needed(name, *careful));
        }
    }
    for (name, _) in P::HARDLY_NEEDED {
        let count = named.iter().find(|(test, _)| test == name).map(|(_, [count, _])| *count);
        wrong.extend(wrongly_listed(name, count, MOST_HARDLY_NEEDED * tally.events / 100_000));
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// What is wrong with a test without which each event ended as the portable kernel's did.
fn never_needed(name: &str, careful: u64) -> String {
    format!(
        "`{name}` was never the only test before a wrong result, but before a right one {careful} times: remove the test, or let tests/differential/src/scenario.rs make the case that needs it, or add it to `HARDLY_NEEDED` of this processor with the reason"
    )
}

/// What is wrong with an entry of `HARDLY_NEEDED`, if there were `count` wrong results without the
/// test, and at most `most` are rare; there is no count if no test has this name.
fn wrongly_listed(name: &str, count: Option<u64>, most: u64) -> Option<String> {
    match count {
        None => Some(format!(
            "`HARDLY_NEEDED` has `{name}`, which is no test of the fast paths: remove the entry, or correct its name"
        )),
        Some(count) if count > most => Some(format!(
            "`HARDLY_NEEDED` has `{name}`, without which there were {count} wrong results: remove the entry"
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{never_needed, wrongly_listed};

    #[test]
    fn what_is_wrong_with_a_test_says_what_to_do() {
        let said = never_needed("ipc_start: a, Jne", 3);
        assert!(
            said.contains("3 times: remove the test") && said.contains("scenario.rs"),
            "{said}"
        );
        let said = wrongly_listed("ipc_start: a, Jne", None, 15).unwrap_or_default();
        assert!(said.contains("no test of the fast paths: remove the entry"), "{said}");
        let said = wrongly_listed("ipc_start: a, Jne", Some(16), 15).unwrap_or_default();
        assert!(said.contains("16 wrong results: remove the entry"), "{said}");
        assert_eq!(wrongly_listed("ipc_start: a, Jne", Some(15), 15), None);
        assert_eq!(wrongly_listed("ipc_start: a, Jne", Some(0), 0), None);
    }
}
