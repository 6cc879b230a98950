// SPDX-License-Identifier: MIT OR Apache-2.0
//! One program of the book: on Macadamia, and on Linux alone if it is for Linux.

use super::files;
use super::ping::Peer;
use crate::build::{self, Model, Options, Seed, Wire};
use crate::guest::{self, Clock, Guest};
use crate::machine::emulator::{Machine, batch};
use crate::machine::spaces::{self, Spaces};
use anyhow::{Context, Result, anyhow, bail, ensure};
use book::Counted;
use book::plan::Run;
use clap::ValueEnum;
use model_core::Report;
use std::path::Path;
use std::time::Duration;

/// Who is reached in the emulated network: a port that sends for ever, and one that takes everything (bench/linux/stream.c). They are
/// programs of the emulator's, and no server has to run.
const PEERS: [&str; 2] = ["guestfwd=tcp:10.0.2.100:5001-cmd:cat /dev/zero", "guestfwd=tcp:10.0.2.100:5002-cmd:dd of=/dev/null"];

/// Runs it. What Linux alone takes is not measured again if that is known.
pub fn carry_out(run: &Run, model: &Model, native: Option<Report>) -> Result<Counted> {
    let Some(spaces) = &run.spaces else { return measure(run, model, native) };
    let spaces = Spaces::from_str(spaces, false).map_err(|error| anyhow!("`spaces`: {error}"))?;
    spaces::with(spaces, || measure(run, model, native))
}

fn measure(run: &Run, model: &Model, native: Option<Report>) -> Result<Counted> {
    let timeout = Duration::from_secs(run.timeout);
    let counted = match (&run.system, &run.program) {
        (Some(system), None) => Counted { ours: system_run(Path::new(system), model, (timeout, run.pings))?, native: None },
        (None, Some(program)) => linux_run(run, Path::new(program), model, (timeout, native))?,
        _ => bail!("a run is of a system or of a program for Linux"),
    };
    for report in std::iter::once(&counted.ours).chain(&counted.native) {
        ensure!(report.errors.is_empty(), "misplaced markers: {}", report.errors.join("; "));
    }
    Ok(counted)
}

fn system_run(path: &Path, model: &Model, (timeout, pings): (Duration, Option<u32>)) -> Result<Report> {
    let peer = pings.map(Peer::start).transpose()?;
    let wire = peer.as_ref().map_or(Wire::USER, Peer::wire);
    let built = build::plan(path, Options { seed: Seed::Fixed, wire, ..Options::default() })?.carry_out()?;
    // A peer has the host's time: in the machine's own, alarms would come at once while it thinks.
    let machine = Machine::Qemu { cpu: &built.cpu, icount: peer.is_none(), model: Some(model) };
    let transcript = batch(&built, machine, timeout)?;
    let answered = peer.map(Peer::end).transpose();
    ensure!(transcript.is_done(), "{} failed:\n{}", built.name, transcript.console);
    answered?;
    transcript.model.with_context(|| format!("{} did not end in {} s", built.name, timeout.as_secs()))
}

fn linux_run(run: &Run, program: &Path, model: &Model, (timeout, native): (Duration, Option<Report>)) -> Result<Counted> {
    let name = program.file_stem().context("a program without a name")?.to_string_lossy().into_owned();
    let compiled = if run.small { guest::compile_small(program) } else { guest::compile(program) }?;
    let mut inserts = vec![guest::insert(&format!("/bin/{name}"), compiled)];
    if run.small {
        inserts.push(guest::small_busybox()?);
    }
    inserts.extend(files::debian(&run.debian, &run.packages)?);
    inserts.extend(files::sources(&run.sources)?);
    let command = run.command.as_ref().unwrap_or(&name);
    let peers = PEERS.map(String::from);
    let wire = if run.network { Wire::Card { forwards: &[], options: &peers } } else { Wire::Out };
    let native = match native {
        Some(known) => Some(known),
        None => guest::native_on(wire, Clock::Machine, command, inserts.clone(), Some(model), timeout)?.report,
    };
    let usual = Guest::default();
    let system = run.linux.as_deref().unwrap_or(usual.system);
    let outcome = Guest { system, inserts, model: Some(model), timeout, wire, ..usual }.run(command)?;
    ensure!(outcome.status == 0, "{}", outcome.said());
    Ok(Counted { ours: outcome.report.context("no report")?, native })
}
