// SPDX-License-Identifier: MIT OR Apache-2.0
//! The benchmark book: runs what the requested sections need, has the crate `book` put it together,
//! and writes it. docs/bench.md says how to read it.
//!
//! It owns `bench/report` and the tables of docs/figures.md. It does not know what a figure means
//! or what its goal is: `bench/sections` does.

pub mod alpha;
mod files;
mod frames;
mod hash;
mod kept;
mod often;
pub mod ping;
mod program;
pub mod run;
mod wall;

use crate::linux::order::{self, LAYOUTS};
use crate::machine::board;
use crate::process::show;
use crate::{build, calibration, quotes};
use anyhow::{Context, Result, ensure};
use book::{Book, Counted, Cpus, Papers, Plan, Provenance, Results};
pub use kept::Kept;
pub use program::inserts;
use run::Native;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Where plan and papers are.
pub const FOLDER: &str = "bench";
/// Where the book goes.
const REPORT: &str = "bench/report";
/// Measures, and prints or writes.
type Measure = fn() -> Result<()>;

/// What has no figures of the book: wall-clock time, and the order of Linux's functions.
const OTHERS: [(&str, Measure); 5] = [
    ("hash", hash::run),
    ("wall", wall::run),
    ("wall-net", wall::streams),
    ("wall-echo", || wall::echoes(&Plan::read(Path::new(FOLDER))?)),
    ("order", || often::list(&Plan::read(Path::new(FOLDER))?)),
];
/// Measures the sections that `filter` asks for and shows their figures; writes the whole book if
/// it asks for everything. `json` is a file for the figures as one object, or `-`; with `table` the
/// repository's copy of these tables is made again, and what documents quote of it. `layouts` is of
/// how many layouts of Linux's code cycles are: all if nothing is said and everything is measured,
/// else the first.
pub fn run(filter: &str, json: Option<&Path>, table: bool, layouts: Option<u8>) -> Result<()> {
    if let Some((name, measure)) = OTHERS.iter().find(|(name, _)| *name == filter) {
        ensure!(
            json.is_none() && layouts.is_none(),
            "`bench {name}` has no figures of the book: leave out --json and --layouts"
        );
        return measure();
    }
    let whole = filter.is_empty();
    let all = Plan::read(Path::new(FOLDER))?;
    let plan = all.clone();
    let named = plan.sections().any(|section| section.name == filter);
    let group = !named && plan.sections().any(|section| section.is_of_group(filter));
    let plan = plan.only(|section| match (named, group) {
        (true, _) => section.name == filter,
        (_, true) => section.is_of_group(filter),
        _ => section.is_asked_for(filter),
    });
    ensure!(!plan.chapters.is_empty(), "no section's and no figure's name contains `{filter}`");
    let layouts = layouts.unwrap_or(if whole { LAYOUTS } else { 1 });
    let kept = if whole { Kept::of_commit()? } else { Kept::nothing() };
    let book = measure(&plan, Ranges::OfVariants, Alone::Measured, layouts, &kept)?;
    let folder =
        if whole { Path::new(REPORT).to_path_buf() } else { Path::new(REPORT).join(filter) };
    write(&book, &folder)?;
    if table {
        let then = std::fs::read_to_string(quotes::TABLES)
            .with_context(|| format!("cannot read {}", quotes::TABLES))?;
        std::fs::write(quotes::TABLES, book::renewed(&all, &then, &book))
            .with_context(|| format!("cannot write {}", quotes::TABLES))?;
        quotes::renew()?;
    }
    match json {
        Some(path) if path == Path::new("-") => show(&book::object(&book)?)?,
        Some(path) => std::fs::write(path, book::object(&book)?)
            .with_context(|| format!("cannot write {}", path.display()))?,
        None if whole => show(&format!("{}\n", book::goals(&book)))?,
        None => show(&format!("{}\n", book::summary(&book)))?,
    }
    eprintln!("written: {}", folder.join("index.html").display());
    let unexplained = book.unexplained();
    ensure!(
        unexplained.is_empty(),
        "worse than the paper or a goal without saying why (`why` in bench/sections): {}",
        unexplained.join(", ")
    );
    Ok(())
}

/// How far a ratio of cycles goes over what sources allow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ranges {
    /// Only by the costs of events, which needs no further run.
    OfCosts,
    /// By variants of the CPU models, too: each is another run.
    OfVariants,
}

/// Whether programs for Linux run on Linux alone, too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alone {
    /// They do.
    Measured,
    /// They do not: no figure of the plan needs it.
    LeftOut,
}

