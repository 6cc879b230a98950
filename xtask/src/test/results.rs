// SPDX-License-Identifier: MIT OR Apache-2.0
//! Results of tests: kept test by test under the commit, written into the table docs/results.md,
//! and checked; and the division of all tests into shards.

use crate::machine::board;
use crate::process::{aside, git};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Where results are kept, so that an interrupted shard goes on.
const KEPT: &str = "out/results.json";
/// The table. Its durations are what the next run is split by.
const TABLE: &str = "docs/results.md";
/// Where it is kept how long tests took here the last time: names and seconds. It outlives `out`.
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

/// What the last run of each test left, and at which commit.
pub struct Results {
    /// The commit that is checked out.
    commit: String,
    kept: Vec<Kept>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    commit: String,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Results {
    /// Those that are kept here.
    ///
    /// # Errors
    /// If this is no Git work tree, its tree differs from its commit, or what is kept cannot be
    /// read.
    pub fn open() -> Result<Self> {
        git::clean()?;
        let kept = match std::fs::read_to_string(KEPT) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{KEPT} cannot be read: delete it"))?,
            Err(_) => Vec::new(),
        };
        Ok(Self { commit: git::commit()?, kept })
    }

    /// What a test left at this commit, if it was run.
    pub fn of(&self, test: &str) -> Option<&Outcome> {
        self.kept
            .iter()
            .find(|kept| kept.outcome.test == test && kept.commit == self.commit)
            .map(|kept| &kept.outcome)
    }

    /// Keeps what tests left, in place of what they left before.
    ///
    /// # Errors
    /// If the tree has changed meanwhile, or the file cannot be written.
    pub fn keep(&mut self, outcomes: &[Outcome]) -> Result<()> {
        git::clean()?;
        ensure!(
            self.commit == git::commit()?,
            "another commit was checked out while the tests ran"
        );
        for outcome in outcomes {
            self.kept.retain(|kept| kept.outcome.test != outcome.test);
            self.kept.push(Kept { commit: self.commit.clone(), outcome: outcome.clone() });
        }
        std::fs::create_dir_all("out")?;
        // Complete or as before: an interrupted run leaves no half of it.
        let text = serde_json::to_string_pretty(&self.kept)?;
        aside(Path::new(KEPT), |making| Ok(std::fs::write(making, text)?))
    }

    /// Writes the rows of these tests into the table. A test of which nothing is kept here has the
    /// row that it had.
    ///
    /// # Errors
    /// If the table cannot be read or written.
    pub fn table(&self, tests: &[&str]) -> Result<()> {
        let before = std::fs::read_to_string(TABLE).unwrap_or_default();
        let mut rows = rows(&before);
        let kept: Vec<(&str, Row)> =
            self.kept.iter().map(|kept| (kept.outcome.test.as_str(), kept.row())).collect();
        let count = kept.len();
        rows.extend(kept);
        std::fs::write(TABLE, text(tests, &rows, &machine()?)?)?;
        println!("wrote {TABLE}: {count} tests were run here");
        Ok(())
    }
}

/// Keeps results while tests run, so that a run that is interrupted leaves those of the tests that
/// ended.
pub struct Keeper {
    results: Results,
    /// What is not kept yet.
    waiting: Vec<Outcome>,
    /// When something was kept the last time.
    last: Instant,
    /// Why nothing more is kept.
    failure: Option<anyhow::Error>,
}

/// How long results wait until they are kept: for that Git looks at the whole tree.
const WAIT: Duration = Duration::from_secs(30);

impl Keeper {
    /// Keeps them among these.
    pub fn new(results: Results) -> Self {
        Self { results, waiting: Vec::new(), last: Instant::now(), failure: None }
    }

    /// A test has ended.
    pub fn take(&mut self, outcome: Outcome) {
        self.waiting.push(outcome);
        if self.last.elapsed() >= WAIT && self.failure.is_none() {
            self.failure = self.keep().err();
        }
    }

