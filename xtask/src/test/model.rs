// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model in the emulator: counts that are known by hand, no report where
//! nothing is wrong, and deliberate faults, each of which it must find.

use super::tally::{Test, slow, test};
use crate::build::{self, Built, Model, Seed};
use crate::emulator::{Machine, Transcript, batch};
use crate::guest;
use crate::guest::batch::Batch;
use crate::linux::root::Insert;
use crate::machine::spaces::{self, Spaces};
use anyhow::{Context, Result, bail, ensure};
use model_core::{ByOwner, Events, Report, Rule, ViolationReport};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("model.counts", counts),
    test("model.counts.small", || spaces::with(Spaces::Force, small_counts)),
    test("model.checker.conform", conformance),
    test("model.checker.linux", linux),
    test("model.checker.linux.forced", || spaces::with(Spaces::Force, forced)),
    test("model.checker.small", || spaces::with(Spaces::Force, small)),
    slow("model.checker.native", "it builds Linux for the machine itself", native),
    test("model.large-pages", large_pages),
    test("model.colours", colours),
    test("model.fault.page-flush", without_page_flushes),
    test("model.fault.tlb-flush", without_tlb_flushes),
    test("model.fault.cache-flush", without_cache_flushes),
    test("model.fault.gs", || spaces::with(Spaces::Force, with_gs)),
    test("model.fault.global-flush", || spaces::with(Spaces::Force, without_global_flushes)),
    test("model.fault.user-data", || spaces::with(Spaces::Force, with_user_data)),
    test("model.fault.server-data", || spaces::with(Spaces::Force, with_server_data)),
    test("model.fault.region", || spaces::with(Spaces::Force, with_larger_region)),
    test("model.fault.large-data", || spaces::with(Spaces::Force, with_large_data)),
    test("model.fault.small-data", || spaces::with(Spaces::Force, with_left_data)),
    test("model.fault.small-exit", || spaces::with(Spaces::Force, with_fast_exit)),
];

/// A CPU model whose caches have physical addresses, and one whose caches have virtual ones.
const PHYSICAL: &str = "pentium4-1400";
const PENTIUM: &str = "pentium-166";
const VIRTUAL: &str = "../../tests/cpus/virtual-caches";
const NOP: u8 = 0x90;
/// Selectors, as the model writes addresses: the data segments of ring 3 and of servers, a small
/// space's code, and glibc's for TLS.
const USER_DATA: &str = "0x00000020";
const SERVER_DATA: &str = "0x00000058";
const SMALL_CODE: &str = "0x00000063";
const TLS: &str = "0x00000033";
/// Where the server's window begins.
const WINDOW: &str = "0xc0000000";
/// Intervals of `tests/linux/figures.c`.
const GETPID: u16 = 1;

/// A system's run under the model.
pub fn run(built: &Built, model: &Model) -> Result<Transcript> {
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(model) };
    batch(built, machine, Duration::from_secs(120))
}

/// The test system of this name.
pub fn system(name: &str) -> Result<Built> {
    build::system(&Path::new("tests/systems").join(name).with_extension("toml"))
}

/// What `tests/known-counts` must take in each interval, as medians. The data TLB has 64 entries,
/// replaced in the order of use: pages read in turn are all there or none. The data cache has 32
/// sets of 4 lines of 64 bytes.
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
        (
            4,
            "lines, more than the cache has, and those of the stack",
            components.l1d_misses,
            160..=163,
        ),
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

/// A run of these programs, in whose intervals is what is expected.
fn counted(built: &Built, model: &Model) -> Result<Report> {
    let report = finished(run(built, model)?)?;
    ensure!(report.errors.is_empty(), "{}", report.errors.join("; "));
    let mut wrong = Vec::new();
    for (&id, interval) in &report.intervals {
        for (_, what, found, expected) in
            expected(&interval.medians()).into_iter().filter(|row| row.0 == id)
        {
            println!("# interval {id}: {what}: {found}, expected {expected:?}");
            if !expected.contains(&found) {
                wrong.push(format!("interval {id}: {what}: {found}, not {expected:?}"));
            }
        }
    }
    ensure!(
        [1, 2, 3, 4, 5, 6, 10, 20].iter().all(|id| report.intervals.contains_key(id)),
        "an interval is missing"
    );
    ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    Ok(report)
}

