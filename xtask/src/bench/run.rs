// SPDX-License-Identifier: MIT OR Apache-2.0
//! One program of the book: runs it on Macadamia, and on Linux alone if it is a program for Linux.

use super::ping::Peer;
use super::program::{Program, Ran, peer, timeout};
use super::{alpha, frames, hash};
use crate::build::{self, Model, Options, Seed, Wire};
use crate::emulator::{Machine, batch};
use crate::machine::board;
use crate::machine::spaces::{self, Spaces};
use crate::machine::words;
use anyhow::{Context, Result, anyhow, bail, ensure};
use book::plan::Run;
use book::{Counted, Parts};
use clap::ValueEnum;
use model_core::Report;
use std::path::Path;
use std::time::Duration;

/// What is known of Linux alone before a run.
pub enum Native {
    /// Nothing: it is measured, too.
    Unknown,
    /// What it takes.
    Known(Report),
    /// That nobody asks.
    Unasked,
}

/// Runs it.
pub fn carry_out(run: &Run, model: &Model, native: Native) -> Result<Counted> {
    let board = board::get(run.board.as_deref().unwrap_or(board::DEFAULT))?;
    if run.hash {
        return Ok(Counted { ours: Report::default(), native: None, parts: hash::parts() });
    }
    if run.alpha {
        let cpu = model.cpu.as_deref().context("it is counted by a CPU model")?;
        return Ok(Counted { ours: alpha::count(cpu)?, native: None, parts: Parts::new() });
    }
    let measured = || in_its_spaces(run, || measure(run, model, native));
    board::with(board, || match &run.words {
        Some(say) => words::with(say, measured),
        None => measured(),
    })
}

/// Runs it only on Macadamia, by the clock: how long all questions of who is behind the card took.
pub fn by_the_clock(run: &Run, program: &Program) -> Result<Duration> {
    in_its_spaces(run, || here(run, Some(program), None))?.took.context("nobody is behind the card")
}

fn in_its_spaces<T>(run: &Run, what: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(spaces) = &run.spaces else { return what() };
    let spaces = Spaces::from_str(spaces, false).map_err(|error| anyhow!("`spaces`: {error}"))?;
    spaces::with(spaces, what)
}

fn measure(run: &Run, model: &Model, native: Native) -> Result<Counted> {
    let program =
        run.program.as_deref().map(|path| Program::of(run, Path::new(path))).transpose()?;
    let counted = match &program {
        Some(program) if run.frames => frames::carry_out(run, program, model)?,
        program => counted(run, program.as_ref(), model, native)?,
    };
    for report in std::iter::once(&counted.ours).chain(&counted.native) {
        ensure!(report.errors.is_empty(), "misplaced markers: {}", report.errors.join("; "));
    }
    Ok(counted)
}

fn counted(run: &Run, program: Option<&Program>, model: &Model, native: Native) -> Result<Counted> {
    let Ran { report, parts, .. } = here(run, program, Some(model))?;
    let ours = report.context("no report")?;
    let native = match (native, program) {
        (Native::Unknown, Some(program)) => program.alone(run, Some(model))?.report,
        (Native::Known(report), _) => Some(report),
        (Native::Unknown | Native::Unasked, _) => None,
    };
    Ok(Counted { ours, native, parts })
}

fn here(run: &Run, program: Option<&Program>, model: Option<&Model>) -> Result<Ran> {
    match (&run.system, program) {
        (Some(system), _) => system_run(run, Path::new(system), model),
        (None, Some(program)) => program.here(run, model),
        (None, None) => bail!("a run is of a system or of a program for Linux"),
    }
}

fn system_run(run: &Run, path: &Path, model: Option<&Model>) -> Result<Ran> {
    let peer = peer(run)?;
    let wire = peer.as_ref().map_or(Wire::USER, Peer::wire);
    let built = build::plan(path, Options { seed: Seed::Fixed, wire, ..Options::default() })?
        .carry_out()?;
    // A peer has the host's time: in the machine's own, alarms would come at once while it thinks.
    let machine = Machine::Qemu {
        cpu: run.emulated.as_ref().unwrap_or(&built.cpu),
        icount: peer.is_none(),
        model,
    };
    let transcript = batch(&built, machine, timeout(run))?;
    let answered = peer.map(Peer::end).transpose();
    ensure!(transcript.is_done(), "{} failed:\n{}", built.name, transcript.console);
    ensure!(transcript.ended, "{} did not end in {} s", built.name, run.timeout);
    let parts = if run.evicts { evicts(&transcript.results)? } else { Parts::new() };
    Ok(Ran { report: transcript.model, took: answered?, parts })
}

/// Of a hundred reloads of the hashed table so many evict, and so many entries are in use at the
/// end, by what tests/zombies reports.
fn evicts(results: &str) -> Result<Parts> {
    let line = results.lines().find_map(|line| line.strip_prefix("counts "));
    let numbers: Vec<f64> =
        line.context("no counts")?.split(' ').map(str::parse).collect::<Result<_, _>>()?;
    let [reloads, evicts, _, live, ..] = numbers[..] else { bail!("there are not four counts") };
    ensure!(reloads > 0.0, "nothing was put into the hashed table");
    Ok(Parts::from([
        ((0, "evicts".into()), (evicts * 100.0 / reloads, None)),
        ((0, "live".into()), (live, None)),
    ]))
}
