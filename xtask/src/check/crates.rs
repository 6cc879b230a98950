// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crates: what the manifest of each says in `[package.metadata.macadamia]`, and which layers
//! there are by the manifest of the workspace. It checks dependencies between crates, and the
//! numbers of uses of unsafe code.

use super::files::{files, has_extension, read};
use super::modules;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The manifest of the workspace, or of a crate.
#[derive(Deserialize)]
struct Manifest {
    workspace: Option<Workspace>,
    package: Option<Package>,
    #[serde(default)]
    dependencies: Dependencies,
    #[serde(default)]
    target: BTreeMap<String, OfTarget>,
}

type Dependencies = BTreeMap<String, toml::Value>;

#[derive(Deserialize)]
struct OfTarget {
    #[serde(default)]
    dependencies: Dependencies,
}

#[derive(Deserialize)]
struct Workspace {
    metadata: Metadata<Layers>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    metadata: Option<Metadata<About>>,
}

#[derive(Deserialize, Default)]
struct Metadata<T> {
    macadamia: T,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layers {
    /// Which layers each may see.
    layers: BTreeMap<String, Vec<String>>,
    /// Those whose crates are programs of a board, or parts of the kernel's.
    bare: BTreeSet<String>,
}

/// What a crate says of itself.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct About {
    /// A component, if it says nothing.
    #[serde(default = "component")]
    layer: String,
    /// The one that it is for. It does not see crates for another.
    processor: Option<String>,
    /// Unsafe blocks, functions and impls that it may have: more needs a reason. Without any the
    /// compiler forbids them.
    #[serde(default, rename = "unsafe")]
    unsafe_code: usize,
    /// How its files may name each other.
    #[serde(default)]
    files: Files,
    /// Why not in one direction.
    why: Option<String>,
    /// The folders and files below its root, each of which sees only those before it; none if there
    /// is no such order.
    #[serde(default)]
    order: Vec<String>,
    /// The boards that it is for, if not for all.
    boards: Option<Vec<String>>,
}

fn component() -> String {
    "component".into()
}

impl Default for About {
    fn default() -> Self {
        Self {
            layer: component(),
            processor: None,
            unsafe_code: 0,
            files: Files::default(),
            why: None,
            order: Vec::new(),
            boards: None,
        }
    }
}

/// How files of a crate may name each other.
#[derive(Deserialize, Default, PartialEq, Eq, Debug, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Files {
    /// In one direction.
    #[default]
    OneWay,
    /// By their own paths in one direction, and through the crate's root in any: their data name
    /// each other, as a Thread its Space and a Space its first Thread.
    ThroughTheRoot,
    /// In any direction.
    Any,
}

/// A crate.
struct Crate {
    name: String,
    folder: PathBuf,
    about: About,
    /// Crates that it sees.
    sees: Vec<String>,
}

/// All crates, and the layers.
pub struct Crates {
    all: Vec<Crate>,
    layers: Layers,
}

impl Crates {
    /// Reads them.
    pub fn read() -> Result<Self> {
        let mut found = Self {
            all: Vec::new(),
            layers: Layers { layers: BTreeMap::new(), bare: BTreeSet::new() },
        };
        for path in files(Path::new("."), &|path| path.ends_with("Cargo.toml"))? {
            let manifest: Manifest =
                toml::from_str(&read(&path)?).with_context(|| path.display().to_string())?;
            if let Some(workspace) = manifest.workspace {
                found.layers = workspace.metadata.macadamia;
            }
            let Some(package) = manifest.package else { continue };
            let about = package.metadata.unwrap_or_default().macadamia;
            let of_targets = manifest.target.into_values().flat_map(|target| target.dependencies);
            let sees =
                manifest.dependencies.into_iter().chain(of_targets).map(|(name, _)| name).collect();
            let folder = path
                .parent()
                .context("a manifest without a folder")?
                .strip_prefix(".")?
                .to_path_buf();
            found.all.push(Crate { name: package.name, folder, about, sees });
        }
        Ok(found)
    }

