// SPDX-License-Identifier: MIT OR Apache-2.0
//! A complete description: it contains what the keys of the file lead to, and the values that they
//! leave to the board and to this tool.

use super::key::Key;
use super::sources::{Sources, at, spanned};
use super::written::{
    self, Addresses, Controlled, Device, Disk, File, Irq, OnDeath, Pci, Peer, Piece, Ports, Server,
    Share, SharedMemory, Terminal, Test,
};
use super::{disk, net, screen};
use crate::linux::server;
use crate::machine::board::Board;
use crate::machine::processor::{Configuration, Processor};
use anyhow::{Result, anyhow};
use image::{Colours, Small, Window};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Spanned;

/// Kernel memory for each entry of the kernel's thread table.
pub(super) const BYTES_A_THREAD: u32 = 8192;
/// The least that a component has where the description does not say how many.
const FEWEST_THREADS: u32 = 16;

/// The least kernel memory that a component has where the description does not say how much.
pub(super) const LEAST_QUOTA: u32 = 256 << 10;
/// Memory after an image for each byte of that.
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

/// A description.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Description {
    /// Bytes of RAM of the machine.
    pub memory: Spanned<String>,
    /// Memory shared by components.
    pub shared: BTreeMap<String, SharedMemory>,
    /// The components, started in this order, those that drive the board's devices among them.
    pub component: Vec<Component>,
    /// Only in test systems.
    pub test: Option<Test>,
    /// Of the devices the disks, by their names.
    #[serde(rename = "devices")]
    pub disks: BTreeMap<String, Disk>,
    /// What is said of the board's screen.
    pub screen: Option<screen::Display>,
    /// The names of all devices: the components that drive them are called so.
    #[serde(skip)]
    pub devices: BTreeSet<String>,
    /// The board's.
    #[serde(skip)]
    processor: Processor,
    #[serde(skip)]
    pub(super) sources: Sources,
}

/// A component.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Component {
    /// Its name.
    pub name: Spanned<String>,
    /// The package that it is built from.
    pub package: Spanned<String>,
    pub arguments: Vec<String>,
    pub heap: Spanned<String>,
    /// Bytes of kernel memory that it may use.
    pub quota: u32,
    /// Threads that it may make.
    pub threads: Spanned<u32>,
    /// One for its own space if absent; a Linux, whose processes are relocated, has its part of
    /// what others leave.
    pub relocation_slots: Option<Spanned<u32>>,
    /// None if absent.
    pub locked_ranges: Option<Spanned<u32>>,
    pub priority: Spanned<u8>,
    pub max_priority: Option<Spanned<u8>>,
    pub slots: Spanned<u32>,
    pub service: bool,
    /// What it has of the terminal.
    pub terminal: Terminal,
    /// Whether it may write the machine-readable line.
    pub results: bool,
    /// Whether it may ask the root server how components are.
    pub watches: bool,
    pub on_death: OnDeath,
    /// It hangs, and is taken down, if it sends no heartbeat for so many milliseconds; never if
    /// absent.
    pub heartbeat_ms: Option<Spanned<u32>>,
    pub calls: Vec<Peer>,
    pub notifies: Vec<Peer>,
    pub controls: Vec<Controlled>,
    pub irqs: Vec<Irq>,
    pub ports: Vec<Ports>,
    pub addresses: Vec<Addresses>,
    pub devices: Vec<Device>,
    pub pci: Vec<Pci>,
    pub shares: Vec<Share>,
    pub memory: Vec<Piece>,
    pub files: Vec<File>,
    /// How a Linux runs; where the machine allows it by itself, if absent.
    pub server: Option<Spanned<Server>>,
    /// The size of a Linux's window; that of its package if absent.
    pub window: Option<Spanned<String>>,
    /// What a Linux is built with; that of its package if absent.
    pub configuration: Option<Spanned<Configuration>>,
    /// The size of its space, if that is to be small where the machine has small spaces.
    pub small: Option<Spanned<String>>,
    /// The component with which it shares a home then; with none if absent.
    pub group: Option<Spanned<String>>,
    /// The colours of the frames that its own memory is in; of any if absent.
    pub colours: Option<Spanned<Colours>>,
}

/// A component's wish for a part of something that others have, too: which component, and its key.
pub(super) struct Wish<T> {
    pub component: usize,
    pub key: Spanned<T>,
}

