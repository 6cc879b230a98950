// SPDX-License-Identifier: MIT OR Apache-2.0
//! System descriptions: reading `systems/*.toml` and checking them. The reference is
//! docs/systems.md. Every mistake is an error with file, line and what to do.

pub mod check;
mod clients;
mod connect;
mod devices;
mod disk;
mod explain;
mod fit;
mod key;
mod net;
mod parts;
#[cfg(test)]
mod samples;
mod screen;
mod sockets;
mod sources;
mod surfaces;
mod with_screen;
mod written;

pub use written::*;

use crate::linux::server;
use crate::machine::board::Board;
use crate::machine::processor::{Configuration, Processor};
use anyhow::{Result, anyhow, ensure};
use image::{Small, Window};
use serde::Deserialize;
use sources::{Mistake, Sources, spanned, wrong_toml};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Kernel memory for each entry of the kernel's thread table.
const BYTES_A_THREAD: u32 = 8192;
/// The least that a component has where the description does not say how many.
const FEWEST_THREADS: u32 = 16;

/// The least kernel memory that a component has where the description does not say how much.
const LEAST_QUOTA: u32 = 256 << 10;
/// Memory behind an image for each byte of that.
const BEHIND_A_BYTE: u64 = 8;

/// The largest disk, in bytes.
const MOST_OF_A_DISK: u64 = 2 << 40;

/// A window's size, as it is written.
pub fn text_of(bytes: u32) -> String {
    if bytes.is_multiple_of(1 << 30) {
        format!("{}G", bytes >> 30)
    } else {
        format!("{}M", bytes >> 20)
    }
}

/// Reads and checks a description.
pub fn read(path: &Path, board: &Board) -> Result<Description> {
    parse(path, std::fs::read_to_string(path)?, board)
}

/// The same, and gives each Linux in it the screen, as if its description said so (`--screen`).
///
/// # Errors
/// If the board has no screen, or the description has neither a screen nor a Linux.
pub fn read_with_screen(path: &Path, board: &Board) -> Result<Description> {
    ensure!(
        board.device.contains_key(screen::SCREEN),
        "the board `{}` has no card that there is a driver of: leave --screen out, or choose another board by --board",
        board.name()
    );
    let description = parse_with(path, std::fs::read_to_string(path)?, board, with_screen::give)?;
    ensure!(
        description.devices.contains(screen::SCREEN),
        "{} has neither a screen nor a Linux that could have one: leave --screen out",
        description.name()
    );
    Ok(description)
}

/// Parses and checks the text of a description.
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
    let mut description = merged(&sources, board, change)
        .map_err(|mistake| sources.wrong(sources.with_key(mistake)))?;
    description.sources = sources;
    description.fit(board)?;
    description.connect()?;
    description.give_sockets()?;
    description.share_disks()?;
    description.share_screen(board)?;
    description.choose_servers()?;
    description.check(board)?;
    Ok(description)
}

