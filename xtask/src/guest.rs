// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that run programs in Linux.

use crate::batch::Batch;
use crate::build::{self, Options};
use crate::emulator::Machine;
use crate::linux::Insert;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A test: its name, and what it does.
pub type Test = (&'static str, fn() -> Result<()>);

/// All of them.
pub const ALL: &[Test] = &[("linux.batch", batch), ("linux.abi", abi), ("linux.figures", figures)];

/// The longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run left.
struct Outcome {
    status: u8,
    out: Vec<u8>,
    err: Vec<u8>,
}

fn insert(guest: &str, contents: Vec<u8>) -> Insert {
    Insert { guest: guest.into(), contents, mode: 0o755 }
}

/// Runs a command in Linux on QEMU.
fn run(command: &str, gets: &[&str], inserts: Vec<Insert>, timeout: Duration) -> Result<Outcome> {
    Ok(run_with(command, gets, inserts, timeout, None)?.0)
}

/// The same, counted by the machine model.
fn run_with(
    command: &str,
    gets: &[&str],
    mut inserts: Vec<Insert>,
    timeout: Duration,
    model: Option<&Path>,
) -> Result<(Outcome, Option<PathBuf>)> {
    let gets = gets.iter().map(|get| get.parse().map_err(anyhow::Error::msg)).collect::<Result<_>>()?;
    let batch = Batch { command: command.into(), gets, timeout: Some(timeout) };
    inserts.extend(batch.inserts());
    let options = Options { inserts: &inserts, folder: Some("linux-test"), stop: true, ..Options::default() };
    let built = build::plan(Path::new("systems/linux.toml"), options)?.carry_out()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: model.is_some(), model };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = batch.run(&built, machine, &mut out, &mut err)?;
    let report = built.image.with_file_name("model.json");
    Ok((Outcome { status, out, err }, model.map(|_| report)))
}

fn simple(command: &str) -> Result<Outcome> {
    run(command, &[], Vec::new(), PATIENCE)
}

/// Compiles a test program, statically, for i386.
fn compile(source: &str) -> Result<Vec<u8>> {
    let name = Path::new(source).file_stem().context("a source without a name")?;
    let program = Path::new("target/linux").join(name);
    let mut gcc = Command::new("i686-linux-gnu-gcc");
    gcc.args(["-static", "-O2", "-pthread", "-Wall", "-Wno-unused-result", "-o"]).arg(&program).arg(source);
    build::run(&mut gcc)?;
    Ok(std::fs::read(program)?)
}

/// What programs expect of Linux.
fn abi() -> Result<()> {
    let o = run("abi", &[], vec![insert("/bin/abi", compile("tests/linux/abi.c")?)], PATIENCE)?;
    let out = String::from_utf8_lossy(&o.out);
    let passed = out.lines().filter(|line| line.starts_with("ok ")).count();
    ensure!(o.status == 0, "{} checks failed, {passed} passed:\n{out}", o.status);
    println!("# {passed} checks of what programs expect of Linux");
    Ok(())
}

/// Output apart and byte-exact, exit statuses, files in and out, what happens on failure.
fn batch() -> Result<()> {
    // Bytes that look like frames among others; a generator of which each run has the same.
    let random = (0..1 << 20).scan(1u32, |state, _| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 24) as u8)
    });
    let random: Vec<u8> = random.collect();
    let fetched = Path::new("out/linux-test.fetched");
    let o = run(
        "cat /data/random; echo complaint >&2; cp /data/random /tmp/copy; exit 7",
        &[&format!("/tmp/copy:{}", fetched.display())],
        vec![insert("/data/random", random.clone())],
        PATIENCE,
    )?;
    ensure!(o.out == random, "standard output is not what was written: {} bytes", o.out.len());
    ensure!(o.err == b"complaint\n", "standard error: {:?}", String::from_utf8_lossy(&o.err));
    ensure!(o.status == 7, "exit status {}", o.status);
    ensure!(std::fs::read(fetched).context("nothing was brought out")? == random, "the file that was brought out differs");
    std::fs::remove_file(fetched)?;

    let o = simple("printf '\\0\\4\\0\\0\\0\\0\\0' > /dev/stdout; echo > /dev/macadamia/batch || kill -9 $$")?;
    ensure!(o.status == 137 && o.out == [0, 4, 0, 0, 0, 0, 0], "a forged end: status {}, {:?}", o.status, o.out);
    let o = run("sleep 1000", &[], Vec::new(), Duration::from_secs(5))?;
    ensure!(o.status == 124, "out of time: status {}", o.status);
    let o = simple("echo c > /proc/sysrq-trigger")?;
    ensure!(o.status == 125, "a panic: status {}", o.status);
    ensure!(String::from_utf8_lossy(&o.err).contains("sysrq triggered crash"), "the log was not shown");
    Ok(())
}

/// The operations of `tests/linux/figures.c`, in the order of their intervals, and the
/// most instructions that each may take in all.
const OPERATIONS: [(&str, u64); 10] = [
    ("getpid by int 0x80", 500),
    ("gettimeofday", 1_000),
    ("read 4K", 6_000),
    ("write 4K", 7_000),
    ("pipe round trip", 3_100),
    ("page fault", 5_700),
    ("fork+exit+wait", 240_000),
    ("vfork+exec+wait", 550_000),
    ("ring of 2", 14_500),
    ("ring of 8", 73_000),
];

/// What operations of Linux cost in instructions: program, Linux server, microkernel.
fn figures() -> Result<()> {
    let model = build::model()?;
    let programs = vec![insert("/bin/figures", compile("tests/linux/figures.c")?)];
    let (o, report) = run_with("figures", &[], programs, PATIENCE, Some(&model))?;
    ensure!(o.status == 0, "the program failed: {}{}", String::from_utf8_lossy(&o.out), String::from_utf8_lossy(&o.err));
    let text = std::fs::read_to_string(report.context("no report")?)?;
    let report: model_core::Report = serde_json::from_str(&text)?;
    println!("# operation              total   program    server    kernel  entries  CR3");
    let mut above = Vec::new();
    for (id, (name, most)) in (1..).zip(OPERATIONS) {
        let i = report.intervals.get(&id).with_context(|| format!("{name} was not measured"))?;
        let (user, server, kernel) = (i.user_instructions.median, i.server_instructions.median, i.kernel_instructions.median);
        println!(
            "# {name:20} {:>9} {:>9} {server:>9} {kernel:>9} {:>8} {:>4}",
            user + kernel,
            user - server,
            i.kernel_entries.median,
            i.cr3_writes.median
        );
        if user + kernel > most {
            above.push(format!("{name}: {} instructions, at most {most} are allowed", user + kernel));
        }
    }
    ensure!(above.is_empty(), "{}", above.join("; "));
    Ok(())
}
