// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lists and reads the files of the tree.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// How paths of folders end that have what is built.
const BUILT: [&str; 3] = ["target", "out", "docs/book"];

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
        } else if !name.starts_with('.') && !BUILT.iter().any(|built| path.ends_with(built)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_no_part_of_the_tree() {
        let root = std::env::temp_dir().join(format!("macadamia-files-{}", std::process::id()));
        for folder in ["book", "docs/book/a", "docs/target", ".git"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
            std::fs::write(root.join(folder).join("x.md"), "").expect("a file");
        }
        let found = files(&root, &|path| has_extension(path, &["md"]));
        std::fs::remove_dir_all(&root).expect("it was there");
        assert_eq!(found.expect("files"), [root.join("book/x.md")]);
    }
}
