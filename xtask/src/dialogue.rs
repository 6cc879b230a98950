// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that talk to a system: input and focus, the tutorial's output, the kernel
//! debugger, the kernel's last words.

use crate::build::{self, Built, Options};
use crate::session::{BREAK, Session};
use anyhow::{Result, ensure};
use std::path::Path;

/// A test: its name, and what it does.
pub type Dialogue = (&'static str, fn() -> Result<()>);

/// All of them.
pub const ALL: &[Dialogue] = &[
    ("dialogue.boot", boot_checks),
    ("dialogue.focus", focus),
    ("dialogue.tutorial", tutorial),
    ("dialogue.kdb", debugger),
    ("dialogue.panic", last_words),
];

fn built(system: &str, kdb: bool) -> Result<Built> {
    build::plan(&Path::new("systems").join(system).with_extension("toml"), Options { kdb, ..Options::default() })?.carry_out()
}

/// A machine that lacks what the kernel needs is told so.
fn boot_checks() -> Result<()> {
    let hello = built("hello", false)?;
    for (change, sentence) in [
        (Built { cpu: "486".into(), ..hello.clone() }, "this processor lacks what the kernel needs: time-stamp counter (TSC)"),
        (Built { memory: 4, ..hello.clone() }, "too little memory: no free 8 MiB for the kernel"),
    ] {
        let mut session = Session::start(&change)?;
        session.expect(sentence)?;
        session.end()?;
    }
    Ok(())
}

/// Two components read; each gets what was typed while it had the focus.
fn focus() -> Result<()> {
    let mut session = Session::start(&built("echo", false)?)?;
    session.expect("[first] > ")?;
    session.expect("[second] > ")?;
    session.send(b"\x142one\r")?;
    session.expect("[first] one")?;
    session.send(b"\x143two\r")?;
    session.expect("[second] two")?;
    session.send(b"\x14nthree\r")?;
    session.expect("[first] three")?;
    session.send(b"\r\x143\r")?;
    session.end()
}

/// The tutorial's page promises this output.
fn tutorial() -> Result<()> {
    let page = std::fs::read_to_string("docs/tutorial.md")?;
    let mut session = Session::start(&built("tutorial", false)?)?;
    let promised = page.lines().skip_while(|line| *line != "$ ./macadamia run tutorial").skip(1).take_while(|line| *line != "```");
    let promised: Vec<&str> = promised.collect();
    ensure!(promised.len() > 5, "the tutorial shows no output");
    for line in promised {
        session.expect(line)?;
    }
    session.end()
}

/// A break stops the machine; threads, spaces, queues and the last entries can be looked at; it goes on.
fn debugger() -> Result<()> {
    let mut session = Session::start(&built("echo", true)?)?;
    session.expect("[second] > ")?;
    session.send(BREAK)?;
    session.expect("kdb> ")?;
    for (command, expected) in
        [("t\r", "reply"), ("s\r", "capabilities"), ("s\r", "quota"), ("q\r", "top "), ("r\r", "vector"), ("h\r", "ready queues")]
    {
        session.send(command.as_bytes())?;
        session.expect(expected)?;
        session.expect("kdb> ")?;
    }
    session.send(b"g\r")?;
    session.send(b"\x142still here\r")?;
    session.expect("[first] still here")
}

/// A kernel panic names cause and thread and shows the way to it by symbols.
fn last_words() -> Result<()> {
    let mut session = Session::start(&built("echo", true)?)?;
    session.expect("[second] > ")?;
    session.send(BREAK)?;
    session.expect("kdb> ")?;
    session.send(b"k\r")?;
    session.expect("KERNEL PANIC: panicked at kernel/arch/ia32/src/kdb.rs")?;
    session.expect("asked for in the debugger")?;
    session.expect("thread: 0x")?;
    session.expect("backtrace:")?;
    session.expect("kdb::enter")?;
    session.expect("trap::")?;
    session.end()
}
