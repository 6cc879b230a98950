// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that an emulator can read while they are built again: each file is replaced as a whole,
//! and a run has links of its own to the files of one build.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// What a folder of links is called before the number of the process that has it.
const RUN: &str = "run-";

/// Makes links to files of one folder, which no later build replaces, and names these instead. Does
/// away with links of processes that have ended.
pub fn keep(files: [&mut PathBuf; 5]) -> Result<()> {
    let folder = files[0].parent().context("no folder for what is built")?.to_path_buf();
    for old in std::fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path())) {
        let process = old.file_name().and_then(|name| name.to_str()?.strip_prefix(RUN));
        // One that was killed left its own. This one has none yet.
        let own = std::process::id().to_string();
        if process
            .is_some_and(|process| process == own || !Path::new("/proc").join(process).exists())
        {
            std::fs::remove_dir_all(&old)?;
        }
    }
    let own = folder.join(format!("{RUN}{}", std::process::id()));
    std::fs::create_dir_all(&own)?;
    for file in files {
        let kept = own.join(file.file_name().context("a file without a name")?);
        if file.exists() {
            std::fs::hard_link(&file, &kept)
                .with_context(|| format!("cannot make {}", kept.display()))?;
        }
        *file = kept;
    }
    Ok(())
}

/// Does away with the folder of links that `file` is in.
pub fn forget(file: &Path) -> Result<()> {
    let own = file.parent().filter(|folder| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(RUN))
    });
    own.map_or(Ok(()), |own| {
        std::fs::remove_dir_all(own).with_context(|| format!("cannot remove {}", own.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::aside;
    use std::fs;

    #[test]
    fn a_later_build_changes_nothing_of_a_run() {
        let folder = std::env::temp_dir().join(format!("macadamia-kept-{}", std::process::id()));
        let gone = folder.join("run-4294967295");
        fs::create_dir_all(&gone).expect("a folder");
        let names = ["kernel", "image", "symbols", "flat", "boot"].map(|name| folder.join(name));
        let write = |text: &str| {
            names
                .iter()
                .take(3)
                .for_each(|name| aside(name, |file| Ok(fs::write(file, text)?)).expect("a file"))
        };
        write("first");
        let [mut a, mut b, mut c, mut d, mut e] = names.clone();
        keep([&mut a, &mut b, &mut c, &mut d, &mut e]).expect("links");
        write("second");
        assert_eq!(
            [&a, &b, &c, &names[1]].map(|file| fs::read_to_string(file).expect("a file")),
            ["first", "first", "first", "second"]
        );
        assert!(!gone.exists() && !d.exists());
        forget(&a).expect("a folder");
        forget(&names[0]).expect("no links");
        assert!(!a.exists() && names[0].exists());
        fs::remove_dir_all(folder).expect("a folder");
    }
}