/// Two equal runs.
fn counts() -> Result<()> {
    let built = system("known-counts")?;
    let model = Model { cpu: Some(PHYSICAL.into()), ..build::model()? };
    let report = counted(&built, &model)?;
    // The program switches spaces where it has declared that it does not, and does nothing else
    // wrong.
    let free = Rule::FlushInFreeInterval.to_string();
    let found: Vec<_> =
        report.violations.iter().map(|v| (v.rule.clone(), v.address.clone())).collect();
    ensure!(
        !found.is_empty() && found.iter().all(|v| *v == (free.clone(), "0x0000001f".into())),
        "violations: {found:?}"
    );
    println!("# {} in interval 31: found, in {:?}", free, report.violations[0].symbol);
    alike(&report, &counted(&built, &model)?)
}

/// The same in small spaces, where the instruction pointer is no linear address and a call of the
/// other one switches nothing.
fn small_counts() -> Result<()> {
    let report = counted(
        &system("known-counts-small")?,
        &Model { cpu: Some(PHYSICAL.into()), ..build::model()? },
    )?;
    ensure!(report.violations.is_empty(), "violations: {:?}", report.violations);
    Ok(())
}

/// The report of a run that ended by itself.
pub fn finished(transcript: Transcript) -> Result<Report> {
    ensure!(transcript.is_done(), "the system did not finish: {}", transcript.console);
    transcript.model.context("no report")
}

/// A report without violations, of a checker that has looked at something.
pub fn clean(report: &Report) -> Result<()> {
    let checked = report.checked.context("nothing was checked")?;
    println!("# {checked} accesses to data checked");
    ensure!(report.errors.is_empty(), "{}", report.errors.join("; "));
    if let Some(first) = report.violations.first() {
        bail!(
            "{} violations, the first: {first:?}",
            report.violations.len() as u64 + report.further_violations
        );
    }
    ensure!(checked > 1_000_000, "only {checked} accesses were checked");
    Ok(())
}

/// Two runs counted the same. How long interrupts were off is left out, because two things in it
/// depend on the host's time: what is still executed between the machine's power-off and the
/// emulator's end, and how often the emulator enters the handler of misses of a TLB that software
/// fills.
pub fn alike(first: &Report, second: &Report) -> Result<()> {
    let tree = |report: &Report| serde_json::to_value(Report { latency: None, ..report.clone() });
    let differences = differences(&tree(first)?, &tree(second)?);
    ensure!(
        differences.is_empty(),
        "two runs differ in {} places: {}",
        differences.len(),
        differences[..differences.len().min(5)].join("; ")
    );
    Ok(())
}

/// Where two trees differ: a path, and what is there in each.
fn differences(first: &Value, second: &Value) -> Vec<String> {
    fn leaves(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
        match value {
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, value)| leaves(&format!("{path}/{name}"), value, found));
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(index, value)| leaves(&format!("{path}/{index}"), value, found)),
            leaf => {
                found.insert(path.into(), leaf.to_string());
            }
        }
    }
    let [first, second] = [first, second].map(|tree| {
        let mut found = BTreeMap::new();
        leaves("", tree, &mut found);
        found
    });
    let paths: BTreeSet<_> = first.keys().chain(second.keys()).collect();
    let shown = |leaf: Option<&String>| leaf.map_or("nothing", |leaf| leaf).to_string();
    paths
        .into_iter()
        .filter(|path| first.get(*path) != second.get(*path))
        .map(|path| {
            format!("{path} is {}, then {}", shown(first.get(path)), shown(second.get(path)))
        })
        .collect()
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

/// The same as a server at ring 1, in the spaces of its processes, where its translations are
/// global.
fn forced() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    let report = guest::figures_with(&model)?;
    clean(&report)?;
    let getpid = report.intervals.get(&GETPID).context("getpid was not measured")?.medians();
    ensure!(
        getpid.kernel.space_switches == 0 && getpid.server.instructions > 0,
        "Linux was not in the spaces of its processes: {getpid:?}"
    );
    Ok(())
}

