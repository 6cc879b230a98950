// SPDX-License-Identifier: MIT OR Apache-2.0
//! Boards: what a machine has, and how an emulator is started as one, from `boards/*.toml`. The
//! reference is docs/systems.md, *Boards*.
//!
//! It owns the chosen board of each thread, and with it the folders for output. It does not know
//! what a device's keys mean to a component: `description` does.

use super::processor::Processor;
use crate::catalogue::names;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where their files are.
const FOLDER: &str = "boards";
/// The board if none is asked for.
pub const DEFAULT: &str = "pc";

/// A board as its file says it.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Board {
    /// Its processor.
    pub processor: Processor,
    /// What Rust compiles for: a triple, or a file from the project's root.
    pub target: String,
    /// RAM where a description does not say how much.
    pub memory: String,
    /// What a system gets whose description asks for more.
    pub most: Option<Most>,
    /// How many I/O ports there are.
    #[serde(default)]
    pub ports: u32,
    /// Whether it has a PCI bus.
    #[serde(default)]
    pub pci: bool,
    /// The interrupt lines.
    pub interrupts: Interrupts,
    /// How QEMU runs it.
    pub qemu: Qemu,
    /// How Bochs runs it, if it can.
    pub bochs: Option<Bochs>,
    /// How it boots from an ISO image, if it can.
    pub iso: Option<Iso>,
    /// How its boot loader takes a kernel that is no ELF file, if it does.
    pub flat: Option<Flat>,
    /// Whether no boot loader runs: the kernel finds in memory a page of words, which say how much
    /// RAM there is, and after it the boot image and the symbols.
    #[serde(default)]
    pub direct: bool,
    /// Whether its RAM is one module: a power of two of MiB.
    #[serde(default)]
    pub one_module: bool,
    /// What Linux is built with, if there is one.
    pub linux: Option<Linux>,
    /// The devices.
    pub device: BTreeMap<String, Device>,
    #[serde(skip)]
    pub(crate) file: PathBuf,
    #[serde(skip)]
    pub(crate) text: String,
}

/// The most memory that a system gets.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Most {
    /// RAM.
    pub memory: String,
    /// Of it what is after the image of one component, which is a Linux's RAM.
    pub linux: String,
}

/// Interrupt lines of a board.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Interrupts {
    /// How many there are.
    pub lines: u32,
    /// Physical address of the register that says which are pending, if the kernel looks at that in
    /// place of being interrupted.
    pub status: Option<u64>,
    /// Those that the kernel keeps.
    pub kernel: Vec<u32>,
}

/// QEMU as this board. In arguments a word in braces stands for what a run puts there.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Qemu {
    /// The program.
    pub program: String,
    /// The CPU model if none is asked for.
    pub cpu: String,
    /// The CPU models that tests of systems run on, if these are others than that one only.
    #[serde(default)]
    pub tested: Vec<String>,
    /// That of what is counted or compared, if it is another one: no figure changes with the
    /// former.
    measured: Option<String>,
    /// The machine: `{cpu}`, `{memory}` in MiB.
    pub arguments: Vec<String>,
    /// Whether the processor of a host can execute its instructions: of a PC that of another PC.
    #[serde(default)]
    pub kvm: bool,
    /// A machine without a network card.
    #[serde(default)]
    pub no_card: Vec<String>,
    /// A system of ours: `{kernel}` or `{flat}`; `{image}` and `{symbols}`, or `{boot}`, which is
    /// both; and the kernel's command line `{words}`.
    pub system: Vec<String>,
    /// Linux alone, its console at the standard output: `{kernel}`, `{initrd}`, `{devices}`, its
    /// device tree, and `{firmware}`, what starts it.
    #[serde(default)]
    pub linux: Vec<String>,
}

/// Bochs as this board.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Bochs {
    /// The program.
    pub program: String,
    /// The CPU model if none is asked for.
    pub cpu: String,
    /// Its file of settings: `{cpu}`, `{memory}` in MiB, `{card}`, `{screen}`, `{disks}`, `{iso}`,
    /// `{log}`, and the serial lines `{first}` and `{second}`.
    pub settings: String,
}

