// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured of one thing, as the files of sections have it.

use serde::Deserialize;

/// One thing that is measured.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The first part of its figures' names.
    pub name: String,
    /// Its description.
    pub label: String,
    /// The run that it belongs to, if not the section's: another one of the same program.
    pub run: Option<String>,
    /// The interval in the program. Without one the figure is of the whole run: the most
    /// instructions of the kernel between two checks for interrupts.
    pub interval: Option<u16>,
    /// An interval with the same repetitions whose counts are subtracted: work that has to be done
    /// in any case.
    pub less: Option<u16>,
    /// An interval whose cycles are compared with its own.
    pub other: Option<u16>,
    /// For a run with `frames`: only this part of a network frame's cost. For a run with `hash` or
    /// `evicts`: the name of one of its numbers.
    pub part: Option<String>,
    /// Whether it counts only the kernel's function that is counted apart, and what that calls
    /// (docs/model.md, *What is counted*).
    #[serde(default)]
    pub apart: bool,
    /// Only this visit to the kernel within it, from 0.
    pub visit: Option<usize>,
    /// Operations of each repetition: figures are for one of them.
    #[serde(default = "one")]
    pub per: u32,
    /// Bytes that each repetition moves: for bandwidths.
    #[serde(default)]
    pub bytes: u32,
    /// Whether the page shows the cycles by owner and by event.
    #[serde(default)]
    pub account: bool,
    /// Its figures.
    pub figure: Vec<FigurePlan>,
}

const fn one() -> u32 {
    1
}

/// One figure of a row.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct FigurePlan {
    /// What is counted: the last part of its name. The names are those of `counts.rs`.
    pub count: String,
    /// The paper's number: `NAME`, or `PAPER/NAME` for another paper; two of them mean their
    /// quotient.
    #[serde(default)]
    pub paper: Vec<String>,
    /// The most that it should be, if there is a goal; for counts of which more is better, the
    /// least.
    pub goal: Option<f64>,
    /// Whether the goal was reached, so that `./macadamia test bench` checks it.
    #[serde(default)]
    pub held: bool,
}
