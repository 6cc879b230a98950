// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manual's pages of system calls: made of the comments of the crate `abi`, and held against them.
//!
//! Each operation has a first sentence and the sections `# Arguments`, `# Returns` and `# Errors`, which are
//! lists where there is more than a sentence. An item of the errors begins with their names.

use crate::process::show;
use abi::{Op, error, syscall};
use anyhow::{Context, Result, bail, ensure};

const PAGES: &str = "docs/system-calls.md";
const CALLS: &str = "abi/src/syscall.rs";
const ERRORS: &str = "abi/src/error.rs";
const SECTIONS: [&str; 3] = ["Arguments", "Returns", "Errors"];
/// What only the table on top of the pages may name.
const REGISTERS: [&str; 8] = ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp"];

/// A variant of an enumeration, or a line that divides them.
enum Entry {
    Group(String),
    Variant { name: String, number: u32, comment: Vec<String> },
}

/// Writes the pages.
pub fn write() -> Result<()> {
    std::fs::write(PAGES, pages()?).with_context(|| format!("cannot write {PAGES}"))?;
    show(&format!("{PAGES}\n"))?;
    Ok(())
}

/// Whether the pages are what the comments say.
pub fn check() -> Result<()> {
    let found = std::fs::read_to_string(PAGES).with_context(|| format!("cannot read {PAGES}"))?;
    let made = pages()?;
    let Some(line) = first_difference(&found, &made) else { return Ok(()) };
    bail!("{PAGES}, line {line}: it is not what the comments of {CALLS} and {ERRORS} say; run `./macadamia manual`, which writes it")
}

/// The first line, from 1 on, in which two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    let same = one.split('\n').zip(other.split('\n')).take_while(|(a, b)| a == b).count();
    (one != other).then_some(same + 1)
}

fn pages() -> Result<String> {
    let calls = std::fs::read_to_string(CALLS).with_context(|| format!("cannot read {CALLS}"))?;
    let errors = std::fs::read_to_string(ERRORS).with_context(|| format!("cannot read {ERRORS}"))?;
    let mut text = format!("<!-- Made of the comments of {CALLS} and {ERRORS} by `./macadamia manual`: edit those. -->\n");
    let head = calls.lines().filter_map(|line| line.strip_prefix("//!"));
    // The first paragraphs tell of the source file.
    let head: Vec<String> = head.map(plain).skip_while(|line| !line.starts_with("# ")).collect();
    text += "# System calls\n\n";
    text += "What objects, capabilities and messages are is in [manual.md](manual.md). The program `tests/conform` tests what is said here.\n\n";
    text += &sections(&head, "#");
    let entries = entries(&calls, "pub enum Op {").context(CALLS)?;
    text += &contents(&entries);
    let all = syscall::ALL.map(|op| (format!("{op:?}"), op as u32));
    is_complete(&entries, &all).context(CALLS)?;
    for entry in &entries {
        match entry {
            Entry::Group(name) => text += &format!("\n## {name}\n"),
            Entry::Variant { name, number, comment } => {
                check_page(comment).with_context(|| format!("{CALLS}, the comment of `{name}`"))?;
                let kind = if Op::from_code(*number).is_some_and(Op::returns_delivery) { ", returns a delivery" } else { "" };
                text += &format!("\n### {name}\n\nOperation {number}{kind}.\n\n{}", sections(comment, "###"));
            }
        }
    }
    let entries = self::entries(&errors, "pub enum Error {").context(ERRORS)?;
    is_complete(&entries, &error::ALL.map(|error| (format!("{error:?}"), error as u32))).context(ERRORS)?;
    text += "\n## Errors\n\n| code | error | |\n|---|---|---|\n";
    for entry in &entries {
        if let Entry::Variant { name, number, comment } = entry {
            text += &format!("| {number} | `{name}` | {} |\n", comment.join(" "));
        }
    }
    Ok(text)
}

/// The pages by groups, as links.
fn contents(entries: &[Entry]) -> String {
    let mut text = String::from("\n## The system calls\n");
    let mut separator = "";
    for entry in entries {
        match entry {
            Entry::Group(name) => {
                text += &format!("\n* {name}: ");
                separator = "";
            }
            Entry::Variant { name, .. } => {
                text += &format!("{separator}[{name}](#{})", name.to_lowercase());
                separator = ", ";
            }
        }
    }
    text + "\n"
}

/// The variants of an enumeration with their comments, in the order of the source.
fn entries(source: &str, begin: &str) -> Result<Vec<Entry>> {
    let (_, body) = source.split_once(begin).with_context(|| format!("there is no `{begin}`"))?;
    let mut entries = Vec::new();
    let mut comment = Vec::new();
    for line in body.lines().map(str::trim).take_while(|line| *line != "}").filter(|line| !line.is_empty()) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(plain(text));
        } else if let Some(group) = line.strip_prefix("// ---") {
            entries.push(Entry::Group(group.trim_matches(['-', ' ']).into()));
        } else {
            let variant = line.strip_suffix(',').and_then(|line| line.split_once(" = "));
            let (name, number) = variant.with_context(|| format!("`{line}` is not `Name = number,`"))?;
            entries.push(Entry::Variant { name: name.into(), number: number.parse()?, comment: std::mem::take(&mut comment) });
        }
    }
    Ok(entries)
}

