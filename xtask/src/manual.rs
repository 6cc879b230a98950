// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manual's page of system calls: it is made from the comments of the crate `abi`, and compared
//! with them.
//!
//! Each operation has a first sentence and the sections `# Returns` and `# Errors`, which are lists
//! if they have more than a sentence. An item of the errors begins with the errors' names. The
//! arguments are the fields of the operation's structure. A section `# Arguments` before the others
//! describes what is in no field: what the call reads of the tag and of the UTCB.
//!
//! This module owns docs/system-calls.md, and by `contract` docs/contract.md. It does not know what
//! a call does.

mod comment;
mod contract;

use crate::process::show;
use abi::arch::REGISTERS;
use abi::error;
use abi::syscall::{Field, GROUPS, Page};
use anyhow::{Context, Result, bail, ensure};
use comment::plain;

const PAGES: &str = "docs/system-calls.md";
const CALLS: &str = "abi/src/syscall";
const HEAD: &str = "abi/src/syscall/mod.rs";
const ERRORS: &str = "abi/src/error.rs";
/// The sections of a page. Not all have the first.
const SECTIONS: [&str; 3] = [OTHERS, "Returns", "Errors"];
const OTHERS: &str = "Arguments";
/// What is in no field: of the tag, and of the UTCB.
const TAG: &str = "Tag: ";
const UTCB: &str = "UTCB: ";
/// What only tables may name.
const NAMES: [&str; 8] = ["eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp"];

/// A variant of an enumeration.
#[derive(Debug, PartialEq)]
struct Variant {
    name: String,
    number: u32,
    comment: Vec<String>,
}

/// Writes the pages.
pub fn write() -> Result<()> {
    for (page, text) in [(PAGES, pages()?), (contract::PAGE, contract::page()?)] {
        std::fs::write(page, text).with_context(|| format!("cannot write {page}"))?;
        show(&format!("{page}\n"))?;
    }
    Ok(())
}

/// Whether the pages are what the comments say, and the ports what those say of them.
pub fn check() -> Result<()> {
    let calls = format!("{CALLS} and {ERRORS}");
    for (page, made, of) in
        [(PAGES, pages()?, &*calls), (contract::PAGE, contract::page()?, contract::SOURCE)]
    {
        let found = std::fs::read_to_string(page).with_context(|| format!("cannot read {page}"))?;
        if let Some(line) = first_difference(&found, &made) {
            bail!(
                "{page}, line {line}: it is not what the comments of {of} say; run `./macadamia manual`, which writes it"
            );
        }
    }
    contract::check()
}

/// The first line, from 1 on, in which two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    let same = one.split('\n').zip(other.split('\n')).take_while(|(a, b)| a == b).count();
    (one != other).then_some(same + 1)
}

fn pages() -> Result<String> {
    let head = std::fs::read_to_string(HEAD).with_context(|| format!("cannot read {HEAD}"))?;
    let errors =
        std::fs::read_to_string(ERRORS).with_context(|| format!("cannot read {ERRORS}"))?;
    let mut text = format!(
        "<!-- Made of the comments of {CALLS} and {ERRORS} by `./macadamia manual`: edit those. -->\n"
    );
    let head = head.lines().filter_map(|line| line.strip_prefix("//!"));
    // The first paragraphs tell of the source file.
    let head: Vec<String> = head.map(plain).skip_while(|line| !line.starts_with("# ")).collect();
    text += "# System calls\n\n";
    text += "What objects, capabilities and messages are is in [manual.md](manual.md). The program `tests/conform` tests what is said here.\n\n";
    let registers = head
        .iter()
        .skip(1)
        .position(|line| line.starts_with("# "))
        .with_context(|| format!("{HEAD} has one section"))?
        + 1;
    text += &format!(
        "{}{}\n{}",
        sections(&head[..registers], "#"),
        registers_table(),
        sections(&head[registers..], "#")
    );
    text += &contents();
    for group in GROUPS {
        text += &format!("\n## {}\n", group.name);
        for page in group.pages {
            text += &page_text(page)
                .with_context(|| format!("{CALLS}, the comments of `{:?}`", page.op))?;
        }
    }
    let variants = variants(&errors, "pub enum Error {").context(ERRORS)?;
    is_complete(&variants, &error::ALL.map(|error| (format!("{error:?}"), error as u32)))
        .context(ERRORS)?;
    text += "\n## Errors\n\n| code | error | |\n|---|---|---|\n";
    for Variant { name, number, comment } in &variants {
        text += &format!("| {number} | `{name}` | {} |\n", comment.join(" "));
    }
    Ok(text)
}

