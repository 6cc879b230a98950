// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the PowerPC board: Linux, more RAM than the kernel uses, and boot words by which the
//! kernel does something in another way, or what otherwise happens only after a long time.

use super::tally::{Test, on_amigaone, slow, test};
use super::{arm, dialogue, disk, land, linux, net, reload, server};
use crate::build::{self, Options, Seed};
use crate::description::Interface;
use crate::emulator::{Machine, Transcript, batch};
use crate::machine::network::Nic;
use crate::machine::{board, words};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("amigaone.large-memory", || on_amigaone(large_memory)),
    test("amigaone.kdb", || on_amigaone(|| dialogue::debugger_with("zombies taken out: "))),
    slow("amigaone.linux.batch", "`linux.batch` is the PC's", || on_amigaone(linux::batch)),
    test("amigaone.linux.abi", || on_amigaone(arm::abi)),
    slow("amigaone.linux.abi.603e", "`amigaone.linux.abi` on the other processor", || {
        on_amigaone(|| arm::abi_on(Some("603e")).map(drop))
    }),
    slow("amigaone.linux.programs", "`amigaone.linux.abi` is a boot, too", || {
        on_amigaone(arm::programs)
    }),
    slow("amigaone.linux.land", "it builds programs of Debian's source", || on_amigaone(land::all)),
    slow("amigaone.linux.compiler", "it builds a compiler of Debian's source", || {
        on_amigaone(land::compiler)
    }),
    slow("amigaone.linux.attack", "minutes; `linux.attack` is the PC's", || {
        on_amigaone(dialogue::attack)
    }),
    slow("amigaone.linux.faults", "`linux.faults` is the PC's", || on_amigaone(server::faults)),
    slow("amigaone.linux.walk", "minutes: each table of each process is compared", || {
        on_amigaone(server::walk)
    }),
    test("amigaone.linux.net", || on_amigaone(|| net::transfers(net::guest()))),
    slow("amigaone.linux.net.forward", "`linux.net.forward` is the PC's", || {
        on_amigaone(net::forward)
    }),
    slow("amigaone.linux.net.restarts", "minutes; `linux.net.restarts` is the PC's", || {
        on_amigaone(|| net::restarts(Nic::E1000))
    }),
    test("amigaone.linux.disk", || on_amigaone(|| disk::survives(Interface::Ata, 2))),
    slow("amigaone.linux.disk.long", "more kills than `amigaone.linux.disk`", || {
        on_amigaone(|| disk::survives(Interface::Ata, 20))
    }),
    slow("amigaone.linux.disk.restart", "`linux.disk.restart` is the PC's", || {
        on_amigaone(disk::restart)
    }),
    slow("amigaone.linux.disk.hangs", "`linux.disk.hangs` is the PC's", || {
        on_amigaone(disk::hangs)
    }),
    slow("amigaone.linux.chaos", "minutes; `linux.chaos` is the PC's", || on_amigaone(net::chaos)),
    test("amigaone.linux.gateway", || on_amigaone(linux::gateway)),
    slow("amigaone.linux.two", "`linux.two` is the PC's", || {
        on_amigaone(|| dialogue::two_beside(Interface::Ata))
    }),
    slow("amigaone.linux.bombs", "minutes; `linux.bombs` is the PC's", || {
        on_amigaone(linux::bombs)
    }),
    slow("amigaone.linux.memory", "`linux.memory` is the PC's", || on_amigaone(linux::memory)),
    test("amigaone.contexts", || on_amigaone(contexts)),
    test("amigaone.flush", || on_amigaone(flush)),
    test("amigaone.reload.slow", || on_amigaone(slow_reload)),
    test("amigaone.reload.random", || on_amigaone(reload::random)),
    test("amigaone.zombies", || on_amigaone(zombies)),
    slow(
        "amigaone.words.systems",
        "as the fast tests of boot words, on the other processor",
        || on_amigaone(on_the_other),
    ),
];

/// Programs that come and go until the hashed table is full of what they leave.
const LOAD: &str = "tests/zombies/zombies.toml";

/// Words for the kernel: few contexts; the hashed table is filled on demand; nothing of a space is left
/// in it.
const CONTEXTS: &str = "contexts=64";
const SLOW_RELOAD: &str = "reload=slow";
const EAGER: [&str; 2] = ["cutoff=all", "flush=eager"];

/// Seconds until a system counts as hung.
const TIMEOUT: Duration = Duration::from_secs(300);

/// More RAM than the kernel reaches by its BATs: components lie there, too, and use ports.
fn large_memory() -> Result<()> {
    let options = Options { seed: Seed::Fixed, memory: Some(512), ..Options::default() };
    let built = build::plan(Path::new("systems/hello.toml"), options)?.carry_out()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: false, model: None };
    let transcript = batch(&built, machine, Duration::from_secs(60))?;
    ensure!(transcript.console.contains("Hello from hello"), "{}", transcript.console);
    Ok(())
}

/// Runs a system whose kernel is told these words, in the emulator's own time. They are in a file
/// of the build.
pub fn run(path: &str, cpu: &str, say: &'static str) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu, icount: true, model: None };
    let transcript =
        words::with(say, || batch(&build::system(Path::new(path))?, machine, TIMEOUT))?;
    let failed: Vec<&str> =
        transcript.results.lines().filter(|line| line.starts_with("not ok")).collect();
    ensure!(failed.is_empty(), "{cpu}, {say}: {}", failed.join(", "));
    ensure!(
        transcript.ended && transcript.is_done(),
        "{cpu}, {say}: it did not end; the console: {}",
        transcript.console
    );
    Ok(transcript)
}

