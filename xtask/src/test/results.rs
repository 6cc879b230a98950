// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of the whole test run: split into shards, kept test by test under the commit, and
//! written into a table.

use crate::machine::board;
use crate::process::{aside, git};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Where results are kept, so that an interrupted shard goes on.
const KEPT: &str = "out/results.json";
/// The table. Its durations are what the next run is split by.
const TABLE: &str = "docs/results.md";
/// Where it is kept how long tests took at last here: names and seconds. It outlives `out`.
const TIMES: &str = "target/test-times";
/// The longest that a shard may take.
pub const LONGEST: Duration = Duration::from_secs(40 * 60);
/// How many seconds a test takes of which nothing is known.
const UNKNOWN: u64 = 60;

/// A part of all tests: the `index`th of `count`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("I/N is wanted, I from 1 to N".into()),
        }
    }
}

/// What a test left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its name.
    pub test: String,
    /// Checks of it that passed.
    pub passed: usize,
    /// What failed, and why.
    pub failures: Vec<String>,
    /// How long it took.
    pub seconds: u64,
}

/// The results of a commit.
#[derive(Serialize, Deserialize)]
pub struct Results {
    commit: String,
    outcomes: Vec<Outcome>,
}

impl Results {
    /// Those of the commit that is checked out. Results of other commits are dropped.
    ///
    /// # Errors
    /// If this is no Git work tree, or what is kept cannot be read.
    pub fn open() -> Result<Self> {
        let commit = git::commit()?;
        if let Ok(text) = std::fs::read_to_string(KEPT) {
            let kept: Self = serde_json::from_str(&text)
                .with_context(|| format!("{KEPT} cannot be read: delete it"))?;
            if kept.commit == commit {
                return Ok(kept);
            }
        }
        Ok(Self { commit, outcomes: Vec::new() })
    }

    /// What a test left, if it was run.
    pub fn of(&self, test: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.test == test)
    }

    /// Keeps what a test left.
    ///
    /// # Errors
    /// If the tree has changed meanwhile, or the file cannot be written.
    pub fn keep(&mut self, outcome: Outcome) -> Result<()> {
        git::clean()?;
        ensure!(
            self.commit == git::commit()?,
            "another commit was checked out while the tests ran"
        );
        self.outcomes.push(outcome);
        std::fs::create_dir_all("out")?;
        // Complete or as before: an interrupted run leaves no half of it.
        let text = serde_json::to_string_pretty(self)?;
        aside(Path::new(KEPT), |making| Ok(std::fs::write(making, text)?))
    }

    /// Writes the table of these tests.
    ///
    /// # Errors
    /// If one of them was not run.
    pub fn table(&self, tests: &[&str]) -> Result<()> {
        let missing: Vec<&str> =
            tests.iter().copied().filter(|test| self.of(test).is_none()).collect();
        ensure!(
            missing.is_empty(),
            "at commit {} these tests were not run by a shard: {}",
            self.commit,
            missing.join(" ")
        );
        std::fs::write(TABLE, self.text(tests, &machine()?)?)?;
        println!("wrote {TABLE}");
        Ok(())
    }

    fn text(&self, tests: &[&str], machine: &str) -> Result<String> {
        let mut text = format!(
            "# Results\n\nAll tests at commit `{}`, run by `./macadamia test --all --shard I/N`; this table is written by\n\
             `./macadamia test --all --table`. {machine}. Seconds are elapsed ones, with\n\
             the building of what a test is the first to need.\n\n| test | passed | failed | seconds |\n|---|---|---|---|\n",
            self.commit
        );
        let (mut passed, mut failures, mut seconds) = (0, Vec::new(), 0);
        for outcome in tests.iter().filter_map(|test| self.of(test)) {
            writeln!(
                text,
                "| {} | {} | {} | {} |",
                outcome.test,
                outcome.passed,
                outcome.failures.len(),
                outcome.seconds
            )?;
            passed += outcome.passed;
            seconds += outcome.seconds;
            failures.extend(&outcome.failures);
        }
        writeln!(text, "\nTogether {passed} passed, {} failed, in {seconds} s.", failures.len())?;
        for failure in failures {
            write!(text, "\n* {}", failure.lines().next().unwrap_or_default())?;
        }
        Ok(text.trim_end().to_string() + "\n")
    }
}

/// What the tests run on.
fn machine() -> Result<String> {
    let processors = std::fs::read_to_string("/proc/cpuinfo")?;
    let model = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown", |(_, name)| name);
    let program = &board::chosen().qemu.program;
    let qemu = Command::new(program)
        .arg("--version")
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let qemu = String::from_utf8_lossy(&qemu.stdout).lines().next().unwrap_or_default().to_string();
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Ok(format!("{count} processors ({model}), {qemu}"))
}

