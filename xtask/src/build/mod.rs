// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds for the bare machine, and puts a system together: the kernel, the components, the boot
//! image, the disks.
//!
//! It owns `out/NAME`, and what a run can be asked for ([`Options`]). It does not start an
//! emulator.

mod area;
mod branches;
mod commands;
mod direct;
mod flat;
mod kept;
mod model;
mod native;
mod pack;

use crate::description::{self, Component, Contents, Description, Interface, OnDeath};
use crate::linux::root::{self, Insert};
use crate::linux::{Part, building, debian, folder, programs, server};
use crate::machine::accel::Accel;
use crate::machine::board::{self, Board, Medium, Qemu};
use crate::machine::folders::{self, Folder};
use crate::machine::network::{Forward, Network, Nic, Peer};
use crate::machine::screen::{Screen, Wanted};
use crate::process::fresh;
use crate::process::lock::{self, Lock};
use crate::process::once::Once;
use crate::process::tether::run_group;
use crate::process::{aside, run};
use anyhow::{Context, Result, anyhow, bail, ensure};
pub use commands::{FOLDER, cargo_bare, cargo_for, documented};
pub use flat::Flat;
pub use model::{Model, model};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError};

/// A system that all boards have.
const SMALLEST: &str = "systems/hello.toml";

/// What a boot loader needs.
#[derive(Clone)]
pub struct Built {
    /// The system's name.
    pub name: String,
    /// The kernel's ELF file.
    pub kernel: PathBuf,
    /// The boot image.
    pub image: PathBuf,
    /// The kernel's symbols.
    pub symbols: PathBuf,
    /// What a boot loader needs that takes no ELF file.
    pub flat: Flat,
    /// The board that it is for.
    pub board: &'static Board,
    /// The disks.
    pub disks: Vec<Disk>,
    /// What its network card is connected to; without a card nothing.
    pub network: Option<Network>,
    /// QEMU's arguments for the folders of this machine that it sees.
    pub folders: Vec<String>,
    /// The screen, if it drives that.
    pub screen: Option<Screen>,
    /// MiB of RAM.
    pub memory: u32,
    /// QEMU's CPU model for interactive runs.
    pub cpu: String,
    /// What executes its instructions in QEMU.
    pub accel: Accel,
    /// The packages it is built from.
    pub packages: Vec<String>,
    /// How it is tested.
    pub test: Option<description::Test>,
}

/// A disk of the machine.
#[derive(Clone)]
pub struct Disk {
    /// Its image.
    pub image: PathBuf,
    /// QEMU's arguments that attach it.
    pub drive: &'static [String],
    /// What the board says of it.
    pub medium: &'static Medium,
    bytes: u64,
    holds: Contents,
}

impl Built {
    /// The images of its disks, which no other machine may have meanwhile.
    pub fn images(&self) -> Vec<PathBuf> {
        self.disks.iter().map(|disk| disk.image.clone()).collect()
    }

    /// Looks whether it can have what of the host it wants: ports, and images that no other machine
    /// has.
    pub fn check(&self) -> Result<()> {
        self.network.as_ref().map_or(Ok(()), Network::check)?;
        self.disks.iter().try_for_each(|disk| {
            Lock::try_of(&disk.image, &lock::asked())?.map(drop).map_err(lock::refusal)
        })
    }

    /// The same, and makes the disks, unless they are there. To be called before the system runs.
    pub fn prepare(&self) -> Result<()> {
        self.check()?;
        self.disks.iter().try_for_each(|disk| make_disk(&disk.image, disk.bytes, disk.holds))
    }

    /// Has the files of this build kept for this process.
    fn keep(&mut self) -> Result<()> {
        kept::keep([
            &mut self.kernel,
            &mut self.image,
            &mut self.symbols,
            &mut self.flat.kernel,
            &mut self.flat.boot,
        ])
    }

    /// Does away with what only this process has of it.
    pub fn forget(&self) -> Result<()> {
        kept::forget(&self.kernel)
    }

