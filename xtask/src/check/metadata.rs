// SPDX-License-Identifier: MIT OR Apache-2.0
//! What cargo says of the project's crates and of those of others: what each is made of when it is
//! compiled for a target.

use crate::process::cargo;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The target of the machine that builds.
pub const HOST: &str = "x86_64-unknown-linux-gnu";
/// What cargo makes of a package besides libraries and programs.
const BESIDES: [&str; 4] = ["test", "bench", "example", "custom-build"];

/// All crates, and what each sees.
#[derive(Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    pub(super) workspace_members: BTreeSet<String>,
    #[serde(default)]
    workspace_default_members: BTreeSet<String>,
    resolve: Resolve,
}

/// A package.
#[derive(Deserialize)]
pub struct Package {
    id: String,
    /// Its name.
    pub name: String,
    pub(super) version: String,
    pub(super) license: Option<String>,
    /// Where it comes from, if it is not the project's own.
    pub(super) source: Option<String>,
    /// What it is, in one line.
    pub description: Option<String>,
    #[serde(default)]
    targets: Vec<Target>,
}

/// Something that cargo makes of a package.
#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// Nothing: a part of the program. Else it is for tests, or for what builds it.
    kind: Option<String>,
}

impl Package {
    /// By which names its library and its programs are documented.
    pub fn documented(&self) -> BTreeSet<String> {
        let is_code = |target: &&Target| !target.kind.iter().any(|kind| BESIDES.contains(&&**kind));
        self.targets.iter().filter(is_code).map(|target| target.name.replace('-', "_")).collect()
    }
}

impl Metadata {
    /// Asks cargo how it is for a target: the name of one, or the file of a board.
    ///
    /// # Errors
    /// If cargo fails, as without a network if it needs a crate that was not fetched yet.
    pub fn read(target: &str) -> Result<Self> {
        let output = cargo()
            .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target])
            // A board's target is a file, which only a compiler of the day takes by itself.
            .arg("-Zjson-target-spec")
            .env("RUSTC_BOOTSTRAP", "1")
            .output()
            .context("cannot run cargo")?;
        ensure!(
            output.status.success(),
            "cargo metadata failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    pub(super) fn package(&self, id: &str) -> Result<&Package> {
        self.packages
            .iter()
            .find(|package| package.id == id)
            .with_context(|| format!("no package {id}"))
    }

    /// Everything that a crate's program consists of, not what only builds or tests it.
    pub(super) fn parts<'a>(&'a self, member: &'a str) -> BTreeSet<&'a str> {
        let (mut parts, mut open) = (BTreeSet::from([member]), vec![member]);
        while let Some(id) = open.pop() {
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            let dependencies = node.into_iter().flat_map(|node| &node.deps);
            let linked = dependencies
                .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            open.extend(linked.map(|dependency| &*dependency.pkg).filter(|id| parts.insert(id)));
        }
        parts
    }

    /// The project's own crates that run on the host, by their names.
    ///
    /// # Errors
    /// If what cargo said has no such package.
    pub fn of_host(&self) -> Result<BTreeMap<&str, &Package>> {
        self.workspace_default_members.iter().map(|id| self.named(id)).collect()
    }

    /// The project's own packages among these and all that they consist of, by their names.
    ///
    /// # Errors
    /// If one of them is not there.
    pub fn own_parts<'a>(
        &'a self,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<BTreeMap<&'a str, &'a Package>> {
        let mut own = BTreeMap::new();
        for name in names {
            let is_it = |id: &&String| self.package(id).is_ok_and(|package| package.name == name);
            let member = self.workspace_members.iter().find(is_it);
            let member = member.with_context(|| format!("cargo knows no package `{name}`"))?;
            let parts = self.parts(member).into_iter();
            for id in parts.filter(|id| self.workspace_members.contains(*id)) {
                own.extend([self.named(id)?]);
            }
        }
        Ok(own)
    }

    fn named(&self, id: &str) -> Result<(&str, &Package)> {
        let package = self.package(id)?;
        Ok((&package.name, package))
    }
}

/// For tests: a package's identity, and what it sees, for what.
#[cfg(test)]
type Sees<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

/// For tests: packages with versions, licences and sources, which of them are the project's, and
/// what sees what, for what.
#[cfg(test)]
pub(super) fn example(
    packages: &[(&str, &str, &str, Option<&str>)],
    members: &[&str],
    nodes: &[Sees],
) -> Metadata {
    let package = |(name, version, license, source): &(&str, &str, &str, Option<&str>)| Package {
        id: format!("{name} {version}"),
        name: (*name).into(),
        version: (*version).into(),
        license: Some((*license).into()),
        source: source.map(String::from),
        description: None,
        targets: vec![],
    };
    let dependency = |(id, kind): &(&str, Option<&str>)| Dependency {
        pkg: (*id).into(),
        dep_kinds: vec![DependencyKind { kind: kind.map(String::from) }],
    };
    let node =
        |(id, deps): &Sees| Node { id: (*id).into(), deps: deps.iter().map(dependency).collect() };
    Metadata {
        packages: packages.iter().map(package).collect(),
        workspace_members: members.iter().map(|id| (*id).into()).collect(),
        workspace_default_members: BTreeSet::new(),
        resolve: Resolve { nodes: nodes.iter().map(node).collect() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_programs_are_the_projects_own() {
        let metadata = example(
            &[
                ("kernel", "1", "MIT", None),
                ("kcore", "1", "MIT", None),
                ("proptest", "1", "MIT", Some("of others")),
                ("bitflags", "2", "MIT", Some("of others")),
                ("model", "1", "MIT", None),
            ],
            &["kernel 1", "kcore 1", "model 1"],
            &[
                ("kernel 1", &[("kcore 1", None), ("model 1", Some("dev"))]),
                ("kcore 1", &[("proptest 1", Some("dev")), ("bitflags 2", None)]),
            ],
        );
        let own = metadata.own_parts(["kernel"].into_iter()).expect("parts");
        assert_eq!(own.into_keys().collect::<Vec<_>>(), ["kcore", "kernel"]);
        assert!(metadata.own_parts(["bitflags"].into_iter()).is_err(), "it is of others");
    }

    #[test]
    fn what_is_documented_has_the_name_that_code_has() {
        let targets = r#"[{"name": "model-plugin", "kind": ["cdylib"]},
            {"name": "model-plugin", "kind": ["bin"]}, {"name": "of", "kind": ["test"]}]"#;
        let mut metadata = example(&[("model-plugin", "1", "MIT", None)], &[], &[]);
        let mut package = metadata.packages.pop().expect("one");
        package.targets = serde_json::from_str(targets).expect("targets");
        assert_eq!(package.documented().into_iter().collect::<Vec<_>>(), ["model_plugin"]);
    }
}
