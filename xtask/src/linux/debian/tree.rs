// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes a disk image from a folder, and adds source packages to it.

use crate::linux::packages::Apt;
use crate::linux::{files, folder};
use crate::process::run;
use crate::process::tether::run_group;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

/// How an ext4 file system is made in a new file: what was not written there is zero, so Linux
/// writes no zeros there later. The file stays small, however large the disk.
pub const EXT4: [&str; 4] = ["-q", "-F", "-E", "assume_storage_prezeroed=1"];

/// How folders begin whose contents nobody needs any more.
const REMOVED: &str = "debian.removed.";

/// Makes an ext4 file system of what a script for the shell puts into the folder `$tree`. It has
/// arguments.
pub fn make(image: &Path, script: &str, arguments: &[&dyn AsRef<OsStr>]) -> Result<()> {
    let tree = folder().join("debian");
    // What an interrupted run left.
    remove(&tree)?;
    let script = format!(
        "set -e; mkdir \"$tree\"; {script}; echo writing the file system >&2; /sbin/mkfs.ext4 {} -d \"$tree\" \"$image\"",
        EXT4.join(" ")
    );
    // Who is not root still wants root's files on the disk.
    let mut make = Command::new("fakeroot");
    run_group(
        make.args(["sh", "-c", &script, "sh"])
            .args(arguments)
            .env("tree", &tree)
            .env("image", image),
    )?;
    remove(&tree)
}

/// Lets a folder vanish, and all that vanished before and is still being removed, or was when that
/// was interrupted: they get another name, and nobody waits for the rest.
fn remove(folder: &Path) -> Result<()> {
    let parent = folder.parent().context("a folder in a folder")?;
    if folder.exists() {
        let at = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        std::fs::rename(folder, parent.join(format!("{REMOVED}{at}")))?;
    }
    let is_removed = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(REMOVED))
    };
    let removed: Vec<PathBuf> = files(parent)?.into_iter().filter(is_removed).collect();
    if !removed.is_empty() {
        let nowhere = Stdio::null;
        let mut command = Command::new("sh");
        // It goes on when this tool ends, also by Ctrl-C. Another one may remove the same.
        command.args(["-c", "rm -rf \"$@\" &", "sh"]).args(removed).process_group(0);
        run(command.stdin(nowhere()).stdout(nowhere()).stderr(nowhere()))?;
    }
    Ok(())
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
        let unpacked = apt.source(package, &folder().join("apt").join(package))?;
        std::fs::rename(unpacked, unpacked_to.join(package))?;
    }
    std::fs::write(stamp, wanted)?;
    Ok(unpacked_to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_is_removed_is_away_at_once_and_gone_soon_with_what_was_left() -> Result<()> {
        let place = std::env::temp_dir().join(format!("macadamia-removed-{}", std::process::id()));
        let (tree, left) = (place.join("debian"), place.join(format!("{REMOVED}1")));
        for folder in [&tree, &left] {
            std::fs::create_dir_all(folder.join("a"))?;
        }
        remove(&tree)?;
        assert!(!tree.exists());
        let start = Instant::now();
        while !files(&place)?.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(60), "they are still there");
            std::thread::yield_now();
        }
        remove(&tree)?;
        Ok(std::fs::remove_dir(place)?)
    }
}
