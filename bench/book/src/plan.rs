// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, and under which names: `bench/sections/*.toml`, a file for each chapter, and
//! `bench/runs.toml`. Figures get their names only here.

use crate::counts;
use crate::papers::files;
use crate::row::{FigurePlan, Row};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Everything that can be measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Programs to run, by their names.
    pub runs: BTreeMap<String, Run>,
    /// The chapters, in their order.
    pub chapters: Vec<ChapterPlan>,
}

/// A program that has intervals.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// A system description with a native program, or
    pub system: Option<String>,
    /// a program for Linux, in C: it runs on Linux on Macadamia and on Linux alone. With a system,
    /// too, on Linux alone only.
    pub program: Option<String>,
    /// The command with which Linux runs it; the program's name if absent.
    pub command: Option<String>,
    /// If the system has several Linuxes: the command that each of them runs that is not asked to
    /// run another one.
    pub beside: Option<String>,
    /// The system in which Linux runs on Macadamia, if not that of the shell.
    pub linux: Option<String>,
    /// The board that it runs on, if it is not the PC.
    pub board: Option<String>,
    /// The CPU model of the emulator, if not the board's.
    pub emulated: Option<String>,
    /// What overrides the machine's answer about small spaces on Macadamia: `force` or `large`.
    pub spaces: Option<String>,
    /// Words for the kernel on Macadamia (docs/powerpc.md, *Boot words*).
    pub words: Option<String>,
    /// Whether the program and BusyBox are linked so that they can be small (docs/small-spaces.md),
    /// on both Linuxes.
    #[serde(default)]
    pub small: bool,
    /// Files of the Debian archive that both Linuxes get, by their paths in it.
    #[serde(default)]
    pub debian: Vec<String>,
    /// The packages that have these files, if they are not taken from the archive.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Files of Debian's source packages that both Linuxes get, by the paths that they have there;
    /// they are built with musl (linux/musl/recipes.toml), or for a board for which Debian has no
    /// packages as for its disks (linux/programs/recipes.toml).
    #[serde(default)]
    pub built: Vec<String>,
    /// Files of the project that both Linuxes get in `/src`; those in C are preprocessed.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Whether both Linuxes have a network card, in the emulator's user network.
    #[serde(default)]
    pub network: bool,
    /// Whether it is bench/linux/stream.c, and the cost of a frame is measured by parts.
    #[serde(default)]
    pub frames: bool,
    /// Whether no program runs, and it is calculated how three functions fill PowerPC's hashed
    /// table.
    #[serde(default)]
    pub hash: bool,
    /// Whether it is bench/alpha, which runs in an emulator of its own.
    #[serde(default)]
    pub alpha: bool,
    /// Whether it is tests/zombies, and it is measured how many reloads of the hashed table evict
    /// an entry.
    #[serde(default)]
    pub evicts: bool,
    /// How many pings come through the network card, each after the answer to the previous one; a
    /// datagram to port 9 ends the run. The system is 10.0.2.40.
    pub pings: Option<u32>,
    /// How many datagrams of 18 bytes come to port 7 in the same way; an empty one ends the run.
    /// Linux alone gets them, too.
    pub echoes: Option<u32>,
    /// Whether its figures are compared only with those of the same code: one layout of Linux's code
    /// is enough, and Linux alone does not run it.
    #[serde(default)]
    pub one_layout: bool,
    /// Instructions that may be modelled, on all systems together, in thousands of millions.
    pub budget: f64,
    /// Seconds after which it counts as hung.
    pub timeout: u64,
}

impl Run {
    /// Whether Linux alone executes the same for it as for another run.
    #[must_use]
    pub fn is_same_alone(&self, other: &Self) -> bool {
        let files =
            |run: &Self| [&run.debian, &run.packages, &run.built, &run.sources].map(Clone::clone);
        let machine = |run: &Self| (run.board.clone(), run.emulated.clone(), run.network);
        let parts = |run: &Self| {
            (
                run.program.clone(),
                run.small,
                run.command.clone(),
                files(run),
                run.echoes,
                run.frames,
            )
        };
        self.program.is_some() && machine(self) == machine(other) && parts(self) == parts(other)
    }
}

/// Kinds of goals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goals {
    /// Goals on counts on Macadamia: instructions, entries, flushes. They do not depend on the
    /// layout of code.
    Counts,
    /// Goals on cycles and misses, which depend on a CPU model and change when a function moves;
    /// and on ratios to Linux alone.
    Cycles,
    /// All.
    All,
}

