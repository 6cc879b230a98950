// SPDX-License-Identifier: MIT OR Apache-2.0
//! System descriptions: reading `systems/*.toml` and checking them. The reference is
//! docs/systems.md. Every mistake is an error with file, line and what to do.

pub mod check;
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
mod sockets;
mod sources;

use crate::linux::server::{self, Configuration};
use crate::machine::board::{Board, Processor};
use crate::machine::spaces::Spaces;
use anyhow::{Result, anyhow};
use image::protocol::console::terminal;
use image::{Small, Window};
use key::Key;
use serde::{Deserialize, Serialize};
use sources::{Mistake, Sources, spanned, wrong_toml};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A description as it is written.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// Bytes of RAM of the machine; as many as the board says if absent.
    pub memory: Spanned<String>,
    /// Memory shared by components.
    #[serde(default)]
    pub shared: BTreeMap<String, SharedMemory>,
    /// The components, started in this order, those that drive the board's devices among them.
    pub component: Vec<Component>,
    /// Only in test systems.
    pub test: Option<Test>,
    /// Of the devices the disks, by their names.
    #[serde(rename = "devices")]
    pub disks: BTreeMap<String, Disk>,
    /// The names of all of them: the components that drive them are called so.
    #[serde(skip)]
    pub devices: BTreeSet<String>,
    /// The board's.
    #[serde(skip)]
    pub processor: Processor,
    #[serde(skip)]
    sources: Sources,
}

/// How a test system is run.
#[derive(Deserialize, Serialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Test {
    /// Seconds of the emulator's own time until it counts as hung.
    pub timeout: u64,
    /// Boards on which it runs beside the PC. What is said here of CPU models, latency and Bochs is the PC's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boards: Vec<String>,
    /// CPU models for QEMU, one run each; the board's if absent.
    pub cpus: Option<Vec<String>>,
    /// Whether it also runs in Bochs.
    #[serde(default)]
    pub bochs: bool,
    /// Its CPU models, as it names them, that it runs on, too.
    #[serde(default)]
    pub bochs_cpus: Vec<String>,
    /// Whether QEMU counts instructions as time.
    #[serde(default)]
    pub icount: bool,
    /// Whether the machine model measures in QEMU how long the kernel looks at no interrupts, and the limit holds.
    #[serde(default)]
    pub latency: bool,
    /// What overrules the machine about small spaces, in QEMU.
    pub spaces: Option<Spaces>,
    /// What the machine model must find.
    #[serde(default)]
    pub limit: Vec<Limit>,
}

impl Test {
    /// The same on this board.
    pub fn on(self, board: &Board) -> Self {
        let is_of = |limit: &Limit| limit.board.as_deref().map_or(board.is_default(), |name| name == board.name());
        let limit = self.limit.iter().filter(|limit| is_of(limit)).cloned().collect();
        if board.is_default() {
            return Self { limit, ..self };
        }
        let cpus = (!board.qemu.tested.is_empty()).then(|| board.qemu.tested.clone());
        let bochs_cpus = Vec::new();
        Self { cpus, bochs: false, bochs_cpus, latency: false, spaces: None, limit, ..self }
    }
}

/// The most that one visit to the kernel may cost, as a median over an interval's repetitions.
#[derive(Deserialize, Serialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// The test's name.
    pub name: String,
    /// The board that it holds on, if it is not the PC.
    pub board: Option<String>,
    /// The interval's number, as in the program's markers.
    pub interval: u16,
    /// Which visit within it, from 0.
    pub visit: usize,
    /// Most instructions in the kernel.
    pub instructions: u64,
    /// Most cache lines of 32 bytes, code and data together.
    pub lines: u64,
    /// Writes of CR3, or of another processor's translation table base: exactly so many.
    pub cr3_writes: u64,
    /// Flushes of TLBs or caches, or of parts of them, in the whole interval: exactly so many.
    pub flushes: Option<u64>,
}

/// A disk: a file that is made when it is missing, and kept.
#[derive(Deserialize, Serialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Bytes.
    pub size: Spanned<String>,
    /// What is on it at first.
    #[serde(default)]
    pub holds: Contents,
    /// How it is attached in QEMU. Bochs has ATA only.
    #[serde(default)]
    pub interface: Interface,
}