/// Small spaces: what there is to do with them, and their programs of the book under CPU models:
/// calls, a pager, rings of groups.
fn small() -> Result<()> {
    let model = Model { check: true, ..build::model()? };
    clean(&finished(run(&system("conform")?, &model)?)?)?;
    let calls = build::system(Path::new("bench/systems/measured-small.toml"))?;
    for cpu in [PHYSICAL, PENTIUM] {
        let report = finished(run(&calls, &Model { cpu: Some(cpu.into()), ..model.clone() })?)?;
        ensure!(
            report.errors.is_empty() && report.violations.is_empty(),
            "{cpu}: {:?}, {:?}",
            report.errors,
            report.violations
        );
        println!("# {cpu}: {:?} accesses to data checked", report.checked);
    }
    Ok(())
}

/// Linux alone: another kernel, which has been right for long.
fn native() -> Result<()> {
    clean(&guest::native_figures(&Model { check: true, ..build::model()? })?)
}

/// The Linux server lies in large pages: of its code it needs one entry of a TLB in a system call,
/// of its data few.
fn large_pages() -> Result<()> {
    let report = guest::figures_with(&Model { cpu: Some(PHYSICAL.into()), ..build::model()? })?;
    for (id, name, most) in [(1, "getpid", 8), (3, "read", 14), (4, "write", 14)] {
        let server = report
            .intervals
            .get(&id)
            .with_context(|| format!("{name} was not measured"))?
            .medians()
            .server;
        println!(
            "# {name}: {} and {} entries of TLBs for code and data",
            server.itlb_misses, server.dtlb_misses
        );
        ensure!(
            server.itlb_misses == 1 && server.dtlb_misses <= most,
            "{name}: more than 1 and {most}"
        );
    }
    Ok(())
}

/// What a component has in the second-level cache stays there while one with other colours reads
/// twice as much as it holds, to the line; one with all colours takes it away.
fn colours() -> Result<()> {
    /// Of `tests/known-counts`: the lines that are read, and intervals after nothing was read in
    /// between, by one with other colours, and by one with all.
    const LINES: u64 = 1024;
    const INTERVALS: [u16; 3] = [40, 41, 42];
    let model = Model { cpu: Some(PHYSICAL.into()), ..build::model()? };
    let report = finished(run(&system("colours")?, &model)?)?;
    ensure!(report.errors.is_empty(), "{}", report.errors.join("; "));
    let misses = |id: u16| -> Result<u64> {
        let interval = report.intervals.get(&id).context("an interval is missing")?;
        Ok(interval.medians().components.l2_misses)
    };
    let [quiet, apart, mixed] = INTERVALS.map(misses);
    let (quiet, apart, mixed) = (quiet?, apart?, mixed?);
    println!("# of {LINES} lines missed: {quiet}, {apart} after other colours, {mixed} after all");
    ensure!(quiet == 0 && apart == 0, "{quiet} and {apart} lines are gone");
    ensure!(mixed >= LINES, "only {mixed} lines are gone: the other one reads too little");
    Ok(())
}

/// Changes code, given from a place on, if what is looked for begins there. Returns whether it did.
type Damage = fn(&mut [u8]) -> bool;

/// Replaces what a place begins with.
fn replace(code: &mut [u8], old: &[u8], new: &[u8]) -> bool {
    let found = code.starts_with(old);
    if found {
        code[..old.len()].copy_from_slice(new);
    }
    found
}

/// The system with a kernel that has the damage at each place, and at how many.
fn damage(built: Built, damage: Damage) -> Result<(Built, usize)> {
    let mut kernel = std::fs::read(&built.kernel)?;
    let places = (0..kernel.len()).filter(|at| damage(&mut kernel[*at..])).count();
    ensure!(places > 0, "the kernel has no such code");
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    Ok((Built { kernel: path, ..built }, places))
}

/// Runs a damaged system, until the rule is broken: of a violation `is` is true then.
fn damaged(built: Built, how: Damage, rule: Rule, is: fn(&ViolationReport) -> bool) -> Result<()> {
    let (built, places) = damage(built, how)?;
    let model = Model { check: true, until: vec![rule], ..build::model()? };
    let transcript = run(&built, &model)?;
    let report = transcript.model.context("the damaged system did not end in time")?;
    let found = report.violations.iter().find(|v| v.rule == rule.to_string() && is(v));
    let found = found.with_context(|| {
        format!("not noticed: {places} places are damaged; found: {:?}", report.violations.first())
    })?;
    println!("# {places} places are damaged: {found:?}");
    Ok(())
}

