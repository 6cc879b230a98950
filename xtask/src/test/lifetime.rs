// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that this tool starts ends with it, however it ends, and a disk has one machine at a
//! time.

use super::tally::{Test, test};
use crate::machine::board;
use crate::process::lock::Lock;
use crate::process::patience::stretched;
use crate::process::session::Session;
use crate::process::this_tool;
use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("dialogue.signals", machine),
    test("dialogue.signals.build", build),
    test("dialogue.signals.bochs", on_bochs),
];

/// Two components that wait for input, on a machine with a disk.
const SYSTEM: &str = "[devices]\nconsole = {}\ndisk = { size = \"1M\" }\n\n[[component]]\nname = \"first\"\npackage = \"echo\"\nterminal = \"read\"\ndisk = true\n";
/// What the machine says when it waits.
const READY: &str = "[first] > ";
/// The longest that a program may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// This tool, with signals as a terminal gives them: who starts tests in the background lets them
/// ignore interrupts.
fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=HUP,INT,TERM").arg(this_tool()).args(arguments);
    command
}

/// The description, and the image of its disk.
fn system(name: &str) -> Result<(String, PathBuf)> {
    let folder = board::chosen().out().join(name);
    fs::create_dir_all(&folder)?;
    let description = folder.join(format!("{name}.toml"));
    fs::write(&description, SYSTEM)?;
    // Another process of this tool runs it, in its own folder.
    Ok((description.to_string_lossy().into_owned(), Path::new("out").join(name).join("disk.img")))
}

/// A running process that can be waited for, also when it is not a child.
struct Watched(std::os::fd::OwnedFd);

impl Watched {
    fn new(process: Pid) -> Result<Self> {
        Ok(Self(pidfd_open(process, PidfdFlags::empty()).context("no such process")?))
    }

    fn ends(&self) -> Result<bool> {
        let patience = Timespec::try_from(stretched(PATIENCE))?;
        Ok(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&patience))? == 1)
    }
}

fn pid(number: u32) -> Result<Pid> {
    Pid::from_raw(i32::try_from(number)?).context("no process")
}

/// The children of a process.
fn children(parent: u32) -> Result<Vec<Pid>> {
    let mut found = Vec::new();
    for folder in fs::read_dir("/proc")? {
        let stat = fs::read_to_string(folder?.path().join("stat")).unwrap_or_default();
        // After the name, which is in brackets: the state and the parent.
        let Some((head, tail)) = stat.rsplit_once(')') else { continue };
        if tail.split_whitespace().nth(1) == Some(&parent.to_string()) {
            found.push(pid(head.split_whitespace().next().unwrap_or_default().parse()?)?);
        }
    }
    Ok(found)
}

/// The only one.
fn child(parent: u32) -> Result<Pid> {
    let found = children(parent)?;
    ensure!(found.len() == 1, "process {parent} has the children {found:?}");
    Ok(found[0])
}

/// The emulator ends with the tool and leaves the disk to the next run; until then another run is
/// refused.
fn machine() -> Result<()> {
    let (system, image) = system("signals")?;
    for signal in [Signal::TERM, Signal::HUP, Signal::INT, Signal::KILL] {
        let mut session = Session::start(tool(&["run", &system]))?;
        session.expect(READY)?;
        let emulator = child(session.process())?;
        if signal == Signal::TERM {
            is_refused(&system, &image, emulator)?;
        }
        let emulator = Watched::new(emulator)?;
        kill_process(pid(session.process())?, signal)?;
        ensure!(emulator.ends()?, "the emulator goes on after {signal:?}");
        ensure!(Lock::try_of(&image, "test")?.is_ok(), "the disk is not free after {signal:?}");
    }
    Ok(())
}

/// Bochs and the X server that it has its window on end with the tool, and the next Bochs has the
/// disk.
fn on_bochs() -> Result<()> {
    let (system, _) = system("signals-bochs")?;
    // Its machine then speaks soon.
    let built = tool(&["build", &system]).output()?;
    ensure!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    for signal in [Signal::TERM, Signal::KILL] {
        let mut command = tool(&["run", &system, "--on", "bochs"]);
        // No user's window is used.
        command.env("DISPLAY", "nobody:0");
        let mut session = Session::start(command)?;
        session.expect(READY)?;
        let both = children(session.process())?;
        ensure!(both.len() == 2, "{both:?} are not Bochs and its X server");
        let both = both.into_iter().map(Watched::new).collect::<Result<Vec<_>>>()?;
        kill_process(pid(session.process())?, signal)?;
        for process in both {
            ensure!(process.ends()?, "Bochs or its X server goes on after {signal:?}");
        }
    }
    Ok(())
}

fn is_refused(system: &str, image: &Path, emulator: Pid) -> Result<()> {
    let output = tool(&["run", system]).stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let sentence = format!("{} is in use by process {emulator} (`run ", image.display());
    ensure!(
        output.status.code() == Some(1) && said.contains(&sentence),
        "{}: {said}",
        output.status
    );
    ensure!(!said.contains("building"), "it is refused after the build: {said}");
    Ok(())
}

/// What a build has started ends with the tool, too.
fn build() -> Result<()> {
    let (system, _) = system("signals-build")?;
    let cargo = std::path::absolute(Path::new(&system).with_file_name("cargo"))?;
    fs::write(&cargo, "#!/bin/sh\nsleep 1000 &\necho compiler $!.\nwait\n")?;
    fs::set_permissions(&cargo, PermissionsExt::from_mode(0o755))?;
    for signal in [Signal::TERM, Signal::KILL] {
        let mut command = tool(&["run", &system]);
        command.env("CARGO", &cargo);
        let mut session = Session::start(command)?;
        session.expect("compiler ")?;
        let compiler = Watched::new(pid(session.until(".")?.parse()?)?)?;
        kill_process(pid(session.process())?, signal)?;
        ensure!(compiler.ends()?, "the compiler goes on after {signal:?}");
    }
    Ok(())
}
