// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Debian disk, and what comes from Debian's archive: packages and source packages, fetched once and kept under
//! `target/linux`.

pub mod installed;

use super::packages::{Apt, mirror};
use super::{files, folder};
use crate::machine::board;
use crate::process::run;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts Debian on a disk: the packages of `linux/debian/packages`, the source packages of `linux/debian/sources`, and what
/// `linux/debian/customise` adds.
pub fn image(image: &Path) -> Result<()> {
    if board::chosen().linux()?.cross {
        return installed::image(image);
    }
    let archive = packages()?;
    let sources = sources()?;
    eprintln!("making the disk");
    let script = "tar -xf \"$3\" -C \"$1\" --exclude='./dev/*'; cp -R \"$4\"/. \"$1/usr/src\"; linux/debian/customise \"$1\"";
    make(image, script, &[&archive, &sources])
}

/// Makes an ext4 file system of what a script for the shell puts into the folder `$1`; `$3` and what follows are the script's
/// arguments.
fn make(image: &Path, script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Result<()> {
    let tree = folder().join("debian");
    let script = format!("set -e; rm -rf \"$1\"; mkdir \"$1\"; {script}; /sbin/mkfs.ext4 -q -F -d \"$1\" \"$2\"; rm -rf \"$1\"");
    // Who is not root still wants root's files on the disk.
    let mut make = Command::new("fakeroot");
    run(make.args(["sh", "-c", &script, "sh"]).arg(tree).arg(image).args(arguments))
}

/// The packages, installed into an archive, once.
pub fn packages() -> Result<PathBuf> {
    let packages = std::fs::read_to_string("linux/debian/packages")?;
    let archive = folder().join("debian.tar");
    let stamp = archive.with_extension("packages");
    if !archive.exists() || std::fs::read_to_string(&stamp).is_ok_and(|old| old != packages) {
        eprintln!("installing Debian into an archive (a minute or two)");
        let making = archive.with_extension("making");
        let mut install = Command::new("mmdebstrap");
        install.args(["--quiet", "--variant=minbase", "--format=tar"]);
        install.arg(format!("--architectures={}", board::chosen().linux()?.debian));
        install.arg(format!("--include={}", packages.split_whitespace().collect::<Vec<_>>().join(",")));
        run(install.arg("bookworm").arg(&making).arg(mirror()?))?;
        std::fs::rename(making, &archive)?;
        std::fs::write(stamp, packages)?;
    }
    Ok(archive)
}

/// The source packages, unpacked and patched, in a folder each that has the package's name.
fn sources() -> Result<PathBuf> {
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
