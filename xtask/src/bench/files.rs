// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that a run adds for both Linuxes in addition to its program, from the Debian archive, from
//! what is built of Debian's source packages, and from the project.

use crate::guest::insert;
use crate::linux::root::Insert;
use crate::linux::{debian, musl, packages, programs};
use crate::machine::board;
use crate::process::run;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where files of the archive are unpacked, so that links to them can be followed.
const UNPACKED: &str = "target/linux/bench";

/// Files of Debian at the paths that they have there: of these packages, or if there are none of
/// the disk's archive.
pub fn debian(paths: &[String], of: &[String]) -> Result<Vec<Insert>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    if !of.is_empty() {
        let tree = packages::binaries(&of.iter().map(String::as_str).collect::<Vec<_>>())?;
        let read = |path: &String| {
            std::fs::read(tree.join(path)).with_context(|| format!("{path} of {}", of.join(", ")))
        };
        return paths.iter().map(|path| Ok(insert(&format!("/{path}"), read(path)?))).collect();
    }
    let archive = debian::packages()?;
    std::fs::create_dir_all(UNPACKED)?;
    let mut wanted: Vec<PathBuf> = paths.iter().map(|path| inside(path)).collect();
    while !wanted.is_empty() {
        run(Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .args(["-C", UNPACKED])
            .args(wanted.iter().map(|path| Path::new(".").join(path))))?;
        // What a link beside it names is wanted, too.
        wanted = wanted
            .iter()
            .filter_map(|path| {
                Some(path.with_file_name(Path::new(UNPACKED).join(path).read_link().ok()?))
            })
            .collect();
    }
    let read = |path: &str| {
        std::fs::read(Path::new(UNPACKED).join(inside(path)))
            .with_context(|| format!("{path} of {}", archive.display()))
    };
    paths.iter().map(|path| Ok(insert(&format!("/{path}"), read(path)?))).collect()
}

/// Where the archive has a file: its `/lib` is a link to `/usr/lib`.
fn inside(path: &str) -> PathBuf {
    if path.starts_with("lib/") { Path::new("usr").join(path) } else { path.into() }
}

/// Files of Debian's source packages at the paths that they have there.
pub fn built(paths: &[String]) -> Result<Vec<Insert>> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let built =
        if board::chosen().linux()?.from_source { programs::contents } else { musl::programs };
    let contents = built(paths)?;
    Ok(paths.iter().zip(contents).map(|(path, file)| insert(&format!("/{path}"), file)).collect())
}

/// Files of the project in `/src`: of `NAME.c` what the preprocessor makes of it, as `NAME.i`, so
/// that no headers are needed.
pub fn sources(paths: &[String]) -> Result<Vec<Insert>> {
    let one = |path: &String| -> Result<Insert> {
        let path = Path::new(path);
        let place = |name: &Path| {
            format!("/src/{}", name.file_name().unwrap_or_default().to_string_lossy())
        };
        if path.extension().is_none_or(|extension| extension != "c") {
            return Ok(insert(
                &place(path),
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?,
            ));
        }
        let output = Command::new(board::chosen().linux()?.compiler())
            .args(["-E", "-P", "-O2"])
            .arg(path)
            .output()
            .context("cannot run the preprocessor")?;
        ensure!(
            output.status.success(),
            "{} cannot be preprocessed: {}",
            path.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(insert(&place(&path.with_extension("i")), output.stdout))
    };
    paths.iter().map(one).collect()
}
