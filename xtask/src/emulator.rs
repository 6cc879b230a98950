// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a built system in QEMU or Bochs: makes the command line, connects the terminal, and waits
//! for the end.
//!
//! It owns the machine while it runs. It does not know what runs in it: Linux's commands are
//! `guest`'s, and tests are in `test`.

use crate::build::{Built, Disk, Model};
use crate::linux::server::{self, Native};
use crate::machine::Emulator;
use crate::machine::accel::Accel;
use crate::machine::board::{self, Board, fill};
use crate::machine::console::{bridge, connect};
use crate::machine::debugger::Debugger;
use crate::machine::monitor::Monitor;
use crate::machine::network::{Network, free_port};
use crate::machine::screen::{self, Screen, Shown};
use crate::machine::terminal::{Keyboard, To};
use crate::machine::words;
use crate::machine::xserver::{Display, Room, XServer};
use crate::process::patience::{Deadline, Limit};
use crate::process::run;
use crate::process::session::Session;
use crate::process::tether::tethered;
use anyhow::{Context, Result, ensure};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// QEMU as a board, with so many MiB of RAM, and a network card or none.
fn machine(
    board: &Board,
    accel: Accel,
    cpu: &str,
    memory: u32,
    network: Option<&Network>,
) -> Command {
    let mut command = Command::new(&board.qemu.program);
    arguments(
        &mut command,
        &board.qemu.arguments,
        &[("cpu", cpu), ("memory", &memory.to_string())],
    );
    command.args(["-accel", accel.name()]);
    match network {
        Some(network) => {
            let (own, words) = network.arguments();
            let words: Vec<(&str, &str)> =
                words.iter().map(|(name, word)| (*name, word.as_str())).collect();
            arguments(&mut command, own, &words);
            arguments(&mut command, network.card_arguments(), &[]);
        }
        None => arguments(&mut command, &board.qemu.no_card, &[]),
    }
    command
}

/// Adds arguments of a board's file.
fn arguments(command: &mut Command, arguments: &[String], words: &[(&str, &str)]) {
    command.args(arguments.iter().map(|argument| fill(argument, words)));
}

/// After an image's file: QEMU writes nothing through to the host's disk. In the machine's own
/// time, which goes on in jumps while it waits, that would take minutes.
const NOT_THROUGH: &str = ",cache=unsafe";

/// QEMU for a built system, perhaps to be in its own time; serial lines are the caller's.
fn qemu(built: &Built, cpu: &str, own_time: bool) -> Command {
    let mut command = machine(built.board, built.accel, cpu, built.memory, built.network.as_ref());
    let files = [&built.kernel, &built.image, &built.symbols, &built.flat.kernel, &built.flat.boot];
    let files = files.map(|file| file.to_string_lossy());
    let [kernel, image, symbols, flat, boot] = files.each_ref().map(|file| &**file);
    let line = words::words();
    let words = [
        ("kernel", kernel),
        ("image", image),
        ("symbols", symbols),
        ("flat", flat),
        ("boot", boot),
        ("words", &line),
    ];
    arguments(&mut command, &built.board.qemu.system, &words);
    command.args(built.screen.iter().flat_map(|screen| &screen.devices));
    command.args(&built.folders);
    for disk in &built.disks {
        let image = format!("{}{}", disk.image.display(), if own_time { NOT_THROUGH } else { "" });
        arguments(&mut command, disk.drive, &[("image", &image)]);
    }
    command
}