/// No `invlpg`.
fn without_page_flushes() -> Result<()> {
    let invlpg: Damage = |code| {
        let found = matches!(code, [0x0f, 0x01, 0x38..=0x3b | 0x3e..=0x3f, ..]);
        if found {
            code[..3].fill(NOP);
        }
        found
    };
    damaged(system("conform")?, invlpg, Rule::StaleTranslation, |_| true)
}

/// No loading of CR3 with what it holds.
fn without_tlb_flushes() -> Result<()> {
    let reload: Damage = |code| {
        let found = matches!(*code, [0x0f, 0x20, from, 0x0f, 0x22, to, ..] if from == to && from >> 3 == 0b11011);
        if found {
            code[..6].fill(NOP);
        }
        found
    };
    damaged(system("conform")?, reload, Rule::StaleTranslation, |_| true)
}

/// A Linux as a server at ring 1, which runs a command and ends.
fn server(command: &str, inserts: &[Insert]) -> Result<Built> {
    let batch = Batch::of(command).inserts();
    let command = build::Command { component: None, inserts: &batch };
    let options = build::Options {
        inserts,
        command: Some(command),
        folder: Some("linux-damaged"),
        seed: Seed::Fixed,
        ..build::Options::default()
    };
    build::plan(Path::new("systems/linux.toml"), options)?.carry_out()
}

/// GS stays as a process loaded it while its server runs.
fn with_gs() -> Result<()> {
    // `mov fs, edx; mov gs, edx`: a glibc program has its TLS in GS.
    let left: Damage = |code| replace(code, &[0x8e, 0xe2, 0x8e, 0xea], &[0x8e, 0xe2, NOP, NOP]);
    let inserts = [guest::program("figures")?];
    damaged(server("figures", &inserts)?, left, Rule::OpenSegmentRegister, |v| {
        v.owner == "kernel" && v.address == TLS
    })
}

/// Translations that are global stay when the server's pages change.
fn without_global_flushes() -> Result<()> {
    // `mov cr4, ecx; mov cr4, eax`: PGE off and on again.
    let flip: Damage = |code| {
        let found = matches!(*code, [0x0f, 0x22, first, 0x0f, 0x22, second, ..] if first >> 3 == 0b11100 && second >> 3 == 0b11100);
        if found {
            code[..6].fill(NOP);
        }
        found
    };
    let inserts = [guest::program("descriptors")?];
    let built = server("descriptors", &inserts)?;
    let sound = run(&built, &Model { check: true, ..build::model()? })?;
    ensure!(sound.results.contains("6 tables"), "the tables were not made: {}", sound.console);
    clean(sound.model.as_ref().context("no report")?)?;
    damaged(built, flip, Rule::StaleTranslation, |v| {
        v.owner == "server" && v.address.as_str() >= WINDOW
    })
}

/// A data segment of ring 3 that reaches 4 GiB: ring 1 can load it as well.
fn with_user_data() -> Result<()> {
    let open: Damage = |code| replace(code, &[0x00, 0xf3, 0xcd, 0x00], &[0x00, 0xf3, 0xcf, 0x00]);
    damaged(server("true", &[])?, open, Rule::OpenDescriptor, |v| v.address == USER_DATA)
}

/// The server's own.
fn with_server_data() -> Result<()> {
    let open: Damage = |code| replace(code, &[0x00, 0xb3, 0xcd, 0x00], &[0x00, 0xb3, 0xcf, 0x00]);
    damaged(server("true", &[])?, open, Rule::OpenDescriptor, |v| v.address == SERVER_DATA)
}

/// The segments of a small space end a page after it.
fn with_larger_region() -> Result<()> {
    // `shr REGISTER, 12; dec REGISTER`, where the flags of the segment follow: pages, and not the
    // last one.
    let larger: Damage = |code| {
        const FLAGS: [u8; 4] = [0x00, 0xf3, 0xc0, 0x00];
        let found = matches!(*code, [0xc1, pages, 0x0c, last, ..] if pages >> 3 == 0b11101 && last == 0x48 | pages & 7)
            && code.get(..64).is_some_and(|code| code.windows(4).any(|word| word == FLAGS));
        if found {
            code[3] = NOP;
        }
        found
    };
    damaged(system("fast-paths-small")?, larger, Rule::OddRegion, |v| {
        v.owner == "kernel" && v.address == SMALL_CODE
    })
}

