// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fast path of IPC on Alpha: the program `alpha-ipc` runs it in an emulator of its own
//! (docs/alpha.md).

use crate::build::Model;
use crate::machine::board;
use crate::process::{cargo, run};
use anyhow::{Context, Result, ensure};
use model_core::Report;
use std::process::{Command, Stdio};

/// The program, with what it is to do; files go to the folder of who runs it.
fn program(what: &str) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--locked", "-p", "alpha-ipc", "--", what]);
    command.arg(board::chosen().out().join("alpha"));
    command
}

/// That it does what the portable kernel does, and that faults in it are found.
///
/// # Errors
/// Those of the program, which says what is wrong.
pub fn test() -> Result<()> {
    run(&mut program("test"))
}

/// What a call and a reply take, by the CPU model of this name.
///
/// # Errors
/// Those of the program, which says what is wrong.
pub fn count(cpu: &str) -> Result<Report> {
    let mut command = program("count");
    let output = command.arg(Model::cpu_file(cpu)).stderr(Stdio::inherit()).output();
    let output = output.context("cannot run cargo")?;
    ensure!(output.status.success(), "alpha-ipc failed: see its output above");
    serde_json::from_slice(&output.stdout).context("alpha-ipc wrote no report")
}
