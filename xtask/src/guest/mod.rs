// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs programs in Linux, on Macadamia and on the bare machine, with the same root file system.
//!
//! It owns what is common to both: the files that a run adds, the clock, the time limit. It does
//! not know what a program measures or checks.

pub mod batch;

use crate::build::{self, Options, Seed, Wire};
use crate::description::Interface;
use crate::emulator::{self, Machine};
use crate::linux::root::{self, Insert};
use crate::linux::{self, files, musl, server};
use crate::machine::Emulator;
use crate::machine::board;
use crate::machine::folders::Folder;
use crate::machine::network::Nic;
use crate::process::once::Once;
use crate::process::patience::Limit;
use crate::process::run;
use anyhow::{Context, Result, ensure};
use batch::{Batch, Fetch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The longest that a run may take if nobody says another, in the emulator's own time.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// What a run left.
pub struct Outcome {
    /// The command's exit status.
    pub status: u8,
    /// Its standard output.
    pub out: Vec<u8>,
    /// Its standard error.
    pub err: Vec<u8>,
    /// What the machine model counted, if it was asked to.
    pub report: Option<model_core::Report>,
}

impl Outcome {
    /// Its standard output.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// All of it, for a message.
    pub fn said(&self) -> String {
        format!("status {}: {}{}", self.status, self.text(), String::from_utf8_lossy(&self.err))
    }
}

/// A program for a run, or a file.
pub fn insert(guest: &str, contents: Vec<u8>) -> Insert {
    Insert { guest: guest.into(), contents, mode: 0o755 }
}

/// Has each Linux of a system run a command when it has booted, but the one that is asked to run
/// another: that ends before.
pub fn beside(command: &str) -> Result<Insert> {
    const USUAL: &str = "linux/root/inittab";
    let usual = std::fs::read_to_string(USUAL).context(USUAL)?;
    Ok(insert("/etc/inittab", format!("{usual}::once:{command}\n").into_bytes()))
}

/// A program of `tests/linux`, a file or a folder of this name, in the folder for programs.
pub fn program(name: &str) -> Result<Insert> {
    Ok(insert(&format!("/bin/{name}"), compile(source_of(name))?))
}

/// The same of one that can be small.
pub fn small_program(name: &str) -> Result<Insert> {
    Ok(insert(&format!("/bin/{name}"), compile_small(source_of(name))?))
}

fn source_of(name: &str) -> PathBuf {
    let folder = Path::new("tests/linux").join(name);
    if folder.is_dir() { folder } else { folder.with_extension("c") }
}

/// A BusyBox that can be small, in place of Debian's.
pub fn small_busybox() -> Result<Insert> {
    Ok(insert("/bin/busybox", std::fs::read(musl::busybox()?)?))
}

/// How to run a command in Linux.
pub struct Guest<'a> {
    /// The system's description.
    pub system: &'a str,
    /// The Linux that runs the command, where there are several; the first if absent.
    pub component: Option<&'a str>,
    /// Where it runs.
    pub on: Emulator,
    /// QEMU's CPU model, instead of the usual one; that of what is compared, if it is counted or
    /// has its own time.
    pub cpu: Option<&'a str>,
    /// How QEMU attaches disks, instead of what the description says.
    pub interface: Option<Interface>,
    /// What network card it has in QEMU.
    pub nic: Nic,
    /// Files for it.
    pub inserts: Vec<Insert>,
    /// Files out of it.
    pub gets: Vec<Fetch>,
    /// The longest that it may take, in the emulator's own time.
    pub timeout: Duration,
    /// Whether time is the machine's own, in QEMU: instructions, however busy the host is.
    pub own_time: bool,
    /// Whether time is the host's even with the machine model: of who waits for a program of the
    /// host, time does not go by at once.
    pub hosts_time: bool,
    /// The machine model, if it is to count.
    pub model: Option<&'a build::Model>,
    /// What its network card is connected to: nothing is there that could disturb what a test looks
    /// at, if nobody says otherwise.
    pub wire: Wire<'a>,
    /// Folders of this machine that it sees.
    pub folders: Vec<Folder>,
}

/// Where their files go, below what is made for the board.
const FOLDER: &str = "linux-test";

/// What the console of this thread's last run has said so far.
pub fn log() -> Result<String> {
    let path = board::chosen().out().join(FOLDER).join("console.log");
    std::fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))
}

impl Default for Guest<'_> {
    fn default() -> Self {
        Self {
            system: "systems/linux.toml",
            component: None,
            on: Emulator::Qemu,
            interface: None,
            nic: Nic::default(),
            cpu: None,
            inserts: Vec::new(),
            gets: Vec::new(),
            timeout: TIMEOUT,
            own_time: false,
            hosts_time: false,
            model: None,
            wire: Wire::default(),
            folders: Vec::new(),
        }
    }
}

impl Guest<'_> {
    /// Builds the system, runs the command in it.
    pub fn run(self, command: &str) -> Result<Outcome> {
        let timeout = Some(Limit::Own(self.timeout));
        let batch = Batch { gets: self.gets, timeout, ..Batch::of(command) };
        let command = batch.inserts();
        let options = Options {
            cpu: self.cpu,
            inserts: &self.inserts,
            interface: self.interface,
            nic: self.nic,
            wire: self.wire,
            folders: &self.folders,
            folder: Some(FOLDER),
            command: Some(build::Command { component: self.component, inserts: &command }),
            // Instructions that are counted are to be the same each time.
            seed: if self.own_time || self.model.is_some() { Seed::Fixed } else { Seed::Fresh },
            ..Options::default()
        };
        let built = build::plan(Path::new(self.system), options)?.carry_out()?;
        let mut machine = Machine::of(self.on, &built, self.model);
        if let Machine::Qemu { icount, .. } = &mut machine {
            *icount = self.own_time || *icount && !self.hosts_time;
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let status = batch.run(&built, machine, &mut out, &mut err)?;
        let report =
            self.model.map(|_| emulator::read_report(&emulator::report(&built))).transpose()?;
        Ok(Outcome { status, out, err, report })
    }

    /// The same of a command that must succeed.
    pub fn succeed(self, command: &str) -> Result<Outcome> {
        let outcome = self.run(command)?;
        ensure!(outcome.status == 0, "{}", outcome.said());
        Ok(outcome)
    }
}