/// The data segment of large spaces can be loaded in a home.
fn with_large_data() -> Result<()> {
    // `mov byte ptr ss:[..], 0`, twice: access to code and data.
    let left: Damage = |code| {
        const CLEAR: [u8; 3] = [0x36, 0xc6, 0x05];
        let clears = |at: usize| {
            code.get(at..at + 8).is_some_and(|code| code.starts_with(&CLEAR) && code[7] == 0)
        };
        let found = clears(0) && clears(8);
        if found {
            code[15] = 0xf3;
        }
        found
    };
    damaged(system("conform")?, left, Rule::WideDescriptor, |v| {
        v.owner == "kernel" && v.address == USER_DATA
    })
}

/// DS stays as the small space loaded it that ran before.
fn with_left_data() -> Result<()> {
    // `mov ecx, SMALL_DATA; mov ds, ecx; mov es, ecx`.
    let left: Damage = |code| {
        let found = code.starts_with(&[0xb9, 0x6b, 0, 0, 0, 0x8e, 0xd9, 0x8e, 0xc1]);
        if found {
            code[5..7].fill(NOP);
        }
        found
    };
    damaged(system("fast-paths-small")?, left, Rule::OutsideRegion, |v| v.owner == "components")
}

/// A small space is entered by `sysexit`, which loads segments of large ones.
fn with_fast_exit() -> Result<()> {
    // `mov ss:[edx - 4], ecx; mov byte ptr ss:[edx - 16], SMALL_CODE; lea esp, [edx - 20]; xor edx,
    // edx; iretd`.
    const BY_IRET: [u8; 15] =
        [0x36, 0x89, 0x4a, 0xfc, 0x36, 0xc6, 0x42, 0xf0, 0x63, 0x8d, 0x62, 0xec, 0x31, 0xd2, 0xcf];
    // `mov ecx, ss:[edx - 8]; mov edx, ss:[edx - 20]; sysexit`.
    const BY_SYSEXIT: [u8; 10] = [0x36, 0x8b, 0x4a, 0xf8, 0x36, 0x8b, 0x52, 0xec, 0x0f, 0x35];
    let fast: Damage = |code| {
        let found = code.starts_with(&BY_IRET);
        if found {
            code[..BY_SYSEXIT.len()].copy_from_slice(&BY_SYSEXIT);
        }
        found
    };
    damaged(system("fast-paths-small")?, fast, Rule::LargeInHome, |v| v.owner == "kernel")
}

/// Caches with virtual addresses, which this kernel does not flush, for it never runs with such.
fn without_cache_flushes() -> Result<()> {
    let model = Model { cpu: Some(VIRTUAL.into()), ..build::model()? };
    let report = finished(run(&system("fast-paths")?, &model)?)?;
    let found = report.violations.iter().find(|v| v.rule == Rule::CacheAlias.to_string());
    println!("# {:?}", found.context("not noticed: lines of another space are used")?);
    let model = Model { cpu: Some(PHYSICAL.into()), ..model };
    let report = finished(run(&system("fast-paths")?, &model)?)?;
    ensure!(
        report.violations.is_empty(),
        "found where there is none: {:?}",
        report.violations.first()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_that_differ_say_where() {
        let first = Report { instructions: 7, ..Report::default() };
        assert!(alike(&first, &first).is_ok());
        let second = Report { instructions: 8, errors: vec!["an error".into()], ..first.clone() };
        assert_eq!(
            alike(&first, &second).unwrap_err().to_string(),
            "two runs differ in 2 places: /errors/0 is nothing, then \"an error\"; \
             /instructions is 7, then 8"
        );
    }

    #[test]
    fn latency_may_differ() {
        let first = Report::default();
        let second =
            Report { latency: Some(model_core::LatencyReport::default()), ..first.clone() };
        assert!(alike(&first, &second).is_ok());
    }
}
