// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures by the machine model, for people and as JSON. Method: docs/model.md.

use crate::build;
use crate::emulator::{Machine, batch};
use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The system whose programs have the markers.
const SYSTEM: &str = "tests/systems/figures.toml";

/// One figure.
#[derive(Serialize)]
struct Figure {
    value: u64,
    unit: &'static str,
}

/// Runs the measured programs; prints the figures whose names contain `filter`, or writes them as JSON.
pub fn run(filter: &str, json: Option<&Path>) -> Result<()> {
    let built = build::system(Path::new(SYSTEM))?;
    let test = built.test.clone().context("the figures' description has no [test]")?;
    let model = build::model()?;
    let machine = Machine::Qemu { cpu: &built.cpu, icount: true, model: Some(&model) };
    let transcript = batch(&built, machine, Duration::from_secs(test.timeout))?;
    let Some(report) = transcript.model else { bail!("the measured system did not end in {} s", test.timeout) };
    ensure!(report.errors.is_empty(), "misplaced markers: {}", report.errors.join("; "));
    let mut figures = BTreeMap::new();
    for limit in &test.limit {
        let visit = report.intervals.get(&limit.interval).and_then(|interval| interval.visits.get(limit.visit));
        let visit = visit.with_context(|| format!("{} was not measured", limit.name))?;
        for (what, value, unit) in [
            ("kernel_instructions", visit.kernel_instructions, "instructions"),
            ("cache_lines_32", visit.kernel_code_lines_32 + visit.kernel_data_lines_32, "lines"),
            ("cr3_writes", visit.cr3_writes, "writes"),
        ] {
            figures.insert(format!("{}.{what}", limit.name), Figure { value, unit });
        }
    }
    figures.retain(|name, _| name.contains(filter));
    ensure!(!figures.is_empty(), "no figure's name contains `{filter}`");
    match json {
        Some(path) => {
            let text = serde_json::to_string_pretty(&figures)? + "\n";
            if path == Path::new("-") {
                print!("{text}");
                Ok(())
            } else {
                std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
            }
        }
        None => {
            println!("Medians over {} repetitions, QEMU {} with -icount (docs/model.md)", repetitions(&report), built.cpu);
            figures.iter().for_each(|(name, figure)| println!("{name:45} {:>6} {}", figure.value, figure.unit));
            Ok(())
        }
    }
}

/// The most that any interval was repeated.
fn repetitions(report: &model_core::Report) -> u64 {
    report.intervals.values().map(|interval| interval.repetitions).max().unwrap_or(0)
}