    /// The same with disks that are made again, in a folder of their own.
    pub fn with_new_disks(mut self, folder: &str) -> Result<Self> {
        for disk in &mut self.disks {
            disk.image = self
                .board
                .out()
                .join(folder)
                .join(disk.image.file_name().context("a disk without a name")?);
            match std::fs::remove_file(&disk.image) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(self)
    }
}

/// A cargo command for the board that only checks or documents: with the standard library that programs are
/// linked with, which cargo would otherwise compile once more for this.
///
/// # Errors
/// If the library does not compile.
pub fn cargo_check(subcommand: &str) -> Result<process::Command> {
    static LIBRARIES: Once<PathBuf> = Once::new();
    let library = LIBRARIES.get(&board::chosen().target, || {
        let mut smallest = plan(Path::new(SMALLEST), Options::default())?.cargo;
        let _components = building(Part::Components)?;
        commands::library(&mut smallest).context(SMALLEST)
    })?;
    Ok(commands::with_library(subcommand, &library))
}

/// Where a package's ELF file is when it is built.
pub fn elf(package: &str) -> PathBuf {
    server::elf(package).unwrap_or_else(|| commands::place().join("release").join(package))
}

/// How a system is built and where its parts go.
pub struct Plan {
    description: description::Description,
    cargo: process::Command,
    inserts: Vec<Insert>,
    /// Who runs a command, and its files.
    command: Option<(String, Vec<Insert>)>,
    seed: Seed,
    /// Whether what is built is kept for one run.
    apart: bool,
    /// Whether the kernel has its debugger.
    kdb: bool,
    /// What it will be when it is built.
    pub built: Built,
}

/// What to change of a system for one run.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// MiB of RAM instead of the description's.
    pub memory: Option<u32>,
    /// Whether the kernel has its debugger.
    pub kdb: bool,
    /// QEMU's CPU model.
    pub cpu: Option<&'a str>,
    /// What executes instructions in QEMU.
    pub accel: Accel,
    /// Files for Linux's root file system.
    pub inserts: &'a [Insert],
    /// Folder under `out` for what is made, instead of the system's name: several may be made at
    /// once.
    pub folder: Option<&'a str>,
    /// How QEMU attaches disks, instead of what the description says.
    pub interface: Option<Interface>,
    /// What network card the machine has in QEMU.
    pub nic: Nic,
    /// What the machine's network card is connected to, if the description asks for one.
    pub wire: Wire<'a>,
    /// How the screen is shown, which its Linuxes have then, whatever the description says.
    pub screen: Option<&'a Wanted>,
    /// Folders of this machine that it sees.
    pub folders: &'a [Folder],
    /// A command that one Linux runs, and that is all that the system is for.
    pub command: Option<Command<'a>>,
    /// Where its components' random numbers begin.
    pub seed: Seed,
    /// Whether another process may build the system, otherwise perhaps, before an emulator has read
    /// it.
    pub apart: bool,
}

/// Whether a machine has the network card that its system drives. Nothing comes from outside into a
/// run that does not ask for it.
#[derive(Clone, Copy, Default)]
pub enum Wire<'a> {
    /// It has.
    Card {
        /// Ports of the host that lead to it.
        forwards: &'a [Forward],
        /// More options of QEMU's user network.
        options: &'a [String],
    },
    /// It has, and each frame is a datagram of UDP between two ports of the loopback interface.
    Frames {
        /// QEMU's.
        own: u16,
        /// That of who is behind the card.
        other: u16,
    },
    /// It has none.
    #[default]
    Out,
}

impl Wire<'_> {
    /// A card in QEMU's user network, to which no port of the host leads.
    pub const USER: Self = Self::Card { forwards: &[], options: &[] };

    /// The network of a machine that drives what card its board has, if it has one.
    pub fn of_board(self, board: &'static Board) -> Option<Network> {
        let card = board.device.values().find_map(|device| device.card.as_ref())?;
        Some(Network { card, nic: Nic::default(), peer: self.peer()? })
    }

    /// What is behind a card, if there is to be one.
    fn peer(self) -> Option<Peer> {
        match self {
            Self::Card { forwards, options } => {
                Some(Peer::User { forwards: forwards.to_vec(), options: options.to_vec() })
            }
            Self::Frames { own, other } => Some(Peer::Frames { own, other }),
            Self::Out => None,
        }
    }

    /// The network of a system; its description says whether it drives a card.
    fn network(
        self,
        description: &Description,
        board: &'static Board,
        nic: Nic,
    ) -> Result<Option<Network>> {
        let mut devices = description.devices.iter().filter_map(|name| board.device.get(name));
        match (self, devices.find_map(|device| device.card.as_ref())) {
            (wire, Some(card)) => Ok(wire.peer().map(|peer| Network { card, nic, peer })),
            (Self::Card { forwards: [_, ..], .. }, None) => bail!(
                "{} has no network that --forward could lead to: write `net = true` for a component of its description, or leave --forward out",
                description.name()
            ),
            (_, None) => Ok(None),
        }
    }
}

