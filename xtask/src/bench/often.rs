// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the list of functions of Linux that often run, here and on Linux alone, from samples:
//! `linux/order/functions`, by which both are laid out.

use super::program::{Program, timeout};
use crate::build::{self, Model};
use crate::guest::Alone;
use crate::linux::{order, server};
use crate::profile::{EVERY, Request, read, sum, take};
use anyhow::{Context, Result, ensure};
use book::Plan;
use book::plan::Run;
use model_profile::{Part, Profile, Programs, Samples};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The runs of the book whose functions are listed, in this order: operations of the kernel,
/// processes that talk, files, and frames.
const RUNS: [&str; 5] = ["figures", "pingpong", "lmset", "cat-wc", "stream"];
/// A function is listed if it has this share of what Linux executes in a run, here or alone.
const SHARE: f64 = 1e-4;
/// What Linux alone does to run any command: it boots.
const NOTHING: &str = "true";

/// The system whose Linux runs them, and what it is called there.
const SYSTEM: &str = "linux";

/// Samples of each function.
type Functions = BTreeMap<String, u64>;

/// Samples the runs here and on Linux alone, and writes the list.
pub fn list(plan: &Plan) -> Result<()> {
    eprintln!("what Linux alone does to run any command");
    let boot = alone(&Alone::default(), NOTHING)?;
    let (mut names, mut known) = (String::new(), BTreeSet::new());
    for (i, name) in RUNS.iter().enumerate() {
        let run = plan.runs.get(*name).with_context(|| format!("there is no run `{name}`"))?;
        let program = Program::of(
            run,
            Path::new(run.program.as_deref().context("it is no program for Linux")?),
        )?;
        eprintln!("[{}/{}] {name}, here", i + 1, RUNS.len());
        let ours = here(run, &program)?;
        eprintln!("[{}/{}] {name}, on Linux alone", i + 1, RUNS.len());
        let machine = Alone {
            wire: program.wire(run, None),
            inserts: program.inserts.clone(),
            timeout: timeout(run),
            ..Alone::default()
        };
        let mut native = alone(&machine, &program.command)?;
        for (function, times) in &boot {
            native.entry(function.clone()).and_modify(|all| *all = all.saturating_sub(*times));
        }
        ensure!(
            !ours.is_empty() && !native.is_empty(),
            "`{name}` has no samples of Linux, here or alone"
        );
        let listed: Vec<String> =
            often(&[ours, native]).into_iter().filter(|name| known.insert(name.clone())).collect();
        eprintln!("[{}/{}] {name}: {} functions more", i + 1, RUNS.len(), listed.len());
        names.extend(listed.iter().flat_map(|name| [name, "\n"]));
    }
    std::fs::write(order::LIST, names).with_context(|| format!("cannot write {}", order::LIST))?;
    eprintln!("written: {}, {} functions", order::LIST, known.len());
    Ok(())
}

/// Samples of a run's functions in the Linux server.
fn here(run: &Run, program: &Program) -> Result<Functions> {
    let request = Request {
        system: run.linux.as_deref().unwrap_or(SYSTEM),
        command: Some(program.command.clone()),
        files: &program.inserts,
        interval: None,
        every: EVERY,
        timeout: Some(timeout(run)),
        wire: program.wire(run, None),
    };
    let mut out = Vec::new();
    let outcome = take(&request, &mut out)?;
    ensure!(outcome.status == 0, "status {}: {}", outcome.status, String::from_utf8_lossy(&out));
    Ok(functions(&outcome.profile, SYSTEM))
}

/// Samples of all functions of Linux alone, from power-on to the command's end.
fn alone(machine: &Alone<'_>, command: &str) -> Result<Functions> {
    let model = Model { sampling: Some(format!("sample={EVERY:x}")), ..build::model()? };
    let measured = Alone { model: Some(&model), inserts: machine.inserts.clone(), ..*machine }
        .run(command)?
        .measured;
    let text =
        std::fs::read_to_string(&measured).context("the plugin left no samples of Linux alone")?;
    let symbols = server::native()?.symbols;
    let contents =
        std::fs::read(&symbols).with_context(|| format!("cannot read {}", symbols.display()))?;
    let mut programs = Programs::default();
    programs.add(Part::Kernel, read("linux", &contents)?);
    Ok(functions(&sum(&mut programs, &Samples::from_json(&text)?), "kernel"))
}

/// How many samples each function of an owner has, by its name in the source: what the compiler
/// adds begins with a dot.
fn functions(profile: &Profile, owner: &str) -> Functions {
    let mut functions = Functions::new();
    for (path, times) in profile.paths() {
        let Some(function) = path.last().filter(|function| function.owner == owner) else {
            continue;
        };
        let name = function.name.split('.').next().unwrap_or_default();
        if is_name(name) {
            *functions.entry(name.into()).or_default() += times;
        }
    }
    functions
}

/// Whether it is a function of C, and no label of assembly, no code without a symbol.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The functions that have their share of what one of several Linuxes executes, the most frequent
/// first.
fn often(linuxes: &[Functions]) -> Vec<String> {
    let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
    for functions in linuxes {
        let all = functions.values().sum::<u64>().max(1) as f64;
        for (name, times) in functions {
            let share = shares.entry(name).or_default();
            *share = share.max(*times as f64 / all);
        }
    }
    let mut names: Vec<(&str, f64)> =
        shares.into_iter().filter(|(_, share)| *share >= SHARE).collect();
    names.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    names.into_iter().map(|(name, _)| name.into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model_profile::Frame;

    #[test]
    fn what_is_often_run_somewhere_is_listed_once() {
        let functions = |of: &[(&str, u64)]| {
            of.iter().map(|(name, times)| ((*name).to_string(), *times)).collect::<Functions>()
        };
        let ours = functions(&[("read", 600), ("never", 0), ("l4_run", 400)]);
        let native = functions(&[("read", 10), ("entry", 19_989), ("once", 1)]);
        assert_eq!(often(&[ours, native]), ["entry", "read", "l4_run"]);
        assert!(often(&[Functions::new()]).is_empty());
    }

    #[test]
    fn what_the_compiler_made_of_a_function_is_that_function() {
        let mut profile = Profile::default();
        let frame = |owner: &str, name: &str| Frame { owner: owner.into(), name: name.into() };
        for (owner, name) in [
            ("linux", "f.isra.0"),
            ("linux", "f"),
            ("linux", "[unknown]"),
            ("kernel", "g"),
            ("linux", "f.cold"),
        ] {
            profile.add(vec![frame("linux", "linux"), frame(owner, name)], 2);
        }
        assert_eq!(functions(&profile, "linux"), Functions::from([("f".into(), 6)]));
    }
}
