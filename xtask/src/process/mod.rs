// SPDX-License-Identifier: MIT OR Apache-2.0
//! Running programs: to their end, for no longer than their own time allows, or talked to at their terminal. Nothing
//! here knows what they are.

pub mod patience;
pub mod session;

use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Runs a command; an error names it.
pub fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot run {name}: `./macadamia doctor` says what is missing"))?;
    ensure!(status.success(), "{name} failed ({status}): see its output above");
    Ok(())
}

/// The build tool of Rust that runs this one.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