/// How long tests took in a table's run, in seconds.
fn durations(table: &str) -> BTreeMap<&str, u64> {
    let row = |line| {
        let cells: Vec<&str> = str::split(line, '|').map(str::trim).collect();
        let &[_, test, _, _, seconds, _] = cells.as_slice() else { return None };
        Some((test, seconds.parse().ok()?))
    };
    table.lines().filter_map(row).collect()
}

/// How long tests take, in seconds: as they did here at last, or else when the table was made.
pub struct Times {
    here: BTreeMap<String, u64>,
    table: BTreeMap<String, u64>,
}

impl Times {
    /// What is known.
    pub fn read() -> Self {
        let text = std::fs::read_to_string(TIMES).unwrap_or_default();
        let row = |line: &str| {
            line.split_once(' ')
                .and_then(|(test, seconds)| Some((test.into(), seconds.parse().ok()?)))
        };
        let table = std::fs::read_to_string(TABLE).unwrap_or_default();
        let table =
            durations(&table).into_iter().map(|(test, seconds)| (test.into(), seconds)).collect();
        Self { here: text.lines().filter_map(row).collect(), table }
    }

    /// That of a test.
    pub fn of(&self, test: &str) -> u64 {
        self.here.get(test).or(self.table.get(test)).copied().unwrap_or(UNKNOWN)
    }

    /// Keeps those of these outcomes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(&mut self, outcomes: &[Outcome]) -> Result<()> {
        self.here.extend(outcomes.iter().map(|outcome| (outcome.test.clone(), outcome.seconds)));
        let text: String =
            self.here.iter().map(|(test, seconds)| format!("{test} {seconds}\n")).collect();
        aside(Path::new(TIMES), |making| Ok(std::fs::write(making, text)?))
    }
}

/// Which of these tests a shard has, in their order.
///
/// # Errors
/// If they would take too long.
pub fn share<'a>(tests: &[&'a str], shard: Shard) -> Result<Vec<&'a str>> {
    let table = std::fs::read_to_string(TABLE).unwrap_or_default();
    let shares = split(tests, &durations(&table), shard.count);
    let (seconds, share) = shares.into_iter().nth(shard.index - 1).context("no such shard")?;
    if seconds > LONGEST.as_secs() {
        bail!(
            "this shard would take some {} minutes; at most {} are wanted: use more shards",
            seconds / 60,
            LONGEST.as_secs() / 60
        );
    }
    println!("# {} of {} tests, some {} minutes", share.len(), tests.len(), seconds.div_ceil(60));
    Ok(share)
}

/// The longest first, each to the share that has least to do; the same each time.
fn split<'a>(
    tests: &[&'a str],
    durations: &BTreeMap<&str, u64>,
    count: usize,
) -> Vec<(u64, Vec<&'a str>)> {
    let mut places: Vec<(u64, usize)> = tests
        .iter()
        .enumerate()
        .map(|(place, test)| (durations.get(test).copied().unwrap_or(UNKNOWN), place))
        .collect();
    places.sort_by_key(|&(seconds, place)| (std::cmp::Reverse(seconds), place));
    let mut shares = vec![(0, Vec::new()); count];
    for (seconds, place) in places {
        if let Some(share) = shares.iter_mut().min_by_key(|share| share.0) {
            share.0 += seconds;
            share.1.push(place);
        }
    }
    let named = |mut places: Vec<usize>| {
        places.sort_unstable();
        places.into_iter().filter_map(|place| tests.get(place).copied()).collect()
    };
    shares.into_iter().map(|(seconds, places)| (seconds, named(places))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_test_once() {
        let tests = ["a", "b", "c", "d", "e"];
        let table = "| test | passed | failed | seconds |\n|---|---|---|---|\n| a | 1 | 0 | 100 |\n| d | 3 | 1 | 40 |\n";
        let durations = durations(table);
        assert_eq!(durations, BTreeMap::from([("a", 100), ("d", 40)]));
        let shares = split(&tests, &durations, 3);
        assert_eq!(shares, [(100, vec!["a"]), (120, vec!["b", "e"]), (100, vec!["c", "d"])]);
        assert_eq!(
            split(&tests, &durations, 9).iter().map(|share| share.1.len()).sum::<usize>(),
            tests.len()
        );
    }

    #[test]
    fn shard_numbers() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "3", "a/b", "1/"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_table_can_be_split_by() {
        let outcome = |test: &str, seconds| Outcome {
            test: test.into(),
            passed: 2,
            failures: vec![format!("{test}: no\nmore")],
            seconds,
        };
        let results =
            Results { commit: "c0ffee".into(), outcomes: vec![outcome("b", 7), outcome("a", 5)] };
        let text = results.text(&["a", "b"], "A machine").unwrap_or_default();
        assert_eq!(durations(&text), BTreeMap::from([("a", 5), ("b", 7)]));
        assert!(
            text.contains("`c0ffee`")
                && text.ends_with("Together 4 passed, 2 failed, in 12 s.\n\n* a: no\n* b: no\n"),
            "{text}"
        );
        assert!(results.of("c").is_none());
    }
}
