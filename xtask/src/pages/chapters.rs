// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which pages there are, and in which order the book has them.

use super::links::{links, target};
use crate::check::files::{files, has_extension, read};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of pages.
pub const FOLDER: &str = "docs";
/// The order of chapters.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// A page, by its path from the project's folder, and its text.
pub type Pages = BTreeMap<PathBuf, String>;

/// All documents for readers: those of the folder, and those at the root of the tree.
///
/// # Errors
/// If one cannot be read.
pub fn all() -> Result<Pages> {
    let mut found = files(Path::new(FOLDER), &|path| has_extension(path, &["md"]))?;
    for entry in std::fs::read_dir(".").context("cannot list the project's folder")? {
        let name = PathBuf::from(entry?.file_name());
        found.extend(has_extension(&name, &["md"]).then_some(name));
    }
    found.into_iter().map(|path| Ok((path.clone(), read(&path)?))).collect()
}

/// The chapters in their order.
pub fn chapters(pages: &Pages) -> Result<Vec<PathBuf>> {
    let summary = pages.get(Path::new(SUMMARY)).with_context(|| format!("no {SUMMARY}"))?;
    links(summary)
        .iter()
        .map(|link| {
            target(Path::new(FOLDER), link.path)
                .with_context(|| format!("{SUMMARY}: {} is not in the tree", link.path))
        })
        .collect()
}
