// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is on a Debian disk: a folder's contents, source packages among them.

use crate::linux::packages::Apt;
use crate::linux::{files, folder};
use crate::process::tether::run_group;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes an ext4 file system of what a script for the shell puts into the folder `$tree`. It has arguments.
pub fn make(image: &Path, script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Result<()> {
    let tree = folder().join("debian");
    let script =
        format!("set -e; rm -rf \"$tree\"; mkdir \"$tree\"; {script}; /sbin/mkfs.ext4 -q -F -d \"$tree\" \"$image\"; rm -rf \"$tree\"");
    // Who is not root still wants root's files on the disk.
    let mut make = Command::new("fakeroot");
    run_group(make.args(["sh", "-c", &script, "sh"]).args(arguments).env("tree", tree).env("image", image))
}

/// The source packages, unpacked and patched, in a folder each that has the package's name.
pub fn sources() -> Result<PathBuf> {
    let wanted = std::fs::read_to_string("linux/debian/sources")?;
    let unpacked_to = folder().join("debian.sources");
    let stamp = unpacked_to.with_extension("sources.unpacked");
    if unpacked_to.exists() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == wanted) {
        return Ok(unpacked_to);
    }
    let apt = Apt::new()?;
    if unpacked_to.exists() {
        std::fs::remove_dir_all(&unpacked_to)?;
    }
    std::fs::create_dir_all(&unpacked_to)?;
    for package in wanted.split_whitespace() {
        eprintln!("fetching the source package {package}");
        let place = folder().join("apt/source").join(package);
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        std::fs::create_dir_all(&place)?;
        apt.get(&["source", package], &place)?;
        let unpacked = files(&place)?.into_iter().find(|path| path.is_dir()).with_context(|| format!("{package} was not unpacked"))?;
        std::fs::rename(unpacked, unpacked_to.join(package))?;
    }
    std::fs::write(stamp, wanted)?;
    Ok(unpacked_to)
}