/// What random numbers of a system's components are made from, besides what the machine has.
#[derive(Clone, Copy, Default)]
pub enum Seed {
    /// Bytes of this machine's system, for one run.
    #[default]
    Fresh,
    /// The same bytes each time: for runs that are compared, on the processor that figures are of.
    Fixed,
    /// Nothing: an image that is started again and again, or given to others, has no secret.
    None,
}

impl Seed {
    /// The CPU model of such runs, if none is asked for.
    fn processor(self, qemu: &Qemu) -> &str {
        match self {
            Self::Fixed => qemu.measured(),
            Self::Fresh | Self::None => &qemu.cpu,
        }
    }

    fn bytes(self) -> Result<Option<[u8; 32]>> {
        let mut bytes = [0; 32];
        match self {
            Self::Fresh => std::fs::File::open("/dev/urandom")
                .and_then(|mut file| file.read_exact(&mut bytes))
                .context("no random bytes")?,
            Self::Fixed => {}
            Self::None => return Ok(None),
        }
        Ok(Some(bytes))
    }
}

/// A command for a Linux.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    /// The component that runs it; if absent the description says it, or there is only one.
    pub component: Option<&'a str>,
    /// The files by which it learns of it.
    pub inserts: &'a [Insert],
}

/// Gives the results to the Linux that runs the command; its end is that of the system, whatever
/// the description says, and what becomes of another Linux is not.
fn give_results(description: &mut Description, wanted: Option<&str>) -> Result<String> {
    let all = &mut description.component;
    let servers: Vec<usize> =
        (0..all.len()).filter(|i| server::is_server(all[*i].package())).collect();
    let found = match wanted {
        Some(name) => servers
            .iter()
            .find(|i| all[**i].name.get_ref() == name)
            .with_context(|| format!("there is no Linux called `{name}`"))?,
        None => servers
            .iter()
            .find(|i| all[**i].results)
            .or(servers.first())
            .context("the system has no Linux to run the command of --batch: leave --batch out, or name a system with a Linux (`./macadamia list`)")?,
    };
    let several = wanted.is_none() && servers.len() > 1 && !all[*found].results;
    ensure!(
        !several,
        "the system has several Linux servers: choose one by --component, or by `results = true` in the description"
    );
    for (i, component) in all.iter_mut().enumerate() {
        component.results = i == *found;
        component.service |= i != *found && servers.contains(&i);
    }
    all[*found].on_death = OnDeath::Stop;
    Ok(all[*found].name.get_ref().clone())
}

