// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the emulator: counts known by hand, nothing to report where nothing is
//! wrong, and deliberate faults that it must find.

use super::tally::Test;
use crate::build::{self, Built, Model};
use crate::guest;
use crate::machine::emulator::{self, Machine, Transcript, batch};
use anyhow::{Context, Result, bail, ensure};
use model_core::{ByOwner, Events, Report, Rule};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    ("model.counts", counts),
    ("model.checker.conform", conformance),
    ("model.checker.linux", linux),
    ("model.checker.native", native),
    ("model.large-pages", large_pages),
    ("model.fault.page-flush", without_page_flushes),
    ("model.fault.tlb-flush", without_tlb_flushes),
    ("model.fault.cache-flush", without_cache_flushes),
];

/// A CPU model whose caches have physical addresses, and one whose caches have virtual ones.
const PHYSICAL: &str = "pentium4-1400";
const VIRTUAL: &str = "../../tests/cpus/virtual-caches";

fn run(built: &Built, model: &Model) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(model) };
    batch(built, machine, Duration::from_secs(120))
}

fn system(name: &str) -> Result<Built> {
    build::system(&Path::new("tests/systems").join(name).with_extension("toml"))
}

/// What `tests/known-counts` must take in each interval, as medians. The data TLB has 64 entries, replaced in the order of use:
/// pages read in turn are all there or none. The data cache has 32 sets of 4 lines of 64 bytes.
fn expected(found: &ByOwner<Events>) -> [(u16, &'static str, u64, RangeInclusive<u64>); 24] {
    let ByOwner { kernel, components, user, .. } = found;
    [
        (1, "pages, more than entries", components.dtlb_misses, 100..=100),
        (1, "lines of as many pages, all in one set", components.l1d_misses, 100..=100),
        (1, "kernel entries", kernel.kernel_entries(), 0..=0),
        (2, "pages, fewer than entries", components.dtlb_misses, 0..=0),
        (2, "lines of as many pages, all in one set", components.l1d_misses, 40..=40),
        (3, "lines, fewer than the cache has", components.l1d_misses, 0..=0),
        (3, "pages of them", components.dtlb_misses, 0..=0),
        (4, "lines, more than the cache has, and those of the stack", components.l1d_misses, 160..=163),
        (4, "lines in the second level", components.l2_misses, 0..=0),
        (5, "lines in one set, more than ways", components.l1d_misses, 5..=5),
        (6, "lines in one set, fewer than ways", components.l1d_misses, 0..=0),
        (6, "kernel entries", kernel.kernel_entries(), 0..=0),
        (10, "system calls", kernel.sysenter_entries, 10..=10),
        (10, "entries by int", kernel.trap_entries, 0..=0),
        (10, "switches", kernel.space_switches, 0..=0),
        (10, "code that is not decoded", kernel.trace_misses + components.trace_misses, 0..=0),
        (20, "instructions of the alien", user.instructions, 41..=41),
        (20, "pages of code", user.itlb_misses, 40..=40),
        (20, "lines of decoded instructions", user.trace_misses, 41..=41),
        (20, "data of the alien", user.dtlb_misses, 0..=0),
        (20, "entries by int", kernel.trap_entries, 1..=1),
        (20, "switches", kernel.space_switches, 2..=2),
        (20, "entries by sysenter", kernel.sysenter_entries, 1..=1),
        (20, "of the Linux server", found.server.instructions, 0..=0),
    ]
}

/// Two equal runs.
fn counts() -> Result<()> {
    let built = system("known-counts")?;
    let model = Model { cpu: Some(PHYSICAL.into()), ..build::model()? };
    let report = finished(run(&built, &model)?)?;
    let file = emulator::report(&built);
    let first = std::fs::read(&file)?;
    let mut wrong = Vec::new();
    for (&id, interval) in &report.intervals {
        for (_, what, found, expected) in expected(&interval.medians()).into_iter().filter(|row| row.0 == id) {
            println!("# interval {id}: {what}: {found}, expected {expected:?}");
            if !expected.contains(&found) {
                wrong.push(format!("interval {id}: {what}: {found}, not {expected:?}"));
            }
        }
    }
    ensure!([1, 2, 3, 4, 5, 6, 10, 20].iter().all(|id| report.intervals.contains_key(id)), "an interval is missing");
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    // The program switches spaces where it has declared that it does not, and does nothing else wrong.
    let free = Rule::FlushInFreeInterval.to_string();
    let found: Vec<_> = report.violations.iter().map(|v| (v.rule.clone(), v.address.clone())).collect();
    ensure!(!found.is_empty() && found.iter().all(|v| *v == (free.clone(), "0x0000001f".into())), "violations: {found:?}");
    println!("# {} in interval 31: found, in {:?}", free, report.violations[0].symbol);
    run(&built, &model)?;
    ensure!(first == std::fs::read(&file)?, "two runs differ");
    Ok(())
}

/// The report of a run that ended by itself.
fn finished(transcript: Transcript) -> Result<Report> {
    ensure!(transcript.is_done(), "the system did not finish: {}", transcript.console);
    transcript.model.context("no report")
}

/// A report without violations, of a checker that has looked at something.
pub fn clean(report: &Report) -> Result<()> {
    let checked = report.checked.context("nothing was checked")?;
    println!("# {checked} accesses to data checked");
    ensure!(report.errors.is_empty(), "{}", report.errors.join("; "));
    if let Some(first) = report.violations.first() {
        bail!("{} violations, the first: {first:?}", report.violations.len() as u64 + report.further_violations);
    }
    ensure!(checked > 1_000_000, "only {checked} accesses were checked");
    Ok(())
}

/// The conformance program.
fn conformance() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    clean(&finished(run(&system("conform")?, &model)?)?)
}

