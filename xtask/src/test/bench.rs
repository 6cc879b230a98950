// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the benchmark book: its goals, and the checker under all of its programs.

use super::model::clean;
use super::tally::{Test, slow, test};
use crate::bench::run::Native;
use crate::linux::order::LAYOUTS;
use crate::machine::board;
use crate::{bench, build};
use anyhow::{Context, Result, ensure};
use book::Plan;
use book::plan::{Goals, Run};
use std::collections::BTreeSet;
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[
    test("bench.goals", || goals(Goals::Counts, false)),
    slow(
        "bench.goals.cycles",
        "five layouts of Linux, and it builds Linux for the machine itself",
        || goals(Goals::Cycles, false),
    ),
    slow("bench.goals.elsewhere", "it builds Linux for the board itself", || {
        goals(Goals::All, true)
    }),
    slow("bench.checker", "every program of the book under the checker", checked),
];

/// The goals of this kind that are reached stay reached: those for which Linux alone of another
/// board has to be built, or the others.
fn goals(kind: Goals, elsewhere: bool) -> Result<()> {
    let plan = Plan::read(Path::new(bench::FOLDER))?;
    let is_elsewhere = |run: &Run| run.board.is_some() && run.program.is_some();
    let runs: BTreeSet<String> = plan
        .runs
        .iter()
        .filter(|(_, run)| is_elsewhere(run) == elsewhere)
        .map(|(name, _)| name.clone())
        .collect();
    // Those on cycles hold on the median of layouts.
    let (layouts, kept) = if kind == Goals::Counts {
        (1, bench::Kept::nothing())
    } else {
        (LAYOUTS, bench::Kept::of_commit()?)
    };
    let plan = plan.only(|section| runs.contains(&section.run)).held(kind);
    let alone = if plan.needs_alone() { bench::Alone::Measured } else { bench::Alone::LeftOut };
    let book = bench::measure(&plan, bench::Ranges::OfCosts, alone, layouts, &kept)?;
    let mut missed = Vec::new();
    for figure in book.figures() {
        let Some(goal) = figure.goal.filter(|goal| goal.held) else { continue };
        let (side, limit) = (goal.side(), goal.limit);
        println!("# {}: {} {} ({side} {limit})", figure.name, figure.value, figure.unit);
        if figure.reached() != Some(true) {
            missed.push(figure.name.as_str());
        }
    }
    for path in book
        .chapters
        .iter()
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|section| &section.paths)
    {
        let (listed, measured) = (path.sum(), path.measured);
        ensure!(
            path.adds_up(),
            "{}: bench/sections lists {listed} instructions, {measured} were measured",
            path.title
        );
    }
    ensure!(missed.is_empty(), "goals that were reached are not: {}", missed.join(", "));
    Ok(())
}

/// Whether the checker knows Linux alone on the board of a run: of PowerPC it knows this project's
/// kernel only.
fn checks_alone(run: &Run) -> Result<bool> {
    let board = board::get(run.board.as_deref().unwrap_or(board::DEFAULT))?;
    Ok(board.processor.checks_alone)
}

/// Every program of the book uses only what is not stale, on Macadamia and on Linux alone.
fn checked() -> Result<()> {
    let model = build::Model { check: true, ..build::model()? };
    // What is sampled for its frames is checked as another run of the same program. The plugin sees
    // neither what is calculated nor Alpha.
    let is_seen = |run: &Run| !run.frames && !run.hash && !run.alpha;
    for (name, run) in
        Plan::read(Path::new(bench::FOLDER))?.runs.into_iter().filter(|(_, run)| is_seen(run))
    {
        let native = if checks_alone(&run)? { Native::Unknown } else { Native::Unasked };
        let counted =
            bench::run::carry_out(&run, &model, native).with_context(|| format!("run `{name}`"))?;
        for (system, report) in
            [("Macadamia", Some(&counted.ours)), ("Linux alone", counted.native.as_ref())]
        {
            let Some(report) = report else { continue };
            println!("# {name} on {system}");
            clean(report).with_context(|| format!("run `{name}` on {system}"))?;
        }
    }
    Ok(())
}
