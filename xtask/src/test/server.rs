// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the Linux server itself: its faults, its layout, what it keeps, an old processor.

use super::tally::{Test, slow, test};
use crate::build;
use crate::emulator;
use crate::guest::{self, Guest, insert, program};
use crate::linux::server::expected;
use crate::machine::board;
use crate::machine::processor::Expected;
use crate::machine::spaces::{self, Spaces};
use crate::process::session::{PROMPT, Session};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// All of them.
pub const ALL: &[Test] = &[
    test("linux.faults", faults),
    slow("linux.walk", "minutes: each table of each process is compared", walk),
    test("linux.starved", starved),
    test("linux.share", share),
    test("linux.results", results),
    slow("linux.layout", "it builds another Linux", layout),
    slow("linux.windows", "it builds two other Linuxes", windows),
    test("linux.reuse", reuse),
    test("linux.no_fxsave", no_fxsave),
];

/// For seconds of the machine's own time, an instruction a nanosecond, on a host that is busy.
const LONG: Duration = Duration::from_secs(600);

/// A fault of Linux itself is its own panic, with registers and a call trace; it is started again,
/// and another Linux does not notice. A fault of the panic, or of another thread, ends it, too.
pub(super) fn faults() -> Result<()> {
    let mut session =
        emulator::session(&build::system(Path::new("tests/systems/linux-faults.toml"))?)?;
    session.expect(PROMPT)?;
    session.shell(4, "two")?;
    session.send(b"while [ ! -e /tmp/stop ]; do usleep 10000; done &\r")?;
    session.expect(PROMPT)?;
    session.shell(3, "one")?;
    let all = [
        (
            "null",
            &["BUG: page fault: read at 0", "0000008, nothing is there", "At crash_null+"][..],
        ),
        ("jump", &["BUG: page fault: execution at 0", "0000000, nothing is there", "At 0x0,"]),
        ("text", &["BUG: page fault: write at ", ", not allowed", "At crash_text+"]),
        ("stack", &["BUG: stack overflow: the guard page of [", "crash_stack"]),
    ];
    let &Expected { crashes, register, .. } = expected()?;
    for (how, lines) in all.iter().chain(crashes) {
        crash(&mut session, how)?;
        for line in *lines {
            session.expect(line)?;
        }
        session.expect(register)?;
        session.expect("Call Trace:\n")?;
        session.expect(if *how == "stack" { "crash_stack" } else { "crash_write+" })?;
        session.expect("Kernel panic - not syncing: Fault of the kernel: ")?;
        again(&mut session, "`one` ended with code 125")?;
    }
    crash(&mut session, "bug")?;
    session.expect("BUG: failure at arch/um/os-L4/tests/crash_test.c:")?;
    session.expect("Call Trace:\n")?;
    session.expect("crash_write")?;
    again(&mut session, "`one` ended with code 125")?;

    crash(&mut session, "thread")?;
    again(&mut session, "`one` died: access to memory that it does not have")?;

    crash(&mut session, "twice")?;
    session.expect(PROMPT)?;
    crash(&mut session, "null")?;
    session.expect("Kernel panic - not syncing: Fault of the kernel: ")?;
    again(&mut session, "`one` died: access to memory that it does not have")?;

    session.send(b"poweroff -f\r")?;
    session.expect("Power down")?;
    session.focus(4, "two")?;
    session.send(b"touch /tmp/stop; wait; echo wit'ness'\r")?;
    session.expect("witness")?;
    session.expect(PROMPT)?;
    session.send(b"poweroff -f\r")?;
    session.end()
}

fn crash(session: &mut Session, how: &str) -> Result<()> {
    session.send(format!("echo {how} > /dev/macadamia/crash-test\r").as_bytes())?;
    session.expect("/dev/macadamia/crash-test\n")
}

/// Waits for the root server's word and for a new life.
fn again(session: &mut Session, word: &str) -> Result<()> {
    session.expect(word)?;
    session.expect("Linux version")?;
    session.expect(PROMPT)
}

