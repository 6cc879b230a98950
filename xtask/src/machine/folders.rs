// SPDX-License-Identifier: MIT OR Apache-2.0
//! Folders of this machine that a system sees (`--share`), by QEMU's file server for 9P, which keeps
//! to the folder and to read-only.

use super::board::{Board, Folders, fill};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A folder of this machine, and where it is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folder {
    /// The folder, without links in its path.
    host: PathBuf,
    /// Where Linux mounts it.
    guest: String,
    is_writable: bool,
}

/// The longest path in Linux: all of them are in its command line.
const LONGEST: usize = 200;
/// What a path in Linux may have besides letters and digits: it is a word of a command line, and of
/// a script.
const MARKS: &str = "/._-+@";

/// What Linux fills itself.
const OWN: [&str; 3] = ["dev", "proc", "sys"];

impl FromStr for Folder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let (host, guest, is_writable) = match parts[..] {
            [host, guest] | [host, guest, "ro"] => (host, guest, false),
            [host, guest, "rw"] => (host, guest, true),
            _ => {
                return Err(format!(
                    "`{text}` has another form: write HOST:GUEST, HOST:GUEST:ro or HOST:GUEST:rw, and no other colon"
                ));
            }
        };
        let host = host_folder(host)?;
        Ok(Self { host, guest: guest_path(guest)?, is_writable })
    }
}

/// A folder that QEMU can be told of.
fn host_folder(text: &str) -> Result<PathBuf, String> {
    let path = Path::new(text).canonicalize().map_err(|error| {
        format!("there is no folder `{text}` ({error}): make it, or name another one")
    })?;
    if !path.is_dir() {
        return Err(format!("`{text}` is no folder: name the folder that it is in"));
    }
    let is_fine = |char: char| !char.is_control() && char != ',' && char != ':';
    if path.to_str().is_some_and(|path| path.chars().all(is_fine)) {
        Ok(path)
    } else {
        Err(format!(
            "the path {path:?} has a comma, a colon or a control character, or is no UTF-8, which QEMU's options cannot have: rename the folder, or share one above it"
        ))
    }
}

/// Where Linux can mount one.
fn guest_path(text: &str) -> Result<String, String> {
    if !text.starts_with('/') {
        return Err(format!("`{text}` is no absolute path in Linux: write one as `/mnt/work`"));
    }
    let is_fine = |char: char| char.is_alphanumeric() || MARKS.contains(char);
    if let Some(char) = text.chars().find(|char| !is_fine(*char)) {
        return Err(format!(
            "the path `{}` in Linux has the character {char:?}: it may have letters, digits and `{MARKS}`",
            text.escape_debug()
        ));
    }
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.iter().any(|name| [".", ".."].contains(name)) {
        return Err(format!(
            "`{text}` is no place for a folder: write an absolute path without `.` and `..`, as `/mnt/work`"
        ));
    }
    if let Some(own) = names.first().filter(|name| OWN.contains(name)) {
        return Err(format!("`{text}` is Linux's own, as all of /{own} is: choose another place"));
    }
    if text.len() > LONGEST {
        return Err(format!(
            "the path `{text}` in Linux is too long: write at most {LONGEST} bytes"
        ));
    }
    Ok(format!("/{}", names.join("/")))
}

/// How a server and Linux call the folder of this number, from 0 on.
fn name(number: usize) -> String {
    format!("folder-{}", number + 1)
}

impl Folder {
    /// What Linux is told of it, by its number: a word of its command line.
    pub fn word(&self, number: usize) -> String {
        let rights = if self.is_writable { "rw" } else { "ro" };
        format!("folder={}:{rights}:{}", name(number), self.guest)
    }

    /// QEMU's arguments for it.
    fn arguments(&self, number: usize, folders: &Folders) -> Result<Vec<String>> {
        let path = self.host.to_str().context("a path that is no UTF-8")?;
        let read_only = if self.is_writable { "off" } else { "on" };
        let own = name(number);
        // The path comes last: what it has in braces is its own.
        let words = [
            ("name", own.as_str()),
            ("address", folders.addresses[number].as_str()),
            ("read-only", read_only),
            ("path", path),
        ];
        Ok(folders.qemu.iter().map(|argument| fill(argument, &words)).collect())
    }
}

/// QEMU's arguments for all of them.
///
/// # Errors
/// If the board has none, or not so many, or two are at one place in Linux.
pub fn arguments(all: &[Folder], board: &Board) -> Result<Vec<String>> {
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let Some(folders) = board.folders() else {
        bail!(
            "the board `{}` cannot have folders of this machine: leave --share out, or choose `--board pc` or `--board pc64`",
            board.name()
        )
    };
    let most = folders.addresses.len();
    ensure!(
        all.len() <= most,
        "a machine has at most {most} folders of this one: leave a --share out, or share a folder above several"
    );
    for (number, folder) in all.iter().enumerate() {
        ensure!(
            all[..number].iter().all(|other| other.guest != folder.guest),
            "two folders are to be at `{}` in Linux: give each --share a place of its own",
            folder.guest
        );
    }
    let each = all.iter().enumerate().map(|(number, folder)| folder.arguments(number, folders));
    Ok(each.collect::<Result<Vec<_>>>()?.concat())
}

