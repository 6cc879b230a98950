// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks the pages against the tree: each link leads somewhere, and each excerpt is the source's.
//! Whether the tests that a page names exist is checked in `test`, which has their list.

use super::chapters::{Pages, SUMMARY, all, chapters};
use super::excerpts::excerpts;
use super::links::{Link, has_anchor, links, target};
use crate::check::files::{files, has_extension, read};
use anyhow::{Context, Result, ensure};
use std::path::Path;

/// Where pictures are that were drawn for the book.
const PICTURES: &str = "docs/pictures";
/// What begins so is a quote of a number of lines.
const LINES: &str = "lines";

/// Holds the book against the tree: it has each page once, its links lead somewhere, what they say
/// stands there, excerpts are of the source as it is, and pictures are shown and look alike.
///
/// # Errors
/// If something is wrong: all that is.
pub fn check() -> Result<()> {
    let pages = all()?;
    let mut wrong = order(&pages)?;
    for (page, text) in &pages {
        for link in links(text).iter().filter(|link| !link.is_outside()) {
            if let Err(reason) = leads(&pages, page, link) {
                let line = text[..link.place.start].lines().count();
                wrong.push(format!("{}:{line}: {reason:#}", page.display()));
            }
        }
    }
    for (page, text) in &pages {
        wrong.extend(not_excerpts(page, text)?);
    }
    wrong.extend(pictures(&pages)?);
    ensure!(wrong.is_empty(), "the book is not sound:\n{}", wrong.join("\n"));
    Ok(())
}

/// What is wrong with the list of chapters.
fn order(pages: &Pages) -> Result<Vec<String>> {
    let chapters = chapters(pages)?;
    let times = |page: &Path| chapters.iter().filter(|chapter| *chapter == page).count();
    let wrong = pages
        .keys()
        .filter(|page| *page != Path::new(SUMMARY))
        .map(|page| (page, times(page)))
        .filter(|(_, times)| *times != 1)
        .map(|(page, times)| format!("{SUMMARY} has {} {times} times, not once", page.display()));
    Ok(wrong.collect())
}

/// Whether a link leads to something, and says of it what is true.
fn leads(pages: &Pages, page: &Path, link: &Link) -> Result<()> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let path = if link.path.is_empty() {
        page.into()
    } else {
        target(folder, link.path).with_context(|| format!("{} is not in the tree", link.path))?
    };
    ensure!(path != Path::new(SUMMARY), "the list of chapters is no chapter");
    if let Some(text) = pages.get(&path) {
        if let Some(anchor) = link.anchor {
            ensure!(has_anchor(text, anchor), "{} has no heading `#{anchor}`", path.display());
        }
        return Ok(());
    }
    ensure!(path.exists(), "there is no {}", path.display());
    ensure!(!has_extension(&path, &["md"]), "{} is no chapter", path.display());
    let is_lines = link.title.split(' ').next() == Some(LINES);
    if !link.title.is_empty() && !is_lines {
        let stands = read(&path)?.contains(link.title);
        ensure!(stands, "`{}` does not stand in {}", link.title, path.display());
    }
    Ok(())
}

/// The excerpts of a page that do not stand in the file that they name.
fn not_excerpts(page: &Path, text: &str) -> Result<Vec<String>> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let mut wrong = Vec::new();
    for excerpt in excerpts(text) {
        // That there is such a file was said of the link.
        let Some(path) = target(folder, excerpt.path).filter(|path| path.is_file()) else {
            continue;
        };
        if !excerpt.stands_in(&read(&path)?) {
            let (page, path) = (page.display(), path.display());
            wrong.push(format!("{page}:{}: this does not stand in {path}", excerpt.line));
        }
    }
    Ok(wrong)
}

/// What is wrong with pictures: each is shown, and those of one kind have one style.
fn pictures(pages: &Pages) -> Result<Vec<String>> {
    let drawn = files(Path::new(PICTURES), &|path| has_extension(path, &["svg"]))?;
    let mut wrong = Vec::new();
    let mut first: Option<String> = None;
    for picture in drawn {
        let is_shown = pages.iter().any(|(page, text)| {
            let folder = page.parent().unwrap_or(Path::new(""));
            links(text).iter().any(|link| target(folder, link.path).as_ref() == Some(&picture))
        });
        if !is_shown {
            wrong.push(format!("no page shows {}", picture.display()));
        }
        let text = read(&picture)?;
        let style = text
            .split_once("<style>")
            .and_then(|(_, rest)| rest.split_once("</style>"))
            .map(|(style, _)| style.to_string())
            .with_context(|| format!("{} has no style", picture.display()))?;
        if *first.get_or_insert_with(|| style.clone()) != style {
            wrong.push(format!("{} has another style than the first", picture.display()));
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(of: &[(&str, &str)]) -> Pages {
        of.iter().map(|(path, text)| (path.into(), (*text).into())).collect()
    }

    #[test]
    fn each_page_is_a_chapter_once() {
        let wrong = order(&pages(&[
            ("docs/SUMMARY.md", "* [A](a.md)\n* [A](a.md)\n* [R](../README.md)\n"),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
            ("README.md", ""),
        ]))
        .expect("a summary");
        assert_eq!(
            wrong,
            [
                "docs/SUMMARY.md has docs/a.md 2 times, not once",
                "docs/SUMMARY.md has docs/b.md 0 times, not once"
            ]
        );
    }

    #[test]
    fn excerpts_are_of_the_source() {
        let of = |code: &str| {
            let page = format!("From [x](src/main.rs):\n\n```rust\n{code}\n```\n");
            not_excerpts(Path::new("a.md"), &page).expect("a file")
        };
        assert!(of("mod pages;").is_empty());
        assert_eq!(of("mod none;"), ["a.md:1: this does not stand in src/main.rs"]);
    }

    #[test]
    fn links_lead_somewhere() {
        let pages = pages(&[("a.md", "# One\n"), ("src/b.md", "")]);
        let of = |text: &str| leads(&pages, Path::new("a.md"), &links(text)[0]);
        for right in
            ["[x](#one)", "[x](a.md#one)", "[x](src/main.rs \"mod pages;\")", "[x](src \"lines\")"]
        {
            assert!(of(right).is_ok(), "{right}");
        }
        for wrong in [
            "[x](#two)",
            "[x](c.md)",
            "[x](src/none.rs)",
            "[x](src/main.rs \"mod none;\")",
            "[x](../../x)",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