/// What a disk is to the machine.
#[derive(Deserialize, Serialize, clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// A virtio block device on PCI.
    #[default]
    Virtio,
    /// The first disk of an ATA channel.
    Ata,
}

/// What is on a new disk.
#[derive(Deserialize, Serialize, Clone, Copy, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Contents {
    /// An empty ext4 file system.
    #[default]
    Ext4,
    /// Debian on an ext4 file system.
    Debian,
    /// Debian's packages, of which those are unpacked that the others need to be installed.
    DebianPackages,
}

/// A piece of shared memory.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Bytes.
    pub size: Spanned<String>,
}

/// A component.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Component {
    /// Its name.
    pub name: Spanned<String>,
    /// The package that it is built from; its name if absent.
    pub package: Option<Spanned<String>>,
    #[serde(default)]
    pub arguments: Vec<String>,
    #[serde(default = "default_heap")]
    pub heap: Spanned<String>,
    /// An eighth of the memory behind its image if absent, and not less than [`LEAST_QUOTA`].
    pub quota: Option<Spanned<String>>,
    /// As many as the kernel has for so much memory, if absent.
    pub threads: Option<Spanned<u32>>,
    /// One for its own space if absent; a Linux, whose processes are relocated, has its part of what others leave.
    pub relocation_slots: Option<Spanned<u32>>,
    /// None if absent.
    pub locked_ranges: Option<Spanned<u32>>,
    #[serde(default = "default_priority")]
    pub priority: Spanned<u8>,
    pub max_priority: Option<Spanned<u8>>,
    #[serde(default = "default_slots")]
    pub slots: Spanned<u32>,
    #[serde(default)]
    pub service: bool,
    /// What it has of the terminal; what its package needs if absent.
    pub terminal: Option<Terminal>,
    /// Whether it may write the machine-readable line.
    #[serde(default)]
    pub results: bool,
    /// Whether it may ask the root server how components are.
    #[serde(default)]
    pub watches: bool,
    #[serde(default)]
    pub on_death: OnDeath,
    /// It hangs, and is taken down, if it shows no sign of life for so many milliseconds; nobody looks if absent.
    pub heartbeat_ms: Option<Spanned<u32>>,
    /// Whether it has a network: what that means is among the keys below when the description was read.
    #[serde(skip_serializing)]
    net: Option<Spanned<Key<net::At>>>,
    /// The IP server that it has sockets of: what that means is among the keys below when the description was read.
    #[serde(skip_serializing)]
    sockets: Option<Spanned<String>>,
    /// What it has of a disk: what that means is among the keys below when the description was read.
    #[serde(skip_serializing)]
    disk: Option<Spanned<Key<disk::Part>>>,
    #[serde(default)]
    pub calls: Vec<Peer>,
    #[serde(default)]
    pub notifies: Vec<Peer>,
    #[serde(default)]
    pub controls: Vec<Controlled>,
    #[serde(default)]
    pub irqs: Vec<Irq>,
    #[serde(default)]
    pub ports: Vec<Ports>,
    #[serde(default)]
    pub addresses: Vec<Addresses>,
    #[serde(default)]
    pub devices: Vec<Device>,
    #[serde(default)]
    pub pci: Vec<Pci>,
    #[serde(default)]
    pub shares: Vec<Share>,
    #[serde(default)]
    pub memory: Vec<Piece>,
    #[serde(default)]
    pub files: Vec<File>,
    /// How a Linux runs; where the machine allows it by itself, if absent.
    pub server: Option<Spanned<Server>>,
    /// The size of a Linux's window; that of its package if absent.
    pub window: Option<Spanned<String>>,
    /// What a Linux is built with; that of its package if absent.
    pub configuration: Option<Spanned<Configuration>>,
    /// The size of its space, if that is to be small where the machine has small spaces.
    pub small: Option<Spanned<String>>,
    /// With whom it shares a home then; alone if absent.
    pub group: Option<Spanned<String>>,
}

/// How a Linux runs.
#[derive(Deserialize, Serialize, Clone, Copy, Default, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// In the spaces of its processes, where the machine keeps it off the kernel.
    #[default]
    Auto,
    /// In a space of its own.
    Large,
}

