// SPDX-License-Identifier: MIT OR Apache-2.0
//! System descriptions: reads `systems/*.toml` and checks them. The reference is docs/systems.md.
//!
//! Each mistake is an error with file, line and what to do. This folder owns the meaning of every
//! key, and turns a description into a complete one. It does not know how a system is built or run.

pub mod check;
mod clients;
mod connect;
mod described;
mod devices;
mod disk;
mod explain;
mod fit;
mod folders;
mod key;
mod net;
mod parts;
#[cfg(test)]
mod samples;
mod screen;
mod sockets;
mod sources;
mod surfaces;
mod terminal;
mod with_folders;
mod with_screen;
mod written;

pub use described::{Component, Description, text_of};
pub use written::*;

use crate::machine::board::Board;
use crate::machine::folders::{self as shared, Folder};
use anyhow::{Result, ensure};
use serde::Deserialize;
use sources::{Mistake, Sources, spanned, wrong_toml};
use std::collections::BTreeSet;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Reads and checks a description.
pub fn read(path: &Path, board: &Board) -> Result<Description> {
    read_with(path, board, Wanted::default())
}

/// What a run asks for besides.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// The screen, for each Linux (`--screen`).
    pub screen: bool,
    /// Folders of this machine, for one Linux (`--share`).
    pub folders: &'a [Folder],
}

/// The same, and gives each Linux in it the screen, or one of them folders, as if its description
/// said so.
///
/// # Errors
/// If the board has none, or the description has neither a Linux nor another client.
pub fn read_with(path: &Path, board: &Board, wanted: Wanted<'_>) -> Result<Description> {
    let Wanted { screen, folders } = wanted;
    ensure!(
        !screen || board.device.contains_key(screen::SCREEN),
        "the board `{}` has no card that there is a driver of: leave --screen out, or choose another board by --board",
        board.name()
    );
    shared::arguments(folders, board)?;
    let text = std::fs::read_to_string(path)?;
    let has_tablet = board.display().is_some_and(|display| display.tablet.is_some());
    let end = text.len();
    let give = |root: &mut DeTable<'_>| {
        if screen {
            with_screen::give(root, has_tablet, end);
        }
        if !folders.is_empty() {
            with_folders::give(root, folders, end);
        }
    };
    let description = parse_with(path, text, board, give)?;
    ensure!(
        !screen || description.devices.contains(screen::SCREEN),
        "{} has neither a screen nor a Linux that could have one: leave --screen out",
        description.name()
    );
    ensure!(
        folders.is_empty() || description.devices.contains(with_folders::FOLDER),
        "{} has no Linux that could have a folder: leave --share out",
        description.name()
    );
    Ok(description)
}

/// Parses and checks the text of a description.
#[cfg(test)]
pub fn parse(path: &Path, text: String, board: &Board) -> Result<Description> {
    parse_with(path, text, board, |_| ())
}

fn parse_with(
    path: &Path,
    text: String,
    board: &Board,
    change: impl Fn(&mut DeTable<'_>),
) -> Result<Description> {
    let sources = Sources([(path.into(), text), (board.file.clone(), board.text.clone())]);
    let (mut written, devices) = merged(&sources, board, change)
        .map_err(|mistake| sources.wrong(sources.with_key(mistake)))?;
    written.fit(board, &sources)?;
    let (mut description, wishes) = Description::of(written, devices, board, sources)?;
    description.connect(&wishes.net)?;
    description.give_sockets(&wishes.sockets)?;
    description.share_disks(&wishes.disk)?;
    description.share_folders(&wishes.folder)?;
    description.show_console()?;
    description.share_screen(&wishes.screen, board)?;
    description.fit_screen(board)?;
    description.choose_servers()?;
    description.check(board)?;
    Ok(description)
}

/// Reads both, and puts the board's devices into the description. Returns their names, too.
fn merged(
    sources: &Sources,
    board: &Board,
    change: impl Fn(&mut DeTable<'_>),
) -> Result<(written::Description, BTreeSet<String>), Mistake> {
    let [(_, text), (_, board_text)] = &sources.0;
    let board_text = " ".repeat(text.len() + 1) + board_text;
    let read = |text| DeTable::parse(text).map_err(|error| wrong_toml(&error));
    let mut root = read(text)?;
    if !root.get_ref().contains_key("memory") {
        let memory = DeValue::String(board.memory.as_str().into());
        root.get_mut().insert(spanned("memory".into()), spanned(memory));
    }
    change(root.get_mut());
    let devices = devices::insert(
        root.get_mut(),
        read(&board_text)?.into_inner(),
        &board.name(),
        text.len(),
    )?;
    let written = written::Description::deserialize(toml::Deserializer::from(root))
        .map_err(|error| wrong_toml(&error))?;
    Ok((written, devices))
}