/// Makes the GRUB ISO image.
pub fn iso(built: &Built) -> Result<PathBuf> {
    let iso = built
        .board
        .iso
        .as_ref()
        .with_context(|| format!("a `{}` boots from no ISO image", built.board.name()))?;
    let folder = folder(built);
    let tree = folder.join("iso");
    std::fs::create_dir_all(tree.join("boot/grub"))?;
    let mut strip = Command::new("strip");
    run(strip.arg("-o").arg(tree.join("boot/kernel.elf")).arg(&built.kernel))?;
    for (from, to) in [(&built.image, "image.bin"), (&built.symbols, "kernel.sym")] {
        std::fs::copy(from, tree.join("boot").join(to))?;
    }
    std::fs::write(
        tree.join("boot/grub/grub.cfg"),
        fill(&iso.menu, &[("words", &words::words())]),
    )?;
    let path = folder.join(format!("{}.iso", built.name));
    let mut grub = Command::new("grub-mkrescue");
    grub.arg("-o").arg(&path).arg(&tree).stdout(Stdio::null()).stderr(Stdio::null());
    run(&mut grub)?;
    Ok(path)
}

/// Bochs with this CPU model, or the usual one, for an ISO image; `lines` are its two serial lines'
/// settings, `display` the X server that it has its window on.
fn bochs(built: &Built, cpu: Option<&str>, display: &Display, lines: [&str; 2]) -> Result<Command> {
    let bochs = built.board.bochs()?;
    let iso = iso(built)?;
    let folder = folder(built);
    let [first, second] = lines;
    let attached = |disk: &Disk| {
        Some(fill(disk.medium.bochs.as_ref()?, &[("image", &disk.image.to_string_lossy())]) + "\n")
    };
    // A Bochs that was ended leaves a lock, which the next one would obey. Ours are those that count.
    for disk in &built.disks {
        let mut lock = disk.image.clone().into_os_string();
        lock.push(".lock");
        let _ = std::fs::remove_file(lock);
    }
    let disks: String = built.disks.iter().filter_map(attached).collect();
    let card = built.network.as_ref().map(Network::bochs).transpose()?.unwrap_or_default();
    let screen = built.screen.as_ref().and_then(|screen| screen.bochs.as_deref());
    let screen = screen.unwrap_or_default();
    let [rc, commands, log] =
        ["bochsrc", "bochs.commands", "bochs.log"].map(|name| folder.join(name));
    let settings = fill(
        &bochs.settings,
        &[
            ("cpu", cpu.unwrap_or(&bochs.cpu)),
            ("memory", &built.memory.to_string()),
            ("card", card),
            ("screen", screen),
            ("disks", &disks),
            ("iso", &iso.to_string_lossy()),
            ("first", first),
            ("second", second),
            ("log", &log.to_string_lossy()),
        ],
    );
    std::fs::write(&rc, settings)?;
    std::fs::write(&commands, "c\n")?;
    let mut command = Command::new(&bochs.program);
    command.arg("-q").arg("-f").arg(rc).arg("-rc").arg(commands);
    command.env(screen::DISPLAY, &display.name);
    command.envs(display.authority.as_ref().map(|file| (screen::AUTHORITY, file)));
    Ok(command)
}

/// Runs a system on this terminal; a screen that it drives is shown as it is asked for.
pub fn interactive(built: &Built, on: Emulator) -> Result<()> {
    built.prepare()?;
    if on == Emulator::Bochs {
        return interactive_bochs(built);
    }
    let shown = shown(built)?;
    if let Some(hint) = shown.as_ref().and_then(Shown::hint) {
        eprintln!("macadamia: {hint}");
    }
    eprintln!("running {}; Ctrl-A X leaves", built.name);
    let mut command = interactive_qemu(built);
    command.args(shown.iter().flat_map(Shown::arguments));
    let mut child =
        tethered(&command, &built.images()).stdin(Stdio::piped()).spawn().with_context(|| {
            format!(
                "cannot run {}: `./macadamia doctor` says what is missing",
                built.board.qemu.program
            )
        })?;
    let keyboard = child.stdin.take().map(|line| Keyboard::new(To::Qemu, line, || ()));
    let status = child.wait()?;
    drop(keyboard);
    ensure!(
        status.success(),
        "{} failed ({status}): see its output above",
        built.board.qemu.program
    );
    Ok(())
}

/// Where the screen is that a system drives, if it does.
fn shown(built: &Built) -> Result<Option<Shown>> {
    let shown = |screen: &Screen| Shown::of(&screen.wanted, &built.board.qemu.program);
    built.screen.as_ref().map(shown).transpose()
}

