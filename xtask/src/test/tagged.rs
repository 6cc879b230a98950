// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the board whose TLB has ASIDs: nothing to report of the kernel as
//! it is, and kernels that leave something out, of which the checker notices it.

use super::latency;
use super::model::{alike, clean, finished, system};
use super::tally::{Test, on_malta, slow, test};
use crate::build::{self, Built, Model};
use crate::emulator::{Machine, Transcript, batch};
use anyhow::{Context, Result, ensure};
use model_core::{Report, Rule};
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("malta.model.fast-paths", || on_malta(fast_paths)),
    slow("malta.model.conform", "minutes under the checker", || on_malta(|| checked("conform"))),
    slow("malta.model.hostile", "minutes under the checker", || on_malta(|| checked("hostile"))),
    test("malta.latency", || on_malta(worst)),
    test("malta.fault.tag", || on_malta(|| fault(without_tag))),
    test("malta.fault.tables", || on_malta(|| fault(without_tables))),
    test("malta.fault.recycling", || on_malta(|| fault(without_flushes))),
    test("malta.fault.page-flush", || on_malta(without_page_flushes)),
];

/// QEMU's processor, and what the model has of it.
const CPU: &str = "R4000";
const MODEL: &str = "r4600-100";

/// `dmtc0 $14, $10` and `dmtc0 $13, $14` of the fast path.
const WRITE_TAG: u32 = 0x40ae_5000;
const WRITE_PC: u32 = 0x40ad_7000;
/// A mask and what an instruction has of it: `sw $25, N($27)` before the latter, `mtc0` of any register
/// to EntryLo0 and EntryLo1.
const STORE_TABLES: (u32, u32) = (0xffff_0000, 0xaf79_0000);
const EVEN: (u32, u32) = (0xffe0_ffff, 0x4080_1000);
const ODD: (u32, u32) = (0xffe0_ffff, 0x4080_1800);
/// `tlbp`, `tlbwi`.
const PROBE: u32 = 0x4200_0008;
const WRITE: u32 = 0x4200_0002;
/// `nop`.
const NOTHING: u32 = 0;

fn is(word: u32, (mask, instruction): (u32, u32)) -> bool {
    word & mask == instruction
}

/// The fast path of a message leaves the ASID as it is.
fn without_tag(words: &mut [u32]) -> usize {
    let found = words.iter_mut().filter(|word| **word == WRITE_TAG);
    found.map(|word| *word = NOTHING).count()
}

/// Or it leaves where the handler of misses reads.
fn without_tables(words: &mut [u32]) -> usize {
    let is_store = |pair: &[u32]| is(pair[0], STORE_TABLES) && pair[1] == WRITE_PC;
    let found = words.windows(2).position(is_store);
    found.map(|at| words[at] = NOTHING).iter().count()
}

/// Leaves out each write of an entry that empties it: where it was looked for, or of all, one after
/// the other.
fn without_empties(words: &mut [u32], one_by_one: bool) -> usize {
    let empties = |at: &usize| {
        let at = *at;
        let before = |count: usize| &words[at.saturating_sub(count)..at];
        let register =
            |of| before(8).iter().find(|word| is(**word, of)).map(|word| word >> 16 & 31);
        let same = register(EVEN).is_some() && register(EVEN) == register(ODD);
        words[at] == WRITE && same && before(24).contains(&PROBE) == one_by_one
    };
    let found: Vec<usize> = (0..words.len()).filter(empties).collect();
    found.iter().for_each(|at| words[*at] = NOTHING);
    found.len()
}

/// The TLB stays as it is when ASIDs are given out again.
fn without_flushes(words: &mut [u32]) -> usize {
    without_empties(words, false)
}

/// And when a page goes.
fn without_page_flushes() -> Result<()> {
    broken("conform-fast", |words| without_empties(words, true), Rule::StaleTranslation)
}

/// A kernel with this damage, by which user mode goes on with the ASID of another space.
fn fault(damage: fn(&mut [u32]) -> usize) -> Result<()> {
    broken("conform-fast", damage, Rule::EarlyTag)
}

/// A system whose kernel has this damage, until the rule is broken.
fn broken(name: &str, damage: fn(&mut [u32]) -> usize, rule: Rule) -> Result<()> {
    let built = system(name)?;
    let mut kernel = std::fs::read(&built.kernel)?;
    let mut words: Vec<u32> =
        kernel.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    let places = damage(&mut words);
    ensure!(places > 0, "the kernel has no such code");
    let chunks = kernel.as_chunks_mut().0.iter_mut();
    chunks.zip(words).for_each(|(bytes, word)| *bytes = word.to_be_bytes());
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    let built = Built { kernel: path, ..built };
    let model = Model { check: true, until: vec![rule], ..build::model()? };
    let report =
        run(&built, &model, 300)?.model.context("the damaged system did not end in time")?;
    let found = report.violations.iter().find(|violation| violation.rule == rule.to_string());
    let found = found.with_context(|| format!("not noticed: {places} places are damaged"))?;
    println!("# {places} places are damaged: {found:?}");
    Ok(())
}

/// A system's run of so many seconds at most.
fn run(built: &Built, model: &Model, seconds: u64) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu: CPU, icount: true, model: Some(model) };
    batch(built, machine, Duration::from_secs(seconds))
}

/// What the model says of a system's run that has ended.
fn report(built: &Built, model: &Model, seconds: u64) -> Result<Report> {
    finished(run(built, model, seconds)?)
}

/// A system of which the checker has nothing to report, and which keeps the limit of the latency.
fn checked(name: &str) -> Result<()> {
    let report = report(&system(name)?, &Model { check: true, ..build::model()? }, 1200)?;
    latency::check(name, &report)?;
    clean(&report)
}

/// The worst that a component can do to the latency.
fn worst() -> Result<()> {
    latency::worst("latency", run(&system("latency-small")?, &build::model()?, 600)?)
}

/// Nothing to report of the program, and what the CPU model counts is as in the run before. The
/// kernel itself never misses.
fn fast_paths() -> Result<()> {
    checked("fast-paths")?;
    let built = system("fast-paths")?;
    let model = Model { cpu: Some(MODEL.into()), ..build::model()? };
    let first = report(&built, &model, 120)?;
    ensure!(first.errors.is_empty(), "{}", first.errors.join("; "));
    for (id, interval) in &first.intervals {
        let kernel = interval.events.kernel;
        let misses = kernel.itlb_misses.max + kernel.dtlb_misses.max;
        ensure!(misses == 0, "interval {id}: the kernel missed {misses} translations");
    }
    alike(&first, &report(&built, &model, 120)?)
}
