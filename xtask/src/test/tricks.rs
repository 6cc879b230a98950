// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the boot words that undo what Linux/PPC improved (docs/powerpc.md, *Boot words*):
//! systems work with each word, and each has a visible effect.

use super::amigaone::{Counts, run};
use super::model::{finished, system};
use super::ppc::CPUS;
use super::tally::{Test, on_amigaone, slow, test};
use crate::build;
use crate::emulator::{Machine, batch};
use crate::guest::{Guest, compile, insert};
use crate::machine::board;
use crate::machine::words;
use anyhow::{Context, Result, ensure};
use model_core::{Events, IntervalReport, Report};
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    slow("amigaone.words", "the conformance suite, once for each boot word and processor", || {
        on_amigaone(right)
    }),
    test("amigaone.vsid", || on_amigaone(scattered)),
    test("amigaone.search", || on_amigaone(searched)),
    slow("amigaone.tables", "two runs under the machine model", || on_amigaone(uncached)),
    slow("amigaone.preload", "two runs under the machine model", || on_amigaone(preloaded)),
    slow("amigaone.server-bat", "four runs under the machine model", || on_amigaone(block)),
    test("amigaone.unmap", || on_amigaone(unmap)),
    slow("amigaone.idle", "five runs under the machine model", || on_amigaone(idle)),
    slow("amigaone.linux.clear", "three boots of Linux", || on_amigaone(linux_clears)),
    test("amigaone.misses", || on_amigaone(misses)),
];

/// Intervals of the program `tricks`: an unmap of pages that were read; a page fault; 1,000 pages are read, each for the first time; what was read
/// before is read again after a time in which nobody ran; pages are used that were to be cleared
/// then.
const UNMAP: u16 = 110;
const FAULT: u16 = 120;
/// A server is shown: visit 0 goes to its alien, visit 1 comes from there; and to another alien.
const ALIEN: u16 = 130;
const OTHER_ALIEN: u16 = 131;
/// Instructions by which a BAT is written on a fast path, and the jumps there and back.
const BLOCK: u64 = 5;
const RELOAD: u16 = 140;
const WORK: u16 = 150;
const USE: u16 = 151;
/// In `bench/linux/clearing.c`: so many pages are written for the first time, after a sleep.
const FIRST_USE: u16 = 561;
const FIRST_USED: u64 = 32;

/// What the program `tricks` counts on a processor whose kernel is told these words.
fn tricks(cpu: &str, say: &str) -> Result<Report> {
    with(cpu, say, None)
}

/// The same by the model of the processor, with its TLBs and caches.
fn modelled(cpu: &str, say: &str) -> Result<Report> {
    let (_, model) =
        CPUS.into_iter().find(|(name, _)| *name == cpu).context("a processor without a model")?;
    with(cpu, say, Some(model.into()))
}

fn with(cpu: &str, say: &str, model: Option<String>) -> Result<Report> {
    let model = build::Model { cpu: model, ..build::model()? };
    let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
    finished(words::with(say, || batch(&system("tricks")?, machine, Duration::from_secs(120)))?)
}

fn interval(report: &Report, id: u16) -> Result<&IntervalReport> {
    report.intervals.get(&id).with_context(|| format!("interval {id} was not counted"))
}

fn events(report: &Report, id: u16) -> Result<Events> {
    Ok(interval(report, id)?.medians().total())
}

fn kernel_instructions(report: &Report, id: u16) -> Result<u64> {
    Ok(interval(report, id)?.kernel_instructions.median)
}

/// The conformance suite with each word.
fn right() -> Result<()> {
    for say in [
        "vsid=pid",
        "vsid=pid16 contexts=64",
        "sweep=off contexts=64",
        "hash=search",
        "hash=search tables=uncached cutoff=all",
        "tables=uncached",
        "preload=on",
        "idle=locked clear=cached",
        "server-bat",
    ] {
        for cpu in &board::chosen().qemu.tested {
            run("tests/systems/conform-fast.toml", cpu, say)?;
        }
    }
    Ok(())
}

/// Programs of equal layout have their entries in the same groups of the hashed table unless their
/// VSIDs are scattered: the fewer groups, the more entries are lost.
fn scattered() -> Result<()> {
    let evicts =
        |say| -> Result<u64> { Ok(Counts::of("tests/zombies/small.toml", "604", say)?.percent()) };
    let [pid, pid16, scattered] =
        [evicts("vsid=pid")?, evicts("vsid=pid16")?, evicts("vsid=scattered")?];
    ensure!(
        pid > pid16 && pid16 > scattered,
        "of 100 reloads evict {pid} by the number, {pid16} by sixteen of them, {scattered} scattered"
    );
    Ok(())
}

/// A 603's handler searches the hashed table, and what is not there is put in.
fn searched() -> Result<()> {
    let (walks, searches) = (modelled("603e", "")?, modelled("603e", "hash=search")?);
    let [walk, search] = [events(&walks, RELOAD)?, events(&searches, RELOAD)?];
    println!(
        "# {} entries of the hashed table are read, and {} with the word; {} pages are put in",
        walk.hash_loads, search.hash_loads, search.fault_entries
    );
    ensure!(walk.hash_loads == 0, "it searches although nobody said so: {walk:?}");
    // What is not found is put in, and found by the next search.
    ensure!(
        search.hash_loads >= 1000 && search.fault_entries >= 1000 && walk.fault_entries < 100,
        "it does not search: {search:?}"
    );
    let counts = Counts::of("tests/zombies/zombies.toml", "603e", "hash=search")?;
    ensure!(counts.reloads > 0 && counts.swept > 0, "nothing is put in: {counts:?}");
    flush("603e", "hash=search")
}

