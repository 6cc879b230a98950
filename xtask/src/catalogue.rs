// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names that a command takes: which systems, boards and CPU models there are, what each is,
//! and which name the user probably meant.
//!
//! It owns the folders in which descriptions lie, and the form of lists. It does not know what a
//! description says, except the comment at its head.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// The folders of systems to run, and of systems for tests.
const SYSTEMS: &str = "systems";
const TESTS: &str = "tests/systems";
/// How much a name must be like a wrong one to be suggested: 1 is equal.
const LIKE: f64 = 0.8;

/// Descriptions in a folder, in the order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub fn descriptions(folder: &str) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))?;
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    found.sort();
    Ok(found)
}

/// The names of what is described in a folder, in their order.
///
/// # Errors
/// If the folder cannot be read.
pub fn names(folder: &str) -> Result<Vec<String>> {
    Ok(descriptions(folder)?.iter().map(|path| name(path)).collect())
}

/// The name of a description's system.
pub fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The first sentence of the comment at a description's head, without its full stop.
pub fn head(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = lines.join(" ");
    comment.split(". ").next().unwrap_or_default().trim_end_matches('.').to_string()
}

/// Names, and what each of them is, in two columns.
pub fn columns(rows: &[(String, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.iter()
        .map(|(name, what)| format!("{name:width$}  {what}").trim_end().to_string() + "\n")
        .collect()
}

/// Every system that can be run, of those whose description `fits`, and what it is.
///
/// # Errors
/// If a description cannot be read.
pub fn systems(fits: impl Fn(&Path) -> bool) -> Result<Vec<(String, String)>> {
    let read = |path: &PathBuf| {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok((name(path), head(&text)))
    };
    let mut systems = descriptions(SYSTEMS)?
        .iter()
        .filter(|path| fits(path))
        .map(read)
        .collect::<Result<Vec<_>>>()?;
    systems.sort();
    Ok(systems)
}

/// The description of a system by its name, or by its path.
///
/// # Errors
/// If there is none; the nearest name is suggested.
pub fn system(wanted: &str) -> Result<PathBuf> {
    find(wanted, &descriptions(SYSTEMS)?)
}

/// The system that has a screen beside this one, `NAME-screen`; this one itself if there is none,
/// or if there is none for the board (`besides` is false).
///
/// # Errors
/// If there is no system of this name.
pub fn with_screen(wanted: &str, besides: bool) -> Result<PathBuf> {
    let plain = system(wanted)?;
    let beside =
        descriptions(SYSTEMS)?.into_iter().find(|path| name(path) == format!("{wanted}-screen"));
    Ok(beside.filter(|_| besides).unwrap_or(plain))
}

/// The description of a system by its name, of systems for tests, too.
///
/// # Errors
/// If there is none; the nearest name is suggested.
pub fn any_system(wanted: &str) -> Result<PathBuf> {
    find(wanted, &[descriptions(TESTS)?, descriptions(SYSTEMS)?].concat())
}

/// Whether a system is given by its description, and not by its name.
pub fn is_path(wanted: &str) -> bool {
    Path::new(wanted).extension().is_some_and(|extension| extension == "toml")
}

fn find(wanted: &str, paths: &[PathBuf]) -> Result<PathBuf> {
    if is_path(wanted) {
        ensure!(
            Path::new(wanted).is_file(),
            "there is no description {wanted}: give its path, or the name of a system in {SYSTEMS}"
        );
        return Ok(wanted.into());
    }
    if let Some(path) = paths.iter().find(|path| name(path) == wanted) {
        return Ok(path.clone());
    }
    let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
    match near(wanted, names.iter().map(String::as_str)) {
        Some(near) => bail!(
            "there is no system `{wanted}`; did you mean `{near}`? `./macadamia list` shows all"
        ),
        None => {
            bail!("there is no system `{wanted}`: `./macadamia list` shows all systems")
        }
    }
}

/// The name that is most like `wanted`, if any is.
pub fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(wanted, name);
    names
        .filter(|name| likeness(name) > LIKE)
        .max_by(|one, other| likeness(one).total_cmp(&likeness(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a terminal, without the longest name.
    const MOST_COLUMNS: usize = 100;

    #[test]
    fn heads() {
        assert_eq!(head("# One. Two.\nmemory = 1\n# no"), "One");
        assert_eq!(
            head("# A sentence of\n# two lines: disk.img.\n"),
            "A sentence of two lines: disk.img"
        );
        assert_eq!(head("memory = 1"), "");
    }

    #[test]
    fn every_system_says_what_it_is() {
        for folder in ["../systems", "../tests/systems"] {
            let paths = descriptions(folder).unwrap_or_default();
            assert!(!paths.is_empty(), "{folder}");
            for path in paths {
                let head = head(&std::fs::read_to_string(&path).unwrap_or_default());
                assert!(
                    (10..=MOST_COLUMNS).contains(&head.len()),
                    "{}: the head's first sentence is `{head}`",
                    path.display()
                );
            }
        }
    }

    #[test]
    fn what_was_meant() {
        let names = ["hello", "linux", "linux-disk", "pingpong"];
        for (wrong, meant) in [
            ("helo", Some("hello")),
            ("pingpog", Some("pingpong")),
            ("linux-disc", Some("linux-disk")),
            ("zzz", None),
        ] {
            assert_eq!(near(wrong, names.into_iter()), meant, "{wrong}");
        }
    }

    #[test]
    fn in_columns() {
        let rows = [("a", "First"), ("long", "Second"), ("b", "")]
            .map(|(name, what)| (name.into(), what.into()));
        assert_eq!(columns(&rows), "a     First\nlong  Second\nb\n");
    }
}
