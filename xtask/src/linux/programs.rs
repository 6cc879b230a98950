// SPDX-License-Identifier: MIT OR Apache-2.0
//! The disk of programs for a processor for which Debian has no packages: they are built from
//! Debian's source packages, as `linux/programs/recipes.toml` says. Each package is built once, and
//! again when its recipe has changed.

use super::contents::Contents;
use super::debian::make;
use super::packages::Apt;
use super::{files, folder, root};
use crate::machine::board::{self, Board};
use crate::process::tether::group;
use crate::process::{complete, run};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What is built, and how.
const RECIPES: &str = "linux/programs/recipes.toml";
/// What every call of make gets: documents are not made, and scripts that a patch made older than
/// their sources stay as they are.
const MAKE: [&str; 5] = ["MAKEINFO=true", "AUTOCONF=:", "AUTOMAKE=:", "ACLOCAL=:", "AUTOHEADER=:"];

/// All that is on the disk besides the shell's root file system.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recipes {
    package: Vec<Recipe>,
    #[serde(default)]
    copy: Vec<Copy>,
}

/// A source package.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
struct Recipe {
    source: String,
    /// A command for the shell, in the source's folder.
    prepare: Option<String>,
    configure: Vec<String>,
    /// Calls of make, one after the other.
    make: Vec<Vec<String>>,
    /// Whether it is only for packages after it.
    library: bool,
    /// Paths on the disk, with the files that are made.
    install: BTreeMap<String, String>,
    /// Of such a path more names in its folder.
    links: BTreeMap<String, Vec<String>>,
}

/// Files of this machine, unmodified.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    from: String,
    to: String,
    files: Vec<String>,
}

impl Recipes {
    fn read() -> Result<Self> {
        toml::from_str(&fs::read_to_string(RECIPES)?).context(RECIPES)
    }
}

/// Where it is kept what was built, each in a folder that has the package's name.
fn built() -> Result<PathBuf> {
    Ok(std::env::current_dir()?.join(folder()).join("programs"))
}

