// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of `run` with different standard inputs: a pipe that ends, nothing, a terminal that
//! changes its size.

use super::tally::{Test, test};
use crate::build;
use crate::process::session::{PROMPT, Session};
use crate::process::this_tool;
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// All of them.
pub const ALL: &[Test] = &[test("dialogue.pipe", pipe), test("linux.terminal", terminal)];

/// What a script pipes into a system is typed, and the end of it said; so is the end of an input
/// that is none.
fn pipe() -> Result<()> {
    for (system, input, expected) in [
        ("echo", &b"piped\r\r\x143\r"[..], "[first] piped\r\n"),
        ("hello", b"", "[hello] Hello from hello"),
    ] {
        let mut command = Command::new(this_tool());
        command
            .args(["run", system])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().context("no input")?.write_all(input)?;
        let output = child.wait_with_output()?;
        let [out, err] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        ensure!(output.status.success() && out.contains(expected), "{system}: {out}{err}");
        ensure!(
            err.contains("the standard input has ended; the system goes on"),
            "{system} said: {err}"
        );
    }
    Ok(())
}

/// Linux learns how large the terminal is, from the beginning on, and its programs when that
/// changes.
fn terminal() -> Result<()> {
    let tool = this_tool();
    // What builds says nothing for long.
    build::system(Path::new("systems/linux.toml"))?;
    // Another program's terminal has a size that can be given to it.
    let command = format!("stty rows 33 columns 101; tty; exec {} run linux", tool.display());
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]);
    let mut session = Session::start(script)?;
    session.expect("/dev/pts/")?;
    let number = session.until("\n")?;
    session.expect(PROMPT)?;
    session.send(b"stty size\r")?;
    session.expect("\n33 101\n")?;
    session.expect(PROMPT)?;
    session.send(b"sh -c 'trap \"stty size; exit\" WINCH; echo re\"a\"dy; while true; do usleep 10000; done'\r")?;
    session.expect("ready\n")?;
    let resized = Command::new("stty")
        .args(["-F", &format!("/dev/pts/{number}"), "rows", "50", "columns", "132"])
        .status()?;
    ensure!(resized.success(), "stty: {resized}");
    session.expect("50 132\n")?;
    session.expect(PROMPT)?;
    // By hand; a command that makes no sense is said, and ends there.
    session.send(b"\x14s60xy")?;
    session.expect("Ctrl-T s ROWSxCOLUMNS and Enter says how large the terminal is")?;
    session.send(b"\x14s60x200\rstty size\r")?;
    session.expect("\n60 200\n")?;
    session.send(b"poweroff\r")?;
    session.end()
}