/// The conformance program and systems of other kinds, on the usual processor; on the other one a
/// slow test runs them.
const SYSTEMS: [&str; 3] =
    ["tests/systems/conform-fast.toml", "systems/pager.toml", "systems/crash.toml"];

/// Runs all systems with these words.
fn on_all(say: &'static str) -> Result<()> {
    let usual = board::chosen().qemu.tested.first().context("the board tests no processor")?;
    SYSTEMS.iter().try_for_each(|path| run(path, usual, say).map(drop))
}

/// The same on the other processor, with the words of all tests.
fn on_the_other() -> Result<()> {
    for say in [CONTEXTS, SLOW_RELOAD].into_iter().chain(EAGER) {
        for cpu in board::chosen().qemu.tested.iter().skip(1) {
            SYSTEMS.iter().try_for_each(|path| run(path, cpu, say).map(drop))?;
        }
    }
    Ok(())
}

/// What `tests/zombies` reports.
#[derive(Debug)]
pub struct Counts {
    pub reloads: u64,
    evicts: u64,
    pub swept: u64,
    zombies: u64,
    turns: u64,
    /// Nanoseconds in which it touched pages.
    took: u64,
}

impl Counts {
    /// What a system of this program reports on a processor whose kernel is told these words.
    pub fn of(path: &str, cpu: &str, say: &'static str) -> Result<Self> {
        let transcript = run(path, cpu, say)?;
        let line = transcript
            .results
            .lines()
            .find_map(|line| line.strip_prefix("counts "))
            .context("no counts")?;
        let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [reloads, evicts, swept, live, zombies, turns, took] = numbers[..] else {
            bail!("`{line}` are not seven counts")
        };
        println!(
            "# {cpu}, {say}: {reloads} reloads, {evicts} evicts, {swept} swept, {live} live entries, {zombies} zombies, {turns} turns, {took} ns"
        );
        Ok(Self { reloads, evicts, swept, zombies, turns, took })
    }

    /// Of a hundred reloads so many evict.
    pub const fn percent(&self) -> u64 {
        self.evicts * 100 / self.reloads
    }
}

/// The sweep of the idle loop: entries of nobody leave room for others. The limits are the paper's
/// (section 7).
fn zombies() -> Result<()> {
    let [with, without] = ["", "sweep=off"].map(|say| Counts::of(LOAD, "604", say));
    let (with, without) = (with?, without?);
    ensure!(with.percent() <= 30, "with the sweep {} of 100 reloads evict", with.percent());
    ensure!(without.percent() > 90, "without the sweep {} of 100 reloads evict", without.percent());
    ensure!(
        with.swept > 0 && without.swept == 0 && with.zombies < without.zombies,
        "the idle loop sweeps if it is to: {with:?}, {without:?}"
    );
    Ok(())
}

/// The assembly that fills the hashed table, beside the portable kernel that does so on demand: all
/// is the same but how long it takes.
fn slow_reload() -> Result<()> {
    on_all(SLOW_RELOAD)?;
    let [fast, slow] = ["", SLOW_RELOAD].map(|say| Counts::of(LOAD, "604", say));
    let (fast, slow) = (fast?, slow?);
    for (fast, slow) in
        [(fast.reloads, slow.reloads), (fast.evicts, slow.evicts), (fast.swept, slow.swept)]
    {
        ensure!(fast.abs_diff(slow) <= slow / 100, "{fast} is not {slow}");
    }
    ensure!(
        2 * slow.took > 3 * fast.took,
        "{} ns by the portable kernel, {} ns by assembly",
        slow.took,
        fast.took
    );
    Ok(())
}

/// Flushes that search the hashed table, of ranges of pages and of whole spaces: they leave no
/// zombies.
fn flush() -> Result<()> {
    let lazy = Counts::of(LOAD, "604", "")?;
    for say in EAGER {
        on_all(say)?;
        let eager = Counts::of(LOAD, "604", say)?;
        ensure!(lazy.reloads.abs_diff(eager.reloads) <= lazy.reloads / 100, "{lazy:?}, {eager:?}");
        ensure!(
            eager.swept <= lazy.swept / 100 && eager.evicts <= lazy.evicts / 100,
            "{say} leaves zombies: {lazy:?}, {eager:?}"
        );
    }
    // It unmaps 2,000 pages, in pieces.
    let some = Counts::of(LOAD, "604", "cutoff=100")?;
    ensure!(
        some.swept >= lazy.swept - lazy.swept / 100,
        "more pages are above the cut-off: {lazy:?}, {some:?}"
    );
    Ok(())
}

/// Few contexts: they are given out again and again, while spaces come and go, and mappings.
fn contexts() -> Result<()> {
    on_all(CONTEXTS)?;
    for cpu in &board::chosen().qemu.tested {
        run("tests/systems/hostile-servers.toml", cpu, CONTEXTS)?;
    }
    for cpu in &board::chosen().qemu.tested {
        let counts = Counts::of(LOAD, cpu, CONTEXTS)?;
        ensure!(
            counts.turns > 2,
            "{cpu}: contexts were given out again {} times only",
            counts.turns
        );
    }
    Ok(())
}