/// A row of a table.
fn row(cells: &[&str]) -> String {
    let cells =
        cells.iter().map(|cell| if cell.is_empty() { " |".into() } else { format!(" {cell} |") });
    format!("|{}\n", cells.collect::<String>())
}

/// The first rows of a table with a column for each processor, between these others.
fn heading(before: &[&str], after: &[&str]) -> String {
    let processors: Vec<_> = REGISTERS.iter().map(|registers| registers.processor).collect();
    let cells = [before, &processors, after].concat();
    row(&cells) + "|" + &"---|".repeat(cells.len()) + "\n"
}

/// Where each processor has the words of a system call.
fn registers_table() -> String {
    let mut text = heading(&["role"], &[]);
    let mut add = |role: &str, of: &dyn Fn(&abi::arch::Registers) -> String| {
        let cells = REGISTERS.each_ref().map(of);
        text += &row(&[&[role], &cells.each_ref().map(String::as_str)[..]].concat());
    };
    add("instruction", &|registers| registers.instruction.into());
    add("tag", &|registers| registers.tag.into());
    add("`a0`, `a1`, `a2`, `a3`", &|registers| registers.arguments.join(", "));
    add("`r0`, `r1`, `r2`, `r3`, `r4`", &|registers| registers.results.join(", "));
    add("words of a message from 3 on", &|registers| registers.words.into());
    let mut roles: Vec<&str> = Vec::new();
    for (role, _) in REGISTERS.iter().flat_map(|registers| registers.others) {
        if !roles.contains(role) {
            roles.push(role);
        }
    }
    for role in roles {
        let of = |registers: &abi::arch::Registers| {
            registers
                .others
                .iter()
                .filter(|(other, _)| *other == role)
                .map(|(_, what)| *what)
                .collect()
        };
        add(role, &of);
    }
    text
}

/// The pages by groups, as links.
fn contents() -> String {
    let mut text = String::from("\n## The system calls\n");
    for group in GROUPS {
        let links = group
            .pages
            .iter()
            .map(|page| format!("{:?}", page.op))
            .map(|name| format!("[{name}](#{})", name.to_lowercase()));
        text += &format!("\n* {}: {}", group.name, links.collect::<Vec<_>>().join(", "));
    }
    text + "\n"
}

/// One page.
fn page_text(page: &Page) -> Result<String> {
    let comment: Vec<String> = page.text.iter().map(|line| plain(line)).collect();
    check_page(&comment)?;
    let kind = if page.op.returns_delivery() { ", returns a delivery" } else { "" };
    let (before, after) = divided(&comment);
    let head = format!("\n### {:?}\n\nOperation {}{kind}.\n\n", page.op, page.op as u32);
    let arguments = arguments(page.fields, &items(&section(&comment, OTHERS)))?;
    Ok(format!(
        "{head}{}#### Arguments\n{arguments}\n{}",
        sections(before, "###"),
        sections(after, "###")
    ))
}

/// A comment up to its sections, and what follows the arguments.
fn divided(comment: &[String]) -> (&[String], &[String]) {
    let first = comment.iter().position(|line| line.starts_with("# ")).unwrap_or(comment.len());
    let rest = comment
        .iter()
        .position(|line| line.strip_prefix("# ") == Some(SECTIONS[1]))
        .unwrap_or(comment.len());
    (&comment[..first], &comment[rest..])
}

/// The items of a list. One may go on in the next line.
fn items(lines: &[&str]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        match (line.strip_prefix("* "), items.last_mut()) {
            (None, Some(item)) => *item += &format!(" {}", line.trim()),
            (item, _) => items.push(item.unwrap_or(line).trim().into()),
        }
    }
    items
}

