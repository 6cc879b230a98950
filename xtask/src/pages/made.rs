// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes the book in HTML, with mdbook. If there is no mdbook, it is compiled from the registry of
//! crates, once.

use super::chapters::{FOLDER, Pages, SUMMARY, all, chapters};
use super::links::{links, target};
use super::sound::check;
use crate::check::files::{files, read};
use crate::process::{cargo, run};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the book is, and the way from there to the project's folder.
pub const BOOK: &str = "docs/book";
const UP: [&str; 2] = ["..", ".."];
/// Its settings.
const SETTINGS: &str = "docs/book.toml";
/// Ends of names of pictures.
const OF_PICTURES: [&str; 2] = ["svg", "png"];
/// What mdbook makes it from: pages as the book needs them.
const SOURCES: &str = "target/book";
/// What the book in its place was made from.
const STAMP: &str = "target/book/made";
/// The release of mdbook that is compiled, and how one that is there says that it will do.
const VERSION: &str = "0.5.4";
const WILL_DO: &str = "mdbook v0.5.";

/// Builds the book, unless it is there as it would be built. Returns its first page.
///
/// # Errors
/// If the book is not sound, or mdbook is not available.
pub fn make() -> Result<PathBuf> {
    check()?;
    let pages = all()?;
    let chapters = chapters(&pages)?;
    let first = std::path::absolute(BOOK)?.join("index.html");
    let sources = Path::new(SOURCES).join("src");
    let staged = staged(&pages, &chapters)?;
    let mut hasher = DefaultHasher::new();
    (VERSION, &staged).hash(&mut hasher);
    let stamp = format!("{:016x}", hasher.finish());
    if first.exists() && std::fs::read_to_string(STAMP).is_ok_and(|made| made == stamp) {
        eprintln!("{BOOK} is up to date");
        return Ok(first);
    }
    let program = mdbook()?;
    eprintln!("building {BOOK}: {} chapters", chapters.len());
    if sources.exists() {
        std::fs::remove_dir_all(&sources)?;
    }
    for (path, contents) in &staged {
        let path = Path::new(SOURCES).join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(&sources))?;
        std::fs::write(&path, contents)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut command = Command::new(program);
    // It says each step by itself: its errors are enough.
    command.args(["build", SOURCES, "--dest-dir"]).arg(std::path::absolute(BOOK)?);
    command.env("MDBOOK_LOG", "warn").env("RUST_LOG", "warn");
    run(&mut command)?;
    std::fs::write(STAMP, stamp)?;
    Ok(first)
}

/// What mdbook reads: a path below [`SOURCES`], and what is there.
fn staged(pages: &Pages, chapters: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let source = Path::new("src");
    let mut staged = vec![("book.toml".into(), read(Path::new(SETTINGS))?.into_bytes())];
    for page in chapters.iter().map(PathBuf::as_path).chain([Path::new(SUMMARY)]) {
        let text =
            pages.get(page).with_context(|| format!("there is no chapter {}", page.display()))?;
        let text = relinked(page, text, chapters).with_context(|| page.display().to_string())?;
        staged.push((source.join(name(page)?), text.into_bytes()));
    }
    for picture in files(Path::new(FOLDER), &is_picture)? {
        let contents = std::fs::read(&picture)
            .with_context(|| format!("cannot read {}", picture.display()))?;
        staged.push((source.join(picture.strip_prefix(FOLDER)?), contents));
    }
    Ok(staged)
}

/// The name of a chapter in the book, which has no folders.
fn name(chapter: &Path) -> Result<&Path> {
    // The first page of a book is called so.
    if chapter == Path::new("README.md") {
        return Ok(Path::new("index.md"));
    }
    chapter.file_name().map(Path::new).with_context(|| format!("{} has no name", chapter.display()))
}

/// A page with links as the book needs them: to chapters and pictures beside it, and to all else in
/// the tree that the book lies in.
fn relinked(page: &Path, text: &str, chapters: &[PathBuf]) -> Result<String> {
    let folder = page.parent().unwrap_or(Path::new(""));
    let (mut new, mut done) = (String::new(), 0);
    for link in links(text).iter().filter(|link| !link.is_outside() && !link.path.is_empty()) {
        let path = target(folder, link.path)
            .with_context(|| format!("{} is not in the tree", link.path))?;
        let leads = if chapters.contains(&path) {
            name(&path)?.into()
        } else if is_picture(&path) {
            path.strip_prefix(FOLDER)?.into()
        } else {
            UP.iter().collect::<PathBuf>().join(path)
        };
        new.push_str(&text[done..link.place.start]);
        new.push_str(&leads.to_string_lossy());
        if let Some(anchor) = link.anchor {
            new.push('#');
            new.push_str(anchor);
        }
        done = link.place.end;
    }
    Ok(new + &text[done..])
}

/// Whether a file is copied into the book.
fn is_picture(path: &Path) -> bool {
    path.starts_with(FOLDER)
        && path.extension().and_then(OsStr::to_str).is_some_and(|end| OF_PICTURES.contains(&end))
}

/// mdbook: this machine's, or else one that is compiled here.
fn mdbook() -> Result<PathBuf> {
    let has = |program: &Path| {
        let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).starts_with(WILL_DO))
    };
    let usual = PathBuf::from("mdbook");
    if has(&usual) {
        return Ok(usual);
    }
    let place = std::path::absolute("target/mdbook")?.join(VERSION);
    let (program, built) = (place.join("bin/mdbook"), place.join("target"));
    if has(&program) {
        return Ok(program);
    }
    eprintln!("compiling mdbook {VERSION} of the registry of crates: some minutes, once");
    let status = cargo()
        .args(["install", "mdbook", "--version", VERSION, "--locked", "--debug"])
        .args(["--no-default-features", "--features", "search", "--root"])
        .arg(&place)
        .arg("--target-dir")
        .arg(&built)
        // It runs for seconds: what is compiled fast is better than what runs fast.
        .envs([("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_INCREMENTAL", "0")])
        .status()
        .context("cannot run cargo: `./macadamia doctor` says what is missing")?;
    ensure!(
        status.success() && has(&program),
        "mdbook {VERSION} could not be compiled, for the reason above: connect to the network, \
         or put an mdbook of release 0.5 into a folder of PATH; then run the same command again"
    );
    std::fs::remove_dir_all(&built).context("cannot remove what mdbook was compiled in")?;
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_links_of_its_own() {
        let chapters = ["README.md", "ARCHITECTURE.md", "docs/a.md"].map(PathBuf::from);
        let new = relinked(
            Path::new("ARCHITECTURE.md"),
            "[a](docs/a.md#x) [r](README.md) ![p](docs/pictures/p.svg) [f](abi/src/kip.rs \"V\") [o](https://example.org)",
            &chapters,
        );
        assert_eq!(
            new.expect("links"),
            "[a](a.md#x) [r](index.md) ![p](pictures/p.svg) [f](../../abi/src/kip.rs \"V\") [o](https://example.org)"
        );
    }
}