    /// All tests have ended.
    ///
    /// # Errors
    /// If the tree changed since the first one began, or results could not be written.
    pub fn end(mut self) -> Result<()> {
        self.failure.take().map_or_else(|| self.keep(), Err)
    }

    fn keep(&mut self) -> Result<()> {
        self.results.keep(&std::mem::take(&mut self.waiting))?;
        self.last = Instant::now();
        Ok(())
    }
}

impl Kept {
    fn row(&self) -> Row {
        Row {
            passed: self.outcome.passed,
            failed: self.outcome.failures.len(),
            seconds: self.outcome.seconds,
            commit: self.commit.chars().take(SHORT).collect(),
        }
    }
}

/// How many digits of a commit's name the table has.
const SHORT: usize = 12;

/// What the table says of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    passed: usize,
    failed: usize,
    seconds: u64,
    /// The commit at which it ran.
    commit: String,
}

impl std::str::FromStr for Row {
    type Err = anyhow::Error;

    /// The cells after the name.
    fn from_str(cells: &str) -> Result<Self> {
        let cells: Vec<&str> = cells.split('|').map(str::trim).collect();
        let &[passed, failed, seconds, commit, ""] = cells.as_slice() else {
            bail!("five cells are wanted");
        };
        Ok(Self {
            passed: passed.parse()?,
            failed: failed.parse()?,
            seconds: seconds.parse()?,
            commit: commit.trim_matches('`').into(),
        })
    }
}

/// The rows of a table.
fn rows(table: &str) -> BTreeMap<&str, Row> {
    table
        .lines()
        .filter_map(|line| {
            let (test, cells) = line.strip_prefix("| ")?.split_once(" | ")?;
            Some((test, cells.parse().ok()?))
        })
        .collect()
}

fn text(tests: &[&str], rows: &BTreeMap<&str, Row>, machine: &str) -> Result<String> {
    let mut text = format!(
        "# Results\n\n\
         What the last run of each test left, and at which commit.\n\
         `./macadamia test` and `./macadamia test --all --shard I/N` keep results of a clean tree in `out/results.json`; `./macadamia test --all --table` writes them into this table.\n\
         Tests that are not slow have a row of the last {OLDEST} commits: `./macadamia test source.results`.\n\
         The last rows were written on {machine}.\n\
         Seconds are elapsed ones, with the building of what a test is the first to need.\n\n\
         | test | passed | failed | seconds | commit |\n|---|---|---|---|---|\n"
    );
    let (mut passed, mut failed, mut seconds, mut without) = (0, 0, 0, Vec::new());
    for &test in tests {
        let Some(row) = rows.get(test) else {
            without.push(format!("`{test}`"));
            continue;
        };
        let Row { commit, .. } = row;
        writeln!(
            text,
            "| {test} | {} | {} | {} | `{commit}` |",
            row.passed, row.failed, row.seconds
        )?;
        passed += row.passed;
        failed += row.failed;
        seconds += row.seconds;
    }
    writeln!(text, "\nTogether {passed} passed, {failed} failed, in {seconds} s.")?;
    if !without.is_empty() {
        writeln!(text, "\nNo run of these is on record: {}.", without.join(", "))?;
    }
    Ok(text)
}

/// The most commits that may lie between a row of the table and what is checked out.
const OLDEST: usize = 150;

/// Checks that the table has a row for each of these tests, of a run that passed, at most
/// [`OLDEST`] commits ago.
///
/// # Errors
/// If not.
pub fn check(tests: &[&str]) -> Result<()> {
    let table = std::fs::read_to_string(TABLE).with_context(|| format!("cannot read {TABLE}"))?;
    // Without the history, as in a copy of the files, only the rows can be looked at.
    let recent = git::last(OLDEST + 1).ok();
    let wrong = wrong(tests, &rows(&table), recent.as_deref());
    ensure!(
        wrong.is_empty(),
        "{TABLE}: {}; `./macadamia test NAME` on a clean tree and `./macadamia test --all --table` \
         renew rows",
        wrong.join("; ")
    );
    Ok(())
}

