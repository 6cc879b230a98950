// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the PowerPC board, with both kinds of processors: nothing to report of the kernel as it is, and
//! kernels that leave out an operation, of which something is noticed.

use super::model::{clean, finished, system};
use super::tally::{Test, on_amigaone, test};
use crate::build::{self, Built, Model};
use crate::machine::emulator::{Machine, batch};
use anyhow::{Context, Result, ensure};
use model_core::Rule;
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("amigaone.model.fast-paths", || on_amigaone(cpus)),
    test("amigaone.fault.code-drop", || on_amigaone(|| fault(DROP_CODE, Rule::OldCode))),
    test("amigaone.fault.reservation", || on_amigaone(|| fault(RELEASE, Rule::KeptReservation))),
];

/// QEMU's names of the processors, and what the model has of each.
const CPUS: [(&str, &str); 2] = [("604", "ppc604-133"), ("603e", "ppc603e-133")];

/// What of an instruction tells it, and what that is.
type Damaged = (u32, u32);

/// `icbi`, of any register.
const DROP_CODE: Damaged = (0xffff_07ff, 0x7c00_07ac);
/// `stwcx. 3, 0, 3`: that of the portable way out.
const RELEASE: Damaged = (u32::MAX, 0x7c60_192d);
/// `nop`
const NOTHING: u32 = 0x6000_0000;

/// A kernel without these instructions, on both processors, until the rule is broken.
fn fault((mask, instruction): Damaged, rule: Rule) -> Result<()> {
    let built = system("conform-fast")?;
    let mut kernel = std::fs::read(&built.kernel)?;
    let mut places = 0;
    for word in kernel.as_chunks_mut::<4>().0 {
        if u32::from_be_bytes(*word) & mask == instruction {
            *word = NOTHING.to_be_bytes();
            places += 1;
        }
    }
    ensure!(places > 0, "the kernel has no such code");
    let path = built.kernel.with_file_name("damaged.elf");
    std::fs::write(&path, kernel)?;
    let (built, model) = (Built { kernel: path, ..built }, Model { check: true, until: vec![rule], ..build::model()? });
    for (cpu, _) in CPUS {
        let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
        let report = batch(&built, machine, Duration::from_secs(120))?.model.context("the damaged system did not end in time")?;
        let found = report.violations.iter().find(|violation| violation.rule == rule.to_string());
        let found = found.with_context(|| format!("{cpu}: not noticed: {places} places are damaged"))?;
        println!("# {cpu}: {places} places are damaged: {found:?}");
    }
    Ok(())
}

/// A system's run of so many seconds at most on each processor, of which the checker has nothing to report.
fn checked(name: &str, seconds: u64) -> Result<()> {
    let (built, model) = (system(name)?, Model { check: true, ..build::model()? });
    for (cpu, _) in CPUS {
        let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
        clean(&finished(batch(&built, machine, Duration::from_secs(seconds))?)?)?;
    }
    Ok(())
}

/// The CPU models.
fn cpus() -> Result<()> {
    checked("fast-paths", 120)?;
    let built = system("fast-paths")?;
    for (cpu, name) in CPUS {
        let model = Model { cpu: Some(name.into()), ..build::model()? };
        let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
        let report = finished(batch(&built, machine, Duration::from_secs(120))?)?;
        ensure!(report.errors.is_empty(), "{name}: {}", report.errors.join("; "));
    }
    Ok(())
}
