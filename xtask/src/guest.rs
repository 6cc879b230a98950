// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests that run programs in Linux.

use crate::batch::Batch;
use crate::build::{self, Options};
use crate::emulator::Machine;
use crate::linux::Insert;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A test: its name, and what it does.
pub type Test = (&'static str, fn() -> Result<()>);

/// All of them.
pub const ALL: &[Test] = &[("linux.batch", batch), ("linux.abi", abi)];

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
fn run(command: &str, gets: &[&str], mut inserts: Vec<Insert>, timeout: Duration) -> Result<Outcome> {
    let gets = gets.iter().map(|get| get.parse().map_err(anyhow::Error::msg)).collect::<Result<_>>()?;
    let batch = Batch { command: command.into(), gets, timeout: Some(timeout) };
    inserts.extend(batch.inserts());
    let options = Options { inserts: &inserts, folder: Some("linux-test"), stop: true, ..Options::default() };
    let built = build::plan(Path::new("systems/linux.toml"), options)?.carry_out()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: false, model: None };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = batch.run(&built, machine, &mut out, &mut err)?;
    Ok(Outcome { status, out, err })
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
