// SPDX-License-Identifier: MIT OR Apache-2.0
//! The counts of each run of the whole book, kept under the commit: the book takes hours, and
//! continues after an interruption.

use crate::process::{aside, git};
use anyhow::{Context, Result, ensure};
use book::Counted;
use model_core::Report;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where counts are: a folder for the commit, in it a file for each run.
const FOLDER: &str = "out/bench";

/// The counts of a commit, or of none.
pub struct Kept {
    /// The commit and its folder, if counts are kept.
    place: Option<(String, PathBuf)>,
}

/// A [`Counted`] as it is written. JSON has no keys of two parts.
#[derive(Serialize, Deserialize)]
struct Written {
    ours: Report,
    native: Option<Report>,
    parts: Vec<Part>,
}

/// The interval and the part's name, and what it takes.
type Part = ((u16, String), (f64, Option<f64>));

impl Kept {
    /// Keeps nothing.
    pub const fn nothing() -> Self {
        Self { place: None }
    }

    /// Those of the commit that is checked out: those of others are deleted. Nothing is kept if the
    /// tree differs from its commit, or there is none.
    ///
    /// # Errors
    /// If folders cannot be made or deleted.
    pub fn of_commit() -> Result<Self> {
        let Ok(commit) = git::commit() else { return Ok(Self::nothing()) };
        if let Err(reason) = git::clean() {
            eprintln!("counts are not kept: {reason}");
            return Ok(Self::nothing());
        }
        let folder = Path::new(FOLDER).join(&commit);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        for other in std::fs::read_dir(FOLDER)? {
            let other = other?.path();
            if other != folder {
                std::fs::remove_dir_all(&other)
                    .with_context(|| format!("cannot delete {}", other.display()))?;
            }
        }
        Ok(Self { place: Some((commit, folder)) })
    }

    /// What a run with a CPU model counted in a layout of Linux's code, if it is known.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of(&self, run: &str, cpu: &str, layout: u8) -> Result<Option<Counted>> {
        let Some((_, folder)) = &self.place else { return Ok(None) };
        let file = file(folder, run, cpu, layout);
        if !file.exists() {
            return Ok(None);
        }
        let wrong = || format!("{} cannot be read: delete it", file.display());
        let text = std::fs::read_to_string(&file).with_context(wrong)?;
        let Written { ours, native, parts } = serde_json::from_str(&text).with_context(wrong)?;
        Ok(Some(Counted { ours, native, parts: parts.into_iter().collect() }))
    }

    /// Keeps what a run counted.
    ///
    /// # Errors
    /// If the tree is another one by now, or the file cannot be written.
    pub fn keep(&self, run: &str, cpu: &str, layout: u8, counted: &Counted) -> Result<()> {
        let Some((commit, folder)) = &self.place else { return Ok(()) };
        git::clean()?;
        ensure!(
            *commit == git::commit()?,
            "another commit was checked out while the book was made"
        );
        write(&file(folder, run, cpu, layout), counted)
    }
}

fn write(file: &Path, counted: &Counted) -> Result<()> {
    let Counted { ours, native, parts } = counted.clone();
    let text =
        serde_json::to_string(&Written { ours, native, parts: parts.into_iter().collect() })?;
    aside(file, |making| {
        std::fs::write(making, text).with_context(|| format!("cannot write {}", making.display()))
    })
}

/// The file of a run. A name of a run, or of a model, has no slash and no comma.
fn file(folder: &Path, run: &str, cpu: &str, layout: u8) -> PathBuf {
    folder.join(format!("{run},{cpu},{layout}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use book::Parts;

    #[test]
    fn what_is_kept_is_found_again_by_all_its_names() {
        let folder = std::env::temp_dir().join(format!("macadamia-counts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let parts = Parts::from([
            ((600, "driver".into()), (10.5, None)),
            ((601, "all".into()), (3.25, Some(1.0))),
        ]);
        let counted = Counted {
            ours: Report { instructions: 7, ..Report::default() },
            native: Some(Report::default()),
            parts,
        };
        write(&file(&folder, "stream", "pentium4", 2), &counted).expect("a file");
        let kept = Kept { place: Some((String::new(), folder.clone())) };
        let found = kept.of("stream", "pentium4", 2).expect("readable").expect("kept");
        assert_eq!(
            (&found.ours, &found.native, &found.parts),
            (&counted.ours, &counted.native, &counted.parts)
        );
        for (run, cpu, layout) in
            [("stream", "pentium4", 1), ("stream", "pentium", 2), ("streams", "pentium4", 2)]
        {
            assert!(kept.of(run, cpu, layout).expect("readable").is_none());
        }
        std::fs::write(file(&folder, "stream", "pentium4", 2), "{").expect("a file");
        assert!(kept.of("stream", "pentium4", 2).is_err());
        std::fs::remove_dir_all(folder).expect("the folder");
    }
}