/// Reads both, and puts the board's devices into the description.
fn merged(
    sources: &Sources,
    board: &Board,
    change: impl Fn(&mut DeTable<'_>),
) -> Result<Description, Mistake> {
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
    let description = Description::deserialize(toml::Deserializer::from(root))
        .map_err(|error| wrong_toml(&error))?;
    Ok(Description { devices, processor: Some(board.processor), ..description })
}

impl Description {
    /// The board's processor.
    pub fn processor(&self) -> Processor {
        self.processor.expect("`merged` notes it")
    }

    /// The system's name.
    pub fn name(&self) -> String {
        self.sources.0[0]
            .0
            .file_stem()
            .map_or_else(String::new, |s| s.to_string_lossy().into_owned())
    }

    /// A mistake, with file and line.
    pub fn wrong<T>(&self, at: &Spanned<T>, what: &str) -> anyhow::Error {
        self.sources.wrong((at.span().start, what.into()))
    }

    /// A size such as `64K`, a multiple of a page.
    pub fn bytes(&self, size: &Spanned<String>) -> Result<u32> {
        u32::try_from(self.long(size)?).map_err(|_| {
            self.wrong(size, &format!("`{}` is 4 GiB or more: write less", size.get_ref()))
        })
    }

    /// The size of a disk.
    pub fn disk_bytes(&self, disk: &Disk) -> Result<u64> {
        let bytes = self.long(&disk.size)?;
        let said = disk.size.get_ref();
        match bytes {
            0 => Err(self.wrong(
                &disk.size,
                "a disk has 4096 bytes at least: write how large it is to be (`64M`, `2T`)",
            )),
            1..=MOST_OF_A_DISK => Ok(bytes),
            _ => Err(self.wrong(
                &disk.size,
                &format!("`{said}` is more than a disk has: write `2T` or less"),
            )),
        }
    }

    /// The same of a size that may be of a disk.
    fn long(&self, size: &Spanned<String>) -> Result<u64> {
        let text = size.get_ref();
        let (digits, shift) = match text.as_bytes().last() {
            Some(b'K') => (&text[..text.len() - 1], 10),
            Some(b'M') => (&text[..text.len() - 1], 20),
            Some(b'G') => (&text[..text.len() - 1], 30),
            Some(b'T') => (&text[..text.len() - 1], 40),
            _ => (text.as_str(), 0),
        };
        let value = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
        value.filter(|v| v.is_multiple_of(abi::PAGE_SIZE.into())).ok_or_else(|| {
            self.wrong(
                size,
                &format!("`{text}` is no size: write a multiple of 4096, as a number or with K, M, G or T behind it (`64K`, `2M`)"),
            )
        })
    }

    /// Index of a component.
    pub fn index(&self, name: &Spanned<String>) -> Result<u16> {
        let found = self.component.iter().position(|c| c.name.get_ref() == name.get_ref());
        let names: Vec<_> = self.component.iter().map(|c| c.name.get_ref().as_str()).collect();
        found.map(|i| i as u16).ok_or_else(|| {
            self.wrong(
                name,
                &format!(
                    "there is no component `{}`: name one of {}",
                    name.get_ref(),
                    names.join(", ")
                ),
            )
        })
    }

    /// Kernel memory that a component may use: what lies behind its image is a Linux's RAM, whose
    /// processes need spaces and page tables in proportion.
    pub fn quota(&self, component: &Component) -> Result<u32> {
        if let Some(quota) = &component.quota {
            return self.bytes(quota);
        }
        let mut behind: u64 = 0;
        for piece in component.memory.iter().filter(|piece| piece.behind_image) {
            behind += u64::from(self.bytes(&piece.size)?);
        }
        // More than there can be is refused with the memory itself.
        let quota =
            u32::try_from((behind / BEHIND_A_BYTE).next_multiple_of(4096)).unwrap_or(u32::MAX);
        Ok(quota.max(LEAST_QUOTA))
    }

    /// Threads that a component may make.
    pub fn threads(&self, component: &Component) -> Result<u32> {
        match &component.threads {
            Some(threads) => Ok(*threads.get_ref()),
            None => Ok((self.quota(component)? / BYTES_A_THREAD).max(FEWEST_THREADS)),
        }
    }

    /// Slots of relocation that a component's spaces may have.
    pub fn relocation_slots(&self, component: &Component) -> u32 {
        let said = |component: &Component| {
            component.relocation_slots.as_ref().map(|slots| *slots.get_ref())
        };
        let is_linux = |component: &Component| server::is_server(component.package());
        let all = self.processor().relocation_slots;
        if all == 0 {
            return 0;
        }
        said(component).unwrap_or_else(|| {
            if !is_linux(component) {
                return 1;
            }
            let (sharers, others): (Vec<&Component>, _) =
                self.component.iter().partition(|c| said(c).is_none() && is_linux(c));
            let taken: u32 =
                others.iter().fold(0, |sum, c| sum.saturating_add(said(c).unwrap_or(1)));
            all.saturating_sub(taken) / sharers.len() as u32
        })
    }

    /// Ranges of lines of a cache that a component may lock.
    pub fn locked_ranges(&self, component: &Component) -> u32 {
        if self.processor().locked_ranges == 0 {
            0
        } else {
            component.locked_ranges.as_ref().map_or(0, |ranges| *ranges.get_ref())
        }
    }

    /// The groups of components that are small, and for each component where it lies in which of
    /// them.
    ///
    /// # Errors
    /// A size that there is not, a group without a size, a group that has no room.
    pub fn homes(&self) -> Result<(Vec<String>, Vec<Option<Small>>)> {
        let mut homes: Vec<(String, Vec<(usize, u32)>)> = Vec::new();
        for (index, component) in self.component.iter().enumerate() {
            let Some(size) = &component.small else { continue };
            let group = component.group.as_ref().unwrap_or(&component.name).get_ref();
            let member = (index, self.bytes(size)?);
            match homes.iter_mut().find(|(name, _)| name == group) {
                Some((_, members)) => members.push(member),
                None => homes.push((group.clone(), vec![member])),
            }
        }
        let mut places = vec![None; self.component.len()];
        for (home, (name, members)) in (0..).zip(&homes) {
            let sizes: Vec<u32> = members.iter().map(|(_, bytes)| *bytes).collect();
            let addresses = Small::arrange(&sizes).ok_or_else(|| {
                let what = format!(
                    "the group `{name}` has no room for all: its members have {} MiB, and a home has 3584",
                    sizes.iter().map(|bytes| u64::from(bytes >> 20)).sum::<u64>()
                );
                let last = members.last().and_then(|(index, _)| self.component[*index].small.as_ref());
                last.map_or_else(|| anyhow!("{what}"), |size| self.wrong(size, &what))
            })?;
            for ((index, bytes), address) in members.iter().zip(addresses) {
                places[*index] = Some(Small { home, address, bytes: *bytes });
            }
        }
        Ok((homes.into_iter().map(|(name, _)| name).collect(), places))
    }

    /// A Linux's addresses are in its image: a window of another size is that of another package,
    /// and so is a configuration.
    fn choose_servers(&mut self) -> Result<()> {
        for i in 0..self.component.len() {
            let Component { window, configuration, .. } = &self.component[i];
            let package = self.component[i].package();
            // The lean one has no driver of a screen.
            let screen = self.component[i].has_screen() && server::is_server(package);
            if window.is_none() && configuration.is_none() && !screen {
                continue;
            }
            let usual = if screen { Configuration::Full } else { Configuration::default() };
            let wanted = configuration.as_ref().map_or(usual, |wanted| *wanted.get_ref());
            if let Some(said) =
                configuration.as_ref().filter(|_| screen && wanted == Configuration::Lean)
            {
                return Err(self.wrong(
                    said,
                    "a lean Linux has no driver of a screen: leave this out, or `screen`",
                ));
            }
            let sizes = server::sizes(package, wanted, self.processor())?;
            let bytes = window.as_ref().map(|size| self.bytes(size)).transpose()?;
            let found = sizes.iter().find(|(other, _)| bytes.is_none_or(|bytes| bytes == *other));
            match (found, window, configuration) {
                (Some((_, package)), ..) => {
                    self.component[i].package = Some(spanned((*package).into()))
                }
                (None, Some(size), _) if !sizes.is_empty() => {
                    let known: Vec<String> =
                        sizes.iter().map(|(bytes, _)| text_of(*bytes)).collect();
                    let what = format!(
                        "`{package}` has no window of {}: write one of {}",
                        size.get_ref(),
                        known.join(", ")
                    );
                    return Err(self.wrong(size, &what));
                }
                (None, _, Some(wanted)) if server::is_server(package) => {
                    return Err(self.wrong(
                        wanted,
                        &format!("`{package}` has one configuration: leave this out"),
                    ));
                }
                // That it is no Linux is said with the rest.
                (None, ..) => {}
            }
        }
        Ok(())
    }

    /// A Linux's window, and whether it serves there.
    pub fn window(&self, component: &Component) -> Result<Option<Window>> {
        let Some(layout) = server::layout(component.package(), self.processor())? else {
            return Ok(None);
        };
        let server =
            component.server.as_ref().map_or_else(Server::default, |server| *server.get_ref());
        Ok(Some(Window {
            start: layout.window,
            serve: server == Server::Auto && self.processor().has_servers,
        }))
    }

    /// A piece of shared memory: its index, and its bytes.
    pub fn region(&self, name: &Spanned<String>) -> Result<(u16, u32)> {
        let found = self.shared.iter().enumerate().find(|(_, (n, _))| *n == name.get_ref());
        let what = || format!("there is no shared memory `{0}`: add [shared.{0}]", name.get_ref());
        let (index, (_, region)) = found.ok_or_else(|| self.wrong(name, &what()))?;
        Ok((index as u16, self.bytes(&region.size)?))
    }
}
