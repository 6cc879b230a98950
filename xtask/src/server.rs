// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the Linux server itself: what its own faults do.

use crate::build;
use crate::guest::Test;
use crate::session::Session;
use anyhow::Result;
use std::path::Path;

/// All of them.
pub const ALL: &[Test] = &[("linux.faults", faults)];

/// The prompt of Linux's shell.
const PROMPT: &str = "/root # ";

/// A fault of Linux itself is its own panic, with registers and a call trace; it is started again, and
/// another Linux does not notice. A fault of the panic ends it, too.
fn faults() -> Result<()> {
    let mut session = Session::start(&build::system(Path::new("tests/systems/linux-provoke.toml"))?)?;
    session.expect(PROMPT)?;
    session.send(b"\x144")?;
    session.expect("input goes to two")?;
    session.send(b"\r")?;
    session.expect(PROMPT)?;
    session.send(b"while [ ! -e /tmp/stop ]; do usleep 10000; done &\r")?;
    session.expect(PROMPT)?;
    session.send(b"\x143")?;
    session.expect("input goes to one")?;
    session.send(b"\r")?;
    session.expect(PROMPT)?;
    for (how, lines) in [
        ("null", &["BUG: page fault: read at 00000008, nothing is there", "At provoke_null+"][..]),
        ("jump", &["BUG: page fault: execution at 00000000, nothing is there", "At 0x0,"]),
        ("text", &["BUG: page fault: write at ", ", not allowed", "At provoke_text+"]),
        ("stack", &["BUG: stack overflow: the guard page of [", "At provoke_stack"]),
        ("divide", &["BUG: divide error: exception 0, error code 0000", "At provoke_divide+"]),
        ("invalid", &["BUG: invalid opcode: exception 6, error code 0000", "At provoke_invalid+"]),
    ] {
        provoke(&mut session, how)?;
        for line in lines {
            session.expect(line)?;
        }
        session.expect("EAX: ")?;
        session.expect("Call Trace:\n")?;
        session.expect(if how == "stack" { "provoke_stack" } else { "provoke_write+" })?;
        session.expect("Kernel panic - not syncing: Fault of the kernel: ")?;
        again(&mut session, "`one` ended with code 125")?;
    }
    provoke(&mut session, "bug")?;
    session.expect("BUG: failure at arch/um/os-L4/provoke.c:")?;
    session.expect("Call Trace:\n")?;
    session.expect("provoke_write")?;
    again(&mut session, "`one` ended with code 125")?;

    provoke(&mut session, "twice")?;
    session.expect(PROMPT)?;
    provoke(&mut session, "null")?;
    session.expect("Kernel panic - not syncing: Fault of the kernel: ")?;
    again(&mut session, "`one` died: access to memory that it does not have")?;

    session.send(b"poweroff -f\r")?;
    session.expect("Power down")?;
    session.send(b"\x144")?;
    session.expect("input goes to two")?;
    session.send(b"touch /tmp/stop; wait; echo wit'ness'\r")?;
    session.expect("witness")?;
    session.expect(PROMPT)?;
    session.send(b"poweroff -f\r")?;
    session.end()
}

fn provoke(session: &mut Session, how: &str) -> Result<()> {
    session.send(format!("echo {how} > /dev/macadamia/provoke\r").as_bytes())?;
    session.expect("/dev/macadamia/provoke\n")
}

/// Waits for the root server's word and for a new life.
fn again(session: &mut Session, word: &str) -> Result<()> {
    session.expect(word)?;
    session.expect("Linux version")?;
    session.expect(PROMPT)
}
