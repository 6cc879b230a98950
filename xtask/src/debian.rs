// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Debian disk, and what comes from Debian's archive for i386: packages and source
//! packages, fetched once and kept under `target/linux`.

use crate::build::run;
use crate::linux::FOLDER;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Puts Debian for i386 on a disk: the packages of `linux/debian/packages`, the source packages of
/// `linux/debian/sources`, and what `linux/debian/customise` adds.
pub fn image(image: &Path) -> Result<()> {
    let archive = packages()?;
    let sources = sources()?;
    eprintln!("making the disk");
    let tree = Path::new(FOLDER).join("debian");
    let script = "set -e; rm -rf \"$2\"; mkdir \"$2\"; tar -xf \"$1\" -C \"$2\" --exclude='./dev/*'; cp -R \"$4\"/. \"$2/usr/src\"; \
                  linux/debian/customise \"$2\"; /sbin/mkfs.ext4 -q -F -d \"$2\" \"$3\"; rm -rf \"$2\"";
    // Who is not root still wants root's files on the disk.
    let mut make = Command::new("fakeroot");
    run(make.args(["sh", "-c", script, "sh"]).arg(archive).arg(tree).arg(image).arg(sources))
}

/// The packages, installed into an archive.
fn packages() -> Result<PathBuf> {
    let packages = std::fs::read_to_string("linux/debian/packages")?;
    let archive = Path::new(FOLDER).join("debian.tar");
    let stamp = archive.with_extension("packages");
    if !archive.exists() || std::fs::read_to_string(&stamp).is_ok_and(|old| old != packages) {
        eprintln!("installing Debian for i386 into an archive (a minute or two)");
        let making = archive.with_extension("making");
        let mut install = Command::new("mmdebstrap");
        install.args(["--quiet", "--architectures=i386", "--variant=minbase", "--format=tar"]);
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
    let folder = Path::new(FOLDER).join("debian.sources");
    let stamp = folder.with_extension("sources.unpacked");
    if folder.exists() && std::fs::read_to_string(&stamp).is_ok_and(|old| old == wanted) {
        return Ok(folder);
    }
    let apt = Apt::new("deb-src")?;
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    for package in wanted.split_whitespace() {
        eprintln!("fetching the source package {package}");
        let place = apt.folder().join("source").join(package);
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        std::fs::create_dir_all(&place)?;
        apt.get_in(&place, &["source", package])?;
        let entries = std::fs::read_dir(&place)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
        let unpacked = entries.into_iter().find(|path| path.is_dir()).with_context(|| format!("{package} was not unpacked"))?;
        std::fs::rename(unpacked, folder.join(package))?;
    }
    std::fs::write(stamp, wanted)?;
    Ok(folder)
}

/// The mirror that this machine uses.
fn mirror() -> Result<String> {
    let policy = Command::new("apt-cache").args(["policy", "base-files"]).output().context("cannot run apt-cache")?;
    let policy = String::from_utf8_lossy(&policy.stdout).into_owned();
    policy.split_whitespace().find(|word| word.starts_with("http")).map(String::from).context("no Debian mirror among the package sources")
}

/// A private apt configuration for bookworm and i386: this machine's own is left alone.
pub struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// With fresh lists; `kind` is `deb` for packages, `deb-src` for source packages.
    ///
    /// # Errors
    /// If no mirror is known or the lists cannot be fetched.
    pub fn new(kind: &str) -> Result<Self> {
        let folder = std::env::current_dir()?.join(FOLDER).join("apt");
        for name in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        std::fs::write(folder.join("status"), "")?;
        let key = "/usr/share/keyrings/debian-archive-keyring.gpg";
        ensure!(Path::new(key).exists(), "{key} is missing: install debian-archive-keyring");
        std::fs::write(folder.join("sources"), format!("{kind} [signed-by={key}] {} bookworm main\n", mirror()?))?;
        let apt = Self { folder };
        apt.get(&["update"])?;
        Ok(apt)
    }

    /// Where packages are put.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `apt-get` there.
    pub fn get(&self, arguments: &[&str]) -> Result<()> {
        self.get_in(&self.folder, arguments)
    }

    fn get_in(&self, place: &Path, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("apt-get");
        for (option, value) in [
            ("Dir::State", ""),
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
            ("Dir::Etc::SourceList", "sources"),
        ] {
            command.arg("-o").arg(format!("{option}={}", self.folder.join(value).display()));
        }
        command.args(["-q", "-o", "Dir::Etc::SourceParts=-", "-o", "APT::Architecture=i386", "-o", "APT::Architectures=i386"]);
        command.args(["-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"]).args(arguments).current_dir(place);
        run(command.stdout(Stdio::null()))
    }
}