    /// Holds what crates see against their layers.
    pub fn arrows(&self) -> Result<()> {
        let by_name: BTreeMap<&str, &Crate> =
            self.all.iter().map(|one| (one.name.as_str(), one)).collect();
        for one in &self.all {
            let layer = &one.about.layer;
            let below = self
                .layers
                .layers
                .get(layer)
                .with_context(|| format!("`{}`: there is no layer `{layer}`", one.name))?;
            for seen in one.sees.iter().filter_map(|name| by_name.get(name.as_str())) {
                if !below.contains(&seen.about.layer) {
                    bail!(
                        "`{}` of layer `{layer}` must not see `{}`: it may see only layers {below:?}",
                        one.name,
                        seen.name
                    );
                }
                let processors = (&one.about.processor, &seen.about.processor);
                if let (Some(ours), Some(theirs)) = processors {
                    ensure!(
                        ours == theirs,
                        "`{}` is for `{ours}` and must not see `{}`, which is for `{theirs}`",
                        one.name,
                        seen.name
                    );
                }
            }
        }
        Ok(())
    }

    /// Looks for files that name each other in a circle, where none may be, and for exceptions that
    /// nobody needs; and holds files against the order that is stated.
    pub fn circles(&self) -> Result<()> {
        for one in &self.all {
            let source = one.folder.join("src");
            let texts = sources(&source)?;
            let names = texts.iter().map(|(path, text)| {
                Ok((path.strip_prefix(&source)?.to_str().context("a name")?, text.as_str()))
            });
            let files = modules::Files::new(names.collect::<Result<Vec<_>>>()?);
            let (folder, allowed) = (one.folder.display(), one.about.files);
            if !one.about.order.is_empty() {
                check_order(&files, &one.about.order).with_context(|| folder.to_string())?;
            }
            let with_root = files.circle();
            let circle = match (allowed, &one.about.why) {
                (Files::OneWay, _) => with_root,
                (_, None) => bail!("{folder}: circles of files are allowed: say `why`"),
                _ if with_root.is_none() => {
                    bail!("{folder}: its files name each other in one direction: leave `files` out")
                }
                (Files::ThroughTheRoot, _) => files.without_root().circle(),
                (Files::Any, _) => {
                    ensure!(
                        files.without_root().circle().is_some(),
                        "{folder}: its circles go through the root: write `files = \"through-the-root\"`"
                    );
                    None
                }
            };
            if let Some(circle) = circle {
                bail!(
                    "{folder}: a circle of files, {}: in one of them, remove what it uses of the next",
                    circle.join(" -> ")
                );
            }
        }
        Ok(())
    }

    /// Counts unsafe code of each crate, and holds it against what it may have.
    pub fn unsafe_code(&self) -> Result<()> {
        for one in &self.all {
            let (folder, most) = (one.folder.display(), one.about.unsafe_code);
            let mut all = sources(&one.folder.join("src"))?;
            if most == 0 {
                let root = all.iter().find(|(path, _)| {
                    path.ends_with("src/lib.rs") || path.ends_with("src/main.rs")
                });
                let (_, text) =
                    root.with_context(|| format!("{folder}: a crate without a source file"))?;
                ensure!(
                    text.contains("#![forbid(unsafe_code)]"),
                    "{folder} does not forbid unsafe code, and its manifest has no figure"
                );
                continue;
            }
            let tests = one.folder.join("tests");
            if tests.exists() {
                all.append(&mut sources(&tests)?);
            }
            let count: usize = all.iter().map(|(_, text)| count_unsafe(text)).sum();
            let is_code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
            let lines: usize =
                all.iter().map(|(_, text)| text.lines().filter(is_code).count()).sum();
            println!("# {folder}: {count} unsafe in {lines} lines of code");
            if count > most {
                bail!(
                    "{folder} has {count} uses of unsafe, {most} are allowed: find a safe way, or raise the figure in its manifest and say why"
                );
            }
        }
        Ok(())
    }

    /// Whether a file is of a crate that is for one board.
    pub fn is_of_one_board(&self, file: &Path) -> bool {
        let is_its =
            |one: &&Crate| !one.folder.as_os_str().is_empty() && file.starts_with(&one.folder);
        self.all
            .iter()
            .filter(is_its)
            .any(|one| one.about.boards.as_ref().is_some_and(|boards| boards.len() == 1))
    }

    /// Crates to be compiled for a board: programs, and what they are made of by that.
    pub fn programs<'a>(&'a self, board: &'a str) -> impl Iterator<Item = &'a str> {
        let is_bare = |one: &&Crate| self.layers.bare.contains(&one.about.layer);
        let has_board = move |one: &&Crate| {
            one.about.boards.as_ref().is_none_or(|boards| boards.iter().any(|name| name == board))
        };
        self.all.iter().filter(is_bare).filter(has_board).map(|one| one.name.as_str())
    }
}

