// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares docs/porting.md with the tree: which files each port has, and which files outside of
//! its own folders a port has to change.

use super::crates::Crates;
use super::files::{files, has_extension, read};
use crate::machine::processor;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const PAGE: &str = "docs/porting.md";
const FOLDER: &str = "kernel/arch";
/// The debugger's file.
const DEBUGGER: &str = "kdb.rs";
/// The heads of the two tables: in the first the ports follow.
const HAS: &str = "| file | room for |";
const TOUCHES: &str = "| file | what a port says there |";
/// What a port that has a file has in the first table. One that has not says why.
const YES: &str = "yes";
/// How rows of the second table begin that are only for boards that have something of the kind.
const OF_SOME: [&str; 2] = ["I/O ports: ", "a screen: "];
/// So many other files a port may have to touch, at most: more need a reason, fewer are better.
const MOST: usize = 25;
/// Ports by their name, what Rust calls the processor, and a board: a file that has one of these
/// names knows the port. IA-32 was first, and is what code is about that knows of no other.
const LATER: [[&str; 3]; 5] = [
    ["armv5", "arm", "versatilepb"],
    ["powerpc", "powerpc", "amigaone"],
    ["x86_64", "x86_64", "pc64"],
    ["mips", "mips64", "malta"],
    ["alpha", "wasm32", "clipper"],
];

/// What a file has that such a port had to touch: it chooses by the processor, or names parts of
/// the port or its board.
fn marks([port, rust, board]: [&str; 3]) -> [String; 8] {
    [
        format!("target_arch = \"{rust}\""),
        format!("Ok(\"{rust}\")"),
        format!("\"{rust}\" =>"),
        format!("mod {port};"),
        format!("{port}: "),
        format!("arch-{port}"),
        format!("{port}-context"),
        format!("{board} = "),
    ]
}

/// Whether a word in a path says that the file is the port's or its board's own.
fn is_own(word: &str, [port, _, board]: [&str; 3]) -> bool {
    word == port || word == board || word.strip_suffix("-context") == Some(port)
}

/// A folder of what measures: no port needs it.
const MEASURES: &str = "bench";

/// Holds both tables against the tree.
pub fn ports() -> Result<()> {
    let text = read(Path::new(PAGE))?;
    let all = Path::new(FOLDER);
    let folders =
        std::fs::read_dir(all)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut ports = BTreeMap::new();
    for folder in folders.iter().filter(|folder| folder.join("kernel.ld").exists()) {
        let name =
            folder.file_name().and_then(|name| name.to_str()).context("a port without a name")?;
        let source = folder.join("src");
        let found = files(&source, &|path| has_extension(path, &["rs", "S"]))?;
        let names =
            found.iter().map(|path| Ok(path.strip_prefix(&source)?.to_string_lossy().into_owned()));
        ports.insert(name.to_string(), names.collect::<Result<BTreeSet<_>>>()?);
    }
    has(&text, &ports)?;
    for (name, files) in &ports {
        let processor = processor::named(name)
            .with_context(|| format!("`{name}` has a port, and the tool knows nothing of it"))?;
        ensure!(
            processor.has_debugger == files.contains(DEBUGGER),
            "the tool is wrong about the debugger of `{name}`"
        );
    }
    touches(&text, &touched()?)
}

/// The rows of a table, cell by cell, and its head's.
fn table<'a>(text: &'a str, head: &str) -> Result<(Vec<&'a str>, Vec<Vec<&'a str>>)> {
    let cells = |line: &'a str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect::<Vec<_>>()
    };
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with(head))
        .take_while(|line| line.starts_with('|'));
    let first = cells(
        lines.next().with_context(|| format!("{PAGE} has no table that begins with `{head}`"))?,
    );
    Ok((first, lines.skip(1).map(cells).collect()))
}

/// Holds the first table against the files of ports.
fn has(text: &str, ports: &BTreeMap<String, BTreeSet<String>>) -> Result<()> {
    let (head, rows) = table(text, HAS)?;
    let columns = head.get(2..).unwrap_or_default();
    let names: BTreeSet<&str> = ports.keys().map(String::as_str).collect();
    ensure!(
        columns.iter().copied().collect::<BTreeSet<_>>() == names,
        "{PAGE}: the ports are {names:?}, the table has {columns:?}"
    );
    for row in &rows {
        let [file, _, cells @ ..] = row.as_slice() else { continue };
        for (port, cell) in columns.iter().zip(cells) {
            let is_there = ports[*port].contains(*file);
            ensure!(
                !cell.is_empty() && is_there == (*cell == YES),
                "{PAGE}: `{port}` has `{file}`: {is_there}, and the table says `{cell}`"
            );
        }
        ensure!(
            cells.len() == columns.len() && cells.contains(&YES),
            "{PAGE}: nobody has `{file}`, or a cell is missing"
        );
    }
    for file in ports.values().flatten() {
        ensure!(
            rows.iter().any(|row| row.first() == Some(&file.as_str())),
            "{PAGE}: no row says who has `{file}`"
        );
    }
    Ok(())
}

