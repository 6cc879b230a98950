// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be counted of an interval, by the names that sections use.

use crate::plan::Row;
use model_core::{IntervalReport, Spread, VisitReport};

/// A count over repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The middle one.
    pub median: f64,
    /// The least and the most, where they are known.
    pub spread: Option<(f64, f64)>,
}

impl Value {
    fn exact(median: u64) -> Self {
        Self { median: median as f64, spread: None }
    }

    /// Each divided by `divisor`.
    pub fn divided(self, divisor: f64) -> Self {
        Self { median: self.median / divisor, spread: self.spread.map(|(least, most)| (least / divisor, most / divisor)) }
    }
}

impl From<Spread> for Value {
    fn from(spread: Spread) -> Self {
        Self { median: spread.median as f64, spread: Some((spread.min as f64, spread.max as f64)) }
    }
}

/// A kind of count.
pub struct Kind {
    /// For people.
    pub what: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Whether it depends on the CPU model.
    pub modelled: bool,
}

/// What is known of a count that has a name.
pub fn kind(count: &str) -> Option<Kind> {
    let (what, unit, modelled) = match count {
        "instructions" => ("instructions in all", "instructions", false),
        "kernel_instructions" => ("instructions in the kernel", "instructions", false),
        "server_instructions" => ("instructions of the Linux server", "instructions", false),
        "kernel_entries" => ("entries into the kernel", "entries", false),
        "cr3_writes" => ("writes of CR3", "writes", false),
        "code_lines_32" => ("cache lines of kernel code", "lines", false),
        "data_lines_32" => ("cache lines of kernel data", "lines", false),
        "cache_lines_32" => ("cache lines of the kernel", "lines", false),
        "instruction_ratio" => ("instructions, ours to Linux alone", "", false),
        _ => return None,
    };
    Some(Kind { what, unit, modelled })
}

/// The count of this name of an interval; `None` if the interval does not have it.
pub fn value(count: &str, interval: &IntervalReport, row: &Row) -> Option<Value> {
    let value = match row.visit {
        Some(visit) => of_visit(count, interval.visits.get(visit)?)?,
        None => of_interval(count, interval)?,
    };
    Some(value.divided(f64::from(row.per)))
}

fn of_visit(count: &str, visit: &VisitReport) -> Option<Value> {
    let (code, data) = (visit.kernel_code_lines_32, visit.kernel_data_lines_32);
    Some(Value::exact(match count {
        "kernel_instructions" => visit.kernel_instructions,
        "code_lines_32" => code,
        "data_lines_32" => data,
        "cache_lines_32" => code + data,
        "cr3_writes" => visit.cr3_writes,
        _ => return None,
    }))
}

fn of_interval(count: &str, interval: &IntervalReport) -> Option<Value> {
    Some(match count {
        "instructions" => sum(interval.user_instructions, interval.kernel_instructions),
        "kernel_instructions" => interval.kernel_instructions.into(),
        "server_instructions" => interval.server_instructions.into(),
        "kernel_entries" => interval.kernel_entries.into(),
        "cr3_writes" => interval.cr3_writes.into(),
        "code_lines_32" => interval.kernel_code_lines_32.into(),
        "data_lines_32" => interval.kernel_data_lines_32.into(),
        "cache_lines_32" => sum(interval.kernel_code_lines_32, interval.kernel_data_lines_32),
        _ => return None,
    })
}

fn sum(a: Spread, b: Spread) -> Value {
    Spread { median: a.median + b.median, min: a.min + b.min, max: a.max + b.max }.into()
}