/// The table of a page: what the call takes, and where each processor has it.
fn arguments(fields: &[Field], others: &[String]) -> Result<String> {
    let of =
        |what: &str| others.iter().find_map(|item| item.strip_prefix(what)).unwrap_or_default();
    let tag = if of(TAG).is_empty() {
        "The operation.".into()
    } else {
        format!("The operation; {}", of(TAG))
    };
    let mut text = heading(&["", ""], &[""]);
    let mut add = |role: &str, name: &str, registers: &[String], what: &str| {
        let registers: Vec<_> = registers.iter().map(String::as_str).collect();
        text += &row(&[&[role, name], &registers[..], &[what]].concat());
    };
    add("tag", "", &REGISTERS.each_ref().map(|registers| registers.tag.into()), &tag);
    let mut first = 0;
    for field in fields {
        let places = first..first + field.words;
        let named = |names: &[&str]| {
            names
                .get(places.clone())
                .map(|names| names.join(", "))
                .context("more than four arguments")
        };
        let roles = named(&["`a0`", "`a1`", "`a2`", "`a3`"])?;
        let registers = REGISTERS
            .iter()
            .map(|registers| named(&registers.arguments))
            .collect::<Result<Vec<_>>>()?;
        let what: Vec<String> = field.text.iter().map(|line| plain(line).trim().into()).collect();
        names_no_register(&what)?;
        ensure!(
            what.concat().ends_with('.'),
            "what `{}` is should be a sentence, which ends with a full stop",
            field.name
        );
        add(&roles, &format!("`{}`", field.name), &registers, &what.join(" "));
        first = places.end;
    }
    if !of(UTCB).is_empty() {
        add("UTCB", "", &REGISTERS.each_ref().map(|_| String::new()), of(UTCB));
    }
    Ok(text)
}

/// The variants of an enumeration with their comments, in the order of the source.
fn variants(source: &str, begin: &str) -> Result<Vec<Variant>> {
    let (_, body) = source.split_once(begin).with_context(|| format!("there is no `{begin}`"))?;
    let mut variants = Vec::new();
    let mut comment = Vec::new();
    for line in
        body.lines().map(str::trim).take_while(|line| *line != "}").filter(|line| !line.is_empty())
    {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(plain(text));
        } else {
            let variant = line.strip_suffix(',').and_then(|line| line.split_once(" = "));
            let (name, number) =
                variant.with_context(|| format!("`{line}` is not `Name = number,`"))?;
            variants.push(Variant {
                name: name.into(),
                number: number.parse()?,
                comment: std::mem::take(&mut comment),
            });
        }
    }
    Ok(variants)
}

/// A comment with its headings this much deeper.
fn sections(lines: &[String], deeper: &str) -> String {
    lines
        .iter()
        .map(
            |line| {
                if line.starts_with("# ") {
                    format!("{deeper}{line}\n")
                } else {
                    format!("{line}\n")
                }
            },
        )
        .collect()
}

/// Whether the source was read as the compiler reads it.
fn is_complete(variants: &[Variant], all: &[(String, u32)]) -> Result<()> {
    let found: Vec<_> =
        variants.iter().map(|Variant { name, number, .. }| (name.clone(), *number)).collect();
    let differs = found
        .iter()
        .find(|one| !all.contains(one))
        .or_else(|| all.iter().find(|one| !found.contains(one)));
    differs.map_or(Ok(()), |(name, number)| {
        bail!("`{name} = {number}` is not in both of the enumeration and `ALL`")
    })
}