/// A bootable ISO image.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Iso {
    /// GRUB's menu: the kernel's command line `{words}`.
    pub menu: String,
}

/// A kernel as it lies in memory, and one file that has the boot image and the symbols after it.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Flat {
    /// The physical address at which the boot loader puts the kernel, and enters it.
    pub address: u32,
}

/// What Linux and its programs are built with.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Linux {
    /// `ARCH` of Linux's Makefile.
    pub arch: String,
    /// Debian's name of the architecture.
    pub debian: String,
    /// Whether Debian has no packages for it: programs are built of its source packages.
    #[serde(default)]
    pub from_source: bool,
    /// What the names of the C compiler and its companions begin with.
    pub tools: String,
    /// Whether Linux itself is built with them, and not with the host's.
    #[serde(default)]
    pub cross: bool,
    /// The image that a boot loader starts, in Linux's source.
    pub image: String,
    /// The board's device tree, if Linux alone has to be told: what its Makefile calls it.
    pub device_tree: Option<String>,
    /// What starts Linux alone where no firmware does: a file of assembly.
    pub firmware: Option<PathBuf>,
}

impl Qemu {
    /// Whether it takes one file beside the kernel: the boot image with the symbols after it.
    pub fn takes_boot(&self) -> bool {
        self.system.iter().any(|argument| argument.contains("{boot}"))
    }

    /// The CPU model of what is counted or compared.
    pub fn measured(&self) -> &str {
        self.measured.as_ref().unwrap_or(&self.cpu)
    }
}

impl Linux {
    /// The C compiler for its programs.
    pub fn compiler(&self) -> String {
        format!("{}gcc", self.tools)
    }
}

/// A device. What else its table has are the keys of the component that drives it.
#[derive(Deserialize, Clone, Debug)]
pub struct Device {
    /// What is in it, of a disk.
    pub medium: Option<Medium>,
    /// That it is a network card, and how emulators attach it.
    pub card: Option<Card>,
    /// That it is a screen, and what emulators have for it.
    pub display: Option<Display>,
    /// That it is folders of the host, and how QEMU attaches them.
    pub folders: Option<Folders>,
}

/// How QEMU attaches folders of the host.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Folders {
    /// The addresses of their devices on the PCI bus, as QEMU has them, in hexadecimal digits. There
    /// are no more folders.
    pub addresses: Vec<String>,
    /// A disk whose virtio device has the interrupt line that they have: a machine has one of the
    /// two.
    pub without: Option<String>,
    /// QEMU's arguments for one: its `{name}`, `{address}` and `{path}`, and whether it is
    /// `{read-only}`, `on` or `off`.
    pub qemu: Vec<String>,
}

/// A screen with its keyboard and pointer.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Display {
    /// The largest size that the card shows, as `1024x768`.
    pub most: String,
    /// QEMU's arguments for the card; none where the machine has it anyway.
    #[serde(default)]
    pub qemu: Vec<String>,
    /// A pointer that knows where it is; absent where there is none.
    pub tablet: Option<Tablet>,
    /// Bochs's settings for the card.
    pub bochs: Option<String>,
}

/// A virtio tablet.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Tablet {
    /// Which PCI device it is.
    pub device: u8,
    /// QEMU's arguments for it.
    pub qemu: Vec<String>,
}

/// How emulators attach a network card.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// QEMU's arguments for the card itself, of virtio: what it is connected to is `net`. Absent
    /// where there is no driver of one.
    pub virtio: Option<Vec<String>>,
    /// The same for an 82540EM.
    pub e1000: Vec<String>,
    /// QEMU's arguments for a network whose frames are datagrams of UDP on the loopback interface,
    /// from the port `{own}` to `{other}`.
    pub frames: Vec<String>,
    /// QEMU's arguments for its user network: `{options}` of that.
    pub user: Vec<String>,
    /// Bochs's settings for an 82540EM in its user network.
    pub bochs: Option<String>,
}