/// QEMU with its monitor and the first serial line at the standard input and output.
fn interactive_qemu(built: &Built) -> Command {
    let mut command = qemu(built, &built.cpu, false);
    command.args(SERIAL);
    command
}

/// QEMU's monitor and the first serial line are at the standard input and output.
const SERIAL: [&str; 4] = ["-serial", "mon:stdio", "-serial", "null"];

/// What [`interactive`] would execute, for people to read.
pub fn describe(built: &Built, on: Emulator) -> Result<String> {
    if on == Emulator::Qemu {
        let mut command = interactive_qemu(built);
        command.args(shown(built)?.iter().flat_map(Shown::arguments));
        return Ok(format!("{command:?}"));
    }
    let (folder, bochs) = (folder(built), built.board.bochs()?);
    Ok(format!(
        "grub-mkrescue -o {0}/{1}.iso {0}/iso\n{2} -q -f {0}/bochsrc",
        folder.display(),
        built.name,
        bochs.program
    ))
}

/// Where a system's files are.
fn folder(built: &Built) -> PathBuf {
    built.kernel.parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The X server on which Bochs has this window, or else a new one, which nobody sees and which ends
/// with what is returned: Bochs' other displays listen at all addresses, or need a terminal.
fn display(window: Option<Display>) -> Result<(Display, Option<XServer>)> {
    if let Some(window) = window {
        return Ok((window, None));
    }
    let server = XServer::start(Room::Text)?;
    Ok((server.display(), Some(server)))
}

fn interactive_bochs(built: &Built) -> Result<()> {
    let port = free_port()?;
    let window = built.screen.as_ref().map(screen::x_server).transpose()?;
    // It lives as long as this function works.
    let (display, _server) = display(window)?;
    let first = format!("mode=socket-server, dev=127.0.0.1:{port}");
    let command = bochs(built, None, &display, [&first, "mode=null"])?;
    let mut command = tethered(&command, &built.images());
    eprintln!("running {} in Bochs; Ctrl-A X leaves", built.name);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run bochs")?;
    let result = bridge(&mut child, port);
    let _ = child.kill();
    child.wait()?;
    result
}

/// A system that is talked to at its terminal.
pub fn session(built: &Built) -> Result<Session> {
    session_with(built, &[])
}

/// The same in the machine's own time: instructions, and at once the next alarm if there is nothing
/// to do. What waits for a disk or for input sees much time pass.
pub fn session_in_own_time(built: &Built) -> Result<Session> {
    session_with(built, &OWN_TIME)
}

/// A system without disks and screen that QEMU's firmware starts from the ISO image, `{iso}` in
/// these arguments.
pub fn session_of_firmware(built: &Built, arguments: &[&str]) -> Result<Session> {
    let iso = iso(built)?;
    let words = [("iso", &*iso.to_string_lossy())];
    let mut command = machine(built.board, built.accel, &built.cpu, built.memory, None);
    command.args(arguments.iter().map(|argument| fill(argument, &words)));
    command.args(SERIAL);
    Session::start(tethered(&command, &[]))
}

/// The same with more arguments for QEMU.
pub fn session_with(built: &Built, arguments: &[&str]) -> Result<Session> {
    built.prepare()?;
    let mut command = interactive_qemu(built);
    command.args(arguments);
    Session::start(tethered(&command, &built.images()))
}

/// A system whose console goes to a file and whose second serial line is ours. Ends with it.
pub struct Headless {
    child: Child,
    /// What comes on the second serial line.
    pub line: Option<Box<dyn Read + Send>>,
    /// Where the console's output is.
    pub log: PathBuf,
    /// Where what the emulator itself said is.
    pub said: PathBuf,
    /// Where it listens to programs: QEMU, of a system that drives the screen.
    monitor: Option<PathBuf>,
    /// What a Bochs has its window on, if that is its own: ends after it.
    _server: Option<XServer>,
}

/// Starts a system without a terminal.
pub fn headless(built: &Built, machine: Machine<'_>) -> Result<Headless> {
    start(built, machine, folder(built).join("console.log"), None)
}

/// Starts a system whose console goes to a file, and the second serial line to another one or to
/// us.
fn start(
    built: &Built,
    machine: Machine<'_>,
    log: PathBuf,
    results: Option<&Path>,
) -> Result<Headless> {
    built.prepare()?;
    let (report, said) = (report(built), log.with_extension("emulator"));
    // What is from before must not be taken for this run's.
    for file in [Some(log.as_path()), results, Some(&report)].into_iter().flatten() {
        let _ = std::fs::remove_file(file);
    }
    let errors = std::fs::File::create(&said)?;
    let quiet = |command: &mut Command| {
        command.stdin(Stdio::null()).stderr(errors).spawn().context("cannot start the emulator")
    };
    match machine {
        Machine::Qemu { cpu, icount, model } => {
            let mut command = qemu(built, cpu, icount);
            let argument = model.map(|model| model_argument(model, built, &report)).transpose()?;
            instrument(&mut command, icount, argument);
            let (second, ours) = match results {
                Some(file) => (format!("file:{}", file.display()), Stdio::null()),
                None => ("stdio".into(), Stdio::piped()),
            };
            command
                .arg("-serial")
                .arg(format!("file:{}", log.display()))
                .args(["-serial", &second]);
            let monitor = built.screen.is_some().then(|| monitor(built));
            if let Some(monitor) = &monitor {
                command.args(Monitor::arguments(monitor));
            }
            let mut child = quiet(tethered(&command, &built.images()).stdout(ours))?;
            let line = child.stdout.take().map(|line| Box::new(line) as _);
            Ok(Headless { child, line, log, said, monitor, _server: None })
        }
        Machine::Bochs { cpu, window } => {
            let file = |file: &Path| format!("mode=file, dev={}", file.display());
            let port = free_port()?;
            let second =
                results.map_or_else(|| format!("mode=socket-server, dev=127.0.0.1:{port}"), file);
            let (display, server) = display(window.cloned())?;
            let command = bochs(built, cpu, &display, [&file(&log), &second])?;
            let mut child = quiet(tethered(&command, &built.images()).stdout(Stdio::null()))?;
            let line = match results {
                Some(_) => None,
                None => Some(Box::new(connect(&mut child, port)?) as _),
            };
            Ok(Headless { child, line, log, said, monitor: None, _server: server })
        }
    }
}

/// Where a system's emulator listens to programs.
fn monitor(built: &Built) -> PathBuf {
    folder(built).join("monitor")
}

/// A system that is talked to at its terminal, and at its screen, with more arguments for QEMU.
pub fn session_with_screen(built: &Built, arguments: &[&str]) -> Result<(Session, Monitor)> {
    built.prepare()?;
    let monitor = monitor(built);
    let mut command = interactive_qemu(built);
    command.args(Monitor::arguments(&monitor)).args(arguments);
    let session = Session::start(tethered(&command, &built.images()))?;
    Ok((session, Monitor::connect(&monitor)?))
}

/// A system that is talked to at its terminal, and a debugger's connection to it, with more arguments
/// for QEMU. It stands still.
pub fn session_with_debugger(built: &Built, arguments: &[&str]) -> Result<(Session, Debugger)> {
    built.prepare()?;
    let socket = folder(built).join("debugger");
    // That of an earlier machine would be found.
    let _ = std::fs::remove_file(&socket);
    let mut command = interactive_qemu(built);
    command.arg("-S").args(Debugger::arguments(&socket)).args(arguments);
    let session = Session::start(tethered(&command, &built.images()))?;
    Ok((session, Debugger::connect(&socket)?))
}

/// Where the machine model's report of a system's last run is.
pub fn report(built: &Built) -> PathBuf {
    folder(built).join("model.json")
}

/// Between two looks whether an emulator has ended.
const POLL: Duration = Duration::from_millis(20);

impl Headless {
    /// Waits until it has ended by itself, at most until `deadline`; false if it has not.
    pub fn wait(&mut self, mut deadline: Option<&mut Deadline>) -> Result<bool> {
        loop {
            if self.child.try_wait()?.is_some() {
                return Ok(true);
            }
            if deadline.as_mut().is_some_and(|deadline| deadline.is_over()) {
                return Ok(false);
            }
            std::thread::park_timeout(POLL);
        }
    }

    /// Writes a picture of its screen, as that is now. It may end at any time.
    pub fn picture(&self, file: &Path) -> Result<()> {
        let monitor = self.monitor.as_ref().context("there is no screen")?;
        Monitor::connect(monitor)?.save(file)
    }

    /// A limit for it, from now on.
    pub fn deadline(&self, limit: Limit) -> Deadline {
        Deadline::new(self.child.id(), limit)
    }

    /// Ends it now, if it has not ended.
    pub fn end(&mut self) -> Result<()> {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait()?;
        Ok(())
    }
}

/// MiB of RAM of Linux alone. Device trees of `linux/native` say so, too.
const NATIVE_MIB: u32 = 192;

/// Linux alone, and its machine.
pub struct Alone<'a> {
    /// Where its kernel is, and its device tree.
    pub linux: &'a Native,
    /// Its root file system.
    pub initrd: &'a Path,
    /// QEMU's CPU model, instead of that of what is compared.
    pub cpu: Option<&'a str>,
    /// Whether time is the machine's own.
    pub own_time: bool,
    /// The machine model, if it is to count.
    pub model: Option<&'a Model>,
    /// What its network card is connected to, if it has one.
    pub network: Option<&'a Network>,
}

