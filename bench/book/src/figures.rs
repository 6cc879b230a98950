// SPDX-License-Identifier: MIT OR Apache-2.0
//! The book as data, from which HTML, Markdown and JSON are written.

use crate::plan::Part;
use crate::range::{Range, quotient};
use model_core::{Cpu, Doubt, Source};

/// The whole book.
#[derive(Clone, Debug)]
pub struct Book {
    /// Where it comes from.
    pub provenance: Provenance,
    /// The chapters.
    pub chapters: Vec<Chapter>,
}

impl Book {
    /// The names of the sections that miss the paper's number or a goal, and have no reason.
    #[must_use]
    pub fn unexplained(&self) -> Vec<&str> {
        let sections = self.chapters.iter().flat_map(|chapter| &chapter.sections);
        sections
            .filter(|section| section.is_behind() && section.why.is_empty())
            .map(|section| section.name.as_str())
            .collect()
    }

    /// All figures, including those of plots.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let sections = self.chapters.iter().flat_map(|chapter| &chapter.sections);
        sections.flat_map(|section| {
            section.figures.iter().chain(section.charts.iter().flat_map(|chart| &chart.figures))
        })
    }
}

/// Where a book comes from.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    /// The project's commit, with a mark if anything has changed since.
    pub commit: String,
    /// The emulator and its version.
    pub emulator: String,
    /// The CPU models.
    pub models: Vec<Model>,
}

/// A CPU model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Clock in MHz.
    pub clock_mhz: f64,
    /// The cycles of each kind of event, and their source.
    pub costs: Vec<(String, f64, String)>,
    /// What sources leave open: the costs, their range, and the reason.
    pub open: Vec<(String, String, String)>,
}

impl From<&Cpu> for Model {
    fn from(cpu: &Cpu) -> Self {
        let known = cpu.costs.named().into_iter().filter(|(_, cost)| cost.source != Source::NoCost);
        let costs = known
            .map(|(name, cost)| (name.replace('_', " "), cost.cycles, cost.source.to_string()))
            .collect();
        let ends = |doubt: &Doubt| {
            cpu.ends(doubt).iter().map(|end| cpu.difference(end)).collect::<Vec<_>>().join("; or ")
        };
        let doubts =
            cpu.doubts.iter().map(|doubt| (doubt.what.clone(), ends(doubt), doubt.source.clone()));
        let variants = cpu.variants.iter().map(|variant| {
            (variant.what.clone(), "a run of its own".into(), variant.source.clone())
        });
        let open = doubts.chain(variants).collect();
        Self { name: cpu.name.clone(), clock_mhz: cpu.clock_mhz, costs, open }
    }
}

/// A chapter.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// Title.
    pub title: String,
    /// Introduction.
    pub text: String,
    /// The paper, in a line.
    pub source: String,
    /// The sections.
    pub sections: Vec<Section>,
}

/// A section.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name for `./macadamia bench NAME`.
    pub name: String,
    /// Title.
    pub title: String,
    /// Method.
    pub text: String,
    /// Why figures are worse than the paper's or miss their goals; empty without a reason.
    pub why: String,
    /// The CPU model.
    pub model: String,
    /// Instructions that were modelled for it, ours and on Linux alone, in thousands of millions,
    /// and how many it may be.
    pub modelled: (f64, f64),
    /// Its figures; the points of plots are not among them.
    pub figures: Vec<Figure>,
    /// Its plots.
    pub charts: Vec<Chart>,
    /// Where cycles go.
    pub accounts: Vec<Account>,
    /// Where instructions go.
    pub paths: Vec<Path>,
    /// Numbers that are quoted: what they are, value with unit, place in the paper.
    pub quotes: Vec<(String, String, String)>,
}

impl Section {
    /// Its figures; for plots, the first and the last.
    pub(crate) fn tabled(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().chain(
            self.charts
                .iter()
                .flat_map(|chart| chart.figures.first().into_iter().chain(chart.figures.last())),
        )
    }

