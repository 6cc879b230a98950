// SPDX-License-Identifier: MIT OR Apache-2.0
//! BusyBox, built from Debian's source with Debian's options for its static one.

use super::{folder, packages};
use crate::machine::board;
use crate::process::tether::group;
use crate::process::{complete, run};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Builds it in a tree of this name by a compiler with these arguments, without some of the
/// options; unless that was done before. The program.
pub fn build(name: &str, compiler: &str, not_with: &[&str]) -> Result<PathBuf> {
    let tree = std::env::current_dir()?.join(folder()).join(name);
    let program = tree.join("busybox");
    if program.exists() {
        return Ok(program);
    }
    let source = packages::source("busybox")?;
    eprintln!("building BusyBox: {name}");
    let making = tree.with_extension("making");
    if making.exists() {
        fs::remove_dir_all(&making)?;
    }
    run(Command::new("cp").arg("-a").arg(source).arg(&making))?;
    let options = making.join("debian/config/pkg/static");
    let options = fs::read_to_string(&options)
        .with_context(|| format!("cannot read {}", options.display()))?;
    let is_wanted = |line: &&str| !not_with.iter().any(|option| line.starts_with(option));
    let without: String =
        not_with.iter().map(|option| format!("# {option} is not set\n")).collect();
    let wanted: String = options.lines().filter(is_wanted).flat_map(|line| [line, "\n"]).collect();
    fs::write(making.join(".config"), wanted + &without)?;
    let log = making.join("build.log");
    let mut make = Command::new("make");
    make.current_dir(&making).arg(format!("-j{}", std::thread::available_parallelism()?));
    make.arg(format!("CROSS_COMPILE={}", board::chosen().linux()?.tools))
        .arg(format!("CC={compiler}"));
    let mut make = group(&make);
    make.stdin(Stdio::null())
        .stdout(fs::File::create(&log)?)
        .stderr(fs::File::options().append(true).open(&log)?);
    complete("make".as_ref(), &mut make)
        .with_context(|| format!("BusyBox does not build: see {}", log.display()))?;
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    fs::rename(making, &tree)?;
    Ok(program)
}