/// Where the machine model's report of Linux alone is, by its root file system.
pub fn report_alone(initrd: &Path) -> PathBuf {
    initrd.with_extension("json")
}

/// Runs it until it ends; returns its console and what the model counted, if it counted.
pub fn native(
    alone: &Alone<'_>,
    timeout: Duration,
) -> Result<(String, Option<model_core::Report>)> {
    let report = report_alone(alone.initrd);
    let board = board::chosen();
    let mut command = machine(
        board,
        Accel::Tcg,
        alone.cpu.unwrap_or(board.qemu.measured()),
        board.ram(NATIVE_MIB),
        alone.network,
    );
    let kernel = alone.linux.kernel.to_string_lossy();
    let [devices, firmware] = [&alone.linux.devices, &alone.linux.firmware]
        .map(|file| file.as_deref().unwrap_or_else(|| Path::new("")).to_string_lossy());
    let initrd = alone.initrd.to_string_lossy();
    let words =
        [("kernel", &*kernel), ("initrd", &initrd), ("devices", &devices), ("firmware", &firmware)];
    arguments(&mut command, &board.qemu.linux, &words);
    // Linux has all of its memory from 3 GiB on.
    let argument = alone
        .model
        .map(|model| model.argument(&report, (0xc000_0000, NATIVE_MIB << 20), None, None));
    instrument(&mut command, alone.own_time, argument);
    let mut command = tethered(&command, &[]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the emulator")?;
    let mut stdout = child.stdout.take().context("no output")?;
    let reader = std::thread::spawn(move || {
        let mut console = Vec::new();
        stdout.read_to_end(&mut console).map(|_| console)
    });
    let mut run = Headless {
        child,
        line: None,
        log: PathBuf::new(),
        said: PathBuf::new(),
        monitor: None,
        _server: None,
    };
    let ended = run.wait(Some(&mut run.deadline(Limit::Own(timeout))))?;
    run.end()?;
    let console = reader.join().map_err(|_| anyhow::anyhow!("the console could not be read"))??;
    let console = String::from_utf8_lossy(&console).replace('\r', "");
    ensure!(ended, "Linux alone did not end in {} s: {console}", timeout.as_secs());
    let counts = alone.model.is_some_and(|model| model.sampling.is_none());
    Ok((console, counts.then(|| read_report(&report)).transpose()?))
}

/// What the machine model counted.
pub fn read_report(file: &Path) -> Result<model_core::Report> {
    let text = std::fs::read_to_string(file).context("the machine model left no report")?;
    serde_json::from_str(&text).context("the machine model's report cannot be read")
}

/// The machine model's plugin for a system of ours.
fn model_argument(model: &Model, built: &Built, report: &Path) -> Result<String> {
    let server = server::watched(&built.packages)?;
    // docs/manual.md, linear layout: the first 4 MiB of physical memory. On ARM it begins there,
    // too.
    Ok(model.argument(
        report,
        (0xe000_0000, 4 << 20),
        server,
        Some((&built.symbols, built.board.interrupts.status)),
    ))
}

/// The clock of a QEMU that counts, and the machine model's plugin.
fn instrument(command: &mut Command, icount: bool, model: Option<String>) {
    if icount {
        command.args(OWN_TIME);
    }
    if let Some(argument) = model {
        command.arg("-plugin").arg(argument);
    }
}

/// Gives QEMU the machine's own time: an instruction is a nanosecond. Nothing of the host's time
/// gets in, not even the date: equal runs are equal.
pub const OWN_TIME: [&str; 4] =
    ["-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm"];

/// What a test run left.
pub struct Transcript {
    /// The console.
    pub console: String,
    /// The machine-readable line.
    pub results: String,
    /// Whether it ended by itself in time.
    pub ended: bool,
    /// What the machine model counted, if it was asked to.
    pub model: Option<model_core::Report>,
}

impl Transcript {
    /// Whether its last component said that all is done.
    pub fn is_done(&self) -> bool {
        self.results.lines().any(|line| line.trim() == "done")
    }
}

/// A machine without a terminal.
#[derive(Clone, Copy)]
pub enum Machine<'a> {
    /// QEMU with this CPU model.
    Qemu {
        /// Its name, as QEMU has it.
        cpu: &'a str,
        /// One instruction is a nanosecond: the time-stamp counter counts instructions.
        icount: bool,
        /// The machine model. Its report goes to `model.json`.
        model: Option<&'a Model>,
    },
    /// Bochs with this CPU model.
    Bochs {
        /// Its name, as Bochs has it, instead of the usual one.
        cpu: Option<&'a str>,
        /// The X server that it has a window on, which a screen needs, instead of one of its own.
        window: Option<&'a Display>,
    },
}

