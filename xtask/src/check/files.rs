// SPDX-License-Identifier: MIT OR Apache-2.0
//! The files of the tree.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Folders of what is built.
const BUILT: [&str; 2] = ["target", "out"];

/// The files of a folder, and of those in it, that are wanted: none that is hidden or was built.
pub fn files(folder: &Path, wanted: &impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?
    {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !path.is_dir() {
            found.extend(wanted(&path).then_some(path));
        } else if !name.starts_with('.') && !BUILT.contains(&&*name) {
            found.append(&mut files(&path, wanted)?);
        }
    }
    Ok(found)
}

/// Whether a file's name ends with one of these.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| extensions.contains(&extension))
}

/// The text of a file.
pub fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
