// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code of others in the project: where it comes from, under which licence, and whether a crate is
//! there in two versions; and whether each file of the project states its licence.

use super::files::{files, has_extension, read};
use crate::process::cargo;
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Where crates may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Licences of what is linked into kernel, servers and components, which are MIT OR Apache-2.0.
const PERMISSIVE: [&str; 8] =
    ["MIT", "Apache-2.0", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Unicode-3.0", "Zlib"];
/// Those that the tools on the host may have, too, as they are not given to anybody in binary
/// form.
const OF_TOOLS: [&str; 1] = ["MPL-2.0"];
/// The plugin is a part of QEMU when it runs.
const OF_PLUGIN: [&str; 2] = ["MPL-2.0", "GPL-2.0-or-later"];
/// What runs on the host only.
const TOOLS: [&str; 6] = ["alpha-ipc", "book", "model-core", "model-profile", PLUGIN, "xtask"];
const PLUGIN: &str = "model-plugin";
/// Crates of which there are two versions in one program, because others need them. A name whose
/// crate is there once is to go.
const TWICE: [&str; 3] = ["bitflags", "embedded-io", "syn"];
/// Files that have a line with their licence, by the ends of their names: sources.
const SOURCES: [&str; 7] = ["rs", "S", "c", "h", "ld", "sh", "py"];
/// What the line has.
const TAG: &str = "SPDX-License-Identifier:";
/// It is among so many lines from the first one on: before it there may be the line that names the
/// interpreter.
const FIRST_LINES: usize = 3;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
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

/// Holds all crates against what is said above.
///
/// # Errors
/// If one is from elsewhere, under a licence that does not fit, or there twice.
pub fn check() -> Result<()> {
    let output = cargo()
        .args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .output()
        .context("cannot run cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    let wrong = metadata.wrong()?;
    ensure!(wrong.is_empty(), "what others wrote:\n{}", wrong.join("\n"));
    own_files()
}

/// Each source file of the project says its licence.
fn own_files() -> Result<()> {
    let mut without = Vec::new();
    for path in files(Path::new("."), &|path| has_extension(path, &SOURCES))? {
        if !read(&path)?.lines().take(FIRST_LINES).any(|line| line.contains(TAG)) {
            without.push(path.display().to_string());
        }
    }
    ensure!(without.is_empty(), "without a line `{TAG} ...`: {}", without.join(" "));
    Ok(())
}

impl Metadata {
    fn wrong(&self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for member in &self.workspace_members {
            let own = self.package(member)?;
            let allowed = |name: &str| {
                let beside: &[&str] = match &*own.name {
                    PLUGIN => &OF_PLUGIN,
                    name if TOOLS.contains(&name) => &OF_TOOLS,
                    _ => &[],
                };
                PERMISSIVE.contains(&name) || beside.contains(&name)
            };
            let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
            for id in self.parts(member) {
                let Package { name, version, license, source, .. } = self.package(id)?;
                if source.is_none() {
                    continue;
                }
                versions.entry(name).or_default().insert(version);
                if source.as_deref() != Some(REGISTRY) {
                    wrong.push(format!("{}: {name} {version} comes from {source:?}", own.name));
                }
                let license = license.as_deref().unwrap_or_default();
                if !fits(license, allowed).with_context(|| format!("{name} {version}"))? {
                    wrong.push(format!("{}: {name} {version} is under `{license}`", own.name));
                }
            }
            // Tools may have what their libraries have.
            let twice = versions
                .iter()
                .filter(|(name, versions)| versions.len() > 1 && !TWICE.contains(name));
            if !TOOLS.contains(&&*own.name) {
                wrong.extend(twice.map(|(name, versions)| {
                    format!("{}: {name} is there in versions {versions:?}", own.name)
                }));
            }
        }
        Ok(wrong)
    }

    fn package(&self, id: &str) -> Result<&Package> {
        self.packages
            .iter()
            .find(|package| package.id == id)
            .with_context(|| format!("no package {id}"))
    }

    /// Everything that a crate's program consists of, not what only builds or tests it.
    fn parts<'a>(&'a self, member: &'a str) -> BTreeSet<&'a str> {
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
}

/// Whether a crate may be used under one of these licences. Old crates write `/` for `OR`.
fn fits(license: &str, allowed: impl Fn(&str) -> bool) -> Result<bool> {
    if license.is_empty() {
        bail!("names no licence");
    }
    let expression = Expression::parse_mode(license, ParseMode::LAX)?;
    let name = |requirement: &LicenseReq| requirement.license.to_string();
    Ok(expression
        .evaluate(|requirement| requirement.addition.is_none() && allowed(&name(requirement))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_licence_fits_if_one_of_its_ways_does() {
        let of = |license: &str| fits(license, |name| PERMISSIVE.contains(&name));
        for license in
            ["MIT", "MIT/Apache-2.0", "GPL-2.0-only OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert!(of(license).is_ok_and(|fits| fits), "{license}");
        }
        for license in ["GPL-2.0-or-later", "MPL-2.0", "MIT AND GPL-3.0-only"] {
            assert!(of(license).is_ok_and(|fits| !fits), "{license}");
        }
        assert!(of("").is_err() && of("none of this").is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let package = |name: &str, version: &str, license: &str, source: Option<&str>| Package {
            id: format!("{name} {version}"),
            name: name.into(),
            version: version.into(),
            license: Some(license.into()),
            source: source.map(String::from),
        };
        let node = |id: &str, deps: &[(&str, Option<&str>)]| Node {
            id: id.into(),
            deps: deps
                .iter()
                .map(|(pkg, kind)| Dependency {
                    pkg: (*pkg).into(),
                    dep_kinds: vec![DependencyKind { kind: kind.map(String::from) }],
                })
                .collect(),
        };
        let metadata = Metadata {
            packages: vec![
                package("kcore", "1", "MIT", None),
                package("a", "1", "MIT", Some(REGISTRY)),
                package("a", "2", "MIT", Some(REGISTRY)),
                package("b", "1", "GPL-2.0-only", Some(REGISTRY)),
                package("c", "1", "MIT", Some("git+https://example.org")),
                package("tests", "1", "GPL-2.0-only", Some(REGISTRY)),
            ],
            workspace_members: BTreeSet::from(["kcore 1".into()]),
            resolve: Resolve {
                nodes: vec![
                    node("kcore 1", &[("a 1", None), ("b 1", None), ("tests 1", Some("dev"))]),
                    node("b 1", &[("a 2", None), ("c 1", None)]),
                ],
            },
        };
        let wrong = metadata.wrong().expect("packages").join("\n");
        for part in [
            "a is there in versions {\"1\", \"2\"}",
            "b 1 is under `GPL-2.0-only`",
            "c 1 comes from",
        ] {
            assert!(wrong.contains(part), "{wrong}");
        }
        assert_eq!(wrong.lines().count(), 3, "{wrong}");
    }
}
