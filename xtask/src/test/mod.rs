// SPDX-License-Identifier: MIT OR Apache-2.0
//! All tests: checks of the source, tests on the host, systems in emulators. Each prints a line,
//! and the last line is `N passed, N failed`.
//!
//! This folder owns the list of tests, `out/test`, and how tests run in parallel. No other folder
//! of the tool uses it.

mod alone;
mod amigaone;
mod arm;
mod bench;
mod bootm;
mod clients;
mod clipper;
mod debian;
mod desk;
mod desktop;
mod dialogue;
mod disk;
mod folder;
mod hazards;
mod image;
mod ip;
mod kept;
mod land;
mod latency;
mod lifetime;
mod linux;
mod load;
mod malta;
mod mirror;
mod model;
mod net;
mod pc64;
mod ppc;
mod profile;
mod reload;
mod results;
mod screen;
mod script;
mod segments;
mod server;
mod small;
mod source;
mod spaces;
mod speculation;
mod suites;
mod system;
mod tagged;
mod tally;
mod terminal;
mod tricks;
mod wide;

pub use results::Shard;

use crate::machine::board::{self, Board};
use crate::{catalogue, description, pages};
use anyhow::{Context, Result, bail, ensure};
use kept::Kept;
use results::{Keeper, Outcome, Results, Times};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tally::{Check, DOCUMENTS, Tally, Test, test};

/// Where each test has a folder for what it makes, which is left if something failed.
const FOLDER: &str = "out/test";
/// How names of tests begin whose failure tells most in the shortest time.
const SOURCE: &str = "source.";

/// The check of the table of results.
const RESULTS: &str = "source.results";
/// The tests that know the names of all.
const OF_ALL: &[Test] = &[
    test("source.pages", sound_pages).reading(DOCUMENTS),
    test(RESULTS, recent).reading(&["docs/results.md"]),
];

/// So many of the tests that took longest are named at the end,
const SLOWEST: usize = 40;
/// if they took so many seconds.
const LONG: u64 = 10;

/// What a test does.
enum Action {
    Check(Check),
    /// Runs the system of this description on a board.
    System(PathBuf, &'static Board),
    /// Boots damaged images.
    Refusals,
}

/// A test as it is listed.
struct Entry {
    name: String,
    action: Action,
    /// Why it runs only when it is named, or everything is asked for, if so.
    slow: Option<&'static str>,
    /// The documents that it reads, or folders of such.
    documents: &'static [&'static str],
    /// Whether it runs before all others: it copies the checkout, to which nobody writes then.
    first: bool,
}

impl Entry {
    /// Whether it runs when `filter` is asked for: a part of its name, or something of what it
    /// consists of. If a test is called so (`whole`), only that one and those of its group.
    fn is_selected(&self, filter: &str, whole: bool, slow: bool) -> bool {
        let named = if whole {
            self.name
                .strip_prefix(filter)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        } else {
            self.name.contains(filter)
        };
        self.is_named(filter) || named && (slow || self.slow.is_none())
    }

    /// Whether `filter` is its name, or something of what it consists of.
    fn is_named(&self, filter: &str) -> bool {
        let is_part = |rest: &str| {
            rest.is_empty() || !matches!(self.action, Action::Check(_)) && rest.starts_with('.')
        };
        filter.strip_prefix(&self.name).is_some_and(is_part)
    }

    /// Runs it in a new folder.
    fn run(&self, kept: &Kept) -> Outcome {
        let start = Instant::now();
        let mut tally = Tally::default();
        let folder = Path::new(FOLDER).join(&self.name);
        let all = remove(&folder).map(|()| board::in_folder(&folder, || self.act(&mut tally)));
        let all = if tally.failures.is_empty() { all.and_then(|()| remove(&folder)) } else { all };
        let passed = (all.is_ok() && tally.failures.is_empty()).then_some(tally.passed);
        if let Err(error) = all.and(kept.keep(&self.name, self.documents, passed)) {
            tally.note(&self.name, Err(error));
        }
        Outcome {
            test: self.name.clone(),
            passed: tally.passed,
            failures: tally.failures,
            seconds: start.elapsed().as_secs(),
        }
    }