/// Holds files against an order.
fn check_order(files: &modules::Files, order: &[String]) -> Result<()> {
    if let Some(name) = files.without_place(order) {
        bail!("`{name}` has no place in the `order` of the manifest");
    }
    if let Some([from, to]) = files.against(order) {
        bail!("`{from}` must not see `{to}`, which comes later in the `order` of the manifest");
    }
    Ok(())
}

/// A crate's source files, and their texts.
fn sources(folder: &Path) -> Result<Vec<(PathBuf, String)>> {
    files(folder, &|path| has_extension(path, &["rs"]))?
        .into_iter()
        .map(|path| Ok((path.clone(), read(&path)?)))
        .collect()
}

/// Occurrences of the keyword in code.
fn count_unsafe(text: &str) -> usize {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .filter(|line| !line.contains("unsafe_"));
    code.map(|line| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| *word == "unsafe")
            .count()
    })
    .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, layer: &str, processor: Option<&str>, sees: &[&str]) -> Crate {
        let about = About {
            layer: layer.into(),
            processor: processor.map(str::to_string),
            ..About::default()
        };
        Crate {
            name: name.into(),
            folder: PathBuf::new(),
            about,
            sees: sees.iter().map(|name| name.to_string()).collect(),
        }
    }

    fn refusal(all: Vec<Crate>) -> String {
        let layers = [("low", vec![]), ("high", vec!["low".to_string(), "high".to_string()])];
        let layers = layers.into_iter().map(|(name, below)| (name.to_string(), below)).collect();
        let crates = Crates { all, layers: Layers { layers, bare: BTreeSet::new() } };
        crates.arrows().err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn crates_see_those_of_the_layers_that_theirs_may_see() {
        assert_eq!(
            refusal(vec![
                one("a", "low", None, &["toml"]),
                one("b", "high", None, &["a", "c"]),
                one("c", "high", None, &[])
            ]),
            ""
        );
        assert!(
            refusal(vec![one("a", "low", None, &["b"]), one("b", "high", None, &[])])
                .contains("`a` of layer `low` must not see `b`")
        );
        assert!(
            refusal(vec![one("a", "low", None, &["b"]), one("b", "low", None, &[])])
                .contains("must not see `b`")
        );
        assert!(
            refusal(vec![one("a", "lowest", None, &[])]).contains("there is no layer `lowest`")
        );
    }

    #[test]
    fn crates_for_one_processor_see_none_for_another() {
        let of = |processor| {
            vec![one("a", "high", Some("ia32"), &["b"]), one("b", "low", processor, &[])]
        };
        assert_eq!(refusal(of(None)) + &refusal(of(Some("ia32"))), "");
        assert!(refusal(of(Some("armv5"))).contains("`a` is for `ia32`"));
    }

    #[test]
    fn a_manifest_says_what_a_crate_is() {
        let about = |text: &str| toml::from_str::<About>(text);
        let plain = about("").expect("all has a usual value");
        assert_eq!(
            (plain.layer.as_str(), plain.unsafe_code, plain.files),
            ("component", 0, Files::OneWay)
        );
        let all = about("layer = \"port\"\nprocessor = \"armv5\"\nunsafe = 3\nfiles = \"through-the-root\"\nboards = [\"pc\"]")
            .expect("all keys");
        assert_eq!((all.unsafe_code, all.files), (3, Files::ThroughTheRoot));
        assert!(about("unsave = 3").is_err(), "a key that nobody reads");
    }

    #[test]
    fn programs_are_compiled_for_their_boards() {
        let mut of_pc = one("of-pc", "high", None, &[]);
        of_pc.about.boards = Some(vec!["pc".into()]);
        let layers = Layers { layers: BTreeMap::new(), bare: BTreeSet::from(["high".to_string()]) };
        let crates = Crates {
            all: vec![one("part", "low", None, &[]), one("all", "high", None, &[]), of_pc],
            layers,
        };
        assert_eq!(crates.programs("pc").collect::<Vec<_>>(), ["all", "of-pc"]);
        assert_eq!(crates.programs("next").collect::<Vec<_>>(), ["all"]);
    }
}
