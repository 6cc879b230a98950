// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the PowerPC board, with both kinds of processors: the checker
//! reports nothing about the kernel as it is, and finds kernels that leave out an operation.

use super::latency;
use super::model::{alike, clean, finished, system};
use super::tally::{Test, on_amigaone, slow, test};
use crate::build::{self, Built, Model};
use crate::emulator::{Machine, batch};
use crate::machine::words;
use anyhow::{Context, Result, ensure};
use mmu::vsid::{USER_SEGMENTS, vsid};
use model_core::Rule;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("amigaone.model.fast-paths", || on_amigaone(cpus)),
    slow("amigaone.model.conform", "minutes under the checker", || {
        on_amigaone(|| checked("conform-fast", 1200))
    }),
    slow("amigaone.model.hostile", "minutes under the checker", || {
        on_amigaone(|| checked("hostile", 1200))
    }),
    slow("amigaone.model.servers", "minutes under the checker", || on_amigaone(servers)),
    test("amigaone.latency", || on_amigaone(|| worst(CPUS[0].0))),
    slow("amigaone.latency.603e", "as `amigaone.latency`, on the other processor", || {
        on_amigaone(|| worst(CPUS[1].0))
    }),
    test("amigaone.fault.page-flush", || {
        on_amigaone(|| fault(|words| without(words, TLBIE), Rule::StaleTranslation))
    }),
    test("amigaone.fault.null", || on_amigaone(|| fault(without_nulls, Rule::OpenSegment))),
    slow("amigaone.fault.window", "minutes until a server is shown", || {
        on_amigaone(|| {
            fault(|words| SHUTS.map(|shut| without(words, shut)).iter().sum(), Rule::OpenSegment)
        })
    }),
    test("amigaone.fault.shut", || {
        on_amigaone(|| {
            fault_of("hostile-servers", &CPUS[1..], without_looks, Rule::StaleTranslation)
        })
    }),
    test("amigaone.fault.context", || {
        on_amigaone(|| fault(without_numbers, Rule::StaleTranslation))
    }),
    test("amigaone.fault.code-drop", || {
        on_amigaone(|| fault(|words| without(words, ICBI), Rule::OldCode))
    }),
    test("amigaone.fault.reservation", || {
        on_amigaone(|| fault(|words| without(words, STWCX), Rule::KeptReservation))
    }),
];

/// QEMU's names of the processors, and what the model has of each.
pub const CPUS: [(&str, &str); 2] = [("604", "ppc604-133"), ("603e", "ppc603e-133")];

/// Changes a kernel's words, and says at how many places.
type Damage = fn(&mut [u32]) -> usize;

/// `nop`
const NOTHING: u32 = 0x6000_0000;
/// `addis`, which is `lis` without a register; `ori`; `b`.
const ADDIS: u32 = 15 << 26;
const ORI: u32 = 24 << 26;
const BRANCH: u32 = 18 << 26;

/// Leaves out each instruction of which this mask has this.
fn without(words: &mut [u32], instruction: (u32, u32)) -> usize {
    let found = words.iter_mut().filter(|word| is(**word, instruction));
    found.map(|word| *word = NOTHING).count()
}

/// A mask and what an instruction has of it: `tlbie`, `icbi` and `mtsrin` of any register.
const TLBIE: (u32, u32) = (0xffff_07ff, 0x7c00_0264);
const ICBI: (u32, u32) = (0xffff_07ff, 0x7c00_07ac);
const MTSRIN: (u32, u32) = (0xfc1f_07ff, 0x7c00_01e4);
/// `addic` and `addi` of 1.
const ADDIC_1: (u32, u32) = (0xfc00_ffff, 12 << 26 | 1);
const ADDI_1: (u32, u32) = (0xfc00_ffff, 14 << 26 | 1);
/// `stwcx. 3, 0, 3`: that of the portable way out.
const STWCX: (u32, u32) = (u32::MAX, 0x7c60_192d);
/// `mtsr 10, 16`, `mtsr 11, 16`: the fast path to an alien shuts the window.
const SHUTS: [(u32, u32); 2] = [(u32::MAX, 0x7e0a_01a4), (u32::MAX, 0x7e0b_01a4)];

/// `andis. 2, 2, 0x1000`: a 603's handler looks whether a window is shut; and the same of no bit.
const LOOK: (u32, u32) = (u32::MAX, 0x7442_1000);
const NO_LOOK: u32 = 0x7442_0000;

fn is(word: u32, (mask, instruction): (u32, u32)) -> bool {
    word & mask == instruction
}

/// A 603's handlers fill the TLB with what a server has, also where its window is shut.
fn without_looks(words: &mut [u32]) -> usize {
    let looks = words.iter_mut().filter(|word| is(**word, LOOK));
    looks.map(|word| *word = NO_LOOK).count()
}

