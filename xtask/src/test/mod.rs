// SPDX-License-Identifier: MIT OR Apache-2.0
//! All tests: source checks, host tests, systems in emulators. A line each, and at
//! the end `N passed, N failed`.

mod debian;
mod dialogue;
mod disk;
mod latency;
mod linux;
mod model;
mod results;
mod script;
mod server;
mod suites;

pub use model::clean;
pub use results::Shard;

use crate::build::{self, Built, Options, Seed, cargo_bare};
use crate::description::Limit;
use crate::emulator::{Machine, Transcript, batch};
use crate::{Emulator, bench, catalogue, check, profile};
use anyhow::{Result, bail};
use results::{Outcome, Results};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Counts and prints results.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    fn note(&mut self, name: &str, result: Result<()>) {
        match result {
            Ok(()) => {
                self.passed += 1;
                println!("ok {name}");
            }
            Err(error) => {
                println!("not ok {name}: {error:#}");
                self.failures.push(format!("{name}: {error:#}"));
            }
        }
    }

    fn add(&mut self, outcome: Outcome) {
        self.passed += outcome.passed;
        self.failures.extend(outcome.failures);
    }

    /// Says the sums; an error if something failed.
    fn end(self, start: Instant) -> Result<()> {
        let failed = self.failures.len();
        println!("# {} s", start.elapsed().as_secs());
        println!("{} passed, {failed} failed", self.passed);
        if failed > 0 {
            bail!("{failed} tests failed");
        }
        Ok(())
    }
}

fn cargo(arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build::run(command.args(arguments))
}

fn clippy_bare() -> Result<()> {
    let mut command = cargo_bare("clippy");
    command.arg("--quiet");
    for package in [
        "kernel",
        "root",
        "console",
        "clock",
        "disk",
        "hello",
        "date",
        "echo",
        "signer",
        "pingpong",
        "pager",
        "crash",
        "tutorial-server",
        "tutorial-client",
        "conform",
        "counts",
        "figures",
        "hostile",
        "latency",
        "rival",
        "measured",
    ] {
        command.args(["-p", package]);
    }
    build::run(command.args(["--", "-D", "warnings"]))
}

/// The fast paths as built against the portable kernel.
fn differential() -> Result<()> {
    let options = Options { seed: Seed::Fixed, folder: Some("differential"), ..Options::default() };
    let built = build::plan(Path::new("systems/hello.toml"), options)?.carry_out()?;
    let kernel = built.kernel.to_string_lossy().into_owned();
    let seed = std::env::var("MACADAMIA_SEED").unwrap_or_else(|_| "1".into());
    cargo(&["run", "--quiet", "--release", "-p", "differential", "--", &kernel, &seed])
}

/// What a check does.
type Check = fn() -> Result<()>;

