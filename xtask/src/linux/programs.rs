// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disks of programs and of a compiler for a processor for which Debian has no packages: they are
//! built from Debian's source packages, as `linux/programs/recipes.toml` says.

use super::contents::Contents;
use super::debian::make;
use super::recipes::Recipes;
use super::{folder, root};
use crate::machine::board::Board;
use crate::process::lock::Lock;
use anyhow::{Result, ensure};
use std::fs;
use std::path::Path;

/// What is built, and how; and what is copied.
const RECIPES: &str = "linux/programs/recipes.toml";
/// Where it is kept what was built.
const BUILT: &str = "programs";

/// Refuses a disk that is made of what Debian does not have for the board.
///
/// # Errors
/// What helps.
pub fn can_hold(board: &Board, contents: Contents) -> Result<()> {
    let name = board.name();
    match contents {
        Contents::Ext4 => {}
        Contents::Programs | Contents::Compiler => ensure!(
            board.linux()?.from_source,
            "Debian has packages for the board `{name}`, so nothing is built of its source: `./macadamia run debian` has them on its disk"
        ),
        Contents::Debian | Contents::DebianPackages => ensure!(
            !board.linux()?.from_source,
            "Debian has no packages for the board `{name}`: `./macadamia run programs --board {name}` has programs that are built of its source"
        ),
        // What its packages do when they are installed is done by this machine.
        Contents::DebianDesktop => ensure!(
            !board.linux()?.cross,
            "Debian's desktop is made for the PC only: `./macadamia run linux --screen --board {name}` has a shell on the screen, if the board has one"
        ),
    }
    Ok(())
}

/// Puts the programs on a disk, or a C compiler with what it calls, headers and libraries.
///
/// # Errors
/// If something does not build.
pub fn image(image: &Path, holds: Contents) -> Result<()> {
    // What the recipes call the disk.
    let name = if matches!(holds, Contents::Compiler) { "compiler" } else { "programs" };
    let recipes = Recipes::read(RECIPES, BUILT, None)?;
    recipes.build(name)?;
    let tree = recipes.place()?.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    recipes.install(name, &tree)?;
    make(image, "linux/programs/assemble \"$tree\" \"$@\"", &[&root::debians_busybox()?, &tree])
}

/// The contents of files that the recipes install at these paths; what was not built is.
///
/// # Errors
/// If no recipe has a path, or something does not build.
pub fn contents(paths: &[String]) -> Result<Vec<Vec<u8>>> {
    let _building = Lock::of(&folder().join(BUILT))?;
    let files = Recipes::read(RECIPES, BUILT, None)?.files(paths)?;
    files.iter().map(|file| Ok(fs::read(file)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_made_of_what_debian_has() -> Result<()> {
        let board =
            |name: &str| Board::read(&Path::new("../boards").join(name).with_extension("toml"));
        let said = |name: &str, contents| {
            anyhow::Ok(can_hold(&board(name)?, contents).err().map(|error| error.to_string()))
        };
        for name in ["pc", "versatilepb"] {
            assert_eq!(said(name, Contents::Debian)?, None);
            for contents in [Contents::Programs, Contents::Compiler] {
                assert!(
                    said(name, contents)?
                        .is_some_and(|why| why.contains("`./macadamia run debian`"))
                );
            }
        }
        assert_eq!(said("pc", Contents::DebianDesktop)?, None);
        for name in ["versatilepb", "amigaone"] {
            assert!(
                said(name, Contents::DebianDesktop)?
                    .is_some_and(|why| why.contains(&format!("--screen --board {name}")))
            );
        }
        for contents in [Contents::Programs, Contents::Compiler] {
            assert_eq!(said("amigaone", contents)?, None);
        }
        assert!(
            said("amigaone", Contents::Debian)?
                .is_some_and(|why| why.contains("run programs --board amigaone"))
        );
        Ok(())
    }
}
