// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's packages for the board's processor, by an apt configuration of its own: it does not
//! change that of this machine.

use super::{files, folder};
use crate::machine::board;
use crate::process::run;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The mirror that this machine uses.
pub fn mirror() -> Result<String> {
    let policy = Command::new("apt-cache")
        .args(["policy", "base-files"])
        .output()
        .context("cannot run apt-cache")?;
    let policy = String::from_utf8_lossy(&policy.stdout).into_owned();
    policy
        .split_whitespace()
        .find(|word| word.starts_with("http"))
        .map(String::from)
        .context("no Debian mirror among the package sources")
}

/// Unpacks packages into one tree, unless that was done before. Returns the tree.
pub fn binaries(packages: &[&str]) -> Result<PathBuf> {
    fetched(&packages.join("+"), |place, apt| {
        apt.get(&[&["download"], packages].concat(), place)?;
        for package in
            files(place)?.iter().filter(|path| path.extension().is_some_and(|e| e == "deb"))
        {
            run(Command::new("dpkg-deb").arg("-x").arg(package).arg(place))?;
        }
        Ok(())
    })
}

/// Unpacks a package's source, as its authors made it, and below `debian` what Debian adds, unless
/// that was done before. Returns the tree.
pub fn source(package: &str) -> Result<PathBuf> {
    fetched(&format!("{package}-source"), |place, apt| {
        apt.get(&["source", "--download-only", package], place)?;
        for archive in files(place)? {
            let name = archive
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let strip = if name.contains(".orig.tar.") {
                "--strip-components=1"
            } else {
                "--strip-components=0"
            };
            if name.contains(".tar.") {
                run(Command::new("tar").arg("-xf").arg(&archive).arg(strip).arg("-C").arg(place))?;
            }
        }
        Ok(())
    })
}

/// Lets `fetch` fill a folder of this name, once.
fn fetched(name: &str, fetch: impl FnOnce(&Path, &Apt) -> Result<()>) -> Result<PathBuf> {
    /// One at a time: apt's state is in one place.
    static FETCHING: Mutex<()> = Mutex::new(());
    let _fetching = FETCHING.lock().unwrap_or_else(PoisonError::into_inner);
    let place = std::env::current_dir()?.join(folder()).join("packages").join(name);
    if !place.exists() {
        eprintln!("fetching packages of Debian for {}: {name}", board::chosen().linux()?.debian);
        let apt = Apt::new()?;
        let making = place.with_extension("making");
        if making.exists() {
            std::fs::remove_dir_all(&making)?;
        }
        std::fs::create_dir_all(&making)?;
        fetch(&making, &apt)?;
        std::fs::rename(making, &place)?;
    }
    Ok(place)
}

/// apt with a state and a cache of its own.
pub struct Apt(PathBuf);

impl Apt {
    /// Knows what the mirror has now: packages and source packages.
    ///
    /// # Errors
    /// If no mirror is known or its lists cannot be fetched.
    pub fn new() -> Result<Self> {
        let folder = std::env::current_dir()?.join(folder()).join("apt");
        for name in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(folder.join(name))?;
        }
        std::fs::write(folder.join("status"), "")?;
        let mirror = mirror()?;
        let key = "/usr/share/keyrings/debian-archive-keyring.gpg";
        ensure!(Path::new(key).exists(), "{key} is missing: install debian-archive-keyring");
        let sources = ["deb", "deb-src"]
            .map(|kind| format!("{kind} [signed-by={key}] {mirror} bookworm main\n"));
        std::fs::write(folder.join("sources"), sources.concat())?;
        let apt = Self(folder);
        apt.get(&["update"], &apt.0)?;
        Ok(apt)
    }

    /// Runs `apt-get` in a folder.
    ///
    /// # Errors
    /// If it fails.
    pub fn get(&self, arguments: &[&str], place: &Path) -> Result<()> {
        run(self.command(arguments)?.current_dir(place).stdout(Stdio::null()))
    }

    /// Fetches a source package into a folder and unpacks it there, with Debian's patches. Returns
    /// the source's folder.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn source(&self, package: &str, place: &Path) -> Result<PathBuf> {
        let place = place.join("source");
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        std::fs::create_dir_all(&place)?;
        self.get(&["source", package], &place)?;
        files(&place)?
            .into_iter()
            .find(|path| path.is_dir())
            .with_context(|| format!("{package} was not unpacked"))
    }

    /// Fetches the source that a package's authors made into a folder and unpacks it there, without
    /// what Debian changes. Returns the source's folder.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn upstream(&self, package: &str, place: &Path) -> Result<PathBuf> {
        let source = place.join("source");
        for folder in [place, &source] {
            std::fs::create_dir_all(folder)?;
        }
        self.get(&["source", "--tar-only", package], place)?;
        let archive = files(place)?
            .into_iter()
            .find(|path| path.to_string_lossy().contains(".orig.tar."))
            .with_context(|| format!("{package} was not fetched"))?;
        let strip = "--strip-components=1";
        run(Command::new("tar").arg("-xf").arg(archive).arg(strip).arg("-C").arg(&source))?;
        Ok(source)
    }

    /// Where it puts what it fetches to install.
    pub fn archives(&self) -> PathBuf {
        self.0.join("cache/archives")
    }

    /// The names of these packages and of all that they depend on.
    ///
    /// # Errors
    /// If one cannot be had.
    pub fn needed(&self, packages: &[&str]) -> Result<Vec<String>> {
        let mut simulate = self
            .command(&[&["install", "--simulate", "--no-install-recommends"], packages].concat())?;
        let output = simulate.stderr(Stdio::inherit()).output().context("cannot run apt-get")?;
        ensure!(
            output.status.success(),
            "apt-get failed ({}): see its output above",
            output.status
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let name = |line: &str| Some(line.strip_prefix("Inst ")?.split(' ').next()?.to_string());
        Ok(text.lines().filter_map(name).collect())
    }

    fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new("apt-get");
        for (option, value) in [
            ("Dir::State", ""),
            ("Dir::State::Lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
            ("Dir::Etc::SourceList", "sources"),
        ] {
            command.arg("-o").arg(format!("{option}={}", self.0.join(value).display()));
        }
        let architecture = &board::chosen().linux()?.debian;
        for name in ["Architecture", "Architectures"] {
            command.arg("-o").arg(format!("APT::{name}={architecture}"));
        }
        command.args(["-q", "-o", "Dir::Etc::SourceParts=-"]);
        command
            .args(["-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none"])
            .args(arguments);
        Ok(command)
    }
}
