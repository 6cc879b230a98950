// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs programs: to their end, for no longer than their own time allows, or as a dialogue at their
//! terminal.
//!
//! It owns what every started program needs: a tie to this process, locks, time limits, files that
//! are made once. It does not know which programs it runs, nor any board, system or test.

pub mod fresh;
pub mod git;
pub mod lock;
pub mod once;
pub mod patience;
pub mod session;
pub mod tether;

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a command; an error names it.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_os_string();
    complete(&name, command)
}

/// Runs a command that people know as `name`.
pub fn complete(name: &OsStr, command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| tool_failed(name))?;
    ensure!(status.success(), "{} failed ({status}): see its output above", name.display());
    Ok(())
}

/// Why a program may not be started.
fn tool_failed(name: &OsStr) -> String {
    format!("cannot run {}: `./macadamia doctor` says what is missing", name.display())
}

/// Makes a file beside its place and puts it there at once: who reads the one from before still has
/// all of that.
pub fn aside(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let making = path.with_extension("making");
    make(&making)?;
    std::fs::rename(&making, path).with_context(|| format!("cannot make {}", path.display()))
}

/// Writes to the standard output, which may be closed.
///
/// # Errors
/// If it is closed, or cannot be written.
pub fn show(text: &str) -> std::io::Result<()> {
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())
}

/// This tool, to be started again by this process or by what it starts: also when the file has been
/// replaced meanwhile, as by a build.
pub fn this_tool() -> PathBuf {
    format!("/proc/{}/exe", std::process::id()).into()
}

/// The build tool of Rust that runs this one.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
