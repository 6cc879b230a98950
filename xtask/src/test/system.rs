// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that a description declares: each system runs on the machines that it asks for, and its
//! result lines are evaluated.

use super::latency;
use super::tally::{ONE_MORE_COMPILER, Tally};
use crate::build::{self, Built};
use crate::description::Limit;
use crate::emulator::{Machine, Transcript, batch};
use crate::machine::{board, spaces};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tests of systems that run only when they are named, or everything is asked for, and why.
const SLOW: &[(&str, &str)] = &[
    (
        "system.hostile-bochs",
        "a minute; `system.hostile` makes such calls in QEMU, and `linux.attack.server` runs there",
    ),
    ("system.chaos-screen", "minutes; `system.chaos` has network and disk"),
    ("amigaone.system.chaos", "a minute; `amigaone.chaos.long` has its faults and more"),
    (
        "pc64.system.chaos",
        "a minute; `pc64.net.chaos.e1000` and `pc64.disk.errors` have most of its faults",
    ),
    (
        "pc64.system.hostile-bochs",
        "a minute; `pc64.system.hostile` makes such calls in QEMU, and `pc64.system.aliens` runs there",
    ),
    (
        "pc64.system.sockets",
        "a minute; `system.sockets` is the PC's, and `pc64.net.echo` has sockets",
    ),
    ("versatilepb.system.chaos", "minutes; `versatilepb.model.devices` has some of its faults"),
];

/// Faults of the tests `chaos.long` of all boards: four times those of `system.chaos`.
pub const MANY_FAULTS: u32 = 1000;

/// How names of tests begin that are all slow, and why.
const SLOW_BOARD: (&str, &str) = ("clipper.", ONE_MORE_COMPILER);

/// Why the test of this name is slow, if it is.
pub fn slow(name: &str) -> Option<&'static str> {
    let (board, why) = SLOW_BOARD;
    let named = SLOW.iter().find(|(slow, _)| *slow == name).map(|(_, why)| *why);
    named.or(name.starts_with(board).then_some(why))
}

/// A description of a system with `tests/chaos`, with another number of faults: in the test's
/// folder.
///
/// # Errors
/// If it says no number, or cannot be read or written.
pub fn with_faults(path: &str, faults: u32) -> Result<PathBuf> {
    const ARGUMENT: &str = "\"faults=";
    let text = std::fs::read_to_string(path)?;
    let parts = text
        .split_once(ARGUMENT)
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    let (before, after) = parts.with_context(|| format!("{path} has no `faults`"))?;
    let folder = board::chosen().out();
    std::fs::create_dir_all(&folder)?;
    let made = folder.join(Path::new(path).file_name().context("a description has a name")?);
    std::fs::write(&made, format!("{before}{ARGUMENT}{faults}\"{after}"))?;
    Ok(made)
}

/// The system of `system.chaos` with another number of faults.
///
/// # Errors
/// If it cannot be built.
pub fn chaos(faults: u32) -> Result<Built> {
    build::system(&with_faults("tests/systems/chaos.toml", faults)?)
}

/// Runs the system of this description.
pub fn run(path: &Path, name: &str, tally: &mut Tally) {
    let built = match build::system(path) {
        Ok(built) => built,
        Err(error) => return tally.note(name, Err(error)),
    };
    let Some(test) = built.test.clone().map(|test| test.on(built.board)) else {
        return tally.note(name, Err(anyhow::anyhow!("it does not say how it is tested")));
    };
    let timeout = Duration::from_secs(test.timeout);
    let model = match (test.latency || !test.limit.is_empty()).then(build::model).transpose() {
        Ok(model) => model,
        Err(error) => return tally.note(name, Err(error)),
    };
    for cpu in test.cpus.as_ref().unwrap_or(&vec![built.cpu.clone()]) {
        let machine =
            Machine::Qemu { cpu, icount: test.icount || test.latency, model: model.as_ref() };
        let run = || batch(&built, machine, timeout);
        let transcript = test.spaces.map_or_else(run, |spaces| spaces::with(spaces, run));
        if let Some(report) = transcript
            .as_ref()
            .ok()
            .and_then(|transcript| transcript.model.as_ref())
            .filter(|_| test.latency)
        {
            tally.note(&format!("{name}.{cpu}: latency"), latency::check(&built.name, report));
        }
        judge(&format!("{name}.{cpu}"), transcript, &test.limit, tally);
    }
    if test.bochs {
        let run = || batch(&built, Machine::Bochs { cpu: None, window: None }, timeout);
        // On the PC there are servers anyway.
        let spaces = test.spaces.filter(|_| test.only);
        let transcript = spaces.map_or_else(run, |spaces| spaces::with(spaces, run));
        judge(&format!("{name}.bochs"), transcript, &[], tally);
    }
    for cpu in &test.bochs_cpus {
        judge(
            &format!("{name}.bochs-{cpu}"),
            batch(&built, Machine::Bochs { cpu: Some(cpu), window: None }, timeout),
            &[],
            tally,
        );
    }
}