/// A line of a comment without its first space, and without the targets of links into the source.
fn plain(line: &str) -> String {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        text += &format!("{before}`{name}`");
        let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    text + rest
}

/// A comment with its headings this much deeper.
fn sections(lines: &[String], deeper: &str) -> String {
    lines.iter().map(|line| if line.starts_with("# ") { format!("{deeper}{line}\n") } else { format!("{line}\n") }).collect()
}

/// Whether the source was read as the compiler reads it.
fn is_complete(entries: &[Entry], all: &[(String, u32)]) -> Result<()> {
    let found = entries.iter().filter_map(|entry| match entry {
        Entry::Variant { name, number, .. } => Some((name.clone(), *number)),
        Entry::Group(_) => None,
    });
    let found: Vec<_> = found.collect();
    let differs = found.iter().find(|one| !all.contains(one)).or_else(|| all.iter().find(|one| !found.contains(one)));
    differs.map_or(Ok(()), |(name, number)| bail!("`{name} = {number}` is not in both of the enumeration and `ALL`"))
}

/// Whether a comment has the form of a page, and names errors that there are.
fn check_page(comment: &[String]) -> Result<()> {
    let first = comment.first().context("it is missing")?;
    ensure!(first.ends_with(['.', ':']), "its first line is not a sentence, which ends with a full stop: `{first}`");
    let headings: Vec<&str> = comment.iter().filter_map(|line| line.strip_prefix("# ")).collect();
    ensure!(headings == SECTIONS, "its sections are {headings:?}, and should be {SECTIONS:?}");
    for heading in SECTIONS {
        ensure!(!section(comment, heading).is_empty(), "nothing stands below `# {heading}`");
    }
    let words = comment.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
    if let Some(register) = words.into_iter().find(|word| REGISTERS.contains(word)) {
        bail!("it names `{register}`: name registers by their role, `a0` to `a3` and `r0` to `r4`");
    }
    for line in section(comment, "Errors").iter().filter(|line| line.starts_with('*')) {
        ensure!(*line == "* None." || line.starts_with("* `"), "`{line}` does not begin with the name of an error in backticks");
    }
    // An item may go on in the next line.
    let text = section(comment, "Errors").join(" ");
    for item in text.split("* ").filter(|item| item.starts_with('`')) {
        let names = item.split_once(':').map_or(item, |(names, _)| names);
        for name in names.split(',').map(|name| name.trim().trim_matches('`')) {
            ensure!(error::ALL.iter().any(|error| format!("{error:?}") == name), "there is no error `{name}` (abi/src/error.rs has them)");
        }
    }
    Ok(())
}

/// The lines below a heading that say something.
fn section<'a>(comment: &'a [String], heading: &str) -> Vec<&'a str> {
    let lines = comment.iter().map(String::as_str).skip_while(|line| line.strip_prefix("# ") != Some(heading)).skip(1);
    lines.take_while(|line| !line.starts_with("# ")).filter(|line| !line.trim().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(errors: &str) -> Vec<String> {
        let text = format!("Do it.\n\n# Arguments\n* `a0`: it.\n\n# Returns\nA status.\n\n# Errors\n{errors}");
        text.lines().map(String::from).collect()
    }

    fn complaint(errors: &str) -> String {
        check_page(&page(errors)).map_err(|error| error.to_string()).err().unwrap_or_default()
    }

    #[test]
    fn pages_that_are_wrong_are_refused() {
        assert_eq!(complaint("* `BadSlot`, `NoRight`,\n  `TooDeep`: of `a0`.\n* `BadState`: `None` is."), "");
        assert_eq!(complaint("* None."), "");
        assert_eq!(complaint("* `BadLuck`: now and then."), "there is no error `BadLuck` (abi/src/error.rs has them)");
        assert_eq!(complaint(""), "nothing stands below `# Errors`");
        assert_eq!(complaint("* Many."), "`* Many.` does not begin with the name of an error in backticks");
        assert!(complaint("* `BadSlot`: of ebx.").starts_with("it names `ebx`"));
        assert!(check_page(&page("* None.")[1..]).is_err());
        assert!(check_page(&page("* None.")[..6]).is_err());
    }

    #[test]
    fn comments_are_read() {
        let source = "pub enum Op {\n// --- One ---\n/// Do [`Tag`](crate::Tag) and [`This`].\n/// More.\nCall = 7,\n}\n/// No.\nSend = 8,";
        let entries = entries(source, "pub enum Op {").unwrap_or_default();
        let [Entry::Group(group), Entry::Variant { name, number, comment }] = &entries[..] else { panic!("{}", entries.len()) };
        assert_eq!((group.as_str(), name.as_str(), *number), ("One", "Call", 7));
        assert_eq!(*comment, ["Do `Tag` and `This`.", "More."]);
    }

    #[test]
    fn differences_have_a_line() {
        assert_eq!(first_difference("a\nb", "a\nb"), None);
        assert_eq!(first_difference("a\nb", "a\nc"), Some(2));
        assert_eq!(first_difference("a", "a\nb"), Some(2));
    }
}