/// How emulators attach a disk; `{image}` is its file.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Medium {
    /// The name of that file.
    pub image: String,
    /// QEMU's arguments for a virtio device; absent where there is only ATA.
    pub virtio: Option<Vec<String>>,
    /// QEMU's arguments for an ATA disk; absent where there is no ATA.
    pub ata: Option<Vec<String>>,
    /// A line of Bochs's settings.
    pub bochs: Option<String>,
}

static CHOSEN: OnceLock<&Board> = OnceLock::new();
/// Those that were read.
static READ: Mutex<Vec<&Board>> = Mutex::new(Vec::new());

thread_local! {
    /// For what this thread does, whatever was chosen.
    static HERE: Cell<Option<&'static Board>> = const { Cell::new(None) };
    /// Where what this thread makes goes, if not to [`OUT`].
    static FOLDER_HERE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Where what is made goes.
const OUT: &str = "out";

/// A board by its name.
///
/// # Errors
/// If there is no such board, or its file has a mistake.
pub fn get(name: &str) -> Result<&'static Board> {
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(board) = read.iter().find(|board| board.name() == name) {
        return Ok(board);
    }
    let path = Path::new(FOLDER).join(name).with_extension("toml");
    if !path.is_file() {
        bail!("there is no board `{name}`: name one of {}", names(FOLDER)?.join(", "));
    }
    let board: &'static Board = Box::leak(Box::new(Board::read(&path)?));
    read.push(board);
    Ok(board)
}

/// All boards.
pub fn all() -> Result<Vec<&'static Board>> {
    names(FOLDER)?.iter().map(|name| get(name)).collect()
}

/// Makes a board the one that everything is built for and run on.
///
/// # Errors
/// If there is no such board, or its file has a mistake.
pub fn choose(name: &str) -> Result<()> {
    CHOSEN.set(get(name)?).ok().context("a board was chosen before")
}

/// Makes a board the one for all that `what` does on this thread.
pub fn with<T>(board: &'static Board, what: impl FnOnce() -> T) -> T {
    let before = HERE.replace(Some(board));
    let result = what();
    HERE.set(before);
    result
}

/// Makes a folder the one where all goes that `what` makes on this thread: nobody else is there.
pub fn in_folder<T>(folder: &Path, what: impl FnOnce() -> T) -> T {
    let before = FOLDER_HERE.replace(Some(folder.into()));
    let result = what();
    FOLDER_HERE.set(before);
    result
}

/// What a thread works on and where, for another thread that works for it.
pub struct Here {
    board: &'static Board,
    folder: PathBuf,
}

/// That of this thread.
pub fn here() -> Here {
    Here { board: chosen(), folder: out() }
}

impl Here {
    /// Makes it that of `what`.
    pub fn with<T>(&self, what: impl FnOnce() -> T) -> T {
        in_folder(&self.folder, || with(self.board, what))
    }
}

fn out() -> PathBuf {
    FOLDER_HERE.with_borrow(|folder| folder.clone().unwrap_or_else(|| OUT.into()))
}

/// The board that was chosen.
pub fn chosen() -> &'static Board {
    HERE.get().or(CHOSEN.get().copied()).expect("`main` chooses a board before it does anything")
}

impl Board {
    /// Reads a board's file.
    ///
    /// # Errors
    /// If it cannot be read, or has a mistake.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut board: Self = toml::from_str(&text).with_context(|| path.display().to_string())?;
        board.file = path.into();
        board.text = text;
        Ok(board)
    }

    /// Its screen, if it has one.
    pub fn display(&self) -> Option<&Display> {
        self.device.values().find_map(|device| device.display.as_ref())
    }

    /// How folders of the host are attached, if they can be.
    pub fn folders(&self) -> Option<&Folders> {
        self.device.values().find_map(|device| device.folders.as_ref())
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
    }

    /// Where what is made for it goes: two boards have a folder each for a system.
    pub fn out(&self) -> PathBuf {
        if self.is_default() { out() } else { out().join(self.name()) }
    }

    /// Whether it is the one if none is asked for.
    pub fn is_default(&self) -> bool {
        self.name() == DEFAULT
    }

    /// What Linux is built with.
    ///
    /// # Errors
    /// If there is no Linux for this board.
    pub fn linux(&self) -> Result<&Linux> {
        self.linux.as_ref().with_context(|| {
            format!(
                "there is no Linux for the board `{}`: choose another one by --board",
                self.name()
            )
        })
    }

    /// MiB of RAM that it has for a system that wants so many.
    pub const fn ram(&self, wanted: u32) -> u32 {
        if self.one_module { wanted.next_power_of_two() } else { wanted }
    }

    /// Bochs as this board.
    ///
    /// # Errors
    /// If Bochs is no such machine.
    pub fn bochs(&self) -> Result<&Bochs> {
        self.bochs
            .as_ref()
            .with_context(|| format!("Bochs cannot be a `{}`: leave out `--on bochs`", self.name()))
    }
}

