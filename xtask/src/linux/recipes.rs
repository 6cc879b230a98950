// SPDX-License-Identifier: MIT OR Apache-2.0
//! Debian's source packages, built as a file of recipes says. Each package is built once, and again
//! when its recipe has changed, or that of a library that it is built with.

use super::packages::{self, Apt};
use super::{files, folder};
use crate::machine::board;
use crate::process::tether::group;
use crate::process::{complete, run};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// What every call of make gets: documents are not made, and scripts that a patch made older than
/// their sources stay as they are.
const MAKE: [&str; 5] = ["MAKEINFO=true", "AUTOCONF=:", "AUTOMAKE=:", "ACLOCAL=:", "AUTOHEADER=:"];
/// What stands for the headers in arguments, where others have a library's name.
const HEADERS: &str = "headers";

/// A file of recipes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipes {
    package: Vec<Recipe>,
    /// Disks, and the packages that are on each.
    #[serde(default)]
    disks: BTreeMap<String, Vec<String>>,
    /// What is on disks besides.
    #[serde(default)]
    copy: Vec<Copy>,
    /// Of packages that take long: minutes of one processor.
    #[serde(default)]
    minutes: BTreeMap<String, u32>,
    /// Packages that are written in C++: the board's compiler for it need not be there.
    #[serde(default)]
    cplusplus: Vec<String>,
    /// Packages of which only the source is taken that their authors made, without Debian's changes.
    #[serde(default)]
    upstream: Vec<String>,
    /// Packages whose script `configure` was not made by autoconf: it gets no more than the recipe's
    /// arguments, and the compiler in its environment.
    #[serde(default)]
    plain: Vec<String>,
    /// Files of the project, and folders of such, that are put into a package's source.
    #[serde(default)]
    own: BTreeMap<String, Vec<String>>,
    /// Debian's packages of headers, and of libraries, which all of them may be built with.
    #[serde(default)]
    headers: Vec<String>,
    #[serde(skip)]
    kitchen: Kitchen,
}

/// Where recipes are from and where it goes what is built by them, and the compiler, if it is not
/// the board's.
#[derive(Default)]
struct Kitchen {
    file: String,
    folder: String,
    compiler: Option<String>,
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
    /// Paths where it is installed, with the files that are made.
    install: BTreeMap<String, String>,
    /// Of such a path more names in its folder.
    links: BTreeMap<String, Vec<String>>,
}

/// Files of this machine, and folders of such, unmodified.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    /// Disks that they are on.
    disks: Vec<String>,
    /// A folder here.
    from: String,
    /// A folder of the disk.
    to: String,
    /// Their names in both.
    files: Vec<String>,
}

