// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run's program for Linux, and the neighbour behind the network card, if the run has one.

use super::files;
use super::ping::{Peer, Questions};
use crate::build::{Model, Wire};
use crate::guest::{self, Alone, Clock, Guest};
use crate::linux::root::Insert;
use crate::machine::board;
use anyhow::{Context, Result};
use book::Parts;
use book::plan::Run;
use model_core::Report;
use std::path::Path;
use std::time::Duration;

/// Who is reached in the emulated network: a port that sends for ever, and one that takes
/// everything (bench/linux/stream.c). They are programs of the emulator's, and no server has to
/// run.
pub const PEERS: [&str; 2] = [
    "guestfwd=tcp:10.0.2.100:5001-cmd:cat /dev/zero",
    "guestfwd=tcp:10.0.2.100:5002-cmd:dd of=/dev/null",
];

/// The longest that one of its machines may take.
pub const fn timeout(run: &Run) -> Duration {
    Duration::from_secs(run.timeout)
}

/// The neighbour of a run that has one.
pub fn peer(run: &Run) -> Result<Option<Peer>> {
    let questions = run.pings.map(Questions::Pings).or(run.echoes.map(Questions::Echoes));
    questions.map(Peer::start).transpose()
}

/// What a machine that ended left.
pub struct Ran {
    /// What the machine model counted, if it was asked to.
    pub report: Option<Report>,
    /// How long all questions of who is behind the card took, by the host's clock.
    pub took: Option<Duration>,
    /// What its program counted itself.
    pub parts: Parts,
}

/// A program for Linux, here and on Linux alone.
pub struct Program {
    /// Files for both.
    pub inserts: Vec<Insert>,
    /// What runs it.
    pub command: String,
    peers: [String; 2],
}

/// What Linux knows a program as.
fn name(program: &Path) -> Result<String> {
    Ok(program.file_stem().context("a program without a name")?.to_string_lossy().into_owned())
}

/// The files of a run: its program, which is compiled, and all others.
///
/// # Errors
/// If something cannot be compiled, built or fetched.
pub fn inserts(run: &Run, program: &Path) -> Result<Vec<Insert>> {
    let compiled = if run.small { guest::compile_small(program) } else { guest::compile(program) }?;
    let mut inserts = vec![guest::insert(&format!("/bin/{}", name(program)?), compiled)];
    if run.small {
        inserts.push(guest::small_busybox()?);
    }
    if let Some(command) = &run.beside {
        inserts.push(guest::beside(command)?);
    }
    inserts.extend(files::debian(&run.debian, &run.packages)?);
    inserts.extend(files::built(&run.built)?);
    inserts.extend(files::sources(&run.sources)?);
    Ok(inserts)
}

impl Program {
    /// Compiles it and finds its files.
    pub fn of(run: &Run, program: &Path) -> Result<Self> {
        let inserts = inserts(run, program)?;
        let name = name(program)?;
        Ok(Self {
            inserts,
            command: run.command.clone().unwrap_or(name),
            peers: PEERS.map(String::from),
        })
    }

    /// What its network card is connected to.
    pub fn wire<'a>(&'a self, run: &Run, peer: Option<&'a Peer>) -> Wire<'a> {
        match peer {
            Some(peer) => peer.wire(),
            None if run.network => Wire::Card { forwards: &[], options: &self.peers },
            None => Wire::Out,
        }
    }

    /// Runs it here.
    pub fn here(&self, run: &Run, model: Option<&Model>) -> Result<Ran> {
        let peer = peer(run)?;
        let usual = Guest::default();
        let (system, wire) =
            (run.linux.as_deref().unwrap_or(usual.system), self.wire(run, peer.as_ref()));
        let (inserts, timeout, hosts_time) = (self.inserts.clone(), timeout(run), peer.is_some());
        let cpu = Some(run.emulated.as_deref().unwrap_or(board::chosen().qemu.measured()));
        let report = Guest { system, cpu, inserts, model, timeout, wire, hosts_time, ..usual }
            .succeed(&self.command)?
            .report;
        Ok(Ran { report, took: peer.map(Peer::end).transpose()?, parts: Parts::new() })
    }

    /// Runs it on Linux alone.
    pub fn alone(&self, run: &Run, model: Option<&Model>) -> Result<Ran> {
        let peer = peer(run)?;
        let clock = if peer.is_some() { Clock::Host } else { Clock::Machine };
        let alone = Alone {
            wire: self.wire(run, peer.as_ref()),
            clock,
            cpu: run.emulated.as_deref(),
            inserts: self.inserts.clone(),
            model,
            timeout: timeout(run),
        };
        let report = alone.run(&self.command)?.report;
        Ok(Ran { report, took: peer.map(Peer::end).transpose()?, parts: Parts::new() })
    }
}