const WALK: &str = "tests/systems/linux-walk.toml";
const POOR: &str = "tests/systems/linux-walk-reclaim.toml";

/// The description of a system with little memory for page tables, with this quota.
fn poor(quota: &str) -> Result<PathBuf> {
    const ITS_QUOTA: &str = "quota = \"1448K\"";
    let text = std::fs::read_to_string(POOR)?;
    ensure!(text.contains(ITS_QUOTA), "{POOR} has not {ITS_QUOTA}");
    let folder = board::chosen().out();
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(Path::new(POOR).file_name().unwrap_or_default());
    std::fs::write(&path, text.replace(ITS_QUOTA, &format!("quota = \"{quota}\"")))?;
    Ok(path)
}

/// Page tables that the microkernel has are those of Linux, whatever programs do to them; and each
/// way in which they could be others is noticed.
pub(super) fn walk() -> Result<()> {
    let (quota, least) = expected()?.reclaims;
    let (poor, inserts) = (poor(quota)?, vec![program("abi")?, program("maps")?]);
    let guest = |system| Guest {
        system,
        inserts: inserts.clone(),
        own_time: true,
        timeout: LONG,
        ..Guest::default()
    };
    let compared = |system, command: &str| -> Result<[u64; 5]> {
        let o =
            guest(system).run(&format!("{command}; cat /proc/macadamia-walk /proc/macadamia"))?;
        let text = o.text();
        ensure!(o.status == 0, "{}", o.said());
        let mut counts = [0; 5];
        for (count, name) in counts.iter_mut().zip(["walks", "pages", "mapped", "own", "reclaims"])
        {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .with_context(|| format!("no {name} in: {text}"))?;
            *count = line.trim().parse()?;
        }
        let [walks, pages, mapped, own, reclaims] = counts;
        println!(
            "# {walks} times all of a process compared: {pages} pages, of which the microkernel had {mapped}, and {own}"
        );
        println!("# of Linux's own; tables of a process reclaimed {reclaims} times");
        ensure!(walks > 100 && mapped > 10_000 && pages > 5 * mapped && own > 10 * walks, "{text}");
        Ok(counts)
    };
    let checks = "exceptions threads processes copy_on_write file_mappings debugging signals proc";
    compared(
        WALK,
        &format!(
            "maps || exit 1; for check in {checks}; do abi $check || exit 1; done; \
             for i in 1 2 3 4 5 6 7 8; do ls -l /proc /bin | sort | grep -c i & done; wait"
        ),
    )?;
    // More page tables than the microkernel has memory for.
    let [.., reclaims] = compared(
        poor.to_str().context("a plain path")?,
        "sleep 1000 & for i in 1 2 3; do maps 80 || exit 1; ls -l /proc | sort | grep -c i; done; kill $!",
    )?;
    ensure!(reclaims > least, "tables were reclaimed {reclaims} times");
    for how in ["page", "rights", "gone", "left", "kept", "own"] {
        let o = guest(WALK)
            .run(&format!("echo entry-{how} > /dev/macadamia/crash-test; sleep 1; sleep 1"))?;
        let said = String::from_utf8_lossy(&o.err);
        ensure!(
            o.status == 125 && said.contains("Kernel panic - not syncing: walk: "),
            "{how}: status {}: {said}",
            o.status
        );
    }
    Ok(())
}

/// Somebody between Linux and the thread that forces interrupts on it computes for 3 s, while Linux
/// would: the interrupts of that time are one when it is over. Everything is the machine's own
/// time.
fn starved() -> Result<()> {
    let command = "while :; do :; done & exec 3<> /dev/macadamia/hog; printf 3000 >&3; head -n 1 <&3; kill $!; usleep 100000; echo alive";
    let guest = Guest {
        system: "tests/systems/linux-starved.toml",
        own_time: true,
        timeout: LONG,
        ..Guest::default()
    };
    let o = guest.run(command)?;
    ensure!(o.status == 0 && o.text() == "done\nalive\n", "{}", o.said());
    Ok(())
}