/// Whether a comment has the form of a page, and names errors that there are.
fn check_page(comment: &[String]) -> Result<()> {
    ensure!(!comment.is_empty(), "it is missing");
    let first: Vec<&str> =
        comment.iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    ensure!(
        first.ends_with(['.', ':']),
        "its first paragraph is no sentence, which ends with a full stop: `{first}`"
    );
    let headings: Vec<&str> = comment.iter().filter_map(|line| line.strip_prefix("# ")).collect();
    ensure!(
        headings == SECTIONS || headings == SECTIONS[1..],
        "its sections are {headings:?}, and should be {SECTIONS:?}"
    );
    for heading in &headings {
        ensure!(!section(comment, heading).is_empty(), "nothing stands below `# {heading}`");
    }
    names_no_register(comment)?;
    if let Some(item) = items(&section(comment, OTHERS))
        .iter()
        .find(|item| !item.starts_with(TAG) && !item.starts_with(UTCB))
    {
        bail!(
            "`{item}` begins neither with `{TAG}` nor with `{UTCB}`: what is in `a0` to `a3` is a field"
        );
    }
    for line in section(comment, "Errors").iter().filter(|line| line.starts_with('*')) {
        ensure!(
            *line == "* None." || line.starts_with("* `"),
            "`{line}` does not begin with the name of an error in backticks"
        );
    }
    // An item may go on in the next line.
    let text = section(comment, "Errors").join(" ");
    for item in text.split("* ").filter(|item| item.starts_with('`')) {
        let names = item.split_once(':').map_or(item, |(names, _)| names);
        for name in names.split(',').map(|name| name.trim().trim_matches('`')) {
            ensure!(
                error::ALL.iter().any(|error| format!("{error:?}") == name),
                "there is no error `{name}` (abi/src/error.rs has them)"
            );
        }
    }
    Ok(())
}

/// Whether a text leaves it to the tables which registers there are.
fn names_no_register(text: &[String]) -> Result<()> {
    let mut words = text.iter().flat_map(|line| line.split(|c: char| !c.is_alphanumeric()));
    let Some(register) = words.find(|word| NAMES.contains(word)) else { return Ok(()) };
    bail!(
        "it names `{register}`: name arguments by their fields, and results by their role, `r0` to `r4`"
    )
}

