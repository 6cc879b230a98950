// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which files Linux's build read: the sources and headers that its Makefile notes next to each
//! object, in `.NAME.cmd`, and the files that say how to build.

use anyhow::Result;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that are read as Makefiles or choices, by how their names begin.
const RULES: [&str; 3] = ["Makefile", "Kbuild", "Kconfig"];

/// Those files of a source tree in which Linux was built.
///
/// # Errors
/// If one cannot be read.
pub fn files(tree: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::from([tree.join(".config")]);
    below(tree, tree, &mut found)?;
    Ok(found)
}

fn below(tree: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if kind.is_dir() {
            below(tree, &path, found)?;
        } else if RULES.iter().any(|rule| name.starts_with(rule)) {
            found.insert(path);
        } else if name.starts_with('.') && name.ends_with(".cmd") {
            found.extend(noted(&fs::read_to_string(&path)?).map(|file| tree.join(file)));
        }
    }
    Ok(())
}

/// The files that a note names: `source_OBJECT := FILE`, and after `deps_OBJECT := \\` one in each
/// line.
fn noted(text: &str) -> impl Iterator<Item = &str> {
    let source = text
        .lines()
        .filter(|line| line.starts_with("source_"))
        .filter_map(|line| line.split_once(":= "))
        .map(|(_, file)| file);
    let others = text
        .lines()
        .skip_while(|line| !line.starts_with("deps_"))
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    // What stands for a choice is a file that nobody has to have.
    let others = others
        .map(|line| line.trim_end_matches('\\').trim())
        .filter(|file| !file.starts_with("$("));
    source.chain(others)
}

#[cfg(test)]
mod tests {
    use super::noted;

    #[test]
    fn notes() {
        let text = "savedcmd_mm/a.o := gcc x\n\nsource_mm/a.o := mm/a.c\n\ndeps_mm/a.o := \\\n    $(wildcard include/config/X) \\\n  include/b.h \\\n  \
                    /usr/include/c.h \\\n\nmm/a.o: $(deps_mm/a.o)\n";
        assert_eq!(noted(text).collect::<Vec<_>>(), ["mm/a.c", "include/b.h", "/usr/include/c.h"]);
    }
}