/// What is wrong with these tests' rows, if so many commits are the last ones.
fn wrong(tests: &[&str], rows: &BTreeMap<&str, Row>, recent: Option<&[String]>) -> Vec<String> {
    let of = |&test: &&str| {
        let Some(row) = rows.get(test) else { return Some(format!("{test} has no row")) };
        if row.failed > 0 {
            return Some(format!("{test} failed"));
        }
        let is_recent =
            recent.is_none_or(|recent| recent.iter().any(|commit| commit.starts_with(&row.commit)));
        (!is_recent).then(|| format!("{test} has a row of before the last {OLDEST} commits"))
    };
    tests.iter().filter_map(of).collect()
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

/// How long tests took by a table, in seconds.
fn durations(table: &str) -> BTreeMap<&str, u64> {
    rows(table).into_iter().map(|(test, row)| (test, row.seconds)).collect()
}

/// How long tests take, in seconds: as the last time here, or else when the table was made.
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
        let table = "| test | passed | failed | seconds | commit |\n|---|---|---|---|---|\n\
                     | a | 1 | 0 | 100 | `c0ffee` |\n| d | 3 | 1 | 40 | `c0ffee` |\n";
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

    fn row(failed: usize, seconds: u64, commit: &str) -> Row {
        Row { passed: 2, failed, seconds, commit: commit.into() }
    }

    #[test]
    fn a_table_has_the_rows_of_the_tests_that_there_are() {
        let before = BTreeMap::from([
            ("a", row(0, 5, "c0ffee")),
            ("b", row(1, 7, "decade")),
            ("gone", row(0, 9, "decade")),
        ]);
        let text = text(&["b", "new", "a"], &before, "a machine").expect("a table");
        let after = BTreeMap::from([("a", row(0, 5, "c0ffee")), ("b", row(1, 7, "decade"))]);
        assert_eq!(rows(&text), after);
        assert_eq!(durations(&text), BTreeMap::from([("a", 5), ("b", 7)]));
        assert!(
            text.ends_with(
                "Together 4 passed, 1 failed, in 12 s.\n\nNo run of these is on record: `new`.\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_row_that_is_missing_old_or_of_a_failure_is_wrong() {
        let rows = BTreeMap::from([
            ("recent", row(0, 1, "c0ffee")),
            ("old", row(0, 1, "decade")),
            ("failed", row(1, 1, "c0ffee")),
        ]);
        let recent = ["c0ffee123".to_string()];
        let all = ["recent", "old", "failed", "missing"];
        assert_eq!(
            wrong(&all, &rows, Some(&recent)),
            ["old has a row of before the last 150 commits", "failed failed", "missing has no row"]
        );
        assert_eq!(wrong(&all, &rows, None), ["failed failed", "missing has no row"]);
    }

    #[test]
    fn only_the_last_outcome_of_a_test_is_kept() {
        let outcome = |test: &str, seconds| Outcome {
            test: test.into(),
            passed: 1,
            failures: Vec::new(),
            seconds,
        };
        let kept = |commit: &str| Kept { commit: commit.into(), outcome: outcome("a", 5) };
        let results = |commit| Results { commit: "now".into(), kept: vec![kept(commit)] };
        assert_eq!(results("before").of("a"), None);
        assert_eq!(results("now").of("a"), Some(&outcome("a", 5)));
        let text = serde_json::to_string(&[kept("now")]).expect("text");
        let read: Vec<Kept> = serde_json::from_str(&text).expect("what was written");
        assert_eq!(read.first().map(Kept::row), Some(Row { passed: 1, ..row(0, 5, "now") }));
    }
}