/// The lines below a heading that say something.
fn section<'a>(comment: &'a [String], heading: &str) -> Vec<&'a str> {
    let lines = comment
        .iter()
        .map(String::as_str)
        .skip_while(|line| line.strip_prefix("# ") != Some(heading))
        .skip(1);
    lines
        .take_while(|line| !line.starts_with("# "))
        .filter(|line| !line.trim().is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(errors: &str) -> Vec<String> {
        let text = format!(
            "Do it.\n\n# Arguments\n* Tag: it.\n\n# Returns\nA status.\n\n# Errors\n{errors}"
        );
        text.lines().map(String::from).collect()
    }

    fn complaint(errors: &str) -> String {
        check_page(&page(errors)).map_err(|error| error.to_string()).err().unwrap_or_default()
    }

    #[test]
    fn pages_that_are_wrong_are_refused() {
        assert_eq!(
            complaint("* `BadSlot`, `NoRight`,\n  `TooDeep`: of `a0`.\n* `BadState`: `None` is."),
            ""
        );
        assert_eq!(complaint("* None."), "");
        assert_eq!(
            complaint("* `BadLuck`: now and then."),
            "there is no error `BadLuck` (abi/src/error.rs has them)"
        );
        assert_eq!(complaint(""), "nothing stands below `# Errors`");
        assert_eq!(
            complaint("* Many."),
            "`* Many.` does not begin with the name of an error in backticks"
        );
        assert!(complaint("* `BadSlot`: of ebx.").starts_with("it names `ebx`"));
        assert!(check_page(&page("* None.")[1..]).is_err());
        assert!(check_page(&page("* None.")[..6]).is_err());
    }

    #[test]
    fn comments_are_read() {
        let source = "pub enum Error {\n/// Do [`Tag`](crate::Tag) and [`This`].\n/// More.\nNone = 7,\n}\n/// No.\nSend = 8,";
        let comment = ["Do `Tag` and `This`.", "More."].map(String::from).to_vec();
        let expected = vec![Variant { name: "None".into(), number: 7, comment }];
        assert_eq!(variants(source, "pub enum Error {").unwrap_or_default(), expected);
    }

    const FIELDS: [Field; 2] = [
        Field { name: "thread", words: 1, text: &[" Thread (`CONTROL`)."] },
        Field { name: "words", words: 2, text: &[" Words 0 and 1", " of [`Tag`](crate::Tag)."] },
    ];

    #[test]
    fn arguments_are_the_fields() {
        let others = ["Tag: `POLL`.".into(), "UTCB: The rest.".into()];
        let expected = "| | | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha | |\n|---|---|---|---|---|---|---|---|---|\n\
            | tag | | `eax` | `r0` | `r3` | `rax` | `$2` | `$0` | The operation; `POLL`. |\n\
            | `a0` | `thread` | `ebx` | `r1` | `r4` | `rdi` | `$4` | `$16` | Thread (`CONTROL`). |\n\
            | `a1`, `a2` | `words` | `esi`, `edi` | `r2`, `r3` | `r5`, `r6` | `rsi`, `rdx` | `$5`, `$6` | `$17`, `$18` | Words 0 and 1 of `Tag`. |\n\
            | UTCB | | | | | | | | The rest. |\n";
        assert_eq!(arguments(&FIELDS, &others).unwrap_or_default(), expected);
        let expected = "| | | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha | |\n|---|---|---|---|---|---|---|---|---|\n\
            | tag | | `eax` | `r0` | `r3` | `rax` | `$2` | `$0` | The operation. |\n";
        assert_eq!(arguments(&[], &[]).unwrap_or_default(), expected);
    }

    #[test]
    fn arguments_that_are_wrong_are_refused() {
        let complaint = |fields: &[Field]| {
            arguments(fields, &[]).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        let field = |words, text| Field { name: "one", words, text };
        assert_eq!(complaint(&[field(4, &[" It."])]), "");
        assert_eq!(
            complaint(&[field(4, &[" It."]), field(1, &[" It."])]),
            "more than four arguments"
        );
        assert!(complaint(&[field(1, &[" It"])]).starts_with("what `one` is should be a sentence"));
        assert!(complaint(&[field(1, &[" In esi."])]).starts_with("it names `esi`"));
    }

    /// What a comment says of arguments is only what no field has.
    #[test]
    fn arguments_are_not_named_twice() {
        assert!(check_page(&page("* None.")).is_ok());
        let named: Vec<_> =
            page("* None.").iter().map(|line| line.replace("* Tag: ", "* `a0`: ")).collect();
        assert!(
            check_page(&named)
                .is_err_and(|error| error.to_string().starts_with("``a0`: it.` begins neither"))
        );
        let without: Vec<_> = page("* None.")
            .into_iter()
            .filter(|line| *line != "# Arguments" && *line != "* Tag: it.")
            .collect();
        assert!(check_page(&without).is_ok());
    }

    #[test]
    fn items_go_on_in_the_next_line() {
        assert_eq!(
            items(&["* Tag: one", "  and two.", "* UTCB: three."]),
            ["Tag: one and two.", "UTCB: three."]
        );
    }

    /// The table on top names what each page names.
    #[test]
    fn registers_have_one_table() {
        let table = registers_table();
        assert!(table.starts_with(
            "| role | IA-32 | ARMv5 | PowerPC | x86-64 | MIPS | Alpha |\n|---|---|---|---|---|---|---|\n"
        ));
        assert!(table.contains(
            "| tag | `eax` | `r0` | `r3` | `rax` | `$2` | `$0` |\n\
                | `a0`, `a1`, `a2`, `a3` | `ebx`, `esi`, `edi`, `ebp` | `r1`, `r2`, `r3`, `r4` | `r4`, `r5`, `r6`, `r7` | `rdi`, `rsi`, `rdx`, `r8` | `$4`, `$5`, `$6`, `$7` | `$16`, `$17`, `$18`, `$19` |\n"
        ));
        assert!(table.contains("| flat afterwards | `ds`, `es` | | | | | |\n"));
        assert_eq!(table.matches("| kept |").count(), 1);
    }

    #[test]
    fn there_is_a_page_for_each_operation() {
        let ops: Vec<_> = GROUPS.iter().flat_map(|group| group.pages).map(|page| page.op).collect();
        assert_eq!(ops, abi::syscall::ALL);
        assert!(ops.is_sorted_by_key(|op| *op as u32));
    }

    #[test]
    fn differences_have_a_line() {
        assert_eq!(first_difference("a\nb", "a\nb"), None);
        assert_eq!(first_difference("a\nb", "a\nc"), Some(2));
        assert_eq!(first_difference("a", "a\nb"), Some(2));
    }
}