/// Reads result lines: `ok NAME`, `not ok NAME: why`, `# text`, `ticks INTERVAL COUNT TICK`, and
/// `done` at the end.
fn judge(run: &str, transcript: Result<Transcript>, limits: &[Limit], tally: &mut Tally) {
    let transcript = match transcript {
        Ok(transcript) => transcript,
        Err(error) => return tally.note(run, Err(error)),
    };
    for line in transcript.results.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("ok ") {
            tally.note(&format!("{run}: {name}"), Ok(()));
        } else if let Some(name) = line.strip_prefix("not ok ") {
            tally.note(&format!("{run}: {name}"), Err(anyhow::anyhow!("reported by the system")));
        } else if line.starts_with('#') {
            println!("{line}");
        } else if let (Some(ticks), Some(model)) = (line.strip_prefix("ticks "), &transcript.model)
        {
            tally.note(
                &format!("{run}: the model agrees with the time-stamp counter"),
                agreement(model, ticks),
            );
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
    let result = if transcript.is_done() && orderly && transcript.ended {
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

/// `ticks` is an interval's number, how many instructions the program itself counted in it, and how
/// many are a tick of its counter.
fn agreement(model: &model_core::Report, ticks: &str) -> Result<()> {
    let numbers: Option<Vec<u64>> = ticks.split(' ').map(|word| word.parse().ok()).collect();
    let Some(&[interval, ticks, tick]) = numbers.as_deref() else {
        bail!("`{ticks}` is not an interval and two counts")
    };
    let Some(report) =
        model.intervals.get(&(interval as u16)).filter(|report| report.repetitions == 1)
    else {
        bail!("interval {interval} was not counted just once");
    };
    // The counter saw those that filled a TLB, too.
    let reloads: u64 =
        report.events.parts().into_iter().map(|part| part.reload_instructions.max).sum();
    let counted = report.kernel_instructions.max + report.user_instructions.max + reloads;
    println!("# interval {interval}: {counted} instructions by the model, {ticks} by the counter");
    // What lies between two ticks is not seen.
    let unseen = tick - 1;
    if (ticks + unseen)
        .checked_sub(counted)
        .is_none_or(|beside| beside > BESIDE_MARKERS + 2 * unseen)
    {
        bail!("the model counted {counted} instructions, the time-stamp counter {ticks}");
    }
    Ok(())
}

fn within(model: &model_core::Report, limit: &Limit) -> Result<()> {
    let Some(interval) = model.intervals.get(&limit.interval) else {
        bail!("interval {} was not counted", limit.interval)
    };
    let Some(visit) = interval.visits.get(limit.visit) else {
        bail!(
            "interval {} has {} visits to the kernel, not one numbered {}",
            limit.interval,
            interval.visits.len(),
            limit.visit
        );
    };
    let lines = visit.kernel_code_lines_32 + visit.kernel_data_lines_32;
    let found = format!(
        "{} kernel instructions (at most {}), {} + {} lines of code and data (at most {}), {} writes of the tables' base (exactly {})",
        visit.kernel_instructions,
        limit.instructions,
        visit.kernel_code_lines_32,
        visit.kernel_data_lines_32,
        limit.lines,
        visit.cr3_writes,
        limit.cr3_writes
    );
    println!("# {}: {found}", limit.name);
    if let Some(wanted) = limit.flushes {
        let kernel = interval.medians().kernel;
        let flushes = kernel.flushes();
        ensure!(flushes == wanted, "{flushes} flushes of TLBs or caches, not {wanted}");
    }
    if visit.kernel_instructions > limit.instructions
        || lines > limit.lines
        || visit.cr3_writes != limit.cr3_writes
    {
        bail!("{found}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::check::files::{files, read};
    use std::path::Path;

    #[test]
    fn a_system_that_does_not_say_how_it_is_tested_is_named_by_a_test() {
        let sources = files(Path::new("src/test"), &|_| true).expect("sources");
        let tests: String = sources.iter().map(|path| read(path).expect("text")).collect();
        for folder in ["systems", "tests/systems"] {
            for path in catalogue::descriptions(&format!("../{folder}")).expect("descriptions") {
                let says = read(&path).expect("a description");
                let name = catalogue::name(&path);
                let names = [format!("{folder}/{name}.toml"), format!("\"{name}\"")];
                assert!(
                    says.contains("\n[test]\n") || names.iter().any(|name| tests.contains(name)),
                    "no test runs {}",
                    path.display()
                );
            }
        }
    }
}