impl Goals {
    /// Whether a goal on this count is among them.
    fn include(self, count: &str) -> bool {
        let is_counted =
            counts::kind(count).is_some_and(|kind| !kind.modelled) && !counts::needs_alone(count);
        match self {
            Self::Counts => is_counted,
            Self::Cycles => !is_counted,
            Self::All => true,
        }
    }
}

/// A chapter: what one paper measured, or a set of benchmarks.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct ChapterPlan {
    /// Title.
    pub title: String,
    /// What it is about.
    pub text: String,
    /// The paper whose numbers its sections show unless they say another: a file of `bench/papers`.
    /// It may have none.
    pub paper: Option<String>,
    /// The sections.
    pub section: Vec<SectionPlan>,
}

/// A section: a table of a paper, or a figure.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct SectionPlan {
    /// The name by which `./macadamia bench NAME` runs only this section.
    pub name: String,
    /// Title.
    pub title: String,
    /// What is measured, and how that differs from what the paper measured.
    pub text: String,
    /// Why figures are worse than the paper's or miss their goals. It is shown only if there are
    /// such figures.
    #[serde(default)]
    pub why: String,
    /// The program, of the plan's runs.
    pub run: String,
    /// The run of the same program in large spaces, or with other boot words, if it is compared
    /// with that.
    pub large: Option<String>,
    /// The CPU model.
    pub model: String,
    /// What is measured.
    #[serde(default)]
    pub row: Vec<Row>,
    /// What is measured as a function of something.
    #[serde(default)]
    pub sweep: Vec<Sweep>,
    /// Further numbers of papers that are shown, although nothing here is measured in the same way.
    #[serde(default)]
    pub quote: Vec<String>,
    /// Where the instructions of a path go.
    #[serde(default)]
    pub path: Vec<Breakdown>,
}

/// The parts of one path through the kernel.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// The figure that the parts add up to.
    pub figure: String,
    /// The paper's rows.
    pub row: Vec<PathRow>,
    /// The parts, in their order.
    pub part: Vec<Part>,
}

/// A row of the paper's table of a path.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct PathRow {
    /// Its name, by which parts refer to it.
    pub name: String,
    /// The paper's number.
    pub paper: String,
    /// Instructions that the paper counts here, and the figure does not.
    #[serde(default)]
    pub besides: u32,
}

/// A part of a path.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The paper's row that it belongs to.
    pub row: String,
    /// Instructions.
    pub instructions: u32,
    /// What they do.
    pub what: String,
    /// Their purpose, if the paper's kernel has none or fewer of them.
    #[serde(default)]
    pub buys: String,
}

/// One thing as a function of a working set.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sweep {
    /// The first part of its figures' names; the working set follows.
    pub name: String,
    /// The last part but one.
    pub suffix: String,
    /// Its description.
    pub label: String,
    /// The unit of the working set.
    pub x: String,
    /// The interval of an empty working set; each following interval has one step more.
    pub interval: u16,
    /// Points.
    pub points: u16,
    /// The growth of the working set from one point to the next.
    pub step: u32,
    /// What is plotted.
    pub count: String,
}

impl Sweep {
    /// Its points as rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (u32, Row)> + '_ {
        (0..self.points).map(|i| {
            let x = u32::from(i) * self.step;
            let row = Row {
                name: format!("{}.{x}.{}", self.name, self.suffix),
                label: format!("{}, {x} {}", self.label, self.x),
                run: None,
                interval: Some(self.interval + i),
                less: None,
                other: None,
                part: None,
                apart: false,
                visit: None,
                per: 1,
                bytes: 0,
                account: false,
                figure: vec![FigurePlan {
                    count: self.count.clone(),
                    paper: Vec::new(),
                    goal: None,
                    held: false,
                }],
            };
            (x, row)
        })
    }
}

fn needed<'a>(sections: impl Iterator<Item = &'a SectionPlan>) -> BTreeSet<(String, String)> {
    sections
        .flat_map(|section| section.runs().map(|run| (run.clone(), section.model.clone())))
        .collect()
}

impl SectionPlan {
    /// Whether a figure is a ratio of cycles.
    fn has_ratio(&self) -> bool {
        self.row
            .iter()
            .flat_map(|row| &row.figure)
            .any(|figure| counts::kind(&figure.count).is_some_and(|kind| kind.is_ratio()))
    }

