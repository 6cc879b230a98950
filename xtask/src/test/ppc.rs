// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of the machine model on the PowerPC board, with both kinds of processors: nothing to report of the kernel as it is.

use super::model::{clean, finished, system};
use super::tally::{Test, slow, test};
use crate::build::{self, Model};
use crate::machine::board;
use crate::machine::emulator::{Machine, batch};
use anyhow::{Result, ensure};
use std::time::Duration;

/// Their names.
pub const ALL: &[Test] = &[
    test("amigaone.model.fast-paths", || on_board(cpus)),
    test("amigaone.model.conform", || on_board(|| checked("conform-fast", 300))),
    slow("amigaone.model.hostile", "minutes under the checker", || on_board(|| checked("hostile", 1200))),
];

/// QEMU's names of the processors, and what the model has of each.
const CPUS: [(&str, &str); 2] = [("604", "ppc604-133"), ("603e", "ppc603e-133")];

/// With the board as the one that all is built for.
fn on_board(test: fn() -> Result<()>) -> Result<()> {
    board::with(board::get("amigaone")?, test)
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

/// The CPU models: each run is as the one before.
fn cpus() -> Result<()> {
    checked("fast-paths", 120)?;
    let built = system("fast-paths")?;
    for (cpu, name) in CPUS {
        let model = Model { cpu: Some(name.into()), ..build::model()? };
        let run = || -> Result<_> {
            let machine = Machine::Qemu { cpu, icount: true, model: Some(&model) };
            finished(batch(&built, machine, Duration::from_secs(120))?)
        };
        let report = run()?;
        ensure!(report.errors.is_empty(), "{name}: {}", report.errors.join("; "));
        ensure!(report.to_json()? == run()?.to_json()?, "{name}: two runs differ");
    }
    Ok(())
}
