// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' numbers: `bench/papers/*.toml`, a file for each.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A paper.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Title.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// Where it appeared.
    pub published: String,
    /// Year.
    pub year: u16,
    /// The machine on which it measured.
    pub machine: String,
    /// Its numbers, by the names that sections use.
    #[serde(default)]
    pub number: BTreeMap<String, Number>,
}

/// A number of a paper.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Number {
    /// The number itself.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// What was measured, in the paper's words.
    pub of: String,
    /// Its place: table, figure or section.
    pub at: String,
    /// Page, counted from the paper's first.
    pub page: Option<u16>,
}

/// All papers, by the names of their files.
#[derive(Clone, Debug, Default)]
pub struct Papers(pub BTreeMap<String, Paper>);

impl Papers {
    /// Reads a folder of them.
    ///
    /// # Errors
    /// Names the file that cannot be read or makes no sense.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut papers = BTreeMap::new();
        for (name, text) in files(folder)? {
            let paper = toml::from_str(&text)
                .with_context(|| format!("{}/{name}.toml", folder.display()))?;
            papers.insert(name, paper);
        }
        Ok(Self(papers))
    }

    /// The number that `PAPER/NAME` names.
    ///
    /// # Errors
    /// If there is none.
    pub fn number(&self, reference: &str) -> Result<(&Paper, &Number)> {
        let found = reference.split_once('/').and_then(|(paper, name)| {
            let paper = self.0.get(paper)?;
            Some((paper, paper.number.get(name)?))
        });
        found.with_context(|| format!("no paper has the number `{reference}`"))
    }
}

/// The TOML files of a folder in the order of their names, which come without `.toml`.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(&path)?));
        }
    }
    ensure!(!found.is_empty(), "there is nothing in {}", folder.display());
    found.sort();
    Ok(found)
}