/// A test: its name, and what it does.
pub type Test = (&'static str, Check);

/// Checks of the source, and on this machine.
const CHECKS: &[Test] = &[
    ("source.format", || cargo(&["fmt", "--all", "--check"])),
    ("source.arrows", check::arrows),
    ("source.unsafe", check::unsafe_code),
    ("source.clippy.host", || cargo(&["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"])),
    ("source.clippy.bare", clippy_bare),
    ("host", || cargo(&["test", "--quiet"])),
    ("differential", differential),
];

/// What runs only when it is named, or everything is asked for.
const SLOW: &[&str] = &[
    "linux.debian",
    "linux.debian.batch",
    "linux.debian.bombs",
    "linux.layout",
    "system.linux-small",
    "linux.project",
    "linux.stress",
    "linux.fsx.long",
    "linux.busybox",
    "bench.checker",
];

/// What a test does.
enum Action {
    Check(Check),
    /// Runs the system of this description.
    System(PathBuf),
    /// Boots damaged images.
    Refusals,
}

/// A test as it is listed.
struct Entry {
    name: String,
    action: Action,
}

impl Entry {
    /// Whether it runs when `filter` is asked for: a part of its name, or something of what it consists of.
    fn is_selected(&self, filter: &str, slow: bool) -> bool {
        let parts = !matches!(self.action, Action::Check(_)) && filter.starts_with(&self.name);
        (parts || self.name.contains(filter)) && (slow || self.name == filter || !SLOW.contains(&self.name.as_str()))
    }

    fn run(&self) -> Outcome {
        let start = Instant::now();
        let mut tally = Tally::default();
        match &self.action {
            Action::Check(check) => tally.note(&self.name, check()),
            Action::System(path) => system(path, &self.name, &mut tally),
            Action::Refusals => refusals(&mut tally),
        }
        Outcome { test: self.name.clone(), passed: tally.passed, failures: tally.failures, seconds: start.elapsed().as_secs() }
    }
}

/// Every test there is, in the order in which they run.
fn list() -> Result<Vec<Entry>> {
    let checks = CHECKS
        .iter()
        .chain(script::ALL)
        .chain(dialogue::ALL)
        .chain(linux::ALL)
        .chain(bench::ALL)
        .chain(model::ALL)
        .chain(profile::ALL)
        .chain(server::ALL)
        .chain(suites::ALL)
        .chain(disk::ALL)
        .chain(debian::ALL);
    let mut tests: Vec<Entry> = checks.map(|&(name, check)| Entry { name: name.into(), action: Action::Check(check) }).collect();
    for path in systems()? {
        let name = format!("system.{}", catalogue::name(&path));
        tests.push(Entry { name, action: Action::System(path) });
    }
    tests.push(Entry { name: "image".into(), action: Action::Refusals });
    Ok(tests)
}

/// Every test's name, and what is to be known of it.
///
/// # Errors
/// If descriptions cannot be read.
pub fn names() -> Result<Vec<(String, String)>> {
    let row = |entry: Entry| {
        let what = match &entry.action {
            Action::System(path) => catalogue::head(&std::fs::read_to_string(path)?),
            _ if SLOW.contains(&entry.name.as_str()) => "slow: runs when it is named, or with --all".into(),
            _ => String::new(),
        };
        Ok((entry.name, what))
    };
    list()?.into_iter().map(row).collect()
}

/// Runs everything whose name contains `filter`; of what is slow only what it names, unless `slow`.
pub fn all(filter: &str, slow: bool) -> Result<()> {
    let start = Instant::now();
    let tests = list()?;
    let chosen: Vec<&Entry> = tests.iter().filter(|test| test.is_selected(filter, slow)).collect();
    if chosen.is_empty() {
        let near = catalogue::near(filter, tests.iter().map(|test| test.name.as_str()));
        let near = near.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        bail!("no test that runs has `{filter}` in its name; {near}`./macadamia list --tests` shows all");
    }
    let is_one_of = |tests: &[Test], entry: &Entry| tests.iter().any(|(name, _)| *name == entry.name);
    let (first, rest): (Vec<&Entry>, Vec<&Entry>) = chosen.into_iter().partition(|test| is_one_of(script::ALL, test));
    let (checks, guests): (Vec<&Entry>, Vec<&Entry>) = rest.into_iter().partition(|test| is_one_of(CHECKS, test));
    let run = |tests: Vec<&Entry>| tests.into_iter().map(Entry::run).collect::<Vec<_>>();
    // A copy is made of what nobody writes to. Emulators leave a processor to the checks, mostly.
    let mut outcomes = run(first);
    outcomes.extend(std::thread::scope(|scope| {
        let checks = scope.spawn(|| run(checks));
        let mut outcomes = run(guests);
        outcomes.extend(checks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        outcomes
    }));
    let mut tally = Tally::default();
    outcomes.into_iter().for_each(|outcome| tally.add(outcome));
    tally.end(start)
}

/// Runs a part of everything, but not what was run before at this commit.
pub fn shard(shard: Shard) -> Result<()> {
    let start = Instant::now();
    results::clean()?;
    let mut kept = Results::open()?;
    let tests = list()?;
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    let share = results::share(&names, shard)?;
    let mut tally = Tally::default();
    for test in tests.iter().filter(|test| share.contains(&test.name.as_str())) {
        let outcome = match kept.of(&test.name) {
            Some(outcome) => {
                println!("# {} was run before: {} passed, {} failed", test.name, outcome.passed, outcome.failures.len());
                outcome.clone()
            }
            None => {
                if start.elapsed() > results::LONGEST {
                    bail!("{} minutes are over; the same command goes on with {}", results::LONGEST.as_secs() / 60, test.name);
                }
                let outcome = test.run();
                kept.keep(outcome.clone())?;
                outcome
            }
        };
        tally.add(outcome);
    }
    tally.end(start)
}

/// Writes the table of what shards left.
pub fn table() -> Result<()> {
    let tests = list()?;
    Results::open()?.table(&tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>())
}

/// Test systems, and every example system that says how it is tested.
fn systems() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in ["systems", "tests/systems"] {
        found.extend(catalogue::descriptions(folder)?);
    }
    Ok(found)
}

fn system(path: &Path, name: &str, tally: &mut Tally) {
    let built = match build::system(path) {
        Ok(built) => built,
        Err(error) => return tally.note(name, Err(error)),
    };
    let Some(test) = built.test.clone() else { return tally.note(&format!("{name}.build"), Ok(())) };
    let timeout = Duration::from_secs(test.timeout);
    let model = match (test.latency || !test.limit.is_empty()).then(build::model).transpose() {
        Ok(model) => model,
        Err(error) => return tally.note(name, Err(error)),
    };
    for cpu in test.cpus.as_ref().unwrap_or(&vec![built.cpu.clone()]) {
        let machine = Machine::Qemu { cpu, icount: test.icount || test.latency, model: model.as_ref() };
        let transcript = batch(&built, machine, timeout);
        if let Some(report) = transcript.as_ref().ok().and_then(|transcript| transcript.model.as_ref()).filter(|_| test.latency) {
            tally.note(&format!("{name}.{cpu}: latency"), latency::check(&built.name, report));
        }
        judge(&format!("{name}.{cpu}"), transcript, &test.limit, tally);
    }
    if test.bochs {
        judge(&format!("{name}.bochs"), batch(&built, Machine::Bochs { cpu: None }, timeout), &[], tally);
    }
    for cpu in &test.bochs_cpus {
        judge(&format!("{name}.bochs-{cpu}"), batch(&built, Machine::Bochs { cpu: Some(cpu) }, timeout), &[], tally);
    }
}

/// Reads result lines: `ok NAME`, `not ok NAME: why`, `# text`, `ticks INTERVAL COUNT`, at last `done`.
fn judge(run: &str, transcript: Result<Transcript>, limits: &[Limit], tally: &mut Tally) {
    let transcript = match transcript {
        Ok(transcript) => transcript,
        Err(error) => return tally.note(run, Err(error)),
    };
    let mut done = false;
    for line in transcript.results.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("ok ") {
            tally.note(&format!("{run}: {name}"), Ok(()));
        } else if let Some(name) = line.strip_prefix("not ok ") {
            tally.note(&format!("{run}: {name}"), Err(anyhow::anyhow!("reported by the system")));
        } else if line == "done" {
            done = true;
        } else if line.starts_with('#') {
            println!("{line}");
        } else if let (Some(ticks), Some(model)) = (line.strip_prefix("ticks "), &transcript.model) {
            tally.note(&format!("{run}: the model agrees with the time-stamp counter"), agreement(model, ticks));
        }
    }
    if let Some(model) = &transcript.model {
        for error in &model.errors {
            tally.note(&format!("{run}: markers"), Err(anyhow::anyhow!("{error}")));
        }
        for violation in &model.violations {
            tally.note(&format!("{run}: flushes"), Err(anyhow::anyhow!("{violation:?}")));
        }
        for limit in limits {
            tally.note(&format!("{run}: {}", limit.name), within(model, limit));
        }
    }
    // Without the root server's word the machine stopped for another reason.
    let orderly = transcript.console.contains("[root] every component has ended");
    let result = if done && orderly && transcript.ended {
        Ok(())
    } else {
        let tail: Vec<&str> = transcript.console.lines().rev().take(25).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        let what = if transcript.ended && !orderly {
            "stopped, but not by the root server"
        } else if transcript.ended {
            "ended without `done`"
        } else {
            "did not end in time"
        };
        Err(anyhow::anyhow!("{what}; the console's end:\n{}", tail.join("\n")))
    };
    tally.note(&format!("{run}: ends"), result);
}