/// Files outside of their own folders that ports had to touch.
fn touched() -> Result<BTreeSet<String>> {
    let crates = Crates::read()?;
    let mut touched = BTreeSet::new();
    for path in files(Path::new("."), &|path| has_extension(path, &["rs", "toml"]))? {
        let path = path.strip_prefix(".")?;
        let measures = path.iter().any(|part| part == MEASURES);
        if measures || path.ends_with("check/ports.rs") || crates.is_of_one_board(path) {
            continue;
        }
        let words = || path.iter().filter_map(|part| Path::new(part).file_stem()?.to_str());
        let text = read(path)?;
        if LATER
            .iter()
            .any(|port| !words().any(|word| is_own(word, *port)) && is_marked(&text, *port))
        {
            touched.insert(path.to_string_lossy().into_owned());
        }
    }
    Ok(touched)
}

/// Whether the code of a file has one of a port's marks.
fn is_marked(text: &str, port: [&str; 3]) -> bool {
    let marks = marks(port);
    let mut code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(['/', '#']) || line.contains("cfg("));
    code.any(|line| marks.iter().any(|mark| line.contains(mark)))
}

/// Holds the second table against them.
fn touches(text: &str, touched: &BTreeSet<String>) -> Result<()> {
    let (_, rows) = table(text, TOUCHES)?;
    let listed: BTreeSet<String> =
        rows.iter().filter_map(|row| row.first()).map(|file| file.to_string()).collect();
    let (missing, wrong): (Vec<_>, Vec<_>) =
        (touched.difference(&listed).collect(), listed.difference(touched).collect());
    ensure!(missing.is_empty(), "{PAGE} does not say that a port has to touch {missing:?}");
    ensure!(wrong.is_empty(), "{PAGE} says that a port has to touch {wrong:?}, which name none");
    let all = rows
        .iter()
        .filter(|row| {
            row.get(1).is_some_and(|what| !OF_SOME.iter().any(|some| what.starts_with(some)))
        })
        .count();
    ensure!(
        all <= MOST,
        "a port has to touch {all} files outside of its folders, not {MOST}: find a way without, or say why"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_port() -> BTreeMap<String, BTreeSet<String>> {
        BTreeMap::from([
            ("a".into(), ["x.rs", "y.S"].map(String::from).into()),
            ("b".into(), ["x.rs"].map(String::from).into()),
        ])
    }

    #[test]
    fn the_first_table_has_each_file_of_each_port() {
        let table = |rows: &str| {
            format!("# Head\n\n| file | room for | `a` | `b` |\n|---|---|---|---|\n{rows}\nText.\n")
        };
        let says = |rows: &str| has(&table(rows), &one_port()).map_err(|error| error.to_string());
        let (x, y) = (
            "| `x.rs` | something | yes | yes |\n",
            "| `y.S` | something | yes | it needs none |\n",
        );
        assert_eq!(says(&format!("{x}{y}")), Ok(()));
        assert!(says(x).unwrap_err().contains("no row says who has `y.S`"));
        assert!(
            says(&format!("{x}{}", y.replace("it needs none", "yes")))
                .unwrap_err()
                .contains("`b` has `y.S`: false")
        );
        assert!(
            says(&format!("{y}{}", x.replace("yes |\n", "it needs none |\n")))
                .unwrap_err()
                .contains("`b` has `x.rs`: true")
        );
        assert!(
            says(&format!("{x}{y}| `z.rs` | nothing | none | none |\n"))
                .unwrap_err()
                .contains("nobody has `z.rs`")
        );
        assert!(says(&format!("{x}{}", y.replace("it needs none", ""))).is_err(), "no reason");
        assert!(has(&table(x).replace("`b`", "`c`"), &one_port()).is_err(), "another port");
    }

    #[test]
    fn the_second_table_has_each_file_that_is_touched() {
        let touched = ["a.rs", "b.toml"].map(String::from).into();
        let table = |rows: &str| format!("| file | what a port says there |\n|---|---|\n{rows}");
        assert!(
            touches(&table("| `a.rs` | its name |\n| `b.toml` | its name |\n"), &touched).is_ok()
        );
        assert!(touches(&table("| `a.rs` | its name |\n"), &touched).is_err());
        assert!(
            touches(
                &table("| `a.rs` | its name |\n| `b.toml` | its name |\n| `c` | its name |\n"),
                &touched
            )
            .is_err()
        );
    }

    #[test]
    fn code_is_marked_and_comments_are_not() {
        let [arm, power, ..] = LATER;
        assert!(is_marked("fn f() {}\n    #[cfg(target_arch = \"arm\")]\n", arm));
        assert!(is_marked("versatilepb = { workspace = true }\n", arm));
        assert!(!is_marked("versatilepb = { workspace = true }\n", power));
        assert!(is_marked("mod powerpc;\n", power));
        assert!(!is_marked("// pub mod armv5;\n# arch-armv5\n", arm));
    }
}