impl Recipes {
    /// Reads a file, what it says is built below `folder` in the board's own.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn read(file: &str, folder: &str, compiler: Option<String>) -> Result<Self> {
        let mut recipes: Self =
            toml::from_str(&fs::read_to_string(file)?).with_context(|| file.to_string())?;
        recipes.kitchen = Kitchen { file: file.into(), folder: folder.into(), compiler };
        Ok(recipes)
    }

    /// Where it is kept what was built, each in a folder that has the package's name.
    ///
    /// # Errors
    /// If no board is chosen that has a Linux.
    pub fn place(&self) -> Result<PathBuf> {
        Ok(std::env::current_dir()?.join(folder()).join(&self.kitchen.folder))
    }

    /// Builds what is on a disk and was not built, or by another recipe.
    ///
    /// # Errors
    /// If there is no such disk, or something does not build: what helps.
    pub fn build(&self, disk: &str) -> Result<()> {
        self.build_with_libraries(&self.on(disk)?)
    }

    /// The packages that are on a disk.
    fn on(&self, disk: &str) -> Result<Vec<&Recipe>> {
        let names = self.disks.get(disk);
        let names = names.with_context(|| format!("{} has no disk `{disk}`", self.kitchen.file))?;
        Ok(self.package.iter().filter(|package| names.contains(&package.source)).collect())
    }

    /// Builds what installs a file at one of these paths, and returns the files in their order.
    ///
    /// # Errors
    /// If no recipe has a path, or something does not build.
    pub fn files(&self, paths: &[String]) -> Result<Vec<PathBuf>> {
        let maker = |path: &String| {
            let has = |package: &&Recipe| package.install.contains_key(path);
            self.package
                .iter()
                .find(has)
                .with_context(|| format!("{} does not say how `{path}` is made", self.kitchen.file))
        };
        let makers = paths.iter().map(maker).collect::<Result<Vec<_>>>()?;
        self.build_with_libraries(&makers)?;
        let place = self.place()?;
        Ok(makers
            .iter()
            .zip(paths)
            .map(|(maker, path)| place.join(&maker.source).join(path))
            .collect())
    }

    /// Those that a package is built with, and before them those that these are built with.
    fn libraries(&self, package: &Recipe) -> Vec<&Recipe> {
        let mut found = Vec::new();
        for name in package.configure.iter().flat_map(|argument| names(argument)) {
            let Some(library) = self.package.iter().find(|package| package.source == name) else {
                continue;
            };
            found.extend(self.libraries(library));
            found.push(library);
        }
        found
    }

    /// The project's own files in a package's source.
    fn own(&self, package: &Recipe) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for path in self.own.get(&package.source).into_iter().flatten().map(PathBuf::from) {
            if path.is_dir() { found.extend(files(path)?) } else { found.push(path) }
        }
        Ok(found)
    }

    /// By what is known whether a package has to be built again.
    fn stamp(&self, package: &Recipe) -> Result<String> {
        let mut stamp = String::new();
        for package in self.libraries(package).into_iter().chain([package]) {
            for (list, what) in [(&self.upstream, "upstream "), (&self.plain, "plain ")] {
                stamp += if list.contains(&package.source) { what } else { "" };
            }
            write!(stamp, "{package:?}")?;
            if package
                .configure
                .iter()
                .flat_map(|argument| names(argument))
                .any(|name| name == HEADERS)
            {
                write!(stamp, "{:?}", self.headers)?;
            }
            for file in self.own(package)? {
                stamp += &fs::read_to_string(&file)
                    .with_context(|| format!("cannot read {}", file.display()))?;
            }
        }
        Ok(stamp)
    }

    /// Builds what of these was not built, or by another recipe, and what of the libraries that they
    /// are built with.
    fn build_with_libraries(&self, packages: &[&Recipe]) -> Result<()> {
        let with = packages.iter().flat_map(|package| {
            self.libraries(package).into_iter().chain(std::iter::once(*package))
        });
        self.build_these(&with.collect::<Vec<_>>())
    }

    /// Builds what of these was not built, or by another recipe. Libraries come before what is built
    /// with them, and may be there more than once.
    fn build_these(&self, packages: &[&Recipe]) -> Result<()> {
        let place = self.place()?;
        fs::create_dir_all(&place)?;
        let stamp_of = |package: &Recipe| place.join(&package.source).with_extension("recipe");
        let mut old: Vec<(&Recipe, String)> = Vec::new();
        for &package in packages {
            let stamp = self.stamp(package)?;
            let is_known = old.iter().any(|(other, _)| other.source == package.source);
            if !is_known && fs::read_to_string(stamp_of(package)).ok().as_ref() != Some(&stamp) {
                old.push((package, stamp));
            }
        }
        if old.iter().any(|(package, _)| self.cplusplus.contains(&package.source)) {
            has_cplusplus(&board::chosen().linux()?.tools)?;
        }
        let apt = if old.is_empty() { None } else { Some(Apt::new()?) };
        for (at, (package, stamp)) in old.iter().enumerate() {
            let start = Instant::now();
            let takes = self.minutes.get(&package.source).map_or_else(String::new, |minutes| {
                format!(", which takes some {minutes} minutes of a processor")
            });
            eprintln!(
                "building {} of Debian's source ({} of {}){takes}",
                package.source,
                at + 1,
                old.len()
            );
            self.build_one(package, apt.as_ref().context("a list of packages")?)?;
            fs::write(stamp_of(package), stamp)?;
            eprintln!("built {} in {} s", package.source, start.elapsed().as_secs());
        }
        Ok(())
    }

    /// Fetches and builds a package.
    fn build_one(&self, package: &Recipe, apt: &Apt) -> Result<()> {
        let place = self.place()?;
        let (kept, making) =
            (place.join(&package.source), place.join(format!("{}.making", package.source)));
        for old in [&kept, &making] {
            if old.exists() {
                fs::remove_dir_all(old)?;
            }
        }
        let (object, put) = (making.join("object"), making.join("put"));
        fs::create_dir_all(&object)?;
        let source = if self.upstream.contains(&package.source) {
            apt.upstream(&package.source, &making)?
        } else {
            apt.source(&package.source, &making)?
        };
        let log = making.join("build.log");
        let step = |program: &str, command: &mut Command| -> Result<()> {
            let file = fs::File::options().create(true).append(true).open(&log)?;
            let mut command = group(command);
            command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
            complete(program.as_ref(), &mut command).with_context(|| package.failure(&log))
        };
        for file in self.own(package)? {
            fs::copy(&file, source.join(file.file_name().context("a file has a name")?))?;
        }
        if let Some(prepare) = &package.prepare {
            step("sh", Command::new("sh").args(["-ec", prepare]).current_dir(&source))?;
        }
        step("configure", self.configure(package, &source)?.current_dir(&object))?;
        let jobs = format!("-j{}", std::thread::available_parallelism()?);
        let make = |arguments: &[String]| {
            step(
                "make",
                Command::new("make").arg(&jobs).args(MAKE).args(arguments).current_dir(&object),
            )
        };
        if package.make.is_empty() {
            make(&[])?;
        }
        package.make.iter().try_for_each(|arguments| make(arguments))?;
        if package.library {
            make(&["install".into(), format!("DESTDIR={}", put.display())])?;
            // libtool's notes name places where it does not lie.
            let is_note =
                |path: &PathBuf| path.extension().is_some_and(|extension| extension == "la");
            files(put.join("usr/lib"))?
                .iter()
                .filter(|path| is_note(path))
                .try_for_each(fs::remove_file)?;
        }
        for (path, file) in &package.install {
            let to = put.join(path);
            fs::create_dir_all(to.parent().context("a file in a folder")?)?;
            fs::copy(object.join(file), &to).with_context(|| package.failure(&log))?;
        }
        fs::rename(&put, &kept)?;
        // All else is of no use any more, and large.
        Ok(fs::remove_dir_all(&making)?)
    }

    /// The source's script of that name, with its arguments.
    fn configure(&self, package: &Recipe, source: &Path) -> Result<Command> {
        let mut configure = Command::new(source.join("configure"));
        let compiler = self.kitchen.compiler.as_ref();
        if self.plain.contains(&package.source) {
            configure.env("CFLAGS", "-O2").envs(compiler.map(|compiler| ("CC", compiler)));
        } else {
            let host = board::chosen().linux()?.tools.trim_end_matches('-');
            let build =
                Command::new("dpkg-architecture").args(["-q", "DEB_BUILD_GNU_TYPE"]).output()?;
            configure.args([
                &format!("--host={host}"),
                &format!("--build={}", String::from_utf8_lossy(&build.stdout).trim()),
                "--prefix=/usr",
            ]);
            configure.args(["CFLAGS=-O2", "CXXFLAGS=-O2", "LDFLAGS=-s"]);
            configure.args(compiler.map(|compiler| format!("CC={compiler}")));
            // coreutils refuses root otherwise.
            configure.env("FORCE_UNSAFE_CONFIGURE", "1");
        }
        for argument in &package.configure {
            configure.arg(self.with_libraries(argument)?);
        }
        Ok(configure)
    }

    /// The argument with paths of libraries in place of their names in braces.
    fn with_libraries(&self, argument: &str) -> Result<String> {
        let Some((before, rest)) = argument.split_once('{') else { return Ok(argument.into()) };
        let (name, after) = rest.split_once('}').with_context(|| {
            format!("{}: a brace is not closed in `{argument}`", self.kitchen.file)
        })?;
        let tree = if name == HEADERS {
            packages::binaries(&self.headers.iter().map(String::as_str).collect::<Vec<_>>())?
        } else {
            self.place()?.join(name)
        };
        Ok(format!("{before}{}{}", tree.join("usr").display(), self.with_libraries(after)?))
    }

    /// Puts what is on a disk into its tree.
    ///
    /// # Errors
    /// If there is no such disk, or it cannot be written.
    pub fn install(&self, disk: &str, tree: &Path) -> Result<()> {
        for package in self.on(disk)? {
            package.install(&self.place()?, tree)?;
        }
        for Copy { from, to, files, .. } in
            self.copy.iter().filter(|copy| copy.disks.iter().any(|name| name == disk))
        {
            let place = tree.join(to);
            fs::create_dir_all(&place)?;
            for file in files {
                run(Command::new("cp").arg("-a").arg(Path::new(from).join(file)).arg(&place))?;
            }
        }
        Ok(())
    }
}