/// Refuses a disk that is made of what Debian does not have for the board.
///
/// # Errors
/// What helps.
pub fn can_hold(board: &Board, contents: Contents) -> Result<()> {
    let name = board.name();
    match contents {
        Contents::Ext4 => {}
        Contents::Programs => ensure!(
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

/// Puts the programs on a disk.
///
/// # Errors
/// If something does not build.
pub fn image(image: &Path) -> Result<()> {
    let recipes = Recipes::read()?;
    build(&recipes)?;
    let tree = built()?.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    for package in recipes.package.iter().filter(|package| !package.library) {
        package.install(&tree)?;
    }
    for Copy { from, to, files } in &recipes.copy {
        let place = tree.join(to);
        fs::create_dir_all(&place)?;
        for file in files {
            run(Command::new("cp").arg("-a").arg(Path::new(from).join(file)).arg(&place))?;
        }
    }
    make(image, "linux/programs/assemble \"$tree\" \"$@\"", &[&root::debians_busybox()?, &tree])
}

/// Builds what was not built, or by another recipe.
fn build(recipes: &Recipes) -> Result<()> {
    let place = built()?;
    fs::create_dir_all(&place)?;
    let (mut libraries, mut stamps) = (String::new(), Vec::new());
    for package in &recipes.package {
        let stamp = format!("{libraries}{package:?}");
        if package.library {
            libraries += &stamp;
        }
        stamps.push(stamp);
    }
    let stamp_of = |package: &Recipe| place.join(&package.source).with_extension("recipe");
    let is_old = |(package, stamp): &(&Recipe, &String)| {
        fs::read_to_string(stamp_of(package)).ok().as_ref() != Some(stamp)
    };
    let old: Vec<(&Recipe, &String)> = recipes.package.iter().zip(&stamps).filter(is_old).collect();
    let apt = if old.is_empty() { None } else { Some(Apt::new()?) };
    for (at, (package, stamp)) in old.iter().enumerate() {
        let start = Instant::now();
        eprintln!("building {} of Debian's source ({} of {})", package.source, at + 1, old.len());
        package.build(apt.as_ref().context("a list of packages")?)?;
        fs::write(stamp_of(package), stamp)?;
        eprintln!("built {} in {} s", package.source, start.elapsed().as_secs());
    }
    Ok(())
}

impl Recipe {
    /// Fetches and builds it.
    fn build(&self, apt: &Apt) -> Result<()> {
        let (kept, making) =
            (built()?.join(&self.source), built()?.join(format!("{}.making", self.source)));
        for old in [&kept, &making] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        let (object, put) = (making.join("object"), making.join("put"));
        fs::create_dir_all(&object)?;
        let source = apt.source(&self.source, &making)?;
        let log = making.join("build.log");
        let step = |program: &str, command: &mut Command| -> Result<()> {
            let file = fs::File::options().create(true).append(true).open(&log)?;
            let mut command = group(command);
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
            complete(program.as_ref(), &mut command).with_context(|| self.failure(&log))
        };
        if let Some(prepare) = &self.prepare {
            step("sh", Command::new("sh").args(["-ec", prepare]).current_dir(&source))?;
        }
        let host = board::chosen().linux()?.tools.trim_end_matches('-');
        let build =
            Command::new("dpkg-architecture").args(["-q", "DEB_BUILD_GNU_TYPE"]).output()?;
        let mut configure = Command::new(source.join("configure"));
        configure.args([
            &format!("--host={host}"),
            &format!("--build={}", String::from_utf8_lossy(&build.stdout).trim()),
            "--prefix=/usr",
        ]);
        configure.args(["CFLAGS=-O2", "CXXFLAGS=-O2", "LDFLAGS=-s"]);
        for argument in &self.configure {
            configure.arg(with_libraries(argument)?);
        }
        // coreutils refuses root otherwise.
        step("configure", configure.current_dir(&object).env("FORCE_UNSAFE_CONFIGURE", "1"))?;
        let jobs = format!("-j{}", std::thread::available_parallelism()?);
        let make = |arguments: &[String]| {
            step(
                "make",
                Command::new("make").arg(&jobs).args(MAKE).args(arguments).current_dir(&object),
            )
        };
        if self.make.is_empty() {
            make(&[])?;
        }
        self.make.iter().try_for_each(|arguments| make(arguments))?;
        if self.library {
            make(&["install".into(), format!("DESTDIR={}", put.display())])?;
            // libtool's notes name places where it does not lie.
            let is_note =
                |path: &PathBuf| path.extension().is_some_and(|extension| extension == "la");
            files(put.join("usr/lib"))?
                .iter()
                .filter(|path| is_note(path))
                .try_for_each(fs::remove_file)?;
        }
        for (path, file) in &self.install {
            let to = put.join(path);
            fs::create_dir_all(to.parent().context("a file in a folder")?)?;
            fs::copy(object.join(file), &to).with_context(|| self.failure(&log))?;
        }
        fs::rename(&put, &kept)?;
        // All else is of no use any more, and large.
        Ok(fs::remove_dir_all(&making)?)
    }

    /// Cause and cure.
    fn failure(&self, log: &Path) -> String {
        format!(
            "{} does not build: the last lines of {} say why. `./macadamia doctor` shows what is missing; the same command again goes on with this \
             package",
            self.source,
            log.display()
        )
    }

    /// Puts it into the tree of a disk.
    fn install(&self, tree: &Path) -> Result<()> {
        fs::create_dir_all(tree)?;
        run(Command::new("cp").arg("-a").arg(built()?.join(&self.source).join(".")).arg(tree))?;
        for (path, names) in &self.links {
            let path = Path::new(path);
            let target = path.file_name().context("a file")?;
            names
                .iter()
                .try_for_each(|name| symlink(target, tree.join(path.with_file_name(name))))?;
        }
        Ok(())
    }
}

/// The argument with paths of libraries in place of their names in braces.
fn with_libraries(argument: &str) -> Result<String> {
    let Some((before, rest)) = argument.split_once('{') else { return Ok(argument.into()) };
    let (name, after) = rest
        .split_once('}')
        .with_context(|| format!("{RECIPES}: a brace is not closed in `{argument}`"))?;
    Ok(format!("{before}{}{}", built()?.join(name).join("usr").display(), with_libraries(after)?))
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
            assert!(
                said(name, Contents::Programs)?
                    .is_some_and(|why| why.contains("`./macadamia run debian`"))
            );
        }
        assert_eq!(said("pc", Contents::DebianDesktop)?, None);
        for name in ["versatilepb", "amigaone"] {
            assert!(
                said(name, Contents::DebianDesktop)?
                    .is_some_and(|why| why.contains(&format!("--screen --board {name}")))
            );
        }
        assert_eq!(said("amigaone", Contents::Programs)?, None);
        assert!(
            said("amigaone", Contents::Debian)?
                .is_some_and(|why| why.contains("run programs --board amigaone"))
        );
        Ok(())
    }

    #[test]
    fn recipes_ask_for_libraries_before_them() -> Result<()> {
        let recipes: Recipes = toml::from_str(&fs::read_to_string(Path::new("..").join(RECIPES))?)?;
        let mut libraries: Vec<String> = Vec::new();
        for package in &recipes.package {
            for argument in &package.configure {
                let names =
                    argument.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
                for name in names {
                    assert!(
                        libraries.iter().any(|library| library == name),
                        "{}: {argument}",
                        package.source
                    );
                }
            }
            assert!(
                package.links.keys().all(|path| package.install.contains_key(path)),
                "{}",
                package.source
            );
            assert_eq!(package.library, package.install.is_empty(), "{}", package.source);
            if package.library {
                libraries.push(package.source.clone());
            }
        }
        Ok(())
    }
}
