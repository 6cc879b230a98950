// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page of the port contract: it is made from the comments of the traits in
//! `kernel/core/src/port`, and compared with the ports.
//!
//! A function that has a body has a table with a column for each port. If a cell begins with
//! [`LEFT`], the port must not have the function; otherwise it must.
//!
//! It owns docs/contract.md and the list of the ports, [`PORTS`]. It does not know what a function
//! of the contract does.

use super::comment::plain;
use crate::check::files::{files, has_extension, read};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::path::Path;

/// The page.
pub const PAGE: &str = "docs/contract.md";
/// What it is made of.
pub const SOURCE: &str = "kernel/core/src/port";
/// The files there, in the order of the page.
const PARTS: [&str; 6] = ["registers", "processor", "translation", "caches", "placement", "board"];
/// What a port does not write.
const LEFT: &str = "as it is";
/// Columns of tables, and the names of their ports. One that is not here is only planned.
const PORTS: [(&str, &str); 6] = [
    ("IA-32", "ia32"),
    ("ARMv5", "armv5"),
    ("PowerPC", "powerpc"),
    ("x86-64", "x86_64"),
    ("MIPS", "mips"),
    ("Alpha", "alpha"),
];

/// A trait of the contract.
struct Part {
    name: String,
    comment: Vec<String>,
    items: Vec<Item>,
}

/// What a trait has.
struct Item {
    name: String,
    comment: Vec<String>,
    /// As it is declared, in lines without a body.
    declared: Vec<String>,
    /// Whether a port may leave it.
    has_body: bool,
}

/// The page's text.
pub fn page() -> Result<String> {
    let mut text = format!(
        "<!-- Made of the comments of {SOURCE} by `./macadamia manual`: edit those. -->\n\
         # The port contract\n\n\
         What a processor and its board supply to the portable kernel.\n\
         [porting.md](porting.md) says in which order a port is written.\n\
         A cell begins with *{LEFT}* if the port uses the function's default body.\n"
    );
    for part in parts()? {
        text += &format!("\n## {}\n\n{}\n", part.name, part.comment.join("\n"));
        for item in part.items {
            let Item { name, comment, declared, .. } = item;
            text += &format!(
                "\n### `{name}`\n\n```rust\n{}\n```\n\n{}\n",
                declared.join("\n"),
                headings_deeper(&comment)
            );
        }
    }
    Ok(text)
}

/// Whether each port writes what the tables say, and nothing else.
pub fn check() -> Result<()> {
    let parts = parts()?;
    for (column, port) in PORTS {
        let written = written(port)?;
        for item in parts.iter().flat_map(|part| &part.items).filter(|item| item.has_body) {
            let cell = cell(&item.comment, column)
                .with_context(|| format!("{SOURCE}: `{}` has no cell `{column}`", item.name))?;
            match (cell.starts_with(LEFT), written.contains(&item.name)) {
                (true, true) => bail!(
                    "{SOURCE}: of `{}` the column `{column}` says `{cell}`, and the port writes it",
                    item.name
                ),
                (false, false) => bail!(
                    "{SOURCE}: of `{}` the column `{column}` says `{cell}`, and the port leaves it: \
                     begin with `{LEFT}`",
                    item.name
                ),
                _ => {}
            }
        }
    }
    Ok(())
}

/// What stands in a column of a comment's table.
fn cell<'a>(comment: &'a [String], column: &str) -> Option<&'a str> {
    let rows: Vec<Vec<&str>> = comment
        .iter()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect();
    let [head, cells] = &rows[..] else { return None };
    let at = head.iter().position(|name| *name == column)?;
    cells.get(at).copied()
}

/// Names of the functions in a port's contract, and in its registers.
fn written(port: &str) -> Result<BTreeSet<String>> {
    let arch = Path::new("kernel/arch");
    let mut sources = vec![arch.join(port).join("src/contract.rs")];
    let context = arch.join(format!("{port}-context")).join("src");
    sources.extend(files(&context, &|path| has_extension(path, &["rs"]))?);
    let mut names = BTreeSet::new();
    for source in sources {
        let text = read(&source)?;
        names.extend(text.lines().filter_map(function).map(String::from));
    }
    Ok(names)
}

/// The name of the function of a trait or of an `impl` that begins in a line.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("    ")?;
    let line = line.strip_prefix("const ").unwrap_or(line).strip_prefix("fn ")?;
    line.split(['(', '<']).next()
}

