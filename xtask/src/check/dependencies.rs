// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code of others in the project: where it comes from, under which licence, and whether a crate is
//! there in two versions; and whether each file of the project states its licence.

use super::files::{files, has_extension, read};
use super::metadata::{HOST, Metadata, Package};
use anyhow::{Context, Result, bail, ensure};
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
const TOOLS: [&str; 7] =
    ["alpha-ipc", "book", "model-core", "model-profile", PLUGIN, "translator", "xtask"];
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

/// Holds all crates against what is said above.
///
/// # Errors
/// If one is from elsewhere, under a licence that does not fit, or there twice.
pub fn check() -> Result<()> {
    let metadata = Metadata::read(HOST)?;
    let wrong = wrong(&metadata)?;
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

/// What does not fit, a line for each.
fn wrong(metadata: &Metadata) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for member in &metadata.workspace_members {
        let own = metadata.package(member)?;
        let allowed = |name: &str| {
            let beside: &[&str] = match &*own.name {
                PLUGIN => &OF_PLUGIN,
                name if TOOLS.contains(&name) => &OF_TOOLS,
                _ => &[],
            };
            PERMISSIVE.contains(&name) || beside.contains(&name)
        };
        let mut versions = BTreeMap::<&str, BTreeSet<&str>>::new();
        for id in metadata.parts(member) {
            let Package { name, version, license, source, .. } = metadata.package(id)?;
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
        let twice =
            versions.iter().filter(|(name, versions)| versions.len() > 1 && !TWICE.contains(name));
        if !TOOLS.contains(&&*own.name) {
            wrong.extend(twice.map(|(name, versions)| {
                format!("{}: {name} is there in versions {versions:?}", own.name)
            }));
        }
    }
    Ok(wrong)
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
    use super::super::metadata::example;
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
        let registry = Some(REGISTRY);
        let metadata = example(
            &[
                ("kcore", "1", "MIT", None),
                ("a", "1", "MIT", registry),
                ("a", "2", "MIT", registry),
                ("b", "1", "GPL-2.0-only", registry),
                ("c", "1", "MIT", Some("git+https://example.org")),
                ("tests", "1", "GPL-2.0-only", registry),
            ],
            &["kcore 1"],
            &[
                ("kcore 1", &[("a 1", None), ("b 1", None), ("tests 1", Some("dev"))]),
                ("b 1", &[("a 2", None), ("c 1", None)]),
            ],
        );
        let wrong = wrong(&metadata).expect("packages").join("\n");
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
