// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints the constants of the machine model, each with its source, and compares published figures
//! with the model's. The method is in docs/model.md.
//!
//! It owns the command `model`. It does not know how the model counts: `model_core` does.

use crate::build::{self, Model};
use crate::catalogue::names;
use crate::guest;
use crate::process::show;
use anyhow::{Context, Result, ensure};
use model_core::{Cpu, Report};

/// Where the CPU models are.
const FOLDER: &str = "model/cpus";

/// Prints one CPU model, or all, as text for docs/model.md.
pub fn run(name: Option<&str>) -> Result<()> {
    match name {
        Some(name) => print(&read(name)?),
        None => names(FOLDER)?.iter().try_for_each(|name| print(&read(name)?)),
    }
}

/// A CPU model.
pub fn read(name: &str) -> Result<Cpu> {
    let path = Model::cpu_file(name);
    let all = names(FOLDER)?;
    ensure!(
        all.iter().any(|known| known == name),
        "there is no CPU model `{name}`: name one of {}",
        all.join(", ")
    );
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Cpu::parse(&text).with_context(|| path.display().to_string())
}

fn print(cpu: &Cpu) -> Result<()> {
    show(&format!("### {}\n\n| event | cycles | source |\n|---|---|---|\n", cpu.name))?;
    for (name, cost) in
        cpu.costs.named().into_iter().filter(|(_, cost)| cost.source != model_core::Source::NoCost)
    {
        show(&format!("| {} | {} | {} |\n", name.replace('_', " "), cost.cycles, cost.source))?;
    }
    open(cpu)?;
    if cpu.published.is_empty() {
        show("\n")?;
        return Ok(());
    }
    show(
        "\n| published figure | published | model | as far as sources allow | residual | |\n|---|---|---|---|---|---|\n",
    )?;
    let native = cpu
        .published
        .iter()
        .any(|figure| figure.interval.is_some())
        .then(|| measure(&cpu.name))
        .transpose()?;
    for figure in &cpu.published {
        let by = |cpu: &Cpu| match (figure.interval, &native) {
            (Some(interval), Some(report)) => of_interval(cpu, report, interval),
            _ => Ok(cpu.cycles_of(&figure.events)),
        };
        let cycles = by(cpu)?;
        let corners = cpu.corners().iter().map(by).collect::<Result<Vec<f64>>>()?;
        let (low, high) = corners
            .into_iter()
            .fold((cycles, cycles), |(low, high), corner| (low.min(corner), high.max(corner)));
        let residual = (cycles / figure.cycles - 1.0) * 100.0;
        let role = if figure.calibrates { "calibrated on" } else { "check" };
        let range =
            if high - low < 1.0 { "the same".into() } else { format!("{low:.0} to {high:.0}") };
        show(&format!(
            "| {} ({}) | {:.0} | {cycles:.0} | {range} | {residual:+.1} % | {role} |\n",
            figure.what, figure.source, figure.cycles
        ))?;
    }
    show("\n")?;
    Ok(())
}

/// What sources leave open, as a table.
fn open(cpu: &Cpu) -> Result<()> {
    if cpu.doubts.is_empty() && cpu.variants.is_empty() {
        return Ok(());
    }
    show("\n| what sources leave open | so that it may be | why |\n|---|---|---|\n")?;
    for (what, ends, source) in book::Model::from(cpu).open {
        show(&format!("| {what} | {ends} | {source} |\n"))?;
    }
    Ok(())
}

/// Linux alone with this CPU model's TLBs and caches.
fn measure(name: &str) -> Result<Report> {
    let report = guest::native_figures(&Model { cpu: Some(name.into()), ..build::model()? })?;
    ensure!(report.errors.is_empty(), "{}", report.errors.join("; "));
    Ok(report)
}

fn of_interval(cpu: &Cpu, report: &Report, interval: u16) -> Result<f64> {
    let measured = report
        .intervals
        .get(&interval)
        .with_context(|| format!("interval {interval} was not measured"))?;
    Ok(cpu.cycles(&measured.medians().total()))
}