/// A folder for a test; it is there.
pub fn folder(host: &Path, guest: &str, is_writable: bool) -> Result<Folder> {
    let rights = if is_writable { "rw" } else { "ro" };
    let path = host.to_str().context("a path that is no UTF-8")?;
    format!("{path}:{guest}:{rights}").parse().map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(name: &str) -> Board {
        Board::read(&Path::new("../boards").join(name).with_extension("toml")).expect("a board")
    }

    fn said(text: &str) -> String {
        text.parse::<Folder>().expect_err(text)
    }

    #[test]
    fn read_only_is_the_default() {
        let here = std::env::current_dir().and_then(|here| here.canonicalize()).expect("a folder");
        let all: Vec<Folder> = ["src/..:/mnt/a", ".:/mnt//b/:ro", ".:/c:rw"]
            .iter()
            .map(|text| text.parse().expect("a share"))
            .collect();
        assert!(all.iter().all(|folder| folder.host == here));
        let words: Vec<String> =
            all.iter().enumerate().map(|(number, folder)| folder.word(number)).collect();
        assert_eq!(
            words,
            ["folder=folder-1:ro:/mnt/a", "folder=folder-2:ro:/mnt/b", "folder=folder-3:rw:/c"]
        );
        for name in ["pc", "pc64"] {
            let arguments = arguments(&all, &board(name)).expect("a board with folders");
            let path = here.display();
            assert_eq!(
                arguments[..4],
                [
                    "-fsdev".to_string(),
                    format!(
                        "local,id=folder-1,path={path},security_model=none,readonly=on,multidevs=remap"
                    ),
                    "-device".into(),
                    "virtio-9p-pci,fsdev=folder-1,mount_tag=folder-1,addr=9,disable-legacy=on"
                        .into(),
                ]
            );
            assert!(arguments[9].contains("readonly=off") && arguments[11].contains("addr=11"));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, cause, cure) in [
            (".", "another form", "write HOST:GUEST"),
            (".:/mnt:rx", "another form", "write HOST:GUEST"),
            (".:/mnt:ro:rw", "another form", "no other colon"),
            ("no/such:/mnt", "there is no folder `no/such`", "make it"),
            (":/mnt", "there is no folder ``", "make it"),
            ("Cargo.toml:/mnt", "is no folder", "the folder that it is in"),
            (".:mnt", "no absolute path", "write one as `/mnt/work`"),
            (".:", "no absolute path", "write one as `/mnt/work`"),
            (".:/", "no place for a folder", "write an absolute path"),
            (".:/mnt/../etc", "no place for a folder", "without `.` and `..`"),
            (".:/proc/x", "Linux's own", "choose another place"),
            (".:/a,b", "the character ','", "letters, digits"),
            (".:/a b", "the character ' '", "letters, digits"),
            (".:/a*", "the character '*'", "letters, digits"),
            (".:/a\nb", "the character '\\n'", "letters, digits"),
        ] {
            let said = said(text);
            assert!(said.contains(cause) && said.contains(cure), "{text}: {said}");
        }
        assert!(said(&format!(".:/{}", "a".repeat(200))).contains("too long"));
        let odd = std::env::temp_dir().join(format!("odd,{}", std::process::id()));
        std::fs::create_dir_all(&odd).expect("a folder");
        let text = format!("{}:/mnt", odd.display());
        assert!(said(&text).contains("a comma"), "{}", said(&text));
        std::fs::remove_dir(odd).expect("an empty folder");
    }

    #[test]
    fn folders_have_places_of_their_own_on_a_board_that_has_them() {
        let share = |guest: &str| format!(".:{guest}").parse::<Folder>().expect("a share");
        let said = |all: &[Folder], name: &str| {
            arguments(all, &board(name)).expect_err("refused").to_string()
        };
        let twice = [share("/a"), share("/b"), share("//a/")];
        assert!(said(&twice, "pc").starts_with("two folders are to be at `/a` in Linux: give"));
        let five = ["/a", "/b", "/c", "/d", "/e"].map(share);
        assert!(said(&five, "pc64").starts_with("a machine has at most 4 folders"));
        assert_eq!(arguments(&five[..4], &board("pc")).map(|all| all.len()).ok(), Some(16));
        for name in ["versatilepb", "amigaone", "malta"] {
            let said = said(&five[..1], name);
            assert!(
                said.starts_with(&format!("the board `{name}` cannot have folders"))
                    && said.contains("`--board pc`"),
                "{said}"
            );
            assert_eq!(arguments(&[], &board(name)).ok(), Some(Vec::new()));
        }
    }
}