/// What components wish for, in the order of the description. What that means is in their other
/// keys when it was granted.
#[derive(Default)]
pub(super) struct Wishes {
    pub net: Vec<Wish<Key<net::At>>>,
    pub sockets: Vec<Wish<String>>,
    pub disk: Vec<Wish<Key<disk::Part>>>,
    pub folder: Vec<Wish<bool>>,
    pub screen: Vec<Wish<Key<screen::Part>>>,
}

impl Wishes {
    /// Notes those of a component.
    fn note(&mut self, component: usize, written: &mut written::Component) {
        let Self { net, sockets, disk, folder, screen } = self;
        net.extend(written.net.take().map(|key| Wish { component, key }));
        sockets.extend(written.sockets.take().map(|key| Wish { component, key }));
        disk.extend(written.disk.take().map(|key| Wish { component, key }));
        folder.extend(written.folder.take().map(|key| Wish { component, key }));
        screen.extend(written.screen.take().map(|key| Wish { component, key }));
    }
}

impl Component {
    /// What is written of one, with what this tool says where nothing is.
    ///
    /// # Errors
    /// A size that is none.
    fn of(written: written::Component, sources: &Sources) -> Result<Self> {
        let package = written.package.unwrap_or_else(|| written.name.clone());
        let is_linux = server::is_server(package.get_ref());
        let quota = match &written.quota {
            Some(quota) => sources.bytes(quota)?,
            None => quota_for(&written.memory, sources)?,
        };
        let usual_threads = (quota / BYTES_A_THREAD).max(FEWEST_THREADS);
        Ok(Self {
            threads: written.threads.unwrap_or_else(|| at(&written.name, usual_threads)),
            quota,
            // A Linux drives it.
            terminal: written.terminal.unwrap_or(if is_linux {
                Terminal::Paint
            } else {
                Terminal::Print
            }),
            package,
            name: written.name,
            arguments: written.arguments,
            heap: written.heap,
            relocation_slots: written.relocation_slots,
            locked_ranges: written.locked_ranges,
            priority: written.priority,
            max_priority: written.max_priority,
            slots: written.slots,
            service: written.service,
            results: written.results,
            watches: written.watches,
            on_death: written.on_death,
            heartbeat_ms: written.heartbeat_ms,
            calls: written.calls,
            notifies: written.notifies,
            controls: written.controls,
            irqs: written.irqs,
            ports: written.ports,
            addresses: written.addresses,
            devices: written.devices,
            pci: written.pci,
            shares: written.shares,
            memory: written.memory,
            files: written.files,
            server: written.server,
            window: written.window,
            configuration: written.configuration,
            small: written.small,
            group: written.group,
            colours: written.colours,
        })
    }

    /// The package it is built from.
    pub fn package(&self) -> &str {
        self.package.get_ref()
    }

    /// The names by which it finds what it is given, and where in the description that stands.
    pub(super) fn grants(&self) -> Vec<(&str, usize)> {
        fn named<'a, T>(name: &'a str, at: &Spanned<T>) -> (&'a str, usize) {
            (name, at.span().start)
        }
        let peers =
            self.calls.iter().chain(&self.notifies).map(|peer| named(peer.label(), &peer.to));
        let irqs = self.irqs.iter().map(|irq| named(&irq.name, &irq.line));
        let ports = self.ports.iter().map(|ports| named(&ports.name, &ports.base));
        let addresses =
            self.addresses.iter().map(|addresses| named(&addresses.name, &addresses.size));
        let devices = self.devices.iter().map(|device| named(&device.name, &device.base));
        let pci = self.pci.iter().map(|pci| named(&pci.name, &pci.device));
        let shares = self.shares.iter().map(|share| named(share.label(), &share.region));
        let memory = self.memory.iter().map(|piece| named(&piece.name, &piece.size));
        let files = self.files.iter().map(|file| named(&file.name, &file.from));
        let controls =
            self.controls.iter().map(|controlled| named(&controlled.name, &controlled.component));
        let heartbeat = self.heartbeat_ms.iter().map(|ms| named(image::HEARTBEAT, ms));
        peers
            .chain(controls)
            .chain(heartbeat)
            .chain(irqs)
            .chain(ports)
            .chain(addresses)
            .chain(devices)
            .chain(pci)
            .chain(shares)
            .chain(memory)
            .chain(files)
            .collect()
    }
}