/// Plans the building of a system's kernel and components: nothing is done yet.
pub fn plan(path: &Path, options: Options<'_>) -> Result<Plan> {
    let board = board::chosen();
    let wanted = description::Wanted { screen: options.screen.is_some(), folders: options.folders };
    let mut description = description::read_with(path, board, wanted)?;
    if let Some(memory) = options.memory {
        description = description.with_memory(memory, board)?;
    }
    description.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
    let mut packages = vec!["kernel".to_string(), "root".to_string()];
    for component in &description.component {
        packages.push(component.package().to_string());
    }
    let command = match options.command {
        Some(command) => {
            Some((give_results(&mut description, command.component)?, command.inserts.to_vec()))
        }
        None => None,
    };
    packages.sort();
    packages.dedup();
    let mut cargo = cargo_bare("build");
    cargo.arg("--quiet");
    for package in packages.iter().filter(|package| !server::is_server(package)) {
        cargo.args(["-p", package]);
    }
    if options.kdb {
        ensure!(
            board.processor.has_debugger,
            "there is no kernel debugger for the board `{}`: leave out --kdb",
            board.name()
        );
        cargo.args(["--features", "kernel/kdb"]);
    }
    let name = description.name();
    let folder = board.out().join(options.folder.unwrap_or(&name));
    let memory = board.ram(description.mib()?);
    let disk = |(device, disk): (&String, &description::Disk)| {
        let medium = board
            .device
            .get(device)
            .and_then(|device| device.medium.as_ref())
            .context("no disk of the board")?;
        programs::can_hold(board, disk.holds)?;
        let interface = options.interface.unwrap_or(disk.interface);
        let bytes = description.disk_bytes(disk)?;
        let drive = match interface {
            Interface::Virtio => medium.virtio.as_ref().or(medium.ata.as_ref()),
            Interface::Ata => medium.ata.as_ref(),
        };
        let drive = drive.with_context(|| {
            format!(
                "the board `{}` has no ATA disk: use virtio, which is what it has",
                board.name()
            )
        })?;
        let without = board.folders().and_then(|folders| folders.without.as_ref());
        ensure!(
            options.folders.is_empty() || without != Some(device) || interface != Interface::Virtio,
            "the virtio disk `{device}` has the interrupt line of shared folders: leave --share out, or add `--disk ata`"
        );
        Ok(Disk {
            image: board.out().join(&name).join(&medium.image),
            drive,
            medium,
            bytes,
            holds: disk.holds,
        })
    };
    let built = Built {
        kernel: folder.join("kernel.elf"),
        image: folder.join("image.bin"),
        symbols: folder.join("kernel.sym"),
        flat: Flat::of(&folder),
        disks: description.disks.iter().map(disk).collect::<Result<_>>()?,
        network: options.wire.network(&description, board, options.nic)?,
        folders: folders::arguments(options.folders, board)?,
        screen: description.screen_arguments(board).map(|devices| Screen {
            devices,
            bochs: board.display().and_then(|display| display.bochs.clone()),
            wanted: options.screen.cloned().unwrap_or_default(),
        }),
        board,
        memory,
        test: description.test.clone(),
        cpu: options.cpu.unwrap_or(options.seed.processor(&board.qemu)).to_string(),
        accel: options.accel,
        packages,
        name,
    };
    ensure!(
        (options.inserts.is_empty() && command.is_none())
            || description
                .component
                .iter()
                .flat_map(|component| &component.files)
                .any(|file| file.name == root::INITRD),
        "{} has no Linux that begins with an `initrd`: it takes neither --file nor --batch",
        built.name
    );
    Ok(Plan {
        description,
        cargo,
        inserts: options.inserts.to_vec(),
        command,
        seed: options.seed,
        apart: options.apart,
        kdb: options.kdb,
        built,
    })
}

impl Plan {
    /// The command that builds, for people to read.
    pub fn command(&self) -> String {
        format!("{:?}", self.cargo)
    }

    /// Builds, and packs the boot image.
    pub fn carry_out(self) -> Result<Built> {
        let mut built = self.built;
        eprintln!("building {}: {}", built.name, built.packages.join(" "));
        let (servers, packages): (Vec<&String>, Vec<&String>) =
            built.packages.iter().partition(|package| server::is_server(package));
        // Others may build components while Linux is compiled, which takes minutes.
        let _linux = (!servers.is_empty()).then(|| building(Part::Linux)).transpose()?;
        servers.into_iter().try_for_each(|server| server::build(server))?;
        let _components = building(Part::Components)?;
        build_components(&self.cargo, &packages, self.kdb)?;
        for file in self.description.component.iter().flat_map(|component| &component.files) {
            root::make_file(file.from.get_ref())?;
        }
        std::fs::create_dir_all(built.kernel.parent().context("no folder for what is built")?)?;
        aside(&built.kernel, |file| Ok(std::fs::copy(elf("kernel"), file).map(drop)?))?;
        let (console, mounts) = (root::text_console()?, root::mounts()?);
        let inserts = |name: &str| {
            let own =
                self.command.iter().filter(|(runs, _)| runs == name).flat_map(|(_, files)| files);
            let component = self
                .description
                .component
                .iter()
                .find(|component| component.name.get_ref() == name);
            let console = component.is_some_and(Component::has_shell_on_screen).then_some(&console);
            let mounts =
                component.is_some_and(Component::has_shell_with_folders).then_some(&mounts);
            console.into_iter().chain(mounts).chain(&self.inserts).chain(own).cloned().collect()
        };
        let image = pack::image(
            &self.description,
            built.board.processor,
            self.seed.bytes()?,
            elf,
            inserts,
        )?;
        aside(&built.image, |file| Ok(std::fs::write(file, image)?))?;
        if built.board.processor.has_area {
            area::check(&built.kernel).context("the kernel's entry area is refused")?;
            branches::check(&built.kernel).context("the kernel is refused")?;
        }
        let symbols = pack::symbols(&built.kernel)?;
        aside(&built.symbols, |file| Ok(std::fs::write(file, symbols)?))?;
        if let Some(board) = &built.board.flat {
            built.flat.write(&built.kernel, board.address)?;
        }
        let parts = [built.image.as_path(), &built.symbols];
        if built.board.direct {
            direct::write(&built.flat.boot, parts, built.memory)?;
        } else if built.board.qemu.takes_boot() {
            built.flat.join(parts)?;
        }
        if self.apart {
            built.keep()?;
        }
        Ok(built)
    }
}

