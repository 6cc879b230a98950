// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Debian disk, and what comes from Debian's archive: packages and source packages, which are
//! fetched once and kept below `target/linux`.

pub mod installed;
mod tree;

pub use tree::{EXT4, make};

use super::folder;
use super::packages::mirror;
use crate::machine::board;
use crate::process::tether::run_group;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use tree::sources;

/// The list of its packages, of those that a processor's has besides (in a folder of Debian's name
/// for it, if there are any), and of those that a desktop has.
const PACKAGES: &str = "linux/debian/packages";
const OWN: &str = "linux/debian/PROCESSOR/packages";
const DESKTOP: &str = "linux/debian/desktop/packages";

/// Puts Debian on a disk: the packages of `linux/debian/packages` and of the processor's own list,
/// the source packages of `linux/debian/sources`, and what `linux/debian/customise` adds.
pub fn image(image: &Path) -> Result<()> {
    if board::chosen().linux()?.cross {
        return installed::image(image);
    }
    let archive = packages()?;
    let sources = sources()?;
    let script = "echo unpacking the packages >&2; linux/debian/extract \"$1\" \"$tree\"; echo copying the source packages >&2; \
                  cp -R \"$2\"/. \"$tree/usr/src\"; linux/debian/customise \"$tree\"";
    make(image, script, &[&archive, &sources])
}

/// Puts Debian on a disk with what a desktop needs besides: the packages of
/// `linux/debian/desktop/packages`, and what `linux/debian/desktop/customise` adds. It has no
/// source packages.
pub fn desktop(image: &Path) -> Result<()> {
    let archive = installed_into("debian-desktop.tar", &[DESKTOP])?;
    let script = "echo unpacking the packages >&2; linux/debian/extract \"$1\" \"$tree\"; \
                  linux/debian/customise \"$tree\"; linux/debian/desktop/customise \"$tree\"";
    make(image, script, &[&archive])
}

/// The packages, installed into an archive, once.
pub fn packages() -> Result<PathBuf> {
    installed_into("debian.tar", &[])
}

/// The packages that all have and those of these lists, installed into an archive of this name,
/// once.
fn installed_into(name: &str, lists: &[&str]) -> Result<PathBuf> {
    let own = OWN.replace("PROCESSOR", &board::chosen().linux()?.debian);
    let own = Path::new(&own).exists().then_some(own.as_str());
    let lists = std::iter::once(PACKAGES).chain(own).chain(lists.iter().copied());
    let packages = lists.map(std::fs::read_to_string).collect::<std::io::Result<String>>()?;
    let archive = folder().join(name);
    let stamp = archive.with_extension("packages");
    if !archive.exists() || std::fs::read_to_string(&stamp).is_ok_and(|old| old != packages) {
        eprintln!("installing Debian into an archive (a minute or two)");
        let making = archive.with_extension("making");
        let mut install = Command::new("mmdebstrap");
        install.args(["--quiet", "--variant=minbase", "--format=tar"]);
        install.arg(format!("--architectures={}", board::chosen().linux()?.debian));
        install.arg(format!(
            "--include={}",
            packages.split_whitespace().collect::<Vec<_>>().join(",")
        ));
        run_group(install.arg("bookworm").arg(&making).arg(mirror()?))?;
        std::fs::rename(making, &archive)?;
        std::fs::write(stamp, packages)?;
    }
    Ok(archive)
}