/// A segment that the last space used and the next one does not is left as it is: where its null
/// number is made the write is jumped over.
fn without_nulls(words: &mut [u32]) -> usize {
    let nulls: Vec<u32> = (2..USER_SEGMENTS).map(|segment| vsid(0, segment)).collect();
    let mut places = 0;
    for at in 0..words.len().saturating_sub(8) {
        let [upper, lower] = [words[at], words[at + 1]];
        let makes = |null: &u32| {
            upper & 0xfc1f_ffff == ADDIS | null >> 16 && lower & 0xfc00_ffff == ORI | null & 0xffff
        };
        let write = (2..8).find(|after| is(words[at + after], MTSRIN));
        if let Some(write) = write.filter(|_| nulls.iter().any(makes)) {
            words[at] = BRANCH | ((write as u32 + 1) * 4);
            places += 1;
        }
    }
    places
}

/// One context is given out again and again, so a space that lost its translations still has them.
/// Who gives them out counts how often there is none left, and empties the TLB then; before that
/// the number after the one that is given out is made.
fn without_numbers(words: &mut [u32]) -> usize {
    let is_counted = |at: &usize| {
        is(words[*at], ADDIC_1) && words[*at..].iter().take(8).any(|word| is(*word, TLBIE))
    };
    let Some(end) = (0..words.len()).find(is_counted) else { return 0 };
    let next = words[end.saturating_sub(100)..end]
        .iter_mut()
        .filter(|word| is(**word, ADDI_1) && **word >> 21 & 31 != **word >> 16 & 31);
    let next = next.filter(|word| **word >> 16 & 31 != 0);
    next.map(|word| *word &= !1).count()
}

/// A kernel with this damage, on both processors, until the rule is broken.
fn fault(damage: Damage, rule: Rule) -> Result<()> {
    fault_of("conform-fast", &CPUS, damage, rule)
}

/// The same in a system, on some processors.
fn fault_of(name: &str, cpus: &[(&str, &str)], damage: Damage, rule: Rule) -> Result<()> {
    let built = system(name)?;
    let mut kernel = std::fs::read(&built.kernel)?;
    let mut words: Vec<u32> =
        kernel.as_chunks().0.iter().map(|word| u32::from_be_bytes(*word)).collect();
    let places = damage(&mut words);
    ensure!(places > 0, "the kernel has no such code");
    kernel
        .as_chunks_mut()
        .0
        .iter_mut()
        .zip(words)
        .for_each(|(bytes, word)| *bytes = word.to_be_bytes());
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    let (built, model) = (
        Built { kernel: path, ..built },
        Model { check: true, until: vec![rule], ..build::model()? },
    );
    for (cpu, _) in cpus {
        let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
        let report = batch(&built, machine, Duration::from_secs(300))?
            .model
            .context("the damaged system did not end in time")?;
        let found = report.violations.iter().find(|violation| violation.rule == rule.to_string());
        let found =
            found.with_context(|| format!("{cpu}: not noticed: {places} places are damaged"))?;
        println!("# {cpu}: {places} places are damaged: {found:?}");
    }
    Ok(())
}

/// A system's run of so many seconds at most on each processor, of which the checker has nothing to
/// report.
fn checked(name: &str, seconds: u64) -> Result<()> {
    let (built, model) = (system(name)?, Model { check: true, ..build::model()? });
    for (cpu, _) in CPUS {
        let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
        clean(&finished(batch(&built, machine, Duration::from_secs(seconds))?)?)?;
    }
    Ok(())
}

/// A server and processes that show it, by random steps, and by what boot words make of that.
fn servers() -> Result<()> {
    for say in ["", "contexts=64 server-bat", "vsid=pid", "vsid=pid16"] {
        words::with(say, || checked("hostile-servers", 1200))?;
    }
    Ok(())
}

/// The worst that a component can do to the latency on this processor.
fn worst(cpu: &str) -> Result<()> {
    let (built, model) = (system("latency")?, build::model()?);
    let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
    latency::worst(cpu, batch(&built, machine, Duration::from_secs(600))?)
}

/// The CPU models: what each counts of a run is as in the run before.
fn cpus() -> Result<()> {
    checked("fast-paths", 120)?;
    let built = system("fast-paths")?;
    for (cpu, name) in CPUS {
        let model = Model { cpu: Some(name.into()), ..build::model()? };
        let run = || -> Result<_> {
            let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
            finished(batch(&built, machine, Duration::from_secs(120))?)
        };
        let (report, again) = (run()?, run()?);
        ensure!(report.errors.is_empty(), "{name}: {}", report.errors.join("; "));
        latency::check(&format!("fast-paths.{cpu}"), &report)?;
        alike(&report, &again).context(name)?;
    }
    Ok(())
}