/// Builds these packages by a command of cargo's, unless all of them were in this run. The kernel
/// has its debugger or not: both are in one place.
fn build_components(cargo: &process::Command, packages: &[&String], kdb: bool) -> Result<()> {
    /// The files that were built, how they were then, and whether it was with the debugger.
    static BUILT: Mutex<BTreeMap<PathBuf, (Option<fresh::State>, bool)>> =
        Mutex::new(BTreeMap::new());
    let made: Vec<PathBuf> = packages.iter().map(|package| elf(package)).collect();
    let kernel = elf("kernel");
    let is_built = |built: &BTreeMap<PathBuf, (Option<fresh::State>, bool)>| {
        let is_there = |file: &PathBuf| {
            built.get(file).is_some_and(|(state, with_kdb)| {
                state.is_some()
                    && *state == fresh::State::of(file)
                    && (*file != kernel || *with_kdb == kdb)
            })
        };
        made.iter().all(is_there)
    };
    if is_built(&BUILT.lock().unwrap_or_else(PoisonError::into_inner)) {
        return Ok(());
    }
    fresh::unless_fresh(&Path::new(FOLDER).join("fresh"), &format!("{cargo:?}"), &made, || {
        run_group(cargo).map_err(|error| {
            match packages.iter().find(|package| !is_package(package)) {
                Some(package) => anyhow!("{}", no_package(package)),
                None => error,
            }
        })?;
        if let Some(native) = &board::chosen().processor.native {
            packages.iter().try_for_each(|package| native::link(native, package))?;
        }
        Ok(BTreeSet::new())
    })?;
    BUILT.lock().unwrap_or_else(PoisonError::into_inner).extend(made.into_iter().map(|file| {
        let state = fresh::State::of(&file);
        (file, (state, kdb))
    }));
    Ok(())
}

/// Whether cargo knows a package of this name.
fn is_package(name: &str) -> bool {
    let known = crate::process::cargo().args(["pkgid", "--quiet", name]).output();
    known.is_ok_and(|known| known.status.success())
}

/// What to do if a description names a package that does not exist.
fn no_package(name: &str) -> String {
    format!(
        "there is no package `{name}`: make a folder `user/demo/{name}` with a Cargo.toml and src/main.rs (docs/tutorial.md), or correct the component's `package`, which is its `name` if absent"
    )
}

/// Makes the image of a disk, unless it is there.
fn make_disk(path: &Path, bytes: u64, holds: Contents) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let _lock = Lock::try_of(path, &lock::asked())?.map_err(lock::refusal)?;
    // Complete or not there: an interrupted run leaves no half of one.
    let making = path.with_extension("making");
    std::fs::File::create(&making)?.set_len(bytes).with_context(|| {
        format!(
            "{} cannot have {bytes} bytes: the file system of the host allows no such file",
            making.display()
        )
    })?;
    match holds {
        Contents::Ext4 => {
            run(process::Command::new("/sbin/mkfs.ext4").args(debian::EXT4).arg(&making))?
        }
        Contents::Debian => {
            // What it is made of is in one place. A system of its own may make it, which is built
            // meanwhile.
            let _packages = Lock::of(&folder().join("debian"))?;
            debian::image(&making)?;
        }
        Contents::Programs | Contents::Compiler => {
            let _programs = Lock::of(&folder().join("programs"))?;
            programs::image(&making, holds)?;
        }
        Contents::DebianDesktop => {
            let _packages = Lock::of(&folder().join("debian"))?;
            debian::desktop(&making)?;
        }
        Contents::DebianPackages => debian::installed::unpacked(&making)?,
    }
    std::fs::rename(&making, path).with_context(|| format!("cannot make {}", path.display()))
}

/// Builds a system as its description says, for tests and measurements.
pub fn system(path: &Path) -> Result<Built> {
    plan(path, Options { seed: Seed::Fixed, wire: Wire::USER, ..Options::default() })?.carry_out()
}

#[cfg(test)]
mod tests {
    use super::{is_package, no_package};

    #[test]
    fn a_package_that_does_not_exist_is_named_with_its_folder() {
        assert!(is_package("hello") && !is_package("no-such-component"));
        let said = no_package("no-such-component");
        assert!(said.contains("make a folder `user/demo/no-such-component`"), "{said}");
    }
}
