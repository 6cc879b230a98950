// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of folders of this machine that systems see: a native client that wants more than they
//! have, and Linux.

use super::tally::{Test, on_pc64, slow, test};
use crate::build::{self, Options, Wire};
use crate::emulator::{self, Machine};
use crate::guest::{self, Guest, insert};
use crate::machine::Emulator;
use crate::machine::board;
use crate::machine::folders::{Folder, folder};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("folder.hostile", hostile),
    test("folder.read-only", read_only),
    test("pc64.folder.hostile", || on_pc64(hostile)),
    test("pc64.folder.read-only", || on_pc64(read_only)),
    slow("linux.folder", "it builds the full Linux", linux),
    slow("linux.folder.restarts", "it builds the full Linux", restarts),
    slow("linux.folder.debian", "it installs Debian", debian),
    slow("pc64.linux.folder", "it builds the full Linux", || on_pc64(linux)),
];

/// What is in the folders, and outside of them.
const INSIDE: &str = "inside\n";
const OUTSIDE: &str = "outside\n";

/// Two folders that a system sees, and a third one beside them that it must not see.
struct Place(PathBuf);

impl Place {
    fn make() -> Result<Self> {
        let place = Self(board::chosen().out().join("folders"));
        if place.0.exists() {
            fs::remove_dir_all(&place.0)?;
        }
        fs::create_dir_all(place.outside())?;
        fs::write(place.outside().join("inside"), OUTSIDE)?;
        let outside = place.outside().canonicalize()?;
        for shared in [place.writable(), place.kept()] {
            fs::create_dir_all(shared.join("below"))?;
            fs::write(shared.join("inside"), INSIDE)?;
            fs::write(shared.join("below/inside"), INSIDE)?;
            symlink("../outside/inside", shared.join("link"))?;
            symlink("../outside", shared.join("folder-link"))?;
            symlink("folder-link", shared.join("chain"))?;
            symlink(outside.join("inside"), shared.join("absolute-link"))?;
            symlink(&outside, shared.join("absolute-folder-link"))?;
        }
        Ok(place)
    }

    fn writable(&self) -> PathBuf {
        self.0.join("writable")
    }

    fn kept(&self) -> PathBuf {
        self.0.join("kept")
    }

    fn outside(&self) -> PathBuf {
        self.0.join("outside")
    }

    /// The two that a system sees.
    fn folders(&self) -> Result<Vec<Folder>> {
        Ok(vec![
            folder(&self.writable(), "/mnt/work", true)?,
            folder(&self.kept(), "/mnt/kept", false)?,
        ])
    }

    /// All that must not change.
    fn listing(&self) -> Result<BTreeMap<PathBuf, String>> {
        let mut all = BTreeMap::new();
        for place in [self.kept(), self.outside()] {
            list(&place, &mut all)?;
        }
        for entry in fs::read_dir(&self.0)? {
            all.insert(entry?.path(), String::new());
        }
        Ok(all)
    }

    /// That nothing has changed.
    fn check(&self, before: &BTreeMap<PathBuf, String>) -> Result<()> {
        let after = self.listing()?;
        ensure!(*before == after, "something has changed: {before:?} is {after:?}");
        Ok(())
    }
}

/// What is in a folder: kinds and rights, and what files have and where links lead.
fn list(folder: &Path, all: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let about = path.symlink_metadata()?;
        let what = if about.is_symlink() {
            fs::read_link(&path)?.display().to_string()
        } else if about.is_dir() {
            list(&path, all)?;
            String::new()
        } else {
            fs::read_to_string(&path)?
        };
        all.insert(path, format!("{:o} {what}", about.mode()));
    }
    Ok(())
}

/// Runs the native client; what it says.
fn attack(system: &str, place: &Place) -> Result<String> {
    let folders = place.folders()?;
    let options = Options { folders: &folders, ..Options::default() };
    let built = build::plan(Path::new(system), options)?.carry_out()?;
    let machine = Machine::of(Emulator::Qemu, &built, None);
    let transcript = emulator::batch(&built, machine, Duration::from_secs(300))?;
    let said = transcript.console;
    ensure!(
        transcript.ended && said.contains("[folder-attack] all was refused"),
        "not all was refused: {said}"
    );
    for wrong in ["panicked", "needs a reset", "`folder` died", "`folder` hangs", "was not asked"] {
        ensure!(!said.contains(wrong), "{wrong}: {said}");
    }
    said.lines()
        .filter_map(|line| line.trim().strip_prefix("[folder-attack] "))
        .for_each(|line| println!("# {line}"));
    Ok(said)
}