    /// Whether a figure depends on the layout of code: cycles and misses do.
    fn depends_on_layout(&self) -> bool {
        let counts = self
            .row
            .iter()
            .flat_map(|row| &row.figure)
            .map(|figure| &figure.count)
            .chain(self.sweep.iter().map(|sweep| &sweep.count));
        counts.filter_map(|count| counts::kind(count)).any(|kind| kind.modelled)
    }

    /// The runs of the plan that it needs.
    fn runs(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.run)
            .chain(&self.large)
            .chain(self.row.iter().filter_map(|row| row.run.as_ref()))
    }

    /// The names of its figures.
    fn names(&self) -> Vec<String> {
        let rows = self
            .row
            .iter()
            .cloned()
            .chain(self.sweep.iter().flat_map(|sweep| sweep.rows().map(|(_, row)| row)));
        rows.flat_map(|row| {
            row.figure.into_iter().map(move |figure| format!("{}.{}", row.name, figure.count))
        })
        .collect()
    }

    /// Only the figures with goals of this kind that a test checks.
    fn held(mut self, goals: Goals) -> Self {
        self.sweep.clear();
        self.row.iter_mut().for_each(|row| {
            row.figure.retain(|figure| figure.held && goals.include(&figure.count))
        });
        self.row.retain(|row| !row.figure.is_empty());
        self
    }

    /// Whether the first word of a figure's name is `group`.
    #[must_use]
    pub fn is_of_group(&self, group: &str) -> bool {
        self.names()
            .iter()
            .any(|name| name.split_once('.').is_some_and(|(first, _)| first == group))
    }

    /// Whether `filter` is a part of its name, or of a figure's name.
    #[must_use]
    pub fn is_asked_for(&self, filter: &str) -> bool {
        self.name.contains(filter) || self.names().iter().any(|name| name.contains(filter))
    }
}

/// The runs of a file. A run with the key `like` takes what it does not say from the run with that
/// name, which may have the key, too.
fn runs(text: &str) -> Result<BTreeMap<String, Run>> {
    let tables: BTreeMap<String, toml::Table> = toml::from_str(text)?;
    let whole = |name: &String| {
        let (mut all, mut next, mut seen) = (toml::Table::new(), name.clone(), BTreeSet::new());
        loop {
            let table = tables
                .get(&next)
                .with_context(|| format!("the run `{name}`: there is no run `{next}`"))?;
            for (key, value) in table {
                all.entry(key.clone()).or_insert_with(|| value.clone());
            }
            let Some(like) = all.remove("like") else { break };
            ensure!(seen.insert(next), "the run `{name}` is like itself");
            next = like
                .as_str()
                .with_context(|| format!("the run `{name}`: `like` is to name a run"))?
                .to_owned();
        }
        Ok((name.clone(), all.try_into().with_context(|| format!("the run `{name}`"))?))
    };
    tables.keys().map(whole).collect()
}