impl Recipe {
    /// Cause and cure.
    fn failure(&self, log: &Path) -> String {
        format!(
            "{} does not build: the last lines of {} say why. `./macadamia doctor` shows what is missing; the same command again goes on with this \
             package",
            self.source,
            log.display()
        )
    }

    /// Puts it into the tree of a disk, from where it was built.
    fn install(&self, built: &Path, tree: &Path) -> Result<()> {
        fs::create_dir_all(tree)?;
        run(Command::new("cp").arg("-a").arg(built.join(&self.source).join(".")).arg(tree))?;
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

/// Whether there is a compiler for C++, whose companions' names begin like this.
fn has_cplusplus(tools: &str) -> Result<()> {
    let compiler = format!("{tools}g++");
    let there = Command::new(&compiler).arg("--version").stdout(Stdio::null()).status();
    ensure!(
        there.is_ok_and(|status| status.success()),
        "there is no `{compiler}`, a compiler for C++: install the package `g++-{}`, as root, and run the same command again",
        tools.trim_end_matches('-')
    );
    Ok(())
}

/// The names in braces of an argument.
fn names(argument: &str) -> impl Iterator<Item = &str> {
    argument.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str) -> Result<Recipes> {
        let path = Path::new("..").join(file);
        toml::from_str(&fs::read_to_string(path)?).context(file.to_string())
    }

    #[test]
    fn recipes_ask_for_libraries_before_them() -> Result<()> {
        for file in ["linux/programs/recipes.toml", "linux/musl/recipes.toml"] {
            let recipes = read(file)?;
            let mut libraries: Vec<&str> = vec![HEADERS];
            for package in &recipes.package {
                let source = &package.source;
                for argument in &package.configure {
                    assert!(
                        names(argument).all(|name| libraries.contains(&name)),
                        "{source}: {argument}"
                    );
                }
                assert!(
                    package.links.keys().all(|path| package.install.contains_key(path)),
                    "{source}"
                );
                assert_eq!(package.library, package.install.is_empty(), "{source}");
                if package.library {
                    libraries.push(source);
                }
            }
            let known =
                |name: &String| recipes.package.iter().any(|package| package.source == *name);
            let named = recipes.own.keys().chain(&recipes.upstream).chain(&recipes.plain);
            let named = named.chain(recipes.minutes.keys()).chain(&recipes.cplusplus);
            assert!(named.chain(recipes.disks.values().flatten()).all(known), "{file}");
            let is_disk = |name: &String| recipes.disks.contains_key(name);
            assert!(recipes.copy.iter().flat_map(|copy| &copy.disks).all(is_disk), "{file}");
            let is_on = |disk: &String| {
                recipes
                    .on(disk)
                    .is_ok_and(|packages| packages.iter().all(|package| !package.library))
            };
            assert!(recipes.disks.keys().all(is_on), "{file}: a library is on a disk");
        }
        Ok(())
    }

    #[test]
    fn a_package_is_built_again_when_its_library_is_another() -> Result<()> {
        let text = |optimised: &str| {
            format!(
                "[[package]]\nsource = \"a\"\nlibrary = true\nconfigure = [\"{optimised}\"]\n\
                 [[package]]\nsource = \"b\"\nlibrary = true\nconfigure = [\"-I{{a}}\"]\n\
                 [[package]]\nsource = \"c\"\nconfigure = [\"-I{{b}}\"]\ninstall = {{ c = \"c\" }}\n\
                 [[package]]\nsource = \"d\"\ninstall = {{ d = \"d\" }}\n"
            )
        };
        let stamps = |optimised: &str| {
            let recipes: Recipes = toml::from_str(&text(optimised))?;
            recipes.package.iter().map(|package| recipes.stamp(package)).collect::<Result<Vec<_>>>()
        };
        let (before, after) = (stamps("-O1")?, stamps("-O2")?);
        let differ: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a != b).collect();
        assert_eq!(differ, [true, true, true, false]);
        Ok(())
    }

    #[test]
    fn a_compiler_that_is_missing_is_named_with_its_package() {
        assert!(has_cplusplus("no-such-processor-").is_err_and(|error| {
            let said = error.to_string();
            said.contains("no `no-such-processor-g++`") && said.contains("`g++-no-such-processor`")
        }));
    }

    #[test]
    fn a_package_is_built_again_when_its_headers_are_others() -> Result<()> {
        let stamps = |header: &str| {
            let recipes: Recipes = toml::from_str(&format!(
                "headers = [\"{header}\"]\n\
                 [[package]]\nsource = \"a\"\nlibrary = true\nconfigure = [\"-I{{headers}}\"]\n\
                 [[package]]\nsource = \"b\"\nconfigure = [\"-I{{a}}\"]\ninstall = {{ b = \"b\" }}\n\
                 [[package]]\nsource = \"c\"\ninstall = {{ c = \"c\" }}\n"
            ))?;
            recipes.package.iter().map(|package| recipes.stamp(package)).collect::<Result<Vec<_>>>()
        };
        let (before, after) = (stamps("one")?, stamps("two")?);
        let differ: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a != b).collect();
        assert_eq!(differ, [true, true, false]);
        Ok(())
    }
}