impl<'a> Machine<'a> {
    /// An emulator with what a system asks of it, counted by a plugin or not.
    pub fn of(on: Emulator, built: &'a Built, model: Option<&'a Model>) -> Self {
        match on {
            Emulator::Qemu => Self::Qemu { cpu: &built.cpu, icount: model.is_some(), model },
            Emulator::Bochs => Self::Bochs { cpu: None, window: None },
        }
    }

    /// A short name.
    pub fn name(&self) -> &str {
        match self {
            Self::Qemu { cpu, .. } => cpu,
            Self::Bochs { .. } => "bochs",
        }
    }
}

/// Runs a system without a terminal, both serial lines to files, for at most so much of the
/// emulator's own time.
pub fn batch(built: &Built, machine: Machine<'_>, timeout: Duration) -> Result<Transcript> {
    let folder = folder(built);
    let [console, results] =
        ["console", "results"].map(|line| folder.join(format!("{line}.{}", machine.name())));
    let mut run = start(built, machine, console.clone(), Some(&results))?;
    let ended = run.wait(Some(&mut run.deadline(Limit::Own(timeout))))?;
    run.end()?;
    let read = |file: &Path| {
        std::fs::read(file)
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let model = match machine {
        Machine::Qemu { model: Some(model), .. } if ended && model.sampling.is_none() => {
            Some(read_report(&report(built))?)
        }
        _ => None,
    };
    Ok(Transcript { console: read(&console), results: read(&results), ended, model })
}