/// What a component has of the terminal.
#[derive(Deserialize, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Terminal {
    /// It prints lines.
    Print,
    /// It may read, too.
    Read,
    /// It may also write to the terminal as it is.
    Paint,
}

impl Terminal {
    /// As descriptions and the console's arguments have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Print => terminal::PRINT,
            Self::Read => terminal::READ,
            Self::Paint => terminal::PAINT,
        }
    }
}

impl Component {
    /// What it has of the terminal: a Linux drives it.
    pub fn terminal(&self) -> Terminal {
        let usual = if server::is_server(self.package()) { Terminal::Paint } else { Terminal::Print };
        self.terminal.unwrap_or(usual)
    }

    /// The package it is built from.
    pub fn package(&self) -> &str {
        self.package.as_ref().unwrap_or(&self.name).get_ref()
    }

    /// The names by which it finds what it is given, and where in the description that stands.
    fn grants(&self) -> Vec<(&str, usize)> {
        fn named<'a, T>(name: &'a str, at: &Spanned<T>) -> (&'a str, usize) {
            (name, at.span().start)
        }
        let peers = self.calls.iter().chain(&self.notifies).map(|peer| named(peer.label(), &peer.to));
        let irqs = self.irqs.iter().map(|irq| named(&irq.name, &irq.line));
        let ports = self.ports.iter().map(|ports| named(&ports.name, &ports.base));
        let addresses = self.addresses.iter().map(|addresses| named(&addresses.name, &addresses.size));
        let devices = self.devices.iter().map(|device| named(&device.name, &device.base));
        let pci = self.pci.iter().map(|pci| named(&pci.name, &pci.device));
        let shares = self.shares.iter().map(|share| named(share.label(), &share.region));
        let memory = self.memory.iter().map(|piece| named(&piece.name, &piece.size));
        let files = self.files.iter().map(|file| named(&file.name, &file.from));
        let controls = self.controls.iter().map(|controlled| named(&controlled.name, &controlled.component));
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

/// A file that the boot image carries for a component.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(rename = "as")]
    pub name: String,
    /// Its path from the project's root, or `busybox`, `busybox-musl` or `initramfs`, which the build makes.
    pub from: Spanned<String>,
}

/// What to do when a component dies.
#[derive(Deserialize, Serialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OnDeath {
    /// Say so.
    #[default]
    Report,
    /// Stop the system.
    Stop,
    /// Start it again.
    #[serde(rename_all = "kebab-case")]
    Restart { first_ms: u32, most_ms: u32 },
}

/// Somebody to call or notify.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Peer {
    pub to: Spanned<String>,
    #[serde(rename = "as")]
    pub name: Option<String>,
    /// Badge of a call, or bits of a notification.
    pub badge: Option<Spanned<u32>>,
}

/// A value of the place where a key stands from which it follows.
fn at<K, T>(key: &Spanned<K>, value: T) -> Spanned<T> {
    Spanned::new(key.span(), value)
}

impl Peer {
    /// One that follows from a key.
    fn of<K>(key: &Spanned<K>, to: &str, name: String, badge: u32) -> Self {
        Self { to: at(key, to.into()), name: Some(name), badge: Some(spanned(badge)) }
    }

    /// What the component calls it.
    pub fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(self.to.get_ref())
    }
}

/// Somebody to stop, and to change the registers of.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "{ as = \"NAME\", component = \"NAME\" }")]
pub struct Controlled {
    #[serde(rename = "as")]
    pub name: String,
    pub component: Spanned<String>,
}

/// An interrupt line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "{ as = \"NAME\", line = N }")]
pub struct Irq {
    #[serde(rename = "as")]
    pub name: String,
    pub line: Spanned<u32>,
}

/// A range of I/O ports.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "{ as = \"NAME\", base = N, count = N }")]
pub struct Ports {
    #[serde(rename = "as")]
    pub name: String,
    pub base: Spanned<u32>,
    pub count: u32,
}

/// Addresses for the windows of servers, up to the end of the users'.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "{ as = \"NAME\", size = \"SIZE\" }")]
pub struct Addresses {
    #[serde(rename = "as")]
    pub name: String,
    pub size: Spanned<String>,
}

/// A range of device registers.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    #[serde(rename = "as")]
    pub name: String,
    pub base: Spanned<u32>,
    pub size: Spanned<String>,
}