/// A text with each word in braces replaced.
pub fn fill(text: &str, words: &[(&str, &str)]) -> String {
    words
        .iter()
        .fold(text.to_string(), |text, (word, value)| text.replace(&format!("{{{word}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_can_be_read() {
        let names = names("../boards").unwrap_or_default();
        assert!(names.iter().any(|name| name == DEFAULT), "{names:?}");
        for name in names {
            let board = Board::read(&Path::new("../boards").join(&name).with_extension("toml"))
                .expect("no mistake");
            assert_eq!(board.name(), name);
        }
    }

    /// Bochs' displays `rfb` and `vncsrv` let in everybody who reaches this host, without a
    /// password.
    #[test]
    fn bochs_serves_nobody_its_screen() {
        for name in names("../boards").unwrap_or_default() {
            let board = Board::read(&Path::new("../boards").join(&name).with_extension("toml"))
                .expect("no mistake");
            let Some(bochs) = &board.bochs else { continue };
            let devices = board.device.values();
            let parts = devices.flat_map(|device| {
                let card = device.card.as_ref().and_then(|card| card.bochs.clone());
                let display = device.display.as_ref().and_then(|display| display.bochs.clone());
                let medium = device.medium.as_ref().and_then(|medium| medium.bochs.clone());
                [card, display, medium]
            });
            let all: String = parts.flatten().chain([bochs.settings.clone()]).collect();
            let displays: Vec<_> =
                all.lines().filter(|line| line.contains("display_library")).collect();
            assert_eq!(displays, ["display_library: x"], "{name}");
            assert!(["rfb", "vncsrv"].iter().all(|library| !all.contains(library)), "{name}");
        }
    }

    #[test]
    fn a_folder_is_that_of_one_thread_and_of_who_works_for_it() {
        let pc = Board::read(Path::new("../boards/pc.toml")).expect("no mistake");
        let here = Here { board: Box::leak(Box::new(pc)), folder: "a".into() };
        let elsewhere = || {
            std::thread::scope(|scope| scope.spawn(|| here.board.out()).join()).expect("a folder")
        };
        in_folder(Path::new("b"), || {
            assert_eq!([here.board.out(), elsewhere()], [PathBuf::from("b"), OUT.into()]);
            assert_eq!(here.with(|| chosen().out()), PathBuf::from("a"));
        });
        assert_eq!(here.board.out(), PathBuf::from(OUT));
    }

    /// What QEMU is told of folders is where their driver looks for them.
    #[test]
    fn folders_are_where_their_driver_looks() {
        for name in ["pc", "pc64"] {
            let path = Path::new("../boards").join(name).with_extension("toml");
            let board = Board::read(&path).expect("no mistake");
            let text: toml::Table = board.text.parse().expect("TOML");
            let granted = text["device"]["folder"]["pci"].as_array().expect("devices");
            let granted = granted.iter().map(|pci| pci["device"].as_integer().expect("a number"));
            let addresses = &board.folders().expect("folders").addresses;
            let told = addresses.iter().map(|text| i64::from_str_radix(text, 16).expect("digits"));
            assert_eq!(granted.collect::<Vec<_>>(), told.collect::<Vec<_>>(), "{name}");
            assert_eq!(addresses.len(), image::protocol::folder::MOST_FOLDERS as usize);
        }
    }

    #[test]
    fn words_in_braces() {
        assert_eq!(fill("-m {memory} {x}", &[("memory", "64")]), "-m 64 {x}");
    }
}
