// SPDX-License-Identifier: MIT OR Apache-2.0
//! A description as the file has it: its tables and keys, before anything is added. Only this file
//! knows the syntax.

use super::key::Key;
use super::sources::{at, spanned};
use super::{disk, net, screen};
pub use crate::linux::contents::Contents;
use crate::machine::board::Board;
use crate::machine::processor::Configuration;
use crate::machine::spaces::Spaces;
use image::Colours;
use image::protocol::console::terminal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use toml::Spanned;

/// A description as it is written, with what its board says of the devices that it uses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Description {
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
    /// What is said of the board's screen.
    #[serde(default)]
    pub screen: Option<screen::Display>,
}

/// How a test system is run.
#[derive(Deserialize, Serialize, Clone)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Test {
    /// Seconds of the emulator's own time until it counts as hung.
    pub timeout: u64,
    /// Boards on which it runs beside the PC. What is said here of CPU models, latency and Bochs is
    /// the PC's, but that it does not run in QEMU at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boards: Vec<String>,
    /// Whether it runs on those boards only.
    #[serde(default)]
    pub only: bool,
    /// CPU models for QEMU, one run each; the board's if absent. None: it does not run there.
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
    /// Whether the machine model measures in QEMU how long the kernel does not check for
    /// interrupts, and the limit holds.
    #[serde(default)]
    pub latency: bool,
    /// What overrules the machine about small spaces: on the PC in QEMU, or on the boards of a
    /// system that runs on those only.
    pub spaces: Option<Spaces>,
    /// What the machine model must find.
    #[serde(default)]
    pub limit: Vec<Limit>,
}

impl Test {
    /// The same on this board.
    pub fn on(self, board: &Board) -> Self {
        let is_of = |limit: &Limit| {
            limit.board.as_deref().map_or(board.is_default(), |name| name == board.name())
        };
        let limit = self.limit.iter().filter(|limit| is_of(limit)).cloned().collect();
        if board.is_default() {
            return Self { limit, ..self };
        }
        let is_for_qemu = self.cpus.as_ref().is_none_or(|cpus| !cpus.is_empty());
        let tested = if is_for_qemu { board.qemu.tested.clone() } else { Vec::new() };
        let cpus = (!tested.is_empty() || !is_for_qemu).then_some(tested);
        let bochs_cpus = Vec::new();
        let bochs = self.bochs && board.bochs.is_some();
        let spaces = self.spaces.filter(|_| self.only);
        Self { cpus, bochs, bochs_cpus, latency: false, spaces, limit, ..self }
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

/// A piece of shared memory.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    /// Bytes.
    pub size: Spanned<String>,
}

/// A component as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Component {
    /// Its name.
    pub name: Spanned<String>,
    /// The package that it is built from; its name if absent.
    pub package: Option<Spanned<String>>,
    #[serde(default)]
    pub arguments: Vec<String>,
    #[serde(default = "default_heap")]
    pub heap: Spanned<String>,
    /// An eighth of the memory after its image if absent, and not less than
    /// [`LEAST_QUOTA`](super::described::LEAST_QUOTA).
    pub quota: Option<Spanned<String>>,
    /// As many as the kernel has for so much memory, if absent.
    pub threads: Option<Spanned<u32>>,
    /// One for its own space if absent; a Linux, whose processes are relocated, has its part of
    /// what others leave.
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
    /// It hangs, and is taken down, if it sends no heartbeat for so many milliseconds; nobody
    /// looks if absent.
    pub heartbeat_ms: Option<Spanned<u32>>,
    /// Whether it has a network.
    pub net: Option<Spanned<Key<net::At>>>,
    /// The IP server that it has sockets of.
    pub sockets: Option<Spanned<String>>,
    /// What it has of a disk.
    pub disk: Option<Spanned<Key<disk::Part>>>,
    /// Whether it has the folders of the host that a run shares.
    pub folder: Option<Spanned<bool>>,
    /// What it has of the screen.
    pub screen: Option<Spanned<Key<screen::Part>>>,
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
    /// The component with which it shares a home then; with none if absent.
    pub group: Option<Spanned<String>>,
    /// The colours of the frames that its own memory is in, if not any.
    pub colours: Option<Spanned<Colours>>,
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

/// A file that the boot image carries for a component.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    #[serde(rename = "as")]
    pub name: String,
    /// Its path from the project's root, or `busybox`, `busybox-musl` or `initramfs`, which the
    /// build makes.
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

impl Peer {
    /// One that follows from a key.
    pub(super) fn of<K>(key: &Spanned<K>, to: &str, name: String, badge: u32) -> Self {
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
    /// One that follows from a key, and that the component may write; `dma` if it is told where
    /// that is.
    pub(super) fn of<K>(key: &Spanned<K>, region: &str, name: String, dma: bool) -> Self {
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
    /// Whether it is mapped after the image from the start.
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