/// A device of PCI bus 0.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    #[serde(rename = "as")]
    pub name: String,
    pub device: Spanned<u32>,
}

/// Shared memory in a component.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// What the component calls it; the region's name if absent.
    #[serde(rename = "as")]
    pub name: Option<String>,
    pub region: Spanned<String>,
    #[serde(default)]
    pub writable: bool,
    /// Whether it is told the physical address.
    #[serde(default)]
    pub dma: bool,
}

impl Share {
    /// One that follows from a key, and that the component may write; `dma` if it is told where that is.
    fn of<K>(key: &Spanned<K>, region: &str, name: String, dma: bool) -> Self {
        Self { name: Some(name), region: at(key, region.into()), writable: true, dma }
    }

    /// What the component calls it.
    pub fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(self.region.get_ref())
    }
}

/// RAM as a capability.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Piece {
    #[serde(rename = "as")]
    pub name: String,
    pub size: Spanned<String>,
    /// Whether it is mapped behind the image from the start.
    #[serde(default)]
    pub behind_image: bool,
}

fn default_heap() -> Spanned<String> {
    spanned("1M".into())
}
fn default_priority() -> Spanned<u8> {
    spanned(100)
}
fn default_slots() -> Spanned<u32> {
    spanned(240)
}

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
    if bytes.is_multiple_of(1 << 30) { format!("{}G", bytes >> 30) } else { format!("{}M", bytes >> 20) }
}

/// Reads and checks a description.
pub fn read(path: &Path, board: &Board) -> Result<Description> {
    parse(path, std::fs::read_to_string(path)?, board)
}

/// Parses and checks the text of a description.
pub fn parse(path: &Path, text: String, board: &Board) -> Result<Description> {
    let sources = Sources([(path.into(), text), (board.file.clone(), board.text.clone())]);
    let mut description = merged(&sources, board).map_err(|mistake| sources.wrong(sources.with_key(mistake)))?;
    description.sources = sources;
    description.fit(board)?;
    description.connect()?;
    description.give_sockets()?;
    description.share_disks()?;
    description.choose_servers()?;
    description.check(board)?;
    Ok(description)
}

/// Reads both, and puts the board's devices into the description.
fn merged(sources: &Sources, board: &Board) -> Result<Description, Mistake> {
    let [(_, text), (_, board_text)] = &sources.0;
    let board_text = " ".repeat(text.len() + 1) + board_text;
    let read = |text| DeTable::parse(text).map_err(|error| wrong_toml(&error));
    let mut root = read(text)?;
    if !root.get_ref().contains_key("memory") {
        let memory = DeValue::String(board.memory.as_str().into());
        root.get_mut().insert(spanned("memory".into()), spanned(memory));
    }
    let devices = devices::insert(root.get_mut(), read(&board_text)?.into_inner(), &board.name(), text.len())?;
    let description = Description::deserialize(toml::Deserializer::from(root)).map_err(|error| wrong_toml(&error))?;
    Ok(Description { devices, processor: board.processor, ..description })
}

