// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plugin's report, as the build tool reads it.

use crate::events::{ByOwner, Events};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything that a run counted.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The intervals that ended at least once, by number.
    pub intervals: BTreeMap<u16, IntervalReport>,
    /// Misplaced markers, in words. A run with an error is no measurement.
    pub errors: Vec<String>,
    /// What the checker found.
    #[serde(default)]
    pub violations: Vec<ViolationReport>,
    /// How many further different violations there were, which are not listed.
    #[serde(default)]
    pub further_violations: u64,
    /// Instructions executed while the model was armed, up to the last marker.
    #[serde(default)]
    pub instructions: u64,
    /// How many accesses to data the checker has checked, if there is a checker; fetches are
    /// checked in addition.
    #[serde(default)]
    pub checked: Option<u64>,
    /// How long the kernel did not check for interrupts, if that was measured.
    #[serde(default)]
    pub latency: Option<LatencyReport>,
}

/// Stretches of kernel instructions in which no interrupt would be taken.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub struct LatencyReport {
    /// Instructions of the longest.
    pub longest: u64,
    /// The longest ones of each case and cause, in falling order: every case has one at least.
    pub stretches: Vec<StretchReport>,
}

/// The longest stretch of a kind.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct StretchReport {
    /// How long it is.
    pub instructions: u64,
    /// The case that the program was in, if it names its cases.
    pub case: String,
    /// How the kernel was entered: the system call, or the entry's symbol; or that it idled.
    pub cause: String,
    /// The functions in which most of it was executed, and their instructions.
    pub functions: Vec<(String, u64)>,
}

impl LatencyReport {
    /// The longest stretch of each case, in falling order.
    pub fn cases(&self) -> impl Iterator<Item = &StretchReport> {
        let first = |&(index, stretch): &(usize, &StretchReport)| {
            self.stretches[..index].iter().all(|other| other.case != stretch.case)
        };
        self.stretches.iter().enumerate().filter(first).map(|(_, stretch)| stretch)
    }
}

impl std::fmt::Display for StretchReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_string();
        let functions: Vec<String> =
            self.functions.iter().map(|(name, count)| format!("{} {count}", last(name))).collect();
        write!(f, "{} instructions by {}: {}", self.instructions, self.cause, functions.join(", "))
    }
}

/// A rule of the checker that was broken.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ViolationReport {
    /// Which.
    pub rule: String,
    /// Linear address of the instruction.
    pub instruction: String,
    /// The function that it is in, with the distance from its start.
    pub symbol: Option<String>,
    /// Linear address that it accessed, or the interval's number, or a selector.
    pub address: String,
    /// For an access beyond a limit: the segment register, and its selector.
    #[serde(default)]
    pub segment: Option<String>,
    /// For a stale translation: the instruction that changed the tables, as `symbol` or as an
    /// address.
    pub cause: Option<String>,
    /// The owner of the instruction, as in [`ByOwner`].
    pub owner: String,
    /// How often.
    pub times: u64,
}

impl Report {
    /// As JSON with a line end: equal reports give equal bytes.
    ///
    /// # Errors
    /// None that a report can cause; `serde_json` reserves them.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// One interval. The spreads are over all its repetitions.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct IntervalReport {
    /// How often it began and ended.
    pub repetitions: u64,
    /// Instructions in kernel mode.
    pub kernel_instructions: Spread,
    /// Instructions in user mode, markers excluded.
    pub user_instructions: Spread,
    /// User instructions that the watched server executed; 0 if no server is watched.
    pub server_instructions: Spread,
    /// Changes from user mode to kernel mode.
    pub kernel_entries: Spread,
    /// `mov cr3` in kernel mode.
    pub cr3_writes: Spread,
    /// `invlpg` in kernel mode.
    pub invlpg: Spread,
    /// Distinct lines of 32 bytes from which kernel instructions were fetched.
    pub kernel_code_lines_32: Spread,
    /// Distinct lines of 32 bytes that kernel instructions read or wrote.
    pub kernel_data_lines_32: Spread,
    /// Events by owner. Hits and misses are 0 without a CPU model.
    #[serde(default)]
    pub events: ByOwner<Events<Spread>>,
    /// Events of the kernel's function that is counted apart, and of what it calls; they are among
    /// the kernel's events. Nothing if there is none, or if it never ran in this interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Events<Spread>>,
    /// Repetitions whose number of kernel visits is not the most common one.
    /// They are in the spreads and not in `visits`.
    pub disturbed: u64,
    /// The visits to the kernel, in their order, of the undisturbed repetitions.
    pub visits: Vec<VisitReport>,
}

impl IntervalReport {
    /// The medians of all events, by owner, for [`crate::Cpu::cycles`].
    #[must_use]
    pub fn medians(&self) -> ByOwner<Events> {
        self.events.map(|part| part.map(|spread| spread.median))
    }
}

/// Medians of one visit to the kernel, by its position in the interval.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub struct VisitReport {
    /// Instructions.
    pub kernel_instructions: u64,
    /// Distinct lines of code: one that an earlier visit touched counts again.
    pub kernel_code_lines_32: u64,
    /// Distinct lines of data, likewise.
    pub kernel_data_lines_32: u64,
    /// `mov cr3`.
    pub cr3_writes: u64,
}

/// A count over repetitions.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spread {
    /// The middle value; of two the lower one.
    pub median: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
}
