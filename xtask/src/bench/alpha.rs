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

/// The portable kernel, which is WebAssembly in a file, on Alpha as on the host.
///
/// # Errors
/// Those of the program, which says what is wrong.
pub fn core(wasm: &str) -> Result<()> {
    run(program("core").arg(wasm))
}

/// The fast path, assembled for who interprets it: where the file is.
///
/// # Errors
/// Those of the program, which says what is wrong.
pub fn path() -> Result<String> {
    let said = said_by(&mut program("path"))?;
    Ok(String::from_utf8(said)?.trim_end().into())
}

/// What a call and a reply take, by the CPU model of this name.
///
/// # Errors
/// Those of the program, which says what is wrong.
pub fn count(cpu: &str) -> Result<Report> {
    let report = said_by(program("count").arg(Model::cpu_file(cpu)))?;
    serde_json::from_slice(&report).context("alpha-ipc wrote no report")
}

/// What the program says.
fn said_by(program: &mut Command) -> Result<Vec<u8>> {
    let output = program.stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "alpha-ipc failed: see its output above");
    Ok(output.stdout)
}