/// Linux, from boot to its end, with the measured operations in between.
fn linux() -> Result<()> {
    clean(&guest::figures_with(&Model { check: true, ..build::model()? })?)
}

/// Linux alone: another kernel, which has been right for long.
fn native() -> Result<()> {
    clean(&guest::native_figures(&Model { check: true, ..build::model()? })?)
}

/// The Linux server lies in large pages: of its code it needs one entry of a TLB in a system call, of its data few.
fn large_pages() -> Result<()> {
    let report = guest::figures_with(&Model { cpu: Some(PHYSICAL.into()), ..build::model()? })?;
    for (id, name, most) in [(1, "getpid", 8), (3, "read", 14), (4, "write", 14)] {
        let server = report.intervals.get(&id).with_context(|| format!("{name} was not measured"))?.medians().server;
        println!("# {name}: {} and {} entries of TLBs for code and data", server.itlb_misses, server.dtlb_misses);
        ensure!(server.itlb_misses == 1 && server.dtlb_misses <= most, "{name}: more than 1 and {most}");
    }
    Ok(())
}

/// A system whose kernel has each `pattern` replaced by instructions that do nothing; it may end as it likes.
fn damaged(pattern: fn(&[u8]) -> usize, rule: Rule) -> Result<()> {
    let built = system("conform")?;
    let mut kernel = std::fs::read(&built.kernel)?;
    let mut places = 0;
    for at in 0..kernel.len() {
        let length = pattern(&kernel[at..]);
        kernel[at..at + length].fill(0x90);
        places += usize::from(length > 0);
    }
    ensure!(places > 0, "the kernel has no such instruction");
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    let model = Model { check: true, ..build::model()? };
    let transcript = run(&Built { kernel: path, ..built }, &model)?;
    let report = transcript.model.context("the damaged system did not end in time")?;
    let found = report.violations.iter().find(|v| v.rule == rule.to_string());
    let found = found.with_context(|| format!("not noticed: {places} instructions are missing"))?;
    println!("# {places} instructions are missing: {found:?}");
    Ok(())
}

/// No `invlpg`.
fn without_page_flushes() -> Result<()> {
    let invlpg = |code: &[u8]| match code {
        [0x0f, 0x01, 0x38..=0x3b | 0x3e..=0x3f, ..] => 3,
        _ => 0,
    };
    damaged(invlpg, Rule::StaleTranslation)
}

/// No loading of CR3 with what it holds.
fn without_tlb_flushes() -> Result<()> {
    let reload = |code: &[u8]| match *code {
        [0x0f, 0x20, from, 0x0f, 0x22, to, ..] if from == to && from >> 3 == 0b11011 => 6,
        _ => 0,
    };
    damaged(reload, Rule::StaleTranslation)
}

/// Caches with virtual addresses, which this kernel does not flush, for it never runs with such.
fn without_cache_flushes() -> Result<()> {
    let model = Model { cpu: Some(VIRTUAL.into()), ..build::model()? };
    let report = finished(run(&system("fast-paths")?, &model)?)?;
    let found = report.violations.iter().find(|v| v.rule == Rule::CacheAlias.to_string());
    println!("# {:?}", found.context("not noticed: lines of another space are used")?);
    let model = Model { cpu: Some(PHYSICAL.into()), ..model };
    let report = finished(run(&system("fast-paths")?, &model)?)?;
    ensure!(report.violations.is_empty(), "found where there is none: {:?}", report.violations.first());
    Ok(())
}