    fn act(&self, tally: &mut Tally) {
        match &self.action {
            Action::Check(check) => tally.note(&self.name, check()),
            Action::System(path, board) => {
                board::with(board, || system::run(path, &self.name, tally))
            }
            Action::Refusals => image::refusals(tally),
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Every test there is; if another board than the usual one was chosen, those on that board.
fn list() -> Result<Vec<Entry>> {
    let board = board::chosen();
    if !board.is_default() {
        let mut tests = elsewhere()?;
        tests.retain(
            |test| matches!(test.action, Action::System(_, other) if other.name() == board.name()),
        );
        return Ok(tests);
    }
    let checks = source::ALL
        .iter()
        .chain(OF_ALL)
        .chain(script::ALL)
        .chain(dialogue::ALL)
        .chain(terminal::ALL)
        .chain(lifetime::ALL)
        .chain(linux::ALL)
        .chain(spaces::ALL)
        .chain(small::ALL)
        .chain(bench::ALL)
        .chain(model::ALL)
        .chain(arm::ALL)
        .chain(amigaone::ALL)
        .chain(ppc::ALL)
        .chain(pc64::ALL)
        .chain(wide::ALL)
        .chain(speculation::ALL)
        .chain(clipper::ALL)
        .chain(malta::ALL)
        .chain(hazards::ALL)
        .chain(tagged::ALL)
        .chain(tricks::ALL)
        .chain(bootm::ALL)
        .chain(profile::ALL)
        .chain(server::ALL)
        .chain(suites::ALL)
        .chain(alone::ALL)
        .chain(disk::ALL)
        .chain(folder::ALL)
        .chain(net::ALL)
        .chain(segments::ALL)
        .chain(load::ALL)
        .chain(ip::ALL)
        .chain(clients::ALL)
        .chain(screen::ALL)
        .chain(debian::ALL)
        .chain(desktop::ALL);
    let is_first = |name: &str| script::ALL.iter().any(|test| test.name == name);
    let entry = |test: &Test| Entry {
        name: test.name.into(),
        action: Action::Check(test.check),
        slow: test.slow,
        documents: test.documents,
        first: is_first(test.name),
    };
    let mut tests: Vec<Entry> = checks.map(entry).collect();
    for path in systems()? {
        if is_for(&path, board)? {
            tests.push(of_system(format!("system.{}", catalogue::name(&path)), path, board));
        }
    }
    tests.append(&mut elsewhere()?);
    tests.push(Entry {
        name: "image".into(),
        action: Action::Refusals,
        slow: None,
        documents: &[],
        first: false,
    });
    Ok(tests)
}

fn of_system(name: String, path: PathBuf, board: &'static Board) -> Entry {
    let slow = system::slow(&name);
    Entry { name, action: Action::System(path, board), slow, documents: &[], first: false }
}

/// Whether a system says that it is tested on the usual board. The others are what tests run that
/// know more of them than a description can say.
fn is_for(path: &Path, board: &Board) -> Result<bool> {
    Ok(description::read(path, board)?.test.is_some_and(|test| !test.only))
}

/// Systems on other boards than the usual one.
fn elsewhere() -> Result<Vec<Entry>> {
    let usual = board::get(board::DEFAULT)?;
    let mut tests = Vec::new();
    for path in systems()? {
        for board in description::read(&path, usual)?.test.map_or_else(Vec::new, |test| test.boards)
        {
            let name = format!("{board}.system.{}", catalogue::name(&path));
            tests.push(of_system(name, path.clone(), board::get(&board)?));
        }
    }
    Ok(tests)
}

/// Every test's name, and what is to be known of it.
///
/// # Errors
/// If descriptions cannot be read.
pub fn names() -> Result<Vec<(String, String)>> {
    let row = |entry: Entry| {
        let what = match (&entry.action, entry.slow) {
            (_, Some(why)) => format!("slow: {why}"),
            (Action::System(path, _), None) => catalogue::head(&std::fs::read_to_string(path)?),
            _ => String::new(),
        };
        Ok((entry.name, what))
    };
    list()?.into_iter().map(row).collect()
}

/// Pages are in the book, their links lead somewhere, and tests that they name are there.
fn sound_pages() -> Result<()> {
    pages::check()?;
    let pages = pages::all()?;
    let named = pages.iter().flat_map(|(page, text)| {
        let tests = pages::commands(text).filter_map(|command| command.strip_prefix("test "));
        // No option, and no name that stands for others.
        let names = tests
            .filter_map(|words| words.split_whitespace().next())
            .filter(|name| !name.starts_with('-') && !name.contains(char::is_uppercase));
        names.map(move |name| (page.display(), name))
    });
    let wrong = without_test(named)?;
    ensure!(wrong.is_empty(), "no test is called so:\n{}", wrong.join("\n"));
    Ok(())
}

/// Names that select no test, and where each stands.
fn without_test<'a>(
    names: impl Iterator<Item = (impl std::fmt::Display, &'a str)>,
) -> Result<Vec<String>> {
    let tests = list()?;
    // A name with a dot is meant as a whole: of a part of another nobody sees that it went.
    let selects =
        |name: &str| tests.iter().any(|test| test.is_selected(name, name.contains('.'), true));
    Ok(names
        .filter(|(_, name)| !selects(name))
        .map(|(place, name)| format!("{place}: {name}"))
        .collect())
}

/// Runs the test that is called `filter` with those of its group, or everything whose name contains
/// it; of what is slow only what it names, unless `slow`. What passed before with the same inputs
/// is run again only if `fresh`, or if `filter` is its name.
pub fn all(filter: &str, slow: bool, fresh: bool) -> Result<()> {
    let start = Instant::now();
    let tests = list()?;
    let whole = tests.iter().any(|test| test.name == filter);
    let chosen: Vec<&Entry> =
        tests.iter().filter(|test| test.is_selected(filter, whole, slow)).collect();
    if chosen.is_empty() {
        let near = catalogue::near(filter, tests.iter().map(|test| test.name.as_str()));
        let near = near.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        bail!(
            "no test that runs has `{filter}` in its name; {near}`./macadamia list --tests` shows all"
        );
    }
    let (kept, mut tally) = (Kept::read()?, Tally::default());
    let is_run = |test: &&Entry| {
        let checks =
            kept.checks(&test.name, test.documents).filter(|_| !fresh && !test.is_named(filter));
        checks.map(|checks| tally.keep(checks)).is_none()
    };
    let (first, mut rest): (Vec<&Entry>, Vec<&Entry>) =
        chosen.into_iter().filter(is_run).partition(|test| test.first);
    // Of a tree that differs from its commit, or is no work tree of Git, no result is kept.
    let keeper = Mutex::new(Results::open().ok().map(Keeper::new));
    let run = |test: &Entry| {
        let outcome = test.run(&kept);
        if let Some(keeper) = keeper.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            keeper.take(outcome.clone());
        }
        outcome
    };
    let mut outcomes: Vec<Outcome> = first.into_iter().map(run).collect();
    let mut times = Times::read();
    rest.sort_by_key(|test| {
        (!test.name.starts_with(SOURCE), std::cmp::Reverse(times.of(&test.name)))
    });
    outcomes.extend(side_by_side(&rest, run));
    times.keep(&outcomes)?;
    if let Some(Err(reason)) =
        keeper.into_inner().unwrap_or_else(PoisonError::into_inner).map(Keeper::end)
    {
        println!("# results are not kept for docs/results.md: {reason}");
    }
    outcomes.sort_by_key(|outcome| std::cmp::Reverse(outcome.seconds));
    for Outcome { test, seconds, .. } in
        outcomes.iter().take(SLOWEST).filter(|outcome| outcome.seconds >= LONG)
    {
        println!("# {seconds} s for {test}");
    }
    outcomes.into_iter().for_each(|outcome| add(&mut tally, outcome));
    tally.end(start)
}

/// Runs these tests in their order, one more at a time than there are processors: some wait.
fn side_by_side(tests: &[&Entry], run: impl Fn(&Entry) -> Outcome + Sync) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let work = || {
        std::iter::from_fn(|| tests.get(next.fetch_add(1, Ordering::Relaxed)))
            .map(|test| run(test))
            .collect::<Vec<_>>()
    };
    let count = 1 + std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Runs a part of everything, but not what was run before at this commit.
pub fn shard(shard: Shard) -> Result<()> {
    let start = Instant::now();
    let (mut results, kept) = (Results::open()?, Kept::read()?);
    let tests = list()?;
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let share = results::share(&names, shard)?;
    let mut tally = Tally::default();
    for test in tests.iter().filter(|test| share.contains(&test.name.as_str())) {
        let outcome = match results.of(&test.name) {
            Some(outcome) => {
                println!(
                    "# {} was run before: {} passed, {} failed",
                    test.name,
                    outcome.passed,
                    outcome.failures.len()
                );
                outcome.clone()
            }
            None => {
                if start.elapsed() > results::LONGEST {
                    bail!(
                        "{} minutes are over; the same command goes on with {}",
                        results::LONGEST.as_secs() / 60,
                        test.name
                    );
                }
                let outcome = test.run(&kept);
                results.keep(std::slice::from_ref(&outcome))?;
                outcome
            }
        };
        add(&mut tally, outcome);
    }
    tally.end(start)
}

/// Writes what tests left here into the table.
pub fn table() -> Result<()> {
    let tests = list()?;
    Results::open()?.table(&tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>())
}

/// Checks that the table has recent results of all tests that are not slow. Its own are those of
/// the run that it is in.
fn recent() -> Result<()> {
    let tests = list()?;
    let others = tests.iter().filter(|test| test.slow.is_none() && test.name != RESULTS);
    results::check(&others.map(|test| test.name.as_str()).collect::<Vec<_>>())
}

fn add(tally: &mut Tally, outcome: Outcome) {
    tally.passed += outcome.passed;
    tally.failures.extend(outcome.failures);
}

/// Test systems, and every example system that says how it is tested.
fn systems() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["systems", "tests/systems"] {
        found.extend(catalogue::descriptions(folder)?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Action, Entry};

    fn selected(filter: &str, whole: bool) -> Vec<&'static str> {
        let names = [
            "system.conform",
            "system.conform-fast",
            "system.linux-small",
            "linux.two",
            "linux.two.rhythm",
        ];
        let slow = |name: &str| (name == "system.linux-small").then_some("it is");
        let entry = |name: &str| Entry {
            name: name.into(),
            action: Action::Refusals,
            slow: slow(name),
            documents: &[],
            first: false,
        };
        names.into_iter().filter(|name| entry(name).is_selected(filter, whole, false)).collect()
    }

    #[test]
    fn a_name_selects_its_test_its_group_and_the_test_that_it_is_a_line_of() {
        assert_eq!(selected("system.conform", true), ["system.conform"]);
        assert_eq!(selected("system.conform-fast", true), ["system.conform-fast"]);
        assert_eq!(selected("system.conform-fast.pentium3", false), ["system.conform-fast"]);
        assert_eq!(selected("linux.two", true), ["linux.two", "linux.two.rhythm"]);
        assert_eq!(selected("two.rhythm", false), ["linux.two.rhythm"]);
        // A slow one runs if it is named, or a line of it.
        assert_eq!(selected("system.linux-small", true), ["system.linux-small"]);
        assert_eq!(selected("system.linux-small.pentium3", false), ["system.linux-small"]);
        assert_eq!(selected("small", false), [""; 0]);
    }

    #[test]
    fn a_test_says_which_documents_it_reads() {
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/src/test");
        let mut read = 0;
        for file in std::fs::read_dir(own).expect("tests").map(|file| file.expect("a file").path())
        {
            let text = std::fs::read_to_string(&file).expect("a text");
            // The table of results is written, and says how long tests took.
            for line in text.lines().filter(|line| !line.contains("const TABLE")) {
                let Some((name, _)) = line
                    .split_once("read_to_string(\"docs/")
                    .and_then(|(_, rest)| rest.split_once('"'))
                else {
                    continue;
                };
                assert!(
                    text.contains(&format!(".reading(&[\"docs/{name}\"])")),
                    "{}: no test says that it reads {name}",
                    file.display()
                );
                read += 1;
            }
        }
        assert!(read >= 3, "{read} documents");
    }
}