impl Description {
    /// The system's name.
    pub fn name(&self) -> String {
        self.sources.0[0].0.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned())
    }

    /// A mistake, with file and line.
    pub fn wrong<T>(&self, at: &Spanned<T>, what: &str) -> anyhow::Error {
        self.sources.wrong((at.span().start, what.into()))
    }

    /// A size such as `64K`, a multiple of a page.
    pub fn bytes(&self, size: &Spanned<String>) -> Result<u32> {
        u32::try_from(self.long(size)?).map_err(|_| self.wrong(size, &format!("`{}` is 4 GiB or more: write less", size.get_ref())))
    }

    /// The size of a disk.
    pub fn disk_bytes(&self, disk: &Disk) -> Result<u64> {
        let bytes = self.long(&disk.size)?;
        let said = disk.size.get_ref();
        match bytes {
            0 => Err(self.wrong(&disk.size, "a disk has 4096 bytes at least: write how large it is to be (`64M`, `2T`)")),
            1..=MOST_OF_A_DISK => Ok(bytes),
            _ => Err(self.wrong(&disk.size, &format!("`{said}` is more than a disk has: write `2T` or less"))),
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
        found
            .map(|i| i as u16)
            .ok_or_else(|| self.wrong(name, &format!("there is no component `{}`: name one of {}", name.get_ref(), names.join(", "))))
    }

    /// Kernel memory that a component may use: what lies behind its image is a Linux's RAM, whose processes need
    /// spaces and page tables in proportion.
    pub fn quota(&self, component: &Component) -> Result<u32> {
        if let Some(quota) = &component.quota {
            return self.bytes(quota);
        }
        let mut behind: u64 = 0;
        for piece in component.memory.iter().filter(|piece| piece.behind_image) {
            behind += u64::from(self.bytes(&piece.size)?);
        }
        // More than there can be is refused with the memory itself.
        let quota = u32::try_from((behind / BEHIND_A_BYTE).next_multiple_of(4096)).unwrap_or(u32::MAX);
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
        let said = |component: &Component| component.relocation_slots.as_ref().map(|slots| *slots.get_ref());
        let is_linux = |component: &Component| server::is_server(component.package());
        let all = self.processor.relocation_slots();
        if all == 0 {
            return 0;
        }
        said(component).unwrap_or_else(|| {
            if !is_linux(component) {
                return 1;
            }
            let (sharers, others): (Vec<&Component>, _) = self.component.iter().partition(|c| said(c).is_none() && is_linux(c));
            let taken: u32 = others.iter().fold(0, |sum, c| sum.saturating_add(said(c).unwrap_or(1)));
            all.saturating_sub(taken) / sharers.len() as u32
        })
    }

    /// Ranges of lines of a cache that a component may lock.
    pub fn locked_ranges(&self, component: &Component) -> u32 {
        if self.processor.locked_ranges() == 0 { 0 } else { component.locked_ranges.as_ref().map_or(0, |ranges| *ranges.get_ref()) }
    }

    /// The groups of components that are small, and for each component where it lies in which of them.
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

    /// A Linux's addresses are in its image: a window of another size is that of another package, and so is a configuration.
    fn choose_servers(&mut self) -> Result<()> {
        for i in 0..self.component.len() {
            let Component { window, configuration, .. } = &self.component[i];
            if window.is_none() && configuration.is_none() {
                continue;
            }
            let package = self.component[i].package();
            let wanted = configuration.as_ref().map_or_else(Configuration::default, |wanted| *wanted.get_ref());
            let sizes = server::sizes(package, wanted, self.processor)?;
            let bytes = window.as_ref().map(|size| self.bytes(size)).transpose()?;
            let found = sizes.iter().find(|(other, _)| bytes.is_none_or(|bytes| bytes == *other));
            match (found, window, configuration) {
                (Some((_, package)), ..) => self.component[i].package = Some(spanned((*package).into())),
                (None, Some(size), _) if !sizes.is_empty() => {
                    let known: Vec<String> = sizes.iter().map(|(bytes, _)| text_of(*bytes)).collect();
                    let what = format!("`{package}` has no window of {}: write one of {}", size.get_ref(), known.join(", "));
                    return Err(self.wrong(size, &what));
                }
                (None, _, Some(wanted)) if server::is_server(package) => {
                    return Err(self.wrong(wanted, &format!("`{package}` has one configuration: leave this out")));
                }
                // That it is no Linux is said with the rest.
                (None, ..) => {}
            }
        }
        Ok(())
    }

    /// A Linux's window, and whether it serves there.
    pub fn window(&self, component: &Component) -> Result<Option<Window>> {
        let Some(layout) = server::layout(component.package(), self.processor)? else { return Ok(None) };
        let server = component.server.as_ref().map_or_else(Server::default, |server| *server.get_ref());
        Ok(Some(Window { start: layout.window, serve: server == Server::Auto && self.processor.has_servers() }))
    }

    /// A piece of shared memory: its index, and its bytes.
    pub fn region(&self, name: &Spanned<String>) -> Result<(u16, u32)> {
        let found = self.shared.iter().enumerate().find(|(_, (n, _))| *n == name.get_ref());
        let what = || format!("there is no shared memory `{0}`: add [shared.{0}]", name.get_ref());
        let (index, (_, region)) = found.ok_or_else(|| self.wrong(name, &what()))?;
        Ok((index as u16, self.bytes(&region.size)?))
    }
}