impl Plan {
    /// Reads `runs.toml` and `sections` of a folder, and checks that names are unique.
    ///
    /// # Errors
    /// Names the file that cannot be read or makes no sense.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("runs.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let runs = runs(&text).with_context(|| path.display().to_string())?;
        let mut chapters = Vec::new();
        for (name, text) in files(&folder.join("sections"))? {
            chapters.push(
                toml::from_str(&text)
                    .with_context(|| format!("{}/sections/{name}.toml", folder.display()))?,
            );
        }
        let plan = Self { runs, chapters };
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        let (mut sections, mut figures) = (BTreeSet::new(), BTreeSet::new());
        for (name, run) in &self.runs {
            ensure!(
                run.system.is_some() || run.program.is_some() || run.hash || run.alpha,
                "the run `{name}` needs a system or a program"
            );
        }
        for section in self.sections() {
            ensure!(sections.insert(&section.name), "two sections are called `{}`", section.name);
            for run in section.runs() {
                ensure!(
                    self.runs.contains_key(run),
                    "section `{}`: there is no run `{run}`",
                    section.name
                );
            }
            for row in section
                .row
                .iter()
                .filter(|row| row.figure.iter().any(|figure| counts::needs_alone(&figure.count)))
            {
                ensure!(
                    !self.runs[row.run.as_ref().unwrap_or(&section.run)].one_layout,
                    "section `{}`: Linux alone does not run what `{}` compares with it",
                    section.name,
                    row.name
                );
            }
            for name in section.names() {
                ensure!(!figures.contains(&name), "two figures are called `{name}`");
                figures.insert(name);
            }
        }
        Ok(())
    }

    /// All sections.
    pub fn sections(&self) -> impl Iterator<Item = &SectionPlan> {
        self.chapters.iter().flat_map(|chapter| &chapter.section)
    }

    /// Only the sections that `wanted` accepts, and chapters that have some.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&SectionPlan) -> bool) -> Self {
        self.chapters.iter_mut().for_each(|chapter| chapter.section.retain(&wanted));
        self.chapters.retain(|chapter| !chapter.section.is_empty());
        self
    }

    /// Only the figures with goals of this kind that a test checks, with their sections and
    /// chapters.
    #[must_use]
    pub fn held(mut self, goals: Goals) -> Self {
        for chapter in &mut self.chapters {
            chapter.section =
                chapter.section.drain(..).map(|section| section.held(goals)).collect();
        }
        self.only(|section| !section.row.is_empty())
    }

    /// Whether a figure needs a measurement of Linux alone.
    #[must_use]
    pub fn needs_alone(&self) -> bool {
        self.sections()
            .flat_map(|section| &section.row)
            .flat_map(|row| &row.figure)
            .any(|figure| counts::needs_alone(&figure.count))
    }

    /// What has to be run for its sections: pairs of a run and a CPU model.
    #[must_use]
    pub fn needed(&self) -> BTreeSet<(String, String)> {
        needed(self.sections())
    }

    /// What has to be run with variants of CPU models, too, for the ranges of ratios of cycles:
    /// pairs of a run and a CPU model.
    #[must_use]
    pub fn ranged(&self) -> BTreeSet<(String, String)> {
        needed(self.sections().filter(|section| section.has_ratio()))
    }

    /// What has to be run with other layouts of code, too, to see how cycles depend on them: pairs
    /// of a run of Linux and a CPU model, except runs for which one layout is enough. Runs that are
    /// sampled for their frames are not among them, because their parts are counts.
    #[must_use]
    pub fn laid_out(&self) -> BTreeSet<(String, String)> {
        let mut all = needed(self.sections().filter(|section| section.depends_on_layout()));
        all.retain(|(run, _)| {
            self.runs
                .get(run)
                .is_some_and(|run| run.program.is_some() && !run.frames && !run.one_layout)
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Goals, Plan, runs};
    use std::path::Path;

    const RUNS: &str = "[a]\nprogram = \"a\"\nbudget = 1.0\ntimeout = 1\n[b]\nlike = \"a\"\nboard = \"b\"\n[c]\nlike = \"b\"\ntimeout = 3\n";

    #[test]
    fn what_is_compared_with_linux_alone_runs_there() {
        let mut plan = Plan::read(Path::new("..")).expect("the plan is good");
        plan.runs.get_mut("lmset-ppc").expect("the run of table 3").one_layout = true;
        let refused = plan.check().expect_err("Linux alone does not run it").to_string();
        assert!(refused.contains("ppc.linux.null"), "{refused}");
    }

    #[test]
    fn a_run_is_like_one_that_is_like_another() {
        let runs = runs(RUNS).expect("they are good");
        let c = &runs["c"];
        assert_eq!(
            (c.program.as_deref(), c.board.as_deref(), c.timeout),
            (Some("a"), Some("b"), 3)
        );
        assert_eq!((runs["b"].timeout, &runs["a"].board), (1, &None));
    }

    #[test]
    fn goals_on_cycles_are_told_from_those_on_counts() {
        let [counts, cycles, all] = [Goals::Counts, Goals::Cycles, Goals::All].map(|goals| {
            let plan = Plan::read(Path::new("..")).expect("the plan is good");
            plan.held(goals)
        });
        let held = |name: &str| {
            [&counts, &cycles, &all].map(|plan| plan.sections().any(|section| section.name == name))
        };
        // Small spaces of one home are compared by cycles, groups by writes of CR3, Linux at ring 1
        // by both.
        assert_eq!(held("pingpong-small"), [false, true, true]);
        assert_eq!(held("ring"), [true, false, true]);
        assert_eq!(held("linux-small"), [true, true, true]);
        assert_eq!(held("linux-all-small"), [true, false, true]);
        assert_eq!(held("pingpong"), [false, false, false]);
        assert_eq!([counts, cycles, all].map(|plan| plan.needs_alone()), [false, true, true]);
    }

    #[test]
    fn a_run_that_is_like_itself_is_refused() {
        for (more, what) in [
            ("[d]\nlike = \"e\"\n[e]\nlike = \"d\"\n", "is like itself"),
            ("[d]\nlike = \"x\"\n", "there is no run `x`"),
        ] {
            let error = runs(&format!("{RUNS}{more}")).expect_err("it is bad").to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