/// Instructions between the reading of the counter and the marker beside it, at most.
const BESIDE_MARKERS: u64 = 16;

/// `ticks` is an interval's number and how many instructions the program itself counted in it.
fn agreement(model: &model_core::Report, ticks: &str) -> Result<()> {
    let numbers: Option<Vec<u64>> = ticks.split(' ').map(|word| word.parse().ok()).collect();
    let Some(&[interval, ticks]) = numbers.as_deref() else { bail!("`{ticks}` is not an interval and a count") };
    let Some(report) = model.intervals.get(&(interval as u16)).filter(|report| report.repetitions == 1) else {
        bail!("interval {interval} was not counted just once");
    };
    let counted = report.kernel_instructions.max + report.user_instructions.max;
    println!("# interval {interval}: {counted} instructions by the model, {ticks} by the counter");
    if ticks.checked_sub(counted).is_none_or(|beside| beside > BESIDE_MARKERS) {
        bail!("the model counted {counted} instructions, the time-stamp counter {ticks}");
    }
    Ok(())
}

fn within(model: &model_core::Report, limit: &Limit) -> Result<()> {
    let Some(interval) = model.intervals.get(&limit.interval) else { bail!("interval {} was not counted", limit.interval) };
    let Some(visit) = interval.visits.get(limit.visit) else {
        bail!("interval {} has {} visits to the kernel, not one numbered {}", limit.interval, interval.visits.len(), limit.visit);
    };
    let lines = visit.kernel_code_lines_32 + visit.kernel_data_lines_32;
    let found = format!(
        "{} kernel instructions (at most {}), {} + {} lines of code and data (at most {}), {} writes of CR3 (exactly {})",
        visit.kernel_instructions,
        limit.instructions,
        visit.kernel_code_lines_32,
        visit.kernel_data_lines_32,
        limit.lines,
        visit.cr3_writes,
        limit.cr3_writes
    );
    println!("# {}: {found}", limit.name);
    if visit.kernel_instructions > limit.instructions || lines > limit.lines || visit.cr3_writes != limit.cr3_writes {
        bail!("{found}");
    }
    Ok(())
}