/// Runs everything that the plan needs, and what depends on where Linux's code lies with so many
/// layouts, and makes the book of it. What is kept is not run again.
pub fn measure(
    plan: &Plan,
    ranges: Ranges,
    alone: Alone,
    layouts: u8,
    kept: &Kept,
) -> Result<Book> {
    let papers = Papers::read(&Path::new(FOLDER).join("papers"))?;
    let mut needed = plan.needed();
    let cpus = needed
        .iter()
        .map(|(_, cpu)| Ok((cpu.clone(), calibration::read(cpu)?)))
        .collect::<Result<Cpus>>()?;
    if ranges == Ranges::OfVariants {
        let variants = |(run, cpu): (String, String)| {
            let of = cpus[&cpu]
                .variants
                .iter()
                .map(|variant| (run.clone(), book::of_variant(&cpu, variant)));
            of.collect::<Vec<_>>()
        };
        needed.extend(plan.ranged().into_iter().flat_map(variants));
    }
    let provenance = provenance(&cpus)?;
    let start = Instant::now();
    let results = carry_out(plan, &needed, alone, kept)?;
    let others = (1..layouts).map(|layout| {
        eprintln!("layout {layout} of Linux's code, after layout 0; the last is {}", layouts - 1);
        order::with(layout, || carry_out(plan, &plan.laid_out(), alone, kept))
    });
    let others = others.collect::<Result<Vec<_>>>()?;
    eprintln!("everything measured in {} s", start.elapsed().as_secs());
    book::evaluate(plan, &papers, &cpus, &results, &others, provenance)
}

/// Carries out runs, each with a CPU model, with a line for each.
fn carry_out(
    plan: &Plan,
    needed: &BTreeSet<(String, String)>,
    alone: Alone,
    kept: &Kept,
) -> Result<Results> {
    let (mut results, model) = (Results::new(), build::model()?);
    for (i, (name, cpu)) in needed.iter().enumerate() {
        let run = plan.runs.get(name).with_context(|| format!("there is no run `{name}`"))?;
        if let Some(counted) = kept.of(name, cpu, order::chosen())? {
            eprintln!(
                "[{}/{}] {name}, model {cpu}: counted before at this commit",
                i + 1,
                needed.len()
            );
            results.insert((name.clone(), cpu.clone()), counted);
            continue;
        }
        eprintln!("[{}/{}] {name}, model {cpu}", i + 1, needed.len());
        let begun = Instant::now();
        let model = build::Model { cpu: Some(cpu.clone()), ..model.clone() };
        // Linux alone has no small spaces: what it takes for a program is the same.
        let same = |(other, of): &&(String, String)| {
            of == cpu && plan.runs.get(other).is_some_and(|other| run.is_same_alone(other))
        };
        let native = results
            .iter()
            .find(|(key, _)| same(key))
            .and_then(|(_, counted): (_, &Counted)| counted.native.clone());
        let native = match native {
            _ if alone == Alone::LeftOut || run.one_layout => Native::Unasked,
            None => Native::Unknown,
            Some(report) => Native::Known(report),
        };
        let counted =
            run::carry_out(run, &model, native).with_context(|| format!("run `{name}`"))?;
        let used = book::instructions(&counted) / 1e9;
        let over = if used > run.budget { ", over its budget" } else { "" };
        let seconds = begun.elapsed().as_secs();
        eprintln!(
            "[{}/{}] {name}: {used:.3} of {} G instructions modelled{over}, {seconds} s",
            i + 1,
            needed.len(),
            run.budget
        );
        kept.keep(name, cpu, order::chosen(), &counted)?;
        results.insert((name.clone(), cpu.clone()), counted);
    }
    Ok(results)
}

fn provenance(cpus: &Cpus) -> Result<Provenance> {
    // The source may have come without its history.
    let commit = first_line("git", &["describe", "--always", "--dirty", "--exclude=*"])
        .unwrap_or_else(|_| "unknown".into());
    Ok(Provenance {
        commit,
        emulator: format!(
            "{}, with -icount shift=0",
            first_line(&board::chosen().qemu.program, &["--version"])?
        ),
        models: cpus.values().map(Into::into).collect(),
    })
}

fn first_line(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_string())
}

fn write(book: &Book, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in [
        ("index.html", book::page(book)?),
        ("summary.md", book::summary(book)),
        ("figures.json", book::object(book)?),
    ] {
        std::fs::write(folder.join(name), text)
            .with_context(|| format!("cannot write {name} in {}", folder.display()))?;
    }
    Ok(())
}
