// SPDX-License-Identifier: MIT OR Apache-2.0
//! One program of the book: on Macadamia, and on Linux alone if it is for Linux.

use super::files;
use super::ping::{Peer, Questions};
use crate::build::{self, Model, Options, Seed, Wire};
use crate::guest::{self, Clock, Guest};
use crate::linux::root::Insert;
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
pub const PEERS: [&str; 2] = ["guestfwd=tcp:10.0.2.100:5001-cmd:cat /dev/zero", "guestfwd=tcp:10.0.2.100:5002-cmd:dd of=/dev/null"];

/// Runs it. What Linux alone takes is not measured again if that is known.
pub fn carry_out(run: &Run, model: &Model, native: Option<Report>) -> Result<Counted> {
    let Some(spaces) = &run.spaces else { return measure(run, model, native) };
    let spaces = Spaces::from_str(spaces, false).map_err(|error| anyhow!("`spaces`: {error}"))?;
    spaces::with(spaces, || measure(run, model, native))
}

fn measure(run: &Run, model: &Model, native: Option<Report>) -> Result<Counted> {
    let program = run.program.as_deref().map(|path| Program::of(run, Path::new(path))).transpose()?;
    let ours = match (&run.system, &program) {
        (Some(system), _) => system_run(run, Path::new(system), model)?,
        (None, Some(program)) => program.here(run, model)?,
        (None, None) => bail!("a run is of a system or of a program for Linux"),
    };
    let native = match (native, program) {
        (None, Some(program)) => program.alone(run, model)?,
        (known, _) => known,
    };
    let counted = Counted { ours, native };
    for report in std::iter::once(&counted.ours).chain(&counted.native) {
        ensure!(report.errors.is_empty(), "misplaced markers: {}", report.errors.join("; "));
    }
    Ok(counted)
}

const fn timeout(run: &Run) -> Duration {
    Duration::from_secs(run.timeout)
}

/// The neighbour of a run that has one.
fn peer(run: &Run) -> Result<Option<Peer>> {
    let questions = run.pings.map(Questions::Pings).or(run.echoes.map(Questions::Echoes));
    questions.map(Peer::start).transpose()
}

fn system_run(run: &Run, path: &Path, model: &Model) -> Result<Report> {
    let peer = peer(run)?;
    let wire = peer.as_ref().map_or(Wire::USER, Peer::wire);
    let built = build::plan(path, Options { seed: Seed::Fixed, wire, ..Options::default() })?.carry_out()?;
    // A peer has the host's time: in the machine's own, alarms would come at once while it thinks.
    let machine = Machine::Qemu { cpu: &built.cpu, icount: peer.is_none(), model: Some(model) };
    let transcript = batch(&built, machine, timeout(run))?;
    let answered = peer.map(Peer::end).transpose();
    ensure!(transcript.is_done(), "{} failed:\n{}", built.name, transcript.console);
    answered?;
    transcript.model.with_context(|| format!("{} did not end in {} s", built.name, run.timeout))
}

/// A program for Linux, here and on Linux alone.
struct Program {
    inserts: Vec<Insert>,
    command: String,
    peers: [String; 2],
}

impl Program {
    fn of(run: &Run, program: &Path) -> Result<Self> {
        let name = program.file_stem().context("a program without a name")?.to_string_lossy().into_owned();
        let compiled = if run.small { guest::compile_small(program) } else { guest::compile(program) }?;
        let mut inserts = vec![guest::insert(&format!("/bin/{name}"), compiled)];
        if run.small {
            inserts.push(guest::small_busybox()?);
        }
        inserts.extend(files::debian(&run.debian, &run.packages)?);
        inserts.extend(files::sources(&run.sources)?);
        Ok(Self { inserts, command: run.command.clone().unwrap_or(name), peers: PEERS.map(String::from) })
    }

    /// What its network card is connected to.
    fn wire<'a>(&'a self, run: &Run, peer: Option<&'a Peer>) -> Wire<'a> {
        match peer {
            Some(peer) => peer.wire(),
            None if run.network => Wire::Card { forwards: &[], options: &self.peers },
            None => Wire::Out,
        }
    }

    fn here(&self, run: &Run, model: &Model) -> Result<Report> {
        let peer = peer(run)?;
        let usual = Guest::default();
        let (system, wire) = (run.linux.as_deref().unwrap_or(usual.system), self.wire(run, peer.as_ref()));
        let (inserts, timeout, hosts_time) = (self.inserts.clone(), timeout(run), peer.is_some());
        let outcome = Guest { system, inserts, model: Some(model), timeout, wire, hosts_time, ..usual }.succeed(&self.command)?;
        peer.map(Peer::end).transpose()?;
        outcome.report.context("no report")
    }

    fn alone(&self, run: &Run, model: &Model) -> Result<Option<Report>> {
        let peer = peer(run)?;
        let clock = if peer.is_some() { Clock::Host } else { Clock::Machine };
        let wire = self.wire(run, peer.as_ref());
        let report = guest::native_on(wire, clock, &self.command, self.inserts.clone(), Some(model), timeout(run))?.report;
        peer.map(Peer::end).transpose()?;
        Ok(report)
    }
}