/// Who fills the TLB or the hashed table reads tables past the cache.
fn uncached() -> Result<()> {
    for cpu in ["604", "603e"] {
        let (usual, uncached) = (modelled(cpu, "")?, modelled(cpu, "tables=uncached")?);
        let [usual, uncached] = [events(&usual, RELOAD)?, events(&uncached, RELOAD)?];
        ensure!(
            usual.uncached_reads < 1000 && uncached.uncached_reads >= 2 * 1000,
            "{cpu}: tables are read past the cache: {usual:?}, {uncached:?}"
        );
    }
    Ok(())
}

/// The entry and the way out ask for lines: a few instructions more.
fn preloaded() -> Result<()> {
    let (usual, preloads) = (tricks("604", "")?, tricks("604", "preload=on")?);
    let [usual, more] =
        [kernel_instructions(&usual, UNMAP)?, kernel_instructions(&preloads, UNMAP)?];
    println!("# {usual} instructions of the kernel, {more} with those that ask for lines");
    ensure!((10..40).contains(&(more - usual)), "{usual} instructions, and {more}");
    Ok(())
}

/// A crossing to a server that is shown, and back, with a BAT written each time: a few instructions
/// more. Without the word there is none.
fn block() -> Result<()> {
    for (cpu, _) in CPUS {
        let (usual, shows) = (tricks(cpu, "")?, tricks(cpu, "server-bat")?);
        for (id, visit, what) in [
            (ALIEN, 0, "to the alien"),
            (ALIEN, 1, "to the server"),
            (OTHER_ALIEN, 0, "to another alien"),
        ] {
            let of = |report| -> Result<u64> {
                let visits = &interval(report, id)?.visits;
                Ok(visits.get(visit).context("it was not left")?.kernel_instructions)
            };
            let (without, with) = (of(&usual)?, of(&shows)?);
            println!("# {cpu}, {what}: {without} instructions, {with} with a BAT");
            ensure!(with == without + BLOCK, "{cpu}, {what}: {without} instructions, and {with}");
        }
    }
    Ok(())
}

/// The flush alone that an unmap of 1,000 pages causes which were touched: what `invalidate` takes.
/// A search of each page takes 79 times as many instructions at least. (Of cycles, which change when
/// a function moves, `bench.goals.cycles` says so; in the paper, section 7, it was of time.)
fn flush(cpu: &str, say: &str) -> Result<()> {
    let flush = |say: &str| -> Result<u64> {
        let report = tricks(cpu, say)?;
        Ok(interval(&report, UNMAP)?.apart.context("no flush was counted")?.instructions.median)
    };
    let (each, lazy) = (flush(&format!("{say} cutoff=all"))?, flush(say)?);
    println!("# {each} instructions of the kernel to search each page, {lazy} for another context");
    ensure!(lazy > 0 && each >= 79 * lazy, "{each} is not 79 times {lazy}");
    Ok(())
}

fn unmap() -> Result<()> {
    flush("604", "")
}

/// Pages are cleared while nobody runs, and the cache keeps what was in it unless it is cleared by
/// the cache; a component that gets cleared pages does not clear them.
fn idle() -> Result<()> {
    let of = |say: &str| -> Result<(Events, Events)> {
        let report = modelled("604", say)?;
        let found = (events(&report, WORK)?, events(&report, USE)?);
        println!(
            "# {say}: {} misses of work, {} instructions of use",
            found.0.l1d_misses, found.1.instructions
        );
        Ok(found)
    };
    let [off, cached, uncached, unused] =
        [of("clear=off")?, of("clear=cached")?, of("clear=uncached")?, of("clear=unused")?];
    ensure!(
        cached.0.l1d_misses > 2 * uncached.0.l1d_misses,
        "the cache keeps what was in it: {:?}, {:?}",
        cached.0,
        uncached.0
    );
    for cleared in [&cached, &uncached] {
        ensure!(2 * cleared.1.instructions < off.1.instructions, "pages are cleared: {cleared:?}");
    }
    ensure!(unused.1.instructions >= off.1.instructions, "nobody uses them: {unused:?}");
    let locked = of("clear=cached idle=locked")?;
    ensure!(
        2 * locked.0.l1d_misses < cached.0.l1d_misses,
        "a locked cache keeps what was in it: {:?}",
        locked.0
    );
    Ok(())
}

/// Linux gives its processes pages that were cleared while nobody ran, and clears the others itself,
/// by two instructions for each of 128 lines at least.
fn linux_clears() -> Result<()> {
    let model = build::model()?;
    let of = |say: &str| -> Result<u64> {
        let inserts = vec![insert("/bin/clearing", compile("bench/linux/clearing.c")?)];
        let guest = Guest { inserts, model: Some(&model), ..Guest::default() };
        let report = words::with(say, || guest.succeed("clearing"))?.report.context("no report")?;
        Ok(events(&report, FIRST_USE)?.instructions)
    };
    let [cleared, off, unused] = [of("")?, of("clear=off")?, of("clear=unused")?];
    println!("# {cleared} instructions with pages that are clear, {off} without, {unused} unused");
    let saved = 2 * 128 * FIRST_USED;
    ensure!(cleared + saved <= off, "{cleared} with pages that are clear, {off} without");
    ensure!(cleared + saved <= unused, "{cleared} with pages that are clear, {unused} unused");
    Ok(())
}

/// Instructions of a 603's miss handler: between two page faults that a pager answers a page is
/// read, by the emulator's one miss.
fn misses() -> Result<()> {
    let events = events(&tricks("603e", "")?, FAULT)?;
    println!("# {} instructions of the handler", events.reload_instructions);
    ensure!(
        (1..=19).contains(&events.reload_instructions),
        "{} instructions of the handler, not 1 to 19",
        events.reload_instructions
    );
    Ok(())
}
