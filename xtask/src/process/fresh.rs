// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decides whether a build has to run at all: if nothing has changed, asking the build itself would
//! take seconds.
//!
//! A stamp records the state of everything on which a build depends: the command, the environment,
//! all files of the project except documents, the packages of the machine, other files that the
//! build read, and the files that it made. A file's state is its place, its size, and the times of
//! the last change of its contents and of its inode; the last of these cannot be set back.
//!
//! The build runs if anything is uncertain: there is no stamp; a file changed during the build or
//! just before it; or the tool chain is not Debian's, whose changes show in the list of packages.

use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What changes whenever a package is installed, removed or replaced.
const PACKAGES: &str = "/var/lib/dpkg/status";
/// The compiler that comes in a package.
const COMPILER: &str = "/usr/bin/rustc";
/// Folders that hold nothing that anything is built from.
const MADE: [&str; 5] = ["./target", "./out", "./.git", "./bench/report", "./docs/book"];
/// The folder of documents, and how the name of a document ends that lies elsewhere: nothing that
/// runs in an emulator is built from them.
const DOCUMENTS: (&str, &str) = ("./docs", "md");
/// Environment variables that say where one comes from, and nothing of what is built. `./macadamia`
/// has the same list.
const WITHOUT_EFFECT: [&str; 11] = [
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "TERM",
    "COLUMNS",
    "LINES",
    "DISPLAY",
    "WINDOWID",
    "LS_COLORS",
    "MACADAMIA_FROM",
];
/// What changed so shortly before a build may change again without another time.
const SHORTLY: Duration = Duration::from_secs(1);

/// How one file is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    bytes: u64,
    inode: u64,
    mode: u32,
    /// When its contents and its inode changed, each in seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl State {
    /// That of a file; nothing if it is not there.
    pub fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().as_ref().map(Self::from)
    }
}

impl From<&fs::Metadata> for State {
    fn from(data: &fs::Metadata) -> Self {
        let (modified, changed) =
            ((data.mtime(), data.mtime_nsec()), (data.ctime(), data.ctime_nsec()));
        Self { bytes: data.len(), inode: data.ino(), mode: data.mode(), modified, changed }
    }
}

/// How a set of files is.
#[derive(Default)]
struct States {
    hasher: DefaultHasher,
    /// When one of the files of this changed last, since the epoch.
    latest: Duration,
}

impl States {
    fn file(&mut self, path: &Path, state: Option<State>) {
        path.hash(&mut self.hasher);
        let Some(state) = state else { return };
        state.hash(&mut self.hasher);
        let (seconds, nanoseconds) = state.changed;
        self.latest = self.latest.max(Duration::new(seconds.unsigned_abs(), nanoseconds as u32));
    }

    /// A file; that there is none, too.
    fn one(&mut self, path: &Path) {
        self.file(path, State::of(path));
    }

    /// What any build depends on.
    fn common(what: &str) -> Result<Self> {
        let mut state = Self::around()?;
        what.hash(&mut state.hasher);
        project()?
            .into_iter()
            .filter(|(path, _)| !is_document(path))
            .for_each(|(path, data)| state.file(&path, Some(data)));
        Ok(state)
    }

    /// What lies around the project: the environment, and what says how the machine's tools are.
    fn around() -> Result<Self> {
        let mut state = Self::default();
        let mut variables: Vec<_> =
            std::env::vars_os().filter(|(name, _)| has_effect(name)).collect();
        variables.sort();
        variables.hash(&mut state.hasher);
        // Cargo reads what lies above, too.
        for folder in std::env::current_dir()?
            .ancestors()
            .skip(1)
            .map(Path::to_path_buf)
            .chain(std::env::var_os("HOME").map(PathBuf::from))
        {
            [
                ".cargo/config",
                ".cargo/config.toml",
                "Cargo.toml",
                "rust-toolchain",
                "rust-toolchain.toml",
            ]
            .iter()
            .for_each(|file| state.one(&folder.join(file)));
        }
        state.one(Path::new(PACKAGES));
        Ok(state)
    }
}

/// The project's files, and how they are.
///
/// # Errors
/// If a folder cannot be read.
pub fn project() -> Result<BTreeMap<PathBuf, State>> {
    let mut found = BTreeMap::new();
    all(Path::new("."), &mut found)?;
    Ok(found)
}

/// All files below a folder.
fn all(folder: &Path, found: &mut BTreeMap<PathBuf, State>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if MADE.iter().any(|made| path == Path::new(made)) {
            continue;
        }
        // An editor's own file may be gone by now.
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() { all(&path, found)? } else { _ = found.insert(path, State::from(&data)) }
    }
    Ok(())
}

/// Whether a file of the project is a document.
pub fn is_document(path: &Path) -> bool {
    let (folder, extension) = DOCUMENTS;
    path.starts_with(folder) || path.extension().is_some_and(|other| other == extension)
}

/// How what lies around the project is: the environment, and what says how the machine's tools are.
/// Nothing where changes of the tools are not known.
///
/// # Errors
/// If folders cannot be read.
pub fn around() -> Result<Option<u64>> {
    if is_known() { Ok(Some(States::around()?.hasher.finish())) } else { Ok(None) }
}