/// Boot images that are damaged in each way are refused with a sentence.
fn refusals(tally: &mut Tally) {
    let built = match build::system(Path::new("systems/hello.toml")) {
        Ok(built) => built,
        Err(error) => return tally.note("image", Err(error)),
    };
    let image = match std::fs::read(&built.image) {
        Ok(image) => image,
        Err(error) => return tally.note("image", Err(error.into())),
    };
    for (name, expected, damaged) in damages(&image) {
        tally.note(&format!("image.refused.{name}"), refused(&built, &damaged, expected));
    }
}

fn refused(built: &Built, image: &[u8], expected: abi::boot::Refusal) -> Result<()> {
    let path = built.image.with_file_name("damaged.bin");
    std::fs::write(&path, image)?;
    let damaged = Built { image: path, ..built.clone() };
    let transcript = batch(&damaged, Machine::of(Emulator::Qemu, &damaged, None), Duration::from_secs(20))?;
    let sentence = format!("boot image refused: {}", expected.text());
    if transcript.ended && transcript.console.contains(&sentence) {
        return Ok(());
    }
    bail!("expected `{sentence}`, got `{}`", transcript.console.trim());
}

/// Every field wrong in turn, checksums mended so that the field itself is found.
fn damages(image: &[u8]) -> Vec<(&'static str, abi::boot::Refusal, Vec<u8>)> {
    use abi::boot::{Header, Refusal, header_crc};
    const HEAD: usize = abi::boot::HEADER_BYTES as usize;
    let with = |change: fn(&mut Header)| {
        let mut damaged = image.to_vec();
        let mut header: Header = bytemuck::pod_read_unaligned(&damaged[..HEAD]);
        change(&mut header);
        header.header_crc = header_crc(&header);
        damaged[..HEAD].copy_from_slice(bytemuck::bytes_of(&header));
        damaged
    };
    let flipped = |at: usize| {
        let mut damaged = image.to_vec();
        damaged[at] ^= 1;
        damaged
    };
    vec![
        ("short", Refusal::TooShort, image[..32].to_vec()),
        ("truncated", Refusal::Truncated, image[..image.len() - 4096].to_vec()),
        ("magic", Refusal::NotAnImage, with(|h| h.magic ^= 1)),
        ("version", Refusal::Version, with(|h| h.version += 1)),
        ("header_crc", Refusal::HeaderDamaged, flipped(17)),
        ("crc", Refusal::ContentsDamaged, flipped(image.len() - 1)),
        ("too_large", Refusal::TooLarge, with(|h| h.total = abi::boot::MAX_BYTES + 4096)),
        ("total", Refusal::Length, with(|h| h.total -= 1)),
        ("reserved", Refusal::Reserved, with(|h| h.reserved[2] = 1)),
        ("root_offset", Refusal::RootPlacement, with(|h| h.root_offset += 1)),
        ("root_bytes", Refusal::RootPlacement, with(|h| h.root_bytes = u32::MAX - 4095)),
        ("root_address", Refusal::RootAddress, with(|h| h.root_address = 0)),
        ("root_address_kernel", Refusal::RootAddress, with(|h| h.root_address = 0xe000_0000)),
        ("root_entry", Refusal::RootEntry, with(|h| h.root_entry = 4)),
        ("root_stack", Refusal::RootEntry, with(|h| h.root_stack = 4)),
        ("system_offset", Refusal::SystemPlacement, with(|h| h.system_offset = h.total)),
        ("system_bytes", Refusal::SystemPlacement, with(|h| h.system_bytes = u32::MAX)),
    ]
}
