// SPDX-License-Identifier: MIT OR Apache-2.0
//! The limit for how long the kernel does not check for interrupts, in every run in which the
//! machine model measures it.

use super::model::finished;
use crate::emulator::Transcript;
use anyhow::{Context, Result, ensure};
use model_core::{Report, StretchReport};

/// The most instructions of the kernel between two checks for interrupts, whatever user code does.
const MOST: u64 = 10_000;

/// Holds a run of the adversarial program (tests/latency) to the limit. All of its cases did what
/// they are to measure.
pub fn worst(name: &str, transcript: Transcript) -> Result<()> {
    let failed: Vec<&str> =
        transcript.results.lines().filter(|line| line.starts_with("not ok ")).collect();
    ensure!(failed.is_empty(), "{name}: {}", failed.join("; "));
    check(name, &finished(transcript)?)
}

/// Holds each case of a run to [`MOST`]; a run without cases has the name of its system. Shows the
/// longest stretch of each case and everything above the limit.
pub fn check(system: &str, report: &Report) -> Result<()> {
    let latency = report.latency.as_ref().context("the latency was not measured")?;
    let mut wrong = Vec::new();
    let name = |stretch: &StretchReport| {
        if stretch.case.is_empty() { system.to_string() } else { stretch.case.clone() }
    };
    for stretch in latency.stretches.iter().filter(|stretch| stretch.instructions > MOST) {
        println!("# {}: {stretch}", name(stretch));
    }
    for stretch in latency.cases() {
        let name = name(stretch);
        if stretch.instructions <= MOST {
            println!("# {name}: {stretch}");
        } else {
            wrong.push(format!("{name}: {stretch}"));
        }
    }
    ensure!(
        wrong.is_empty(),
        "more than {MOST} instructions without a check for interrupts: {}",
        wrong.join("; ")
    );
    Ok(())
}
