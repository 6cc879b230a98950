// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the PC with words of 64 bits: nothing to report of the kernel as it
//! is, and kernels that leave out a flush, of which something is noticed.

use super::latency;
use super::model::{alike, clean, finished, system};
use super::tally::{Test, on_pc64, slow, test};
use crate::build::{self, Built, Model};
use crate::emulator::{Machine, Transcript, batch};
use crate::machine::spaces::{self, Spaces};
use crate::machine::words;
use anyhow::{Context, Result, ensure};
use model_core::{Report, Rule};
use object::{Object, ObjectSection, ObjectSymbol};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("pc64.model.fast-paths", || on_pc64(modelled)),
    slow("pc64.model.conform", "a minute under the checker", || {
        on_pc64(|| checked("conform", 600))
    }),
    slow("pc64.model.hostile", "minutes under the checker", || {
        on_pc64(|| checked("hostile", 1200))
    }),
    slow("pc64.clock.crossing", "it is by the clock, which other programs disturb", || {
        on_pc64(by_the_clock)
    }),
    test("pc64.latency", || on_pc64(worst)),
    test("pc64.fault.page-flush", || on_pc64(|| fault(without_invlpg))),
    test("pc64.fault.tlb-flush", || on_pc64(|| fault(without_reload))),
];

/// The CPU model.
const CPU: &str = "skylake-3400";
const NOP: u8 = 0x90;
/// What puts PCIDs into CR3, for the CPU model.
const SHOWN: &str = "pcid=shown";

/// A system's run of so many seconds at most.
fn run(built: &Built, model: &Model, seconds: u64) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(model) };
    batch(built, machine, Duration::from_secs(seconds))
}

/// The checker has nothing to report of a system's run.
fn checked(name: &str, seconds: u64) -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    clean(&finished(run(&system(name)?, &model, seconds)?)?)
}

/// Nor has it of the fast paths with PCIDs in CR3; and what the CPU model counts of them is as in the
/// run before.
fn modelled() -> Result<()> {
    words::with(SHOWN, || checked("fast-paths", 120))?;
    let built = system("fast-paths")?;
    let model = Model { cpu: Some(CPU.into()), ..build::model()? };
    let report =
        || -> Result<Report> { finished(words::with(SHOWN, || run(&built, &model, 120))?) };
    let (first, second) = (report()?, report()?);
    ensure!(first.errors.is_empty(), "{}", first.errors.join("; "));
    latency::check("fast-paths", &first)?;
    alike(&first, &second)
}

/// The most that an alien's system call takes to its server at ring 1 and back by the clock, in
/// percent of a native system call.
const MOST: u32 = 600;

/// It takes no more in QEMU, the median of pairs.
fn by_the_clock() -> Result<()> {
    let built = build::system(Path::new("tests/systems/crossing-clock.toml"))?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: false, model: None };
    let run = || batch(&built, machine, Duration::from_secs(300));
    let results = spaces::with(Spaces::Force, run)?.results;
    println!("{results}");
    let ratio = results.lines().find_map(|line| line.strip_prefix("ratio ")?.trim().parse().ok());
    let ratio: u32 = ratio.with_context(|| format!("no ratio: {results}"))?;
    ensure!(ratio <= MOST, "{ratio} percent, at most {MOST}");
    Ok(())
}

/// The worst that a component can do to the latency.
fn worst() -> Result<()> {
    latency::worst("latency", run(&system("latency")?, &build::model()?, 600)?)
}

/// The function that drops translations of a range of addresses in each space that has it. Boot has
/// `invlpg`, too, and needs them.
const FLUSHES: &str = "in_each_space";

/// No `invlpg` of an address in a register.
fn without_invlpg(code: &mut [u8]) -> usize {
    let is = |code: &[u8]| matches!(code, [0x0f, 0x01, 0x38..=0x3b | 0x3e..=0x3f, ..]);
    without(code, is, 3)
}

/// No loading of CR3 with what it holds.
fn without_reload(code: &mut [u8]) -> usize {
    let is = |code: &[u8]| matches!(*code, [0x0f, 0x20, from, 0x0f, 0x22, to, ..] if from == to && from >> 3 == 0b11011);
    without(code, is, 6)
}

/// Replaces so many bytes where they begin with what is looked for. At how many places.
fn without(code: &mut [u8], is: fn(&[u8]) -> bool, bytes: usize) -> usize {
    let places: Vec<usize> = (0..code.len()).filter(|at| is(&code[*at..])).collect();
    places.iter().for_each(|at| code[*at..at + bytes].fill(NOP));
    places.len()
}

/// Where functions with this in their names are in the kernel's file.
fn functions(kernel: &[u8], name: &str) -> Result<Vec<Range<usize>>> {
    let file = object::File::parse(kernel)?;
    let named = file.symbols().filter(|symbol| symbol.name().is_ok_and(|own| own.contains(name)));
    let place = |symbol: object::Symbol<'_, '_>| {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let start = section.file_range()?.0 + (symbol.address() - section.address());
        Some(start as usize..(start + symbol.size()) as usize)
    };
    Ok(named.filter_map(place).collect())
}

/// A kernel without some flushes in that function uses what is stale.
fn fault(damage: fn(&mut [u8]) -> usize) -> Result<()> {
    let rule = Rule::StaleTranslation;
    let built = system("conform-fast")?;
    let mut kernel = std::fs::read(&built.kernel)?;
    let ranges = functions(&kernel, FLUSHES)?;
    let places: usize = ranges.into_iter().map(|range| damage(&mut kernel[range])).sum();
    ensure!(places > 0, "the kernel has no such code");
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    let built = Built { kernel: path, ..built };
    let model = Model { check: true, until: vec![rule], ..build::model()? };
    let report = run(&built, &model, 300)?.model.context("it did not end in time")?;
    let found = report.violations.iter().find(|violation| violation.rule == rule.to_string());
    let found = found.with_context(|| format!("not noticed: {places} places are damaged"))?;
    println!("# {places} places are damaged: {found:?}");
    Ok(())
}
