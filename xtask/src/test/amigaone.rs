// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the PowerPC board with words for its kernel: what it usually does in another way, or after a long time.

use super::model::system;
use super::tally::{Test, test};
use crate::build::{self, Built};
use crate::machine::emulator::{Machine, Transcript, batch};
use crate::machine::{board, words};
use anyhow::{Result, ensure};
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[test("amigaone.contexts", || on_board(contexts))];

/// Seconds until a system counts as hung.
const TIMEOUT: Duration = Duration::from_secs(300);

fn on_board(test: impl FnOnce() -> Result<()>) -> Result<()> {
    board::with(board::get("amigaone")?, test)
}

/// Runs a system whose kernel is told these words.
fn run(built: &Built, cpu: &str, say: &'static str) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu, icount: false, model: None };
    let transcript = words::with(say, || batch(built, machine, TIMEOUT))?;
    let failed: Vec<&str> = transcript.results.lines().filter(|line| line.starts_with("not ok")).collect();
    ensure!(failed.is_empty(), "{cpu}, {say}: {}", failed.join(", "));
    ensure!(transcript.ended && transcript.is_done(), "{cpu}, {say}: it did not end; the console: {}", transcript.console);
    Ok(transcript)
}

/// On both processors.
fn on_all(built: &Built, say: &'static str) -> Result<()> {
    built.board.qemu.tested.iter().try_for_each(|cpu| run(built, cpu, say).map(drop))
}

/// Few contexts: they are given out again and again, while spaces come and go, and mappings.
fn contexts() -> Result<()> {
    for name in ["pager", "crash"] {
        on_all(&build::system(&Path::new("systems").join(name).with_extension("toml"))?, "contexts=64")?;
    }
    on_all(&system("conform-fast")?, "contexts=64")
}