fn parts() -> Result<Vec<Part>> {
    PARTS
        .iter()
        .map(|name| {
            let path = Path::new(SOURCE).join(name).with_extension("rs");
            let text = read(&path)?;
            let part = part(&text).with_context(|| path.display().to_string())?;
            ensure!(!part.items.is_empty(), "{} has no trait with functions", path.display());
            Ok(part)
        })
        .collect()
}

/// The last trait of a file.
fn part(text: &str) -> Result<Part> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |line: &&str| line.starts_with("pub trait ");
    let start = lines.iter().rposition(begins).context("there is no trait")?;
    let name = lines[start].trim_start_matches("pub trait ");
    let name = name.split([' ', ':']).next().unwrap_or(name);
    let comment = comment_before(&lines[..start], "/// ");
    let end = lines[start..].iter().position(|line| *line == "}").context("it does not end")?;
    let body = &lines[start + 1..start + end];
    let mut items = Vec::new();
    for (at, line) in body.iter().enumerate() {
        let Some(name) = function(line) else { continue };
        let rest = &body[at..];
        let ends = |line: &&str| line.ends_with([';', '{', '}']);
        let last = rest.iter().position(ends).context("a function that does not end")?;
        let has_body = !rest[last].ends_with(';');
        let declared = rest[..=last].iter().map(|line| {
            let line = line.strip_prefix("    ").unwrap_or(line);
            line.trim_end_matches("{}").trim_end_matches([';', '{']).trim_end().to_string()
        });
        let comment = comment_before(&body[..at], "    /// ");
        ensure!(!comment.is_empty(), "`{name}` has no comment");
        items.push(Item { name: name.into(), comment, declared: declared.collect(), has_body });
    }
    Ok(Part { name: name.into(), comment, items })
}

/// The comment that ends with these lines.
fn comment_before(lines: &[&str], mark: &str) -> Vec<String> {
    let is_comment = |line: &&&str| line.starts_with(mark.trim_end());
    let count = lines.iter().rev().take_while(is_comment).count();
    lines[lines.len() - count..]
        .iter()
        .map(|line| plain(line.strip_prefix(mark).unwrap_or_default()))
        .collect()
}

/// A comment with headings below those of functions.
fn headings_deeper(comment: &[String]) -> String {
    let deeper = |line: &String| {
        if line.starts_with("# ") { format!("###{line}") } else { line.clone() }
    };
    comment.iter().map(deeper).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "/// Whether.\npub trait Other {\n    /// No.\n    fn no();\n}\n\n\
        /// What\n/// runs.\npub trait Runs: Other {\n    /// A constant.\n    const N: u16 = 0;\n\
        \x20   /// Must be there.\n    fn must(&self) -> [u8; 2];\n\
        \x20   /// May, see [`must`](Self::must).\n    ///\n    /// | IA-32 | ARMv5 |\n    /// |---|---|\n\
        \x20   /// | as it is: nothing | writes | \n    fn may(\n        &mut self,\n    ) {\n        ();\n    }\n}\n";

    #[test]
    fn a_trait_is_read() {
        let text = TEXT.replace("writes | \n", "writes |\n");
        let part = part(&text).expect("a trait");
        assert_eq!((part.name.as_str(), part.comment.join(" ")), ("Runs", "What runs.".into()));
        let [must, may] = &part.items[..] else { panic!("two functions") };
        assert_eq!((must.name.as_str(), must.has_body), ("must", false));
        assert_eq!(must.declared, ["fn must(&self) -> [u8; 2]"]);
        assert_eq!((may.name.as_str(), may.has_body), ("may", true));
        assert_eq!(may.declared, ["fn may(", "    &mut self,", ")"]);
        assert_eq!(may.comment[0], "May, see `must`.");
        assert_eq!(cell(&may.comment, "IA-32"), Some("as it is: nothing"));
        assert_eq!(cell(&may.comment, "ARMv5"), Some("writes"));
        assert_eq!(cell(&may.comment, "PowerPC"), None);
        assert_eq!(cell(&must.comment, "IA-32"), None);
    }

    #[test]
    fn functions_are_found_by_their_first_line() {
        assert_eq!(function("    fn now(&self) -> u64 {"), Some("now"));
        assert_eq!(function("    const fn now() {"), Some("now"));
        assert_eq!(function("    fn of<T>(value: T);"), Some("of"));
        assert_eq!(function("        fn inner() {"), None);
        assert_eq!(function("fn free() {"), None);
    }
}
