// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linux at ring 1 in the spaces of its processes: what it must not be able to do, and that it
//! works as well as in a space of its own. In Bochs, which checks segment limits, it runs there by
//! default; in QEMU it is forced.

use super::dialogue::Attacked;
use super::tally::{Check, Test, slow, test};
use super::{dialogue, disk, linux, model, screen, server, suites};
use crate::build::{self, Model};
use crate::emulator::{self, Machine, batch};
use crate::guest::{self, Guest, Outcome, program};
use crate::machine::Emulator;
use crate::machine::spaces::{self, Spaces};
use crate::process::session::PROMPT;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.bochs", on_bochs),
    slow("linux.kselftest.bochs", "the same as `linux.kselftest`, in Bochs", kselftest),
    test("linux.attack.server", server_attacks),
    slow("linux.attack.reported", "as `linux.attack.server`, under the checker", reported_attacks),
    slow("linux.attack.bochs", "the same as `linux.attack`, in Bochs", attacks_on_bochs),
    slow("linux.attack.forced", "the same as `linux.attack`, at ring 1", || {
        forced(|| dialogue::attack_with(false))
    }),
    slow("linux.attack.screen.forced", "the same as `linux.attack.screen`, at ring 1", || {
        forced(screen::taken_over)
    }),
    test("linux.abi.forced", || forced(linux::abi)),
    slow("linux.abi.checked", "as `linux.abi.forced`, under the checker", checked),
    slow("linux.faults.forced", "the same as `linux.faults`, at ring 1", || forced(server::faults)),
    slow("linux.memory.forced", "the same as `linux.memory`, at ring 1", || forced(linux::memory)),
    slow("linux.interrupts.forced", "the same as `linux.interrupts`, at ring 1", || {
        forced(linux::interrupts)
    }),
    slow("linux.reboot.forced", "the same as `linux.reboot`, at ring 1", || {
        forced(dialogue::reboot)
    }),
    slow("linux.two.forced", "the same as `linux.two`, at ring 1", || forced(dialogue::two)),
    slow("linux.disk.forced", "the same as `linux.disk`, at ring 1", || forced(disk::disk_long)),
    slow("linux.two.lives", "hundreds of lives", || forced(lives)),
    slow("linux.busybox.forced", "as `linux.busybox`, at ring 1", || forced(suites::busybox)),
];

/// A check with Linux at ring 1, though nothing there keeps it off the kernel.
fn forced(check: Check) -> Result<()> {
    spaces::with(Spaces::Force, check)
}

/// The last run's console says that Linux was at ring 1; and nobody else had anything wrong.
pub(super) fn at_ring_1() -> Result<String> {
    let log = guest::log()?;
    ensure!(log.contains("linux: ring 1, window 512 MiB"), "Linux was not at ring 1: {log}");
    let wrong = |line: &&str| line.contains(" wrong") && !line.contains(" 0 wrong");
    ensure!(!log.lines().any(|line| wrong(&line)), "somebody else noticed: {log}");
    Ok(log)
}

/// The exact emulator boots Linux, too, at ring 1, and runs the checks that do not measure time.
fn on_bochs() -> Result<()> {
    let inserts = vec![program("abi")?];
    let checks = "int80 registers sysenter vdso exceptions write_barrier sse_exceptions fpu_frames x87 fpu_fork threads processes copy_on_write file_mappings \
                  debugging futexes signals proc";
    let command = format!("for check in {checks}; do abi $check || exit 1; done");
    let o = Guest {
        on: Emulator::Bochs,
        inserts,
        timeout: Duration::from_secs(90),
        ..Guest::default()
    }
    .succeed(&command)?;
    ensure!(!o.text().contains("# no SSE exceptions\n"), "Bochs raises none");
    // Segment limits hold there: nobody has to ask for it.
    at_ring_1()?;
    Ok(())
}

/// The kernel's own tests, too.
fn kselftest() -> Result<()> {
    suites::kselftest_on_bochs()?;
    at_ring_1().map(|_| ())
}

/// The program that enters Linux in all ways, with Linux looking at what it can load then.
const WAYS: &str = "echo watch > /dev/macadamia/server-attacks && ways && echo ways > /dev/macadamia/server-attacks && \
                    cat /dev/macadamia/server-attacks";

/// Kinds of events that a program must have had, as `linux/x86/os-L4/server_attacks.c` numbers
/// them: exceptions, `int`, `sysenter`, interrupts.
const EVENTS: [u32; 9] = [0, 1, 3, 6, 13, 14, 32, 33, 34];