/// In an `/etc/rc`: what a Linux that runs no command for us does to the results of the one that
/// does.
const FORGE: &str = "/bin/busybox --install -s\nmount -t proc proc /proc\nmount -t tmpfs tmpfs /tmp\n\
                     [ ! -e /run/batch/command ] || . /etc/batch.sh\n\
                     exec 9> /dev/macadamia/batch\ntouch /tmp/nothing\n\
                     echo forged > /dev/macadamia/stdout\nwhile :; do printf 'run /tmp/nothing' >&9; done\n";

/// Of two Linux servers only the one that runs the command says how it ended.
fn results() -> Result<()> {
    let guest = || Guest {
        system: "systems/two-linuxes.toml",
        inserts: vec![insert("/etc/rc", FORGE.into())],
        ..Guest::default()
    };
    let o = guest().run("sleep 2; echo mine; exit 42")?;
    ensure!(o.status == 42 && o.text() == "mine\n", "{}", o.said());
    Ok(())
}

/// How late a beat of 100 ms may be, in milliseconds: a slice of 10 ms for each of the threads that
/// spin, for Linux itself, and for what else a beat takes.
const LATEST: u64 = 100;

/// A Linux that was taken over spins in its kernel, in a program and in threads at the highest
/// priority that it may give, some by alarms. Another one keeps its rhythm, by the machine's own
/// time.
fn share() -> Result<()> {
    let spin = insert("/bin/spin", "#!/bin/busybox sh\nwhile :; do :; done\n".into());
    let inserts = vec![program("rhythm")?, spin];
    let guest = Guest {
        system: "tests/systems/linux-share.toml",
        inserts,
        own_time: true,
        timeout: LONG,
        ..Guest::default()
    };
    let o = guest.run("rhythm")?;
    let text = o.text();
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [beats, latest, share] = numbers[..] else { anyhow::bail!("{}", o.said()) };
    println!(
        "# beside a Linux that spins: {beats} beats, the latest by {latest} ms; {share} % of the time for a program that computes"
    );
    ensure!(beats == 20 && latest < LATEST && share >= 10, "{text}");
    Ok(())
}

/// Another window, RAM and vmalloc within 128 MiB of it:
/// what programs expect holds there, too.
fn layout() -> Result<()> {
    let inserts = vec![program("abi")?];
    let o = Guest {
        system: "tests/systems/linux-small.toml",
        inserts,
        own_time: true,
        ..Guest::default()
    }
    .run("abi && tail -n 1 /proc/self/maps && grep VmallocTotal /proc/meminfo")?;
    let text = o.text();
    ensure!(o.status == 0, "{}", o.said());
    let vdso = text
        .lines()
        .find(|line| line.ends_with("[vdso]"))
        .context("the last mapping is no vDSO")?;
    let end = vdso
        .split(['-', ' '])
        .nth(1)
        .and_then(|end| u32::from_str_radix(end, 16).ok())
        .context("no mapping")?;
    // It lies after the stack, both at random, below the end of user processes.
    ensure!(
        (0x9e00_0000..=0xa000_0000).contains(&end),
        "no vDSO at the end of user processes: {text}"
    );
    let total = text
        .split_whitespace()
        .rev()
        .nth(1)
        .and_then(|word| word.parse::<u32>().ok())
        .context("no size of vmalloc")?;
    println!("# vmalloc has {total} KiB");
    ensure!((32 << 10..76 << 10).contains(&total), "vmalloc has {total} KiB");
    Ok(())
}

