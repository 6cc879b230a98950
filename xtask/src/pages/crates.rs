// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documentation of crates, by rustdoc: of those that run on the host, and for each board of
//! the kernel, its port, the components and all that these consist of.

use super::made::BOOK;
use crate::build::{cargo_check, documented};
use crate::check::files::files;
use crate::check::{Crates, HOST, Metadata, Package};
use crate::machine::board::{self, Board};
use crate::process::{cargo, run};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where cargo puts the documentation of crates of the host, and where all is in the book.
const OF_HOST: &str = "target/doc";
const PLACE: &str = "rust";
/// Crates about Alpha that run on the host: their contract is one that nothing else is built with.
const ALPHA: [&str; 2] = ["alpha-core", "alpha-ipc"];

/// A crate as it is listed: the name of its page, and what it is.
type Listed = BTreeMap<String, String>;

/// Builds the documentation of all crates that run on the host.
///
/// # Errors
/// If it has a warning.
pub fn document() -> Result<()> {
    // There are no examples: asked for them, cargo takes other crates with the features that they have
    // for tests, as it does for Clippy, and compiles none of them once more.
    of_host(&["--lib", "--bins", "--examples"])?;
    of_host(&ALPHA.map(|package| ["-p", package]).concat())
}

fn of_host(arguments: &[&str]) -> Result<()> {
    let mut command = cargo();
    command.args(["doc", "--quiet", "--no-deps"]).args(arguments);
    run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// A board, the folder of its documentation, and the crates that are in it with what each is.
type Documented = (String, PathBuf, Listed);

/// Builds the documentation of what is compiled for each board: programs, and the crates of the
/// project that they consist of. Returns the boards, each with the folder of its documentation and
/// what is in it.
///
/// # Errors
/// If it has a warning.
pub fn document_boards() -> Result<Vec<Documented>> {
    let crates = Crates::read()?;
    let of_board = |board: &'static Board| {
        let name = board.name();
        let metadata = Metadata::read(&board.target)?;
        let packages = metadata.own_parts(crates.programs(&name))?;
        eprintln!("documenting {} crates of the board `{name}`", packages.len());
        let mut command = cargo_check("doc")?;
        // All that a package has, a library or programs: with `--lib` cargo refuses programs.
        command.args(["--quiet", "--no-deps"]);
        packages.keys().for_each(|package| _ = command.args(["-p", package]));
        run(&mut command).with_context(|| format!("for the board `{name}`"))?;
        let listed = listed(&packages);
        Ok((name, documented(), listed))
    };
    board::all()?.into_iter().map(|board| board::with(board, || of_board(board))).collect()
}

/// Puts the documentation of all crates into the book's folder, that of a board's crates into a
/// folder of the board, with a page that lists them. Returns that page.
///
/// # Errors
/// If it has a warning, or cannot be copied.
pub fn add() -> Result<PathBuf> {
    let start = Instant::now();
    let metadata = Metadata::read(HOST)?;
    let mut packages = metadata.of_host()?;
    packages.extend(metadata.own_parts(ALPHA.into_iter())?.into_iter().filter(is_alphas));
    eprintln!("documenting {} crates of the host; all boards take some minutes", packages.len());
    document()?;
    let boards = document_boards()?;
    let to = Path::new(BOOK).join(PLACE);
    if to.exists() {
        std::fs::remove_dir_all(&to)?;
    }
    copy(Path::new(OF_HOST), &to)?;
    let mut text = section("What runs on the host", "", &listed(&packages));
    let mut pages = packages.len();
    for (name, folder, crates) in boards {
        copy(&folder, &to.join(&name))?;
        text += &section(&format!("The board <code>{name}</code>"), &format!("{name}/"), &crates);
        pages += crates.len();
    }
    let index = std::path::absolute(to.join("index.html"))?;
    std::fs::write(&index, page(&text))?;
    eprintln!("{pages} crates are documented, in {} s", start.elapsed().as_secs());
    Ok(index)
}

fn is_alphas((name, _): &(&str, &Package)) -> bool {
    ALPHA.contains(name)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from, &|_| true)? {
        let copy = to.join(file.strip_prefix(from)?);
        std::fs::create_dir_all(copy.parent().unwrap_or(to))?;
        std::fs::copy(&file, &copy).with_context(|| format!("cannot copy {}", file.display()))?;
    }
    Ok(())
}

/// The pages of these packages, and what each is about.
fn listed(packages: &BTreeMap<&str, &Package>) -> Listed {
    let about = |package: &Package| package.description.clone().unwrap_or_default();
    let pages = |package: &&Package| {
        let about = about(package);
        package.documented().into_iter().map(move |page| (page, about.clone()))
    };
    packages.values().flat_map(pages).collect()
}

/// A heading, and a link to each of these crates in a folder.
fn section(title: &str, folder: &str, crates: &Listed) -> String {
    let line = |(name, about): (&String, &String)| {
        format!("<li><a href=\"{folder}{name}/index.html\"><code>{name}</code></a>: {about}\n")
    };
    format!("<h2>{title}</h2>\n<ul>\n{}</ul>\n", crates.iter().map(line).collect::<String>())
}

/// A page that shows in dark and in light.
fn page(sections: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Crates</title>\n\
         <h1>Crates</h1>\n{sections}</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_listed_in_order_with_what_they_are() {
        let crates = [("b", "two"), ("a", "one")];
        let crates = crates.map(|(name, about)| (name.into(), about.into())).into();
        let text = page(&section("The board", "malta/", &crates));
        let (a, b) = (text.find("malta/a/index.html"), text.find("malta/b/index.html"));
        assert!(a.is_some() && a < b && text.contains("</a>: two"), "{text}");
    }
}