/// An attack that succeeded, as Linux says it.
#[derive(Debug)]
struct Success<'a> {
    what: &'a str,
    address: u32,
    /// What the segment register was loaded with for it, or 0.
    selector: u16,
}

fn successes(text: &str) -> Result<Vec<Success<'_>>> {
    let parse = |line| {
        let (what, place) = str::split_once(line, " at ")?;
        let (address, selector) = place.split_once(" by selector ")?;
        let (address, selector) =
            (u32::from_str_radix(address, 16).ok()?, u16::from_str_radix(selector, 16).ok()?);
        Some(Success { what, address, selector })
    };
    text.lines()
        .filter_map(|line| line.strip_prefix("succeeded: "))
        .map(|line| parse(line).context("no such line"))
        .collect()
}

/// Lets Linux try groups of attacks, then enter itself in all ways. Each group must have been
/// tried.
fn attacked(guest: Guest<'_>, groups: &str) -> Result<Outcome> {
    let each = "echo $group > /dev/macadamia/server-attacks && cat /dev/macadamia/server-attacks || exit 1";
    let inserts = vec![program("ways")?];
    let guest = Guest {
        system: "tests/systems/linux-server-attacks.toml",
        inserts,
        timeout: Duration::from_secs(240),
        ..guest
    };
    let o = guest.succeed(&format!("for group in {groups}; do {each}; done; {WAYS}"))?;
    let text = o.text();
    for group in groups.split_whitespace().chain(["ways"]) {
        let line = text.lines().find_map(|line| line.strip_prefix(group)?.strip_prefix(": "));
        let line = line.with_context(|| format!("no {group} in: {text}"))?;
        println!("# {group}: {line}");
        ensure!(!line.starts_with("0 attempts"), "{group} tried nothing");
    }
    for event in EVENTS {
        ensure!(
            text.contains(&format!("\nevents {event}: ")),
            "a program had no event of kind {event}: {text}"
        );
    }
    Ok(o)
}

/// A Linux at ring 1 that was taken over, where limits hold: nothing that it tries succeeds, and it
/// gets the exceptions.
fn server_attacks() -> Result<()> {
    let groups = "segments execution strings privileged flags interrupts system-calls frames far-jumps ports selectors";
    let o = attacked(Guest { on: Emulator::Bochs, ..Guest::default() }, groups)?;
    ensure!(successes(&o.text())?.is_empty(), "attacks succeeded: {}", o.text());
    let log = at_ring_1()?;
    ensure!(
        log.contains("server-attacks: segment limits are checked"),
        "limits do not hold: {log}"
    );
    Ok(())
}

/// The same where limits do not hold: what succeeds is seen by the machine model, each at its
/// address and as Linux's; and what depends on no limit fails there, too.
fn reported_attacks() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    let guest = || Guest { model: Some(&model), ..Guest::default() };
    let o = spaces::with(Spaces::Force, || {
        attacked(
            guest(),
            "segments execution strings privileged flags interrupts system-calls frames",
        )
    })?;
    let log = at_ring_1()?;
    ensure!(log.contains("server-attacks: segment limits are not checked"), "limits hold: {log}");
    let (text, report) = (o.text(), o.report.context("no report")?);
    let beyond = model_core::Rule::BeyondLimit.to_string();
    let (found, other): (Vec<_>, Vec<_>) = report.violations.iter().partition(|v| v.rule == beyond);
    ensure!(other.is_empty() && report.further_violations == 0, "found besides: {other:?}");
    ensure!(found.iter().all(|v| v.owner == "server"), "not Linux's: {found:?}");
    let found: BTreeSet<(&str, &str)> = found
        .iter()
        .map(|v| (v.address.as_str(), v.segment.as_deref().unwrap_or("unknown")))
        .collect();
    let successes = successes(&text)?;
    for kind in ["read by FS", "write by SS", "read by CS", "call", "rep movsd", "push", "sysenter"]
    {
        ensure!(
            successes.iter().any(|success| success.what == kind),
            "no {kind} succeeded: {text}"
        );
    }
    for Success { what, address, selector } in &successes {
        ensure!(*address >= abi::USER_END - 3, "{what} at {address:#x} succeeded");
        let address = format!("{:#010x}", address.max(&abi::USER_END));
        // What an attack does not say may be any, but it must be known.
        let register = what.split_once(" by ").map_or("", |(_, register)| register);
        let selector = if *selector == 0 { String::new() } else { format!("{selector:#06x}") };
        let is_it = |segment: &str| {
            segment.starts_with(register) && segment.ends_with(&selector) && segment != "unknown"
        };
        let reported = found.iter().any(|(at, segment)| *at == address && is_it(segment));
        ensure!(reported, "not reported: {what} at {address} by {selector}; reported: {found:?}");
    }
    println!(
        "# {} attacks succeeded, at {} addresses; all were reported",
        successes.len(),
        found.len()
    );
    Ok(())
}