    /// Whether some figure is worse than the paper's or misses its goal.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.tabled().any(|figure| figure.worse || figure.reached() == Some(false))
    }
}

/// The text in place of the CPU model, for figures that do not depend on one.
pub(crate) const COUNT: &str = "count";

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its stable name.
    pub name: String,
    /// Its description.
    pub label: String,
    /// A description of what is counted.
    pub what: String,
    /// Ours: a median over repetitions, and over layouts of code if there are several.
    pub value: f64,
    /// For a ratio of cycles: the range that sources allow.
    pub range: Option<Range>,
    /// The least and the most over layouts of code, if the figure depends on them and there are
    /// several.
    pub layouts: Option<(f64, f64)>,
    /// The least and the most over all repetitions, with the first layout. For cycles, they are
    /// calculated from the least and the most of each event.
    pub spread: Option<(f64, f64)>,
    /// How many repetitions.
    pub repetitions: u64,
    /// Unit.
    pub unit: &'static str,
    /// The paper's number, and its place in the paper.
    pub paper: Option<(f64, String)>,
    /// The same on Linux alone.
    pub native: Option<f64>,
    /// Its goal, and whether that is reached.
    pub goal: Option<Goal>,
    /// Whether our value is worse than the paper's.
    pub worse: bool,
    /// The CPU model; `count` if the figure does not depend on any.
    pub model: String,
}

impl Figure {
    /// Whether it depends on the CPU model.
    #[must_use]
    pub fn is_modelled(&self) -> bool {
        self.model != COUNT
    }

    /// Ours divided by the paper's.
    #[must_use]
    pub fn to_paper(&self) -> Option<f64> {
        self.paper.as_ref().and_then(|(paper, _)| quotient(self.value, *paper))
    }

    /// Ours divided by that of Linux alone.
    #[must_use]
    pub fn to_native(&self) -> Option<f64> {
        self.native.and_then(|native| quotient(self.value, native))
    }
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The limit: an upper or a lower one.
    pub limit: f64,
    /// Whether the goal is a lower limit: more is better.
    pub is_least: bool,
    /// Whether a test checks it.
    pub held: bool,
}

impl Goal {
    /// The kind of limit, in words.
    #[must_use]
    pub const fn side(&self) -> &'static str {
        if self.is_least { "at least" } else { "at most" }
    }
}

impl Figure {
    /// Whether the goal is reached; nothing if there is none.
    #[must_use]
    pub fn reached(&self) -> Option<bool> {
        self.goal.map(|goal| {
            if goal.is_least { self.value >= goal.limit } else { self.value <= goal.limit }
        })
    }
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// The unit of the working set.
    pub x: String,
    /// What is plotted.
    pub y: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// The points as figures: ours, with those of Linux alone in them.
    pub figures: Vec<Figure>,
}

/// A line of a plot.
#[derive(Clone, Debug)]
pub struct Line {
    /// The system that it is for.
    pub label: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// Where the instructions of a path go.
#[derive(Clone, Debug)]
pub struct Path {
    /// The name of the path.
    pub title: String,
    /// Its parts.
    pub parts: Vec<Part>,
    /// The paper's rows: a name, ours, the paper's.
    pub rows: Vec<(String, u32, f64)>,
    /// What was measured.
    pub measured: f64,
}

impl Path {
    /// Instructions of all parts.
    #[must_use]
    pub fn sum(&self) -> u32 {
        self.parts.iter().map(|part| part.instructions).sum()
    }

    /// Whether the parts add up to what was measured.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        f64::from(self.sum()) == self.measured
    }
}

/// The cycles of an interval, by owner and by event.
#[derive(Clone, Debug)]
pub struct Account {
    /// What was measured.
    pub title: String,
    /// The owners: on Macadamia, then on Linux alone.
    pub columns: Vec<&'static str>,
    /// The events, and the cycles of each owner; the last line is their sum.
    pub lines: Vec<(String, Vec<f64>)>,
}
