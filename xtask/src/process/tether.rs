// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that end when this process ends, even if it is killed by a signal that it cannot
//! handle.
//!
//! Between this process and such a program is this same tool, started again (`/proc/self/exe`). For
//! a single program, it asks the kernel to be terminated when its parent ends, and then becomes
//! that program, which keeps this request (`PR_SET_PDEATHSIG`). For a build, which has children of
//! its own, it gives them a process group, waits for the build and for the parent, and terminates
//! the group when the parent ends.

use super::lock::{self, Lock};
use super::{complete, tool_failed};
use anyhow::{Context, Result, ensure};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getppid, kill_process_group, pidfd_open,
    set_parent_process_death_signal,
};
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode};

/// This tool, whatever became of its file.
const TOOL: &str = "/proc/self/exe";
/// The first argument of a tool that stands between. No command is called so.
const ONE: &str = "--tether";
const GROUP: &str = "--tether-group";
/// Before each file of which the program is to have the lock, and before the program.
const LOCK: &str = "--lock";
const END: &str = "--";

/// The exit status of a shell whose command cannot be started.
const CANNOT_START: u8 = 127;

/// The same program, which ends when this process does, and while it runs has the locks of these
/// files. What its standard streams are is for the caller to say. The thread that starts it must
/// not end before it.
pub fn tethered(command: &Command, locks: &[PathBuf]) -> Command {
    between(ONE, command, locks)
}

/// The same of a program that starts others: they all end.
pub fn group(command: &Command) -> Command {
    between(GROUP, command, &[])
}

fn between(kind: &str, command: &Command, locks: &[PathBuf]) -> Command {
    let mut tool = Command::new(TOOL);
    tool.arg(kind).arg(std::process::id().to_string()).arg(lock::asked());
    for lock in locks {
        tool.arg(LOCK).arg(lock);
    }
    tool.arg(END).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tool.env(name, value),
            None => tool.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        tool.current_dir(folder);
    }
    tool
}

/// Runs a program that may start others to its end; an error names it.
pub fn run_group(command: &Command) -> Result<()> {
    complete(command.get_program(), &mut group(command))
}

/// Stands between if that is what this process was started for; returns at its end with its exit
/// status.
pub fn stand_between() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let kind = arguments.next().filter(|kind| kind == ONE || kind == GROUP)?;
    let result = Order::read(arguments)
        .and_then(|order| if kind == ONE { order.become_it() } else { order.watch() });
    Some(result.unwrap_or_else(|error| {
        eprintln!("macadamia: {error:#}");
        ExitCode::from(CANNOT_START)
    }))
}

/// What to start, and for which process.
struct Order {
    parent: Pid,
    /// What that was asked to do.
    asked: String,
    locks: Vec<PathBuf>,
    program: OsString,
    arguments: Vec<OsString>,
}

impl Order {
    fn read(mut words: impl Iterator<Item = OsString>) -> Result<Self> {
        let parent = words
            .next()
            .and_then(|word| Pid::from_raw(word.to_str()?.parse().ok()?))
            .context("a process is to be named")?;
        let asked = words.next().context("a reason is to be given")?.to_string_lossy().into_owned();
        let mut locks = Vec::new();
        while words.next().is_some_and(|word| word == LOCK) {
            locks.extend(words.next().map(PathBuf::from));
        }
        Ok(Self {
            parent,
            asked,
            locks,
            program: words.next().context("a program is to be named")?,
            arguments: words.collect(),
        })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Whether there is still somebody to work for: who ended before the kernel was asked is not
    /// reported.
    fn is_wanted(&self) -> bool {
        getppid() == Some(self.parent)
    }

    fn become_it(&self) -> Result<ExitCode> {
        set_parent_process_death_signal(Some(Signal::TERM))
            .context("the kernel does not end a process with its parent")?;
        ensure!(
            self.is_wanted(),
            "the process that asked for {} has ended",
            self.program.display()
        );
        let locks = self
            .locks
            .iter()
            .map(|file| Lock::try_of(file, &self.asked)?.map_err(lock::refusal))
            .collect::<Result<Vec<_>>>()?;
        locks.into_iter().try_for_each(Lock::hand_on)?;
        let error = self.command().exec();
        Err(error).with_context(|| tool_failed(&self.program))
    }

    fn watch(&self) -> Result<ExitCode> {
        let parent =
            pidfd_open(self.parent, PidfdFlags::empty()).context("the parent cannot be watched")?;
        ensure!(
            self.is_wanted(),
            "the process that asked for {} has ended",
            self.program.display()
        );
        let mut child =
            self.command().process_group(0).spawn().with_context(|| tool_failed(&self.program))?;
        let id = Pid::from_child(&child);
        let ended = pidfd_open(id, PidfdFlags::empty()).context("the program cannot be watched")?;
        let mut both = [PollFd::new(&parent, PollFlags::IN), PollFd::new(&ended, PollFlags::IN)];
        while let Err(error) = poll(&mut both, None) {
            ensure!(error == rustix::io::Errno::INTR, "the program cannot be waited for: {error}");
        }
        if both[1].revents().is_empty() {
            // The group may have ended by itself meanwhile.
            let _ = kill_process_group(id, Signal::TERM);
        }
        status(&mut child)
    }
}

/// The exit status of a program, as a shell has it.
fn status(child: &mut Child) -> Result<ExitCode> {
    let status = child.wait()?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(ExitCode::from(code as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn what_is_asked_for_arrives() {
        let mut command = Command::new("program");
        command.args(["--lock", "--", "x"]).env("A", "b").env_remove("C").current_dir("/tmp");
        let tool = tethered(&command, &["one".into(), "two".into()]);
        assert_eq!(tool.get_envs().count(), 2);
        assert_eq!(tool.get_current_dir(), command.get_current_dir());
        let order =
            Order::read(tool.get_args().skip(1).map(OsStr::to_os_string)).expect("an order");
        assert_eq!(order.parent.as_raw_nonzero().get().unsigned_abs(), std::process::id());
        assert_eq!(order.locks, [PathBuf::from("one"), "two".into()]);
        assert_eq!(order.program, "program");
        assert_eq!(order.arguments, ["--lock", "--", "x"]);
    }
}
