// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the source, and what is tested on this machine.

use super::tally::Test;
use crate::build::{self, Options, Seed, cargo_bare};
use crate::process::run;
use crate::{check, manual};
use anyhow::Result;
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[
    ("source.format", || cargo(&["fmt", "--all", "--check"])),
    ("source.arrows", check::arrows),
    ("source.unsafe", check::unsafe_code),
    ("source.manual", manual::check),
    ("source.clippy.host", || cargo(&["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"])),
    ("source.clippy.bare", clippy_bare),
    ("host", || cargo(&["test", "--quiet"])),
    ("differential", differential),
];

fn cargo(arguments: &[&str]) -> Result<()> {
    run(crate::process::cargo().args(arguments))
}

fn clippy_bare() -> Result<()> {
    let mut command = cargo_bare("clippy");
    command.arg("--quiet");
    for package in [
        "kernel",
        "root",
        "console",
        "clock",
        "disk",
        "hello",
        "date",
        "echo",
        "signer",
        "pingpong",
        "pager",
        "crash",
        "tutorial-server",
        "tutorial-client",
        "conform",
        "known-counts",
        "fast-paths",
        "hostile",
        "latency",
        "rival",
        "measured",
    ] {
        command.args(["-p", package]);
    }
    run(command.args(["--", "-D", "warnings"]))
}

/// The fast paths as built against the portable kernel.
fn differential() -> Result<()> {
    let options = Options { seed: Seed::Fixed, folder: Some("differential"), ..Options::default() };
    let built = build::plan(Path::new("systems/hello.toml"), options)?.carry_out()?;
    let kernel = built.kernel.to_string_lossy().into_owned();
    let seed = std::env::var("MACADAMIA_SEED").unwrap_or_else(|_| "1".into());
    cargo(&["run", "--quiet", "--release", "-p", "differential", "--", &kernel, &seed])
}
