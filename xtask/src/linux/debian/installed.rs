// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Debian disk of a processor whose programs this machine cannot run: packages are fetched and
//! unpacked here, and Linux on the emulated board installs them, once.

use super::tree::{make, sources};
use crate::linux::folder;
use crate::linux::packages::Apt;
use crate::machine::board;
use crate::process::tether::tethered;
use crate::process::{run, this_tool};
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The system that installs, and the disk that it does that on.
const SYSTEM: &str = "linux/debian/install.toml";
const DISK: &str = "install/disk.img";
/// What it executes.
const COMMAND: &str = "exec sh /mnt/install/install /mnt";

/// What packages need when they are installed.
const ESSENTIAL: &[&str] = &["?essential", "apt", "usr-is-merged"];

/// A copy of the disk with everything on it.
pub fn image(image: &Path) -> Result<()> {
    let packages = std::fs::read_to_string("linux/debian/packages")?;
    let installed = folder().join("debian.img");
    let stamp = installed.with_extension("packages");
    if !installed.exists() || std::fs::read_to_string(&stamp).is_ok_and(|old| old != packages) {
        install(&installed)?;
        std::fs::write(stamp, packages)?;
    }
    eprintln!("copying the disk");
    run(Command::new("cp").arg("--sparse=always").arg(installed).arg(image))
}

/// Lets the board make the disk. Another process of this tool runs it, as a user would.
fn install(installed: &Path) -> Result<()> {
    let board = board::chosen();
    let disk = board.out().join(DISK);
    if disk.exists() {
        std::fs::remove_file(&disk)?;
    }
    eprintln!("installing Debian in Linux on the board (some ten minutes, once)");
    let mut system = Command::new(this_tool());
    system.args(["--board", &board.name(), "run", SYSTEM, "--accel", "tcg", "--batch", COMMAND]);
    // What it says belongs to what this one says.
    run(tethered(&system, &[]).stdout(std::io::stderr()))?;
    std::fs::rename(disk, installed).context("the disk is not where it was made")
}

/// A disk with the packages on it, those unpacked that the others need to be installed.
pub fn unpacked(image: &Path) -> Result<()> {
    let wanted = std::fs::read_to_string("linux/debian/packages")?;
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    let apt = Apt::new()?;
    eprintln!("fetching packages of Debian");
    let essential = apt.needed(ESSENTIAL)?;
    let packages = fetched(&apt, &[ESSENTIAL, &wanted].concat())?;
    eprintln!("making the disk that installs them");
    let sources = sources()?;
    let mut arguments: Vec<&dyn AsRef<OsStr>> = vec![&sources, &packages];
    arguments.extend(essential.iter().map(|name| name as &dyn AsRef<OsStr>));
    make(image, "linux/debian/unpack \"$tree\" \"$@\"", &arguments)
}

/// A folder with these packages and all that they depend on.
fn fetched(apt: &Apt, names: &[&str]) -> Result<PathBuf> {
    let archives = apt.archives();
    if archives.exists() {
        std::fs::remove_dir_all(&archives)?;
    }
    std::fs::create_dir_all(archives.join("partial"))?;
    apt.get(
        &[&["install", "--yes", "--download-only", "--no-install-recommends"], names].concat(),
        Path::new("."),
    )?;
    Ok(archives)
}