/// Kernel memory of a component that says nothing: what lies after its image is a Linux's RAM,
/// whose processes need spaces and page tables in proportion.
fn quota_for(memory: &[Piece], sources: &Sources) -> Result<u32> {
    let mut behind: u64 = 0;
    for piece in memory.iter().filter(|piece| piece.behind_image) {
        behind += u64::from(sources.bytes(&piece.size)?);
    }
    // More than there can be is refused with the memory itself.
    let quota = u32::try_from((behind / BEHIND_A_BYTE).next_multiple_of(4096)).unwrap_or(u32::MAX);
    Ok(quota.max(LEAST_QUOTA))
}

impl Description {
    /// What is written, for a board. The wishes are still to be granted.
    ///
    /// # Errors
    /// A size that is none.
    pub(super) fn of(
        written: written::Description,
        devices: BTreeSet<String>,
        board: &Board,
        sources: Sources,
    ) -> Result<(Self, Wishes)> {
        let written::Description { memory, shared, component: all, test, disks, screen } = written;
        let mut wishes = Wishes::default();
        let mut component = Vec::new();
        for (index, mut written) in all.into_iter().enumerate() {
            wishes.note(index, &mut written);
            component.push(Component::of(written, &sources)?);
        }
        let processor = board.processor;
        let description =
            Self { memory, shared, component, test, disks, screen, devices, processor, sources };
        Ok((description, wishes))
    }

    /// The board's processor.
    pub fn processor(&self) -> Processor {
        self.processor
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

    /// A size such as `64K`, below 4 GiB, in whole pages of the processor: one is larger than what
    /// sizes are multiples of.
    pub fn bytes(&self, size: &Spanned<String>) -> Result<u32> {
        let bytes = self.sources.bytes(size)?;
        let whole = bytes.checked_next_multiple_of(self.processor.page);
        whole.ok_or_else(|| self.wrong(size, "there is not so much: write less"))
    }

    /// MiB of the machine's RAM, which the processor's kernel uses all of ([`Facts`]).
    ///
    /// [`Facts`]: crate::machine::processor::Facts
    pub fn mib(&self) -> Result<u32> {
        let mib = u32::try_from(self.sources.long(&self.memory)? >> 20);
        mib.map_err(|_| self.wrong(&self.memory, "no machine has so much memory: write less"))
    }

    /// The size of a disk.
    pub fn disk_bytes(&self, disk: &Disk) -> Result<u64> {
        let bytes = self.sources.long(&disk.size)?;
        let said = disk.size.get_ref();
        match bytes {
            0 => Err(self
                .wrong(&disk.size, "a disk has at least 4096 bytes: write its size (`64M`, `2T`)")),
            1..=MOST_OF_A_DISK => Ok(bytes),
            _ => Err(self.wrong(
                &disk.size,
                &format!("`{said}` is more than a disk has: write `2T` or less"),
            )),
        }
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
    pub(super) fn choose_servers(&mut self) -> Result<()> {
        for i in 0..self.component.len() {
            let Component { window, configuration, .. } = &self.component[i];
            let package = self.component[i].package();
            // The lean one has no driver of a screen, and none of folders.
            let full = (self.component[i].has_screen() || self.component[i].has_folders())
                && server::is_server(package);
            if window.is_none() && configuration.is_none() && !full {
                continue;
            }
            let usual = if full { Configuration::Full } else { Configuration::default() };
            let wanted = configuration.as_ref().map_or(usual, |wanted| *wanted.get_ref());
            if let Some(said) =
                configuration.as_ref().filter(|_| full && wanted == Configuration::Lean)
            {
                return Err(self.wrong(
                    said,
                    "a lean Linux has no driver of a screen or of folders: leave this out, or those",
                ));
            }
            let sizes = server::sizes(package, wanted, self.processor())?;
            let bytes = window.as_ref().map(|size| self.bytes(size)).transpose()?;
            let found = sizes.iter().find(|(other, _)| bytes.is_none_or(|bytes| bytes == *other));
            match (found, window, configuration) {
                (Some((_, package)), ..) => self.component[i].package = spanned((*package).into()),
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
