// SPDX-License-Identifier: MIT OR Apache-2.0
//! The cycles of an interval, by owner and by event.

use crate::counted::Counted;
use crate::counts::as_the_processor_would;
use crate::figures::Account;
use crate::row::Row;
use model_core::{ByOwner, Cpu, Events};

/// Owners on Macadamia, and on Linux alone, where everything in user mode is the program's.
const OURS: [&str; 4] = ["kernel", "Linux server", "components", "program"];
const NATIVE: [&str; 2] = ["Linux alone: kernel", "Linux alone: program"];

/// The account of a row's interval; `None` if it was not measured.
pub fn of(row: &Row, counted: &Counted, cpu: &Cpu) -> Option<Account> {
    let medians =
        |report: &model_core::Report| Some(report.intervals.get(&row.interval?)?.medians());
    let ByOwner { kernel, server, components, user } = medians(&counted.ours)?;
    let mut owners: Vec<(&'static str, Events)> =
        OURS.into_iter().zip([kernel, server, components, user]).collect();
    if let Some(native) = counted.native.as_ref().and_then(medians) {
        owners.extend(NATIVE.into_iter().zip([native.kernel, native.user]));
    }
    owners.retain(|(_, events)| events.instructions > 0);
    let columns = owners.iter().map(|(owner, _)| *owner).collect();
    let priced: Vec<Vec<(&'static str, f64)>> =
        owners.into_iter().map(|(_, events)| priced(events, cpu)).collect();
    let names = Events::<u64>::default();
    let mut lines: Vec<(String, Vec<f64>)> = names
        .named()
        .into_iter()
        .map(|(name, _)| {
            let of = |owner: &Vec<(&'static str, f64)>| {
                owner.iter().find(|(event, _)| *event == name).map_or(0.0, |(_, cycles)| *cycles)
            };
            (name.replace('_', " "), priced.iter().map(of).collect())
        })
        .collect();
    lines.retain(|(_, cycles): &(String, Vec<f64>)| cycles.iter().any(|cycles| *cycles >= 0.5));
    lines.push((
        "sum".into(),
        priced.iter().map(|owner| owner.iter().map(|(_, cycles)| cycles).sum()).collect(),
    ));
    Some(Account { title: row.label.clone(), columns, lines })
}

/// The cycles of each kind of event.
fn priced(events: Events, cpu: &Cpu) -> Vec<(&'static str, f64)> {
    let events = as_the_processor_would(events, cpu);
    let costs = cpu.costs.named();
    events
        .named()
        .into_iter()
        .zip(costs)
        .map(|((name, &count), (_, cost))| (name, count as f64 * cost.cycles))
        .collect()
}