/// Linux servers that were taken over, each at ring 1: as `linux.attack`.
fn attacks_on_bochs() -> Result<()> {
    let built = build::system(Path::new("tests/systems/linux-attack.toml"))?;
    let transcript =
        batch(&built, Machine::Bochs { cpu: None, window: None }, Duration::from_secs(300))?;
    let console = transcript.console;
    ensure!(transcript.ended, "the system did not end: {console}");
    ensure!(
        console.contains("calls: ring 1, window 512 MiB"),
        "Linux was not at ring 1: {console}"
    );
    let mut attacked = Attacked::new(true)?;
    console.lines().try_for_each(|line| attacked.hear(line))?;
    ensure!(attacked.is_done(), "something was not said: {console}");
    Ok(())
}

/// Linux boots and does what programs expect of it, and the model finds nothing wrong.
fn checked() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    let guest = Guest {
        inserts: vec![program("abi")?],
        model: Some(&model),
        timeout: Duration::from_secs(240),
        ..Guest::default()
    };
    let o = spaces::with(Spaces::Force, || guest.succeed("abi"))?;
    at_ring_1()?;
    model::clean(&o.report.context("no report")?)
}

/// How a Linux ends, and what is said of that.
const ENDS: [(&str, &str); 6] = [
    ("echo null > /dev/macadamia/crash-test", " ended with code 125"),
    ("echo thread > /dev/macadamia/crash-test", " died: access to memory that it does not have"),
    ("echo stack > /dev/macadamia/crash-test", " ended with code 125"),
    (
        "echo twice > /dev/macadamia/crash-test; echo bug > /dev/macadamia/crash-test",
        " died: access to memory that it does not have",
    ),
    ("echo c > /proc/sysrq-trigger", " ended with code 125"),
    ("reboot -f", " ended with code"),
];
/// How often each of two ends.
const LIVES: usize = 500;

/// Makes and ends processes, which tell each other what is checked.
const BUSY: &str = "(while [ $(seq 300 | sort -n | tail -n 1) = 300 ]; do echo >> /tmp/rounds; done; touch /tmp/wrong) &";
/// Whether that went on since it was asked last.
const STEADY: &str = "n=$(wc -l < /tmp/rounds); [ ! -e /tmp/wrong ] && [ $n -gt ${last:-0} ] && echo st'ead'y; last=$n";

/// Two Linux servers end in turn, again and again, and are started again. Processes of both run all
/// the time: the other one does not notice, and the kernel has all of its memory back each time, as
/// the root server says otherwise.
fn lives() -> Result<()> {
    let mut session =
        emulator::session(&build::system(Path::new("tests/systems/linux-lives.toml"))?)?;
    session.expect_all(&["one: ring 1, window 512 MiB", "two: ring 1, window 512 MiB", PROMPT])?;
    let both = [(3, "one"), (4, "two")];
    for (number, name) in both {
        session.shell(number, name)?;
        session.send(format!("{BUSY}\r").as_bytes())?;
        session.expect(PROMPT)?;
    }
    for life in 0..2 * LIVES {
        let ((number, name), (other, witness)) = (both[life % 2], both[(life + 1) % 2]);
        let (command, end) = ENDS[life / 2 % ENDS.len()];
        session.shell(number, name)?;
        session.send(format!("{command}\r").as_bytes())?;
        session.expect(&format!("`{name}`{end}"))?;
        session.expect("Linux version")?;
        session.expect(PROMPT)?;
        session.send(format!("{BUSY}\r").as_bytes())?;
        session.expect(PROMPT)?;
        session.shell(other, witness)?;
        session.send(format!("{STEADY}\r").as_bytes())?;
        session.expect("\nsteady\n")?;
        session.expect(PROMPT)?;
        ensure!(
            !session.transcript.contains("still charged"),
            "the kernel lost memory: {}",
            session.transcript
        );
    }
    Ok(())
}
