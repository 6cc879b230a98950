// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands of cargo for the bare machine, and where it puts what they make. They do not know
//! which packages there are.

use crate::machine::board;
use crate::process::cargo;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where bare-metal builds go, apart from the host's.
pub const FOLDER: &str = "target/bare";

/// The crates of the standard library.
const LIBRARY: [&str; 3] = ["core", "alloc", "compiler_builtins"];

/// A cargo command for the bare machine. Nightly options on a stable compiler, as
/// the distribution has no other.
pub fn cargo_bare(subcommand: &str) -> Command {
    cargo_for(subcommand, &board::chosen().target)
}

/// The same for another target.
pub fn cargo_for(subcommand: &str, target: &str) -> Command {
    let mut cargo = without_library(subcommand, target);
    cargo.arg(format!("-Zbuild-std={}", LIBRARY.join(",")));
    cargo.arg("-Zbuild-std-features=compiler-builtins-mem");
    cargo
}

/// The same without the standard library.
fn without_library(subcommand: &str, target: &str) -> Command {
    let mut cargo = cargo();
    cargo
        .arg(subcommand)
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--release", "--target", target, "--target-dir", FOLDER])
        .arg("-Zjson-target-spec");
    cargo
}

/// A cargo command for the board that takes the standard library from a folder ([`library`]).
/// Documentation has no warnings.
pub(super) fn with_library(subcommand: &str, library: &Path) -> Command {
    let mut cargo = without_library(subcommand, &board::chosen().target);
    // What separates flags is no character of a path.
    let flags = format!("--sysroot\x1f{}", library.display());
    cargo.env("CARGO_ENCODED_RUSTDOCFLAGS", format!("{flags}\x1f-D\x1fwarnings"));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
    cargo
}

/// Where cargo puts what it makes for the board.
pub(super) fn place() -> PathBuf {
    Path::new(FOLDER).join(target())
}

/// Where cargo puts the documentation of crates that are compiled for the board.
pub fn documented() -> PathBuf {
    place().join("doc")
}

/// The name of the board's target.
fn target() -> &'static Path {
    Path::new(Path::new(&board::chosen().target).file_stem().unwrap_or_default())
}

/// What cargo says of something that it made.
#[derive(Deserialize)]
struct Made {
    #[serde(default)]
    target: MadeFrom,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize, Default)]
struct MadeFrom {
    name: String,
}

/// A folder in which the compiler finds the standard library of the board that was chosen, as
/// `build` compiles it.
///
/// # Errors
/// If it does not compile.
pub(super) fn library(build: &mut Command) -> Result<PathBuf> {
    let output = build
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    ensure!(output.status.success(), "it does not compile: see the messages above");
    let sysroot = std::path::absolute(FOLDER)?.join("sysroot").join(target());
    let place = sysroot.join("lib/rustlib").join(target()).join("lib");
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::create_dir_all(&place)?;
    for line in std::str::from_utf8(&output.stdout)?.lines() {
        let Made { target, filenames } = serde_json::from_str(line)?;
        let is_library = |file: &&PathBuf| file.extension().is_some_and(|kind| kind == "rlib");
        if !LIBRARY.contains(&target.name.as_str()) {
            continue;
        }
        for file in filenames.iter().filter(is_library) {
            std::fs::hard_link(file, place.join(file.file_name().context("a file has a name")?))?;
        }
    }
    Ok(sysroot)
}
