// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured of one thing, as the files of sections say it.

use serde::Deserialize;

/// One thing that is measured.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The first part of its figures' names.
    pub name: String,
    /// What it is, for people.
    pub label: String,
    /// The run that it is of, of the same program, if not the section's.
    pub run: Option<String>,
    /// The interval in the program. Without one the figure is of the whole run: the most
    /// instructions of the kernel between two checks for interrupts.
    pub interval: Option<u16>,
    /// An interval whose counts are subtracted, of the same repetitions: what has to be done
    /// anyway.
    pub less: Option<u16>,
    /// An interval with whose cycles its own are compared.
    pub other: Option<u16>,
    /// Only this part of what a network frame takes in it, of a run with `frames`; or which of the
    /// numbers that a run with `hash` or `evicts` has.
    pub part: Option<String>,
    /// Whether only of the kernel's function that is counted apart, and of what it calls
    /// (docs/model.md, *What is counted*).
    #[serde(default)]
    pub apart: bool,
    /// Only this visit to the kernel within it, from 0.
    pub visit: Option<usize>,
    /// Operations of each repetition: figures are of one.
    #[serde(default = "one")]
    pub per: u32,
    /// Bytes that each repetition moves: for bandwidths.
    #[serde(default)]
    pub bytes: u32,
    /// Whether the page shows whose cycles they are, and for what.
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
    /// The paper's number: `NAME`, or `PAPER/NAME` of another paper; with two of them, their
    /// quotient.
    #[serde(default)]
    pub paper: Vec<String>,
    /// The most that it should be, if somebody has said so; of what is better the more of it there
    /// is, the least.
    pub goal: Option<f64>,
    /// Whether the goal is reached, so that `./macadamia test bench` holds on to it.
    #[serde(default)]
    pub held: bool,
}