/// Compiles a test program, a file or a folder of files, statically. Of the folders in it, that of
/// the processor counts.
pub fn compile(source: impl AsRef<Path>) -> Result<Vec<u8>> {
    compile_with(Command::new(board::chosen().linux()?.compiler()), source.as_ref(), "")
}

/// Compiles one that can be small.
pub fn compile_small(source: impl AsRef<Path>) -> Result<Vec<u8>> {
    compile_with(musl::compiler()?, source.as_ref(), "-small")
}

fn compile_with(gcc: Command, source: &Path, suffix: &str) -> Result<Vec<u8>> {
    /// The programs' contents, in this run.
    static COMPILED: Once<Vec<u8>> = Once::new();
    let name = source.file_stem().context("a source without a name")?.to_string_lossy();
    std::fs::create_dir_all(linux::folder())?;
    let program = linux::folder().join(format!("{name}{suffix}"));
    COMPILED.get(&format!("{} {}", program.display(), source.display()), || {
        call_compiler(gcc, source, &program)?;
        Ok(std::fs::read(&program)?)
    })
}

fn call_compiler(mut gcc: Command, source: &Path, program: &Path) -> Result<()> {
    gcc.args(["-static", "-O2", "-pthread", "-Wall", "-Wno-unused-result", "-o"]).arg(program);
    let in_folder = |folder: &Path| {
        let all = files(folder)?
            .into_iter()
            .filter(|file| file.extension().is_some_and(|extension| extension == "c"));
        anyhow::Ok(all.collect::<Vec<_>>())
    };
    if source.is_dir() {
        // What is the processor's is in a folder of Debian's name of it.
        let own = source.join(&board::chosen().linux()?.debian);
        gcc.args(in_folder(source)?);
        if own.is_dir() {
            gcc.arg("-I").arg(&own).args(in_folder(&own)?);
        }
    } else {
        gcc.arg(source);
    }
    // For PowerPC the linker makes tables of code that is written; it need not say so.
    run(gcc.args(["-lm", "-Wl,--no-warn-rwx-segments"]))
}

/// What the operations of `tests/linux/figures.c` take on the Linux server.
pub fn figures_with(model: &build::Model) -> Result<model_core::Report> {
    let inserts = vec![program("figures")?];
    let o = Guest { inserts, model: Some(model), ..Guest::default() }.succeed("figures")?;
    o.report.context("no report")
}

/// What they take on Linux alone.
pub fn native_figures(model: &build::Model) -> Result<model_core::Report> {
    let inserts = vec![program("figures")?];
    Alone { inserts, model: Some(model), ..Alone::default() }
        .run("figures")?
        .report
        .context("no report of Linux alone")
}

/// What a run on Linux alone left.
pub struct Reference {
    /// The command's output, on the console.
    pub out: String,
    /// What the machine model counted, if it was asked to.
    pub report: Option<model_core::Report>,
    /// Where the model's plugin wrote, if it took samples.
    pub measured: PathBuf,
}

/// Whose time an emulated machine has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Its own: an instruction is a nanosecond.
    Machine,
    /// The host's.
    Host,
}

/// How to run a command on Linux of the same source and with the same root file system, on the
/// machine itself.
pub struct Alone<'a> {
    /// What its network card is connected to; without a network it has none.
    pub wire: Wire<'a>,
    /// Whose time it has.
    pub clock: Clock,
    /// QEMU's CPU model, instead of that of what is compared.
    pub cpu: Option<&'a str>,
    /// Files for it.
    pub inserts: Vec<Insert>,
    /// The machine model, if it is to count.
    pub model: Option<&'a build::Model>,
    /// The longest that it may take, in the emulator's own time.
    pub timeout: Duration,
}

impl Default for Alone<'_> {
    fn default() -> Self {
        Self {
            wire: Wire::Out,
            clock: Clock::Machine,
            cpu: None,
            inserts: Vec::new(),
            model: None,
            timeout: TIMEOUT,
        }
    }
}

impl Alone<'_> {
    /// Builds it, runs a command in it that must succeed.
    pub fn run(mut self, command: &str) -> Result<Reference> {
        self.inserts.extend(Batch::of(command).inserts());
        let network = self.wire.of_board(board::chosen());
        let initrd = root::root_with(&self.inserts)?;
        let alone = emulator::Alone {
            linux: &server::native()?,
            initrd: &initrd,
            cpu: self.cpu,
            own_time: self.clock == Clock::Machine,
            model: self.model,
            network: network.as_ref(),
        };
        let (console, report) = emulator::native(&alone, self.timeout)?;
        let (_, rest) = console
            .split_once("batch begins\n")
            .with_context(|| format!("Linux alone did not run the command: {console}"))?;
        let (out, status) = rest
            .split_once("batch ends: ")
            .with_context(|| format!("the command did not end: {console}"))?;
        ensure!(status.starts_with('0'), "on Linux alone the command failed: {out}{status}");
        Ok(Reference { out: out.into(), report, measured: emulator::report_alone(&initrd) })
    }
}