/// A Linux has more than so many MiB of RAM, and a file in memory takes three quarters of these.
/// Returns where the last mapping of a process ends.
fn fill(system: &str, how: Spaces, least: u32) -> Result<u64> {
    let fill = format!(
        "mount -o remount,size={least}m /tmp 2> /dev/null || mount -t tmpfs -o size={least}m none /tmp"
    );
    let command = format!(
        "grep MemTotal /proc/meminfo && grep vdso /proc/self/maps && {fill} && dd if=/dev/zero of=/tmp/most bs=1M count={} 2> /dev/null && \
         wc -c < /tmp/most",
        least * 3 / 4
    );
    let guest = Guest { system, own_time: true, timeout: LONG, ..Guest::default() };
    let o = spaces::with(how, || guest.succeed(&command))?;
    let text = o.text();
    let lines: Vec<&str> = text.lines().collect();
    let [total, vdso, bytes] = lines[..] else { anyhow::bail!("{text}") };
    let total = total
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse::<u32>().ok())
        .context("no size of memory")?
        >> 10;
    let top = vdso
        .split(['-', ' '])
        .nth(1)
        .and_then(|end| u64::from_str_radix(end, 16).ok())
        .context("no mapping")?;
    println!("# {total} MiB of RAM, processes up to {top:#x}");
    ensure!(total > least, "{total} MiB of RAM, not {least}");
    ensure!(
        bytes.trim().parse() == Ok(u64::from(least * 3 / 4) << 20),
        "the file in memory has {bytes} bytes"
    );
    Ok(top)
}

/// Most of what a window of x86-64 has room for, in memory above 4 GiB, in a space of its own and in
/// those of the processes.
pub(super) fn most_ram() -> Result<()> {
    for how in [Spaces::Large, Spaces::Force] {
        fill("tests/linux/linux-3g.toml", how, 2900)?;
    }
    Ok(())
}

/// Windows of other sizes, each with more RAM than a smaller one has room for, in a space of its
/// own and in those of the processes: these have the addresses below, and Linux can use its memory.
fn windows() -> Result<()> {
    let sizes = [
        ("tests/systems/linux-1g.toml", 1024, 0xa000_0000_u64, 600),
        ("tests/systems/linux-2g.toml", 2048, 0x6000_0000, 900),
    ];
    for (system, window, end, least) in sizes {
        for how in [Spaces::Large, Spaces::Force] {
            println!("# window of {window} MiB, {how:?}");
            let top = fill(system, how, least)?;
            ensure!(
                (end - (32 << 20)..=end).contains(&top),
                "no vDSO at the end of user processes, but at {top:#x}"
            );
            let said = guest::log()?;
            let expected = match how {
                Spaces::Large => {
                    "linux: large, as this machine does not check segment limits".into()
                }
                _ => format!("linux: ring 1, window {window} MiB"),
            };
            ensure!(said.contains(&expected), "the root server did not say `{expected}`: {said}");
        }
    }
    Ok(())
}

/// A processor without `fxsave`: programs keep their FPU state, signal frames and debuggers have
/// it.
fn no_fxsave() -> Result<()> {
    let inserts = vec![program("abi")?];
    let o = Guest { cpu: Some("pentium2,-fxsr"), inserts, own_time: true, ..Guest::default() }
        .succeed("abi")?;
    ensure!(o.text().contains("# no fxsave\n"), "this processor has fxsave");
    Ok(())
}

/// Intervals of `tests/linux/figures.c`.
const PROCESSES: [(u16, &str); 2] = [(7, "fork+exit+wait"), (8, "vfork+exec+wait")];

/// What it saves to use spaces and threads of dead processes again, in instructions.
fn reuse() -> Result<()> {
    let model = build::model()?;
    let program = program("figures")?;
    let report = |system| -> Result<model_core::Report> {
        let o = Guest {
            system,
            inserts: vec![program.clone()],
            model: Some(&model),
            ..Guest::default()
        }
        .succeed("figures")?;
        o.report.context("no report")
    };
    let (with, without) =
        (report("systems/linux.toml")?, report("tests/systems/linux-noreuse.toml")?);
    for (id, name) in PROCESSES {
        let total = |report: &model_core::Report| {
            let interval =
                report.intervals.get(&id).with_context(|| format!("{name} was not measured"))?;
            anyhow::Ok(interval.user_instructions.median + interval.kernel_instructions.median)
        };
        let (with, without) = (total(&with)?, total(&without)?);
        println!(
            "# {name}: {with} instructions, {without} without reuse ({:+.1} %)",
            100.0 * (without as f64 / with as f64 - 1.0)
        );
        ensure!(with < without, "{name}: reuse costs more");
    }
    Ok(())
}