/// A client that sends anything sees nothing outside, changes nothing there, and does not keep the
/// folders from working.
fn hostile() -> Result<()> {
    let place = Place::make()?;
    let before = place.listing()?;
    attack("tests/systems/folder-hostile.toml", &place)?;
    place.check(&before)?;
    let mode = place.writable().join("program").metadata()?.permissions().mode();
    ensure!(mode & 0o7777 == 0o755, "a new program has the rights {mode:o}");
    for name in ["device", "stolen", "made"] {
        ensure!(place.writable().join(name).symlink_metadata().is_err(), "there is `{name}`");
    }
    Ok(())
}

/// Nothing changes a folder that is read-only.
fn read_only() -> Result<()> {
    let place = Place::make()?;
    let before = place.listing()?;
    attack("tests/systems/folder-read-only.toml", &place)?;
    place.check(&before)
}

/// What programs do in folders.
fn linux() -> Result<()> {
    let place = Place::make()?;
    let before = place.listing()?;
    let guest = Guest {
        folders: place.folders()?,
        inserts: vec![insert("/bin/folder-test", fs::read("tests/linux/folder.sh")?)],
        timeout: Duration::from_secs(600),
        ..Guest::default()
    };
    let o = guest.succeed("folder-test")?;
    ensure!(o.text().ends_with("all is so\n"), "{}", o.said());
    place.check(&before)?;
    let here = place.writable();
    let own = here.join("inside").metadata()?;
    let new = here.join("hard").metadata()?;
    ensure!(
        (new.uid(), new.mode() & 0o7777) == (own.uid(), 0o750),
        "a new file is {}'s, with the rights {:o}",
        new.uid(),
        new.mode()
    );
    ensure!(fs::read_to_string(here.join("other/moved"))? == "changed\n", "it was not changed");
    ensure!(here.join("large").metadata()?.len() == 24 << 20, "a large file is not that large");
    ensure!(!here.join("many").exists(), "ten thousand files are left");
    Ok(())
}

/// How often the server has to die, and to hang, at least.
const ENDS: usize = 5;

/// What must be done once, and is, although the server dies at any moment: a second time it would
/// fail. A file that is open stays open.
const ONCE: &str = "cd /mnt/work && exec 5>> lines && n=0 && while [ $n -lt 1500 ]; do n=$((n + 1)); mkdir a$n && mv a$n b$n && rmdir b$n && echo $n >&5 || exit 1; done";

/// The server is killed and hangs at any moment, and is started again: nothing is lost, and nothing
/// is done twice.
fn restarts() -> Result<()> {
    let place = Place::make()?;
    let before = place.listing()?;
    let guest = Guest {
        system: "tests/systems/linux-folder-restarts.toml",
        folders: place.folders()?,
        wire: Wire::USER,
        timeout: Duration::from_secs(600),
        ..Guest::default()
    };
    let copies = "for i in 1 2 3 4; do dd if=/dev/urandom of=/tmp/bytes bs=64k count=64 2> /dev/null && cp /tmp/bytes /mnt/work/copy$i && cmp /tmp/bytes /mnt/work/copy$i || exit 1; done";
    let command = format!("({ONCE}) & ({copies}) || exit 1; wait $! && cat /mnt/kept/inside");
    let o = guest.succeed(&command)?;
    ensure!(o.text() == INSIDE, "{}", o.said());
    let log = guest::log()?;
    for end in ["`folder` died", "`folder` hangs"] {
        let ends = log.matches(end).count();
        println!("# {end} {ends} times");
        ensure!(ends >= ENDS, "{end} {ends} times, not {ENDS}");
    }
    ensure!(!log.contains("is not sound"), "a session was over: {log}");
    let lines = fs::read_to_string(place.writable().join("lines"))?;
    let expected: String = (1..=1500).map(|number| format!("{number}\n")).collect();
    ensure!(lines == expected, "lines are lost or written twice: {lines}");
    place.check(&before)
}

/// Debian has them where it was asked to, also where there was no folder before.
fn debian() -> Result<()> {
    let place = Place::make()?;
    let before = place.listing()?;
    let guest = Guest {
        system: "systems/debian.toml",
        folders: place.folders()?,
        timeout: Duration::from_secs(1200),
        ..Guest::default()
    };
    let command = "findmnt -n -o FSTYPE,SOURCE /mnt/work /mnt/kept; cat /mnt/kept/inside && cp -r /etc/systemd /mnt/work && ! touch /mnt/kept/new";
    let o = guest.succeed(command).context("Debian")?;
    ensure!(o.text().ends_with(INSIDE), "{}", o.said());
    ensure!(place.writable().join("systemd/system.conf").exists(), "nothing was copied");
    place.check(&before)
}