fn has_effect(name: &OsStr) -> bool {
    !WITHOUT_EFFECT.iter().any(|other| name == *other)
        && !name.to_string_lossy().starts_with("SSH_")
}

/// Whether the tool chain's changes are known.
fn is_known() -> bool {
    std::env::var_os("RUSTC").is_some_and(|compiler| compiler == COMPILER)
        && Path::new(PACKAGES).exists()
}

/// What a stamp says.
fn stamp(common: &States, read: &BTreeSet<PathBuf>, made: &[PathBuf]) -> (String, Duration) {
    let mut files = States { hasher: common.hasher.clone(), latest: common.latest };
    read.iter().for_each(|file| files.one(file));
    let latest = files.latest;
    made.iter().for_each(|file| files.one(file));
    (format!("{:016x}", files.hasher.finish()), latest)
}

/// Runs a build that makes the files `made` by the command `what`, unless it would find everything
/// as it was. It returns what it read that is not among the project's files.
///
/// # Errors
/// Those of the build, and of files that cannot be read.
pub fn unless_fresh(
    folder: &Path,
    what: &str,
    made: &[PathBuf],
    build: impl FnOnce() -> Result<BTreeSet<PathBuf>>,
) -> Result<()> {
    if is_known() { unless_stamped(folder, what, made, build) } else { build().map(drop) }
}

/// The same where the tool chain's changes are known.
fn unless_stamped(
    folder: &Path,
    what: &str,
    made: &[PathBuf],
    build: impl FnOnce() -> Result<BTreeSet<PathBuf>>,
) -> Result<()> {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let common = States::common(what)?;
    let mut name = DefaultHasher::new();
    what.hash(&mut name);
    let file = folder.join(format!("{:016x}", name.finish()));
    if let Some((old, read)) =
        fs::read_to_string(&file).ok().as_deref().and_then(|text| text.split_once('\n'))
    {
        let read = read.lines().map(PathBuf::from).collect();
        if made.iter().all(|file| file.exists()) && stamp(&common, &read, made).0 == old {
            return Ok(());
        }
        fs::remove_file(&file)?;
    }
    let read = build()?;
    let (now, latest) = stamp(&common, &read, made);
    if latest + SHORTLY < begun {
        let names: String = read.iter().map(|file| format!("{}\n", file.display())).collect();
        fs::create_dir_all(folder)?;
        fs::write(&file, format!("{now}\n{names}"))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changes_is_another() {
        let file = std::env::temp_dir().join(format!("macadamia-fresh-{}", std::process::id()));
        let state = || stamp(&States::default(), &BTreeSet::from([file.clone()]), &[]).0;
        let none = state();
        fs::write(&file, "one").expect("a file");
        let one = state();
        assert_eq!(one, state());
        // The same size and an old time, as of a copy that keeps times.
        let old = fs::metadata(&file).and_then(|data| data.modified()).expect("a time");
        fs::write(&file, "two").expect("a file");
        fs::File::options()
            .append(true)
            .open(&file)
            .and_then(|file| file.set_modified(old))
            .expect("a time");
        let two = state();
        fs::remove_file(&file).expect("a file");
        assert!(none != one && one != two && none != two);
        assert_eq!(none, state());
    }

    #[test]
    fn what_was_built_is_built_again_when_something_changed() {
        let folder = std::env::temp_dir().join(format!("macadamia-stamps-{}", std::process::id()));
        let made = [folder.join("made")];
        fs::create_dir_all(&folder).expect("a folder");
        let builds = std::cell::Cell::new(0);
        let run = |what: &str| {
            let build = || {
                builds.set(builds.get() + 1);
                fs::write(&made[0], what)?;
                Ok(BTreeSet::new())
            };
            unless_stamped(&folder.join("stamps"), what, &made, build).expect("a build");
            builds.get()
        };
        assert_eq!([run("y"), run("y")], [1, 1]);
        fs::write(&made[0], "other").expect("a file");
        assert_eq!([run("y"), run("y"), run("z"), run("y")], [2, 2, 3, 4]);
        fs::remove_dir_all(folder).expect("a folder");
    }

    #[test]
    fn documents_are_what_people_read() {
        let is = |path: &str| is_document(Path::new(path));
        assert!(
            ["./README.md", "./docs/linux.md", "./docs/figure.svg", "./linux/order/NOTES.md"]
                .map(is)
                .iter()
                .all(|is| *is)
        );
        assert!(
            ["./docs.rs", "./xtask/src/quotes.rs", "./tests/docs/a.c", "./xtask/md"]
                .map(is)
                .iter()
                .all(|is| !*is)
        );
    }

    #[test]
    fn where_one_comes_from_has_no_effect() {
        assert!(
            ["RUSTFLAGS", "CARGO_HOME", "PATH", "KCFLAGS"]
                .iter()
                .all(|name| has_effect(OsStr::new(name)))
        );
        assert!(["PWD", "SSH_TTY", "TERM"].iter().all(|name| !has_effect(OsStr::new(name))));
    }
}
