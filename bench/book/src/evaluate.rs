// SPDX-License-Identifier: MIT OR Apache-2.0
//! From reports to figures.

use crate::account;
use crate::counted::Counted;
use crate::counts::{self, Kind, Value};
use crate::figures::{Book, COUNT, Chapter, Chart, Figure, Goal, Line, Path, Provenance, Section};
use crate::papers::Papers;
use crate::plan::{Breakdown, Plan, SectionPlan, Sweep};
use crate::range::{Range, quotient};
use crate::row::{FigurePlan, Row};
use anyhow::{Context, Result, ensure};
use model_core::{Cpu, Report, Variant};
use std::collections::BTreeMap;

/// The counts of all runs, by the names of the run and of the CPU model.
pub type Results = BTreeMap<(String, String), Counted>;

/// CPU models by their names.
pub type Cpus = BTreeMap<String, Cpu>;

/// Puts the book together. `layouts` has the counts with other layouts of code, as far as these
/// were run.
///
/// # Errors
/// If something that is asked for was not measured, or is not in the papers.
pub fn evaluate(
    plan: &Plan,
    papers: &Papers,
    cpus: &Cpus,
    results: &Results,
    layouts: &[Results],
    provenance: Provenance,
) -> Result<Book> {
    let allowed: BTreeMap<&String, Allowed> =
        cpus.iter().map(|(name, cpu)| (name, Allowed::of(cpu))).collect();
    let chapters = plan.chapters.iter().map(|chapter| {
        let source = |name: &String| -> Result<String> {
            let paper =
                papers.0.get(name).with_context(|| format!("there is no paper `{name}`"))?;
            Ok(format!(
                "{}: {}. {}, {}. Measured there on: {}",
                paper.authors, paper.title, paper.published, paper.year, paper.machine
            ))
        };
        let source = chapter.paper.as_ref().map(source).transpose()?;
        let paper = chapter.paper.as_deref().unwrap_or_default();
        let sections = chapter.section.iter().map(|section| {
            let cpu = cpus
                .get(&section.model)
                .with_context(|| format!("there is no CPU model `{}`", section.model))?;
            let world = World::of(results, section, &section.model)?;
            let of = |variant| {
                Some((
                    variant,
                    World::of(results, section, &of_variant(&section.model, variant)).ok()?,
                ))
            };
            let variants = &cpu.variants.iter().filter_map(of).collect::<Vec<_>>();
            let layouts = &layouts
                .iter()
                .filter_map(|results| World::of(results, section, &section.model).ok())
                .collect::<Vec<_>>();
            let allowed = &allowed[&section.model];
            let from = Sources {
                plan,
                papers,
                chapter: paper,
                section,
                cpu,
                allowed,
                world: &world,
                variants,
                layouts,
            };
            from.section().with_context(|| format!("section `{}`", section.name))
        });
        Ok(Chapter {
            title: chapter.title.clone(),
            text: chapter.text.clone(),
            source: source.unwrap_or_default(),
            sections: sections.collect::<Result<_>>()?,
        })
    });
    Ok(Book { chapters: chapters.collect::<Result<_>>()?, provenance })
}

/// The name of a variant's model in [`Results`].
#[must_use]
pub fn of_variant(model: &str, variant: &Variant) -> String {
    format!("{model}:{}", variant.name)
}

/// The models that sources allow, by a model's doubts.
struct Allowed {
    corners: Vec<Cpu>,
    /// Each doubt with the models at its ends.
    ends: Vec<(String, Vec<Cpu>)>,
    /// The model that counts instructions.
    instructions: Cpu,
}

impl Allowed {
    fn of(cpu: &Cpu) -> Self {
        let ends = cpu.doubts.iter().map(|doubt| (doubt.what.clone(), cpu.ends(doubt))).collect();
        Self { corners: cpu.corners(), ends, instructions: cpu.instructions_alone() }
    }
}

/// The counts of one geometry of TLBs and caches for a section, with one layout of code.
struct World<'a> {
    counted: &'a Counted,
    /// The same program in large spaces.
    large: Option<&'a Counted>,
    /// Other runs of it, to which single rows belong.
    others: BTreeMap<&'a str, &'a Counted>,
}

impl<'a> World<'a> {
    fn of(results: &'a Results, section: &'a SectionPlan, model: &str) -> Result<Self> {
        let of = |run: &String| {
            let found = results.get(&(run.clone(), model.into()));
            found.with_context(|| format!("`{run}` was not run for section `{}`", section.name))
        };
        let others = section
            .row
            .iter()
            .filter_map(|row| row.run.as_ref())
            .map(|run| Ok((run.as_str(), of(run)?)));
        Ok(Self {
            counted: of(&section.run)?,
            large: section.large.as_ref().map(of).transpose()?,
            others: others.collect::<Result<_>>()?,
        })
    }

    /// The report that has a row's interval.
    fn of_row(&self, row: &Row) -> &'a Counted {
        row.run
            .as_ref()
            .and_then(|run| self.others.get(run.as_str()).copied())
            .unwrap_or(self.counted)
    }
}

/// A value over layouts of code.
struct Layouts {
    least: f64,
    median: f64,
    most: f64,
}

/// What a section is made from.
#[derive(Clone, Copy)]
struct Sources<'a> {
    plan: &'a Plan,
    papers: &'a Papers,
    /// The chapter's paper.
    chapter: &'a str,
    section: &'a SectionPlan,
    cpu: &'a Cpu,
    allowed: &'a Allowed,
    world: &'a World<'a>,
    /// The same for variants of the model, as far as they were run.
    variants: &'a [(&'a Variant, World<'a>)],
    /// The same for other layouts of code, as far as they were run.
    layouts: &'a [World<'a>],
}

impl Sources<'_> {
    fn section(&self) -> Result<Section> {
        let section = self.section;
        let mut figures = Vec::new();
        for row in &section.row {
            for figure in &row.figure {
                figures.push(self.figure(row, figure)?);
            }
        }
        let budget = self.plan.runs.get(&section.run).map_or(0.0, |run| run.budget);
        Ok(Section {
            name: section.name.clone(),
            title: section.title.clone(),
            text: section.text.clone(),
            why: section.why.clone(),
            model: section.model.clone(),
            modelled: (instructions(self.world.counted) / 1e9, budget),
            accounts: section
                .row
                .iter()
                .filter(|row| row.account)
                .filter_map(|row| account::of(row, self.world.of_row(row), self.cpu))
                .collect(),
            paths: section
                .path
                .iter()
                .map(|path| self.path(path, &figures))
                .collect::<Result<_>>()?,
            charts: section.sweep.iter().map(|sweep| self.chart(sweep)).collect::<Result<_>>()?,
            quotes: section.quote.iter().map(|name| self.quote(name)).collect::<Result<_>>()?,
            figures,
        })
    }

    fn figure(&self, row: &Row, plan: &FigurePlan) -> Result<Figure> {
        let name = format!("{}.{}", row.name, plan.count);
        let kind = counts::kind(&plan.count)
            .with_context(|| format!("{name}: nothing is counted as `{}`", plan.count))?;
        let (ours, native) =
            self.values(row, &plan.count).with_context(|| format!("{name} was not measured"))?;
        let is_ratio = kind.is_ratio();
        let Kind { what, unit, modelled } = kind;
        // What is counted is the same wherever code lies.
        let over =
            |at: &dyn Fn(&Self) -> Option<f64>| if modelled { self.over_layouts(at) } else { None };
        let layouts = over(&|from| from.values(row, &plan.count).map(|(ours, _)| ours.median));
        let value = layouts.as_ref().map_or(ours.median, |layouts| layouts.median);
        let native = native.map(|native| {
            let layouts =
                over(&|from| from.values(row, &plan.count)?.1.map(|native| native.median));
            layouts.map_or(native.median, |layouts| layouts.median)
        });
        let paper = self.paper(&plan.paper).with_context(|| name.clone())?;
        let behind =
            |paper: f64| if counts::is_gain(&plan.count) { value < paper } else { value > paper };
        let worse = counts::native(&plan.count).is_none()
            && paper.as_ref().is_some_and(|(paper, _)| behind(*paper));
        Ok(Figure {
            label: row.label.clone(),
            what,
            value,
            range: is_ratio.then(|| self.range(row, &plan.count, value)),
            layouts: layouts.map(|layouts| (layouts.least, layouts.most)),
            spread: ours.spread,
            repetitions: row
                .interval
                .and_then(|id| self.world.of_row(row).ours.intervals.get(&id))
                .map_or(0, |interval| interval.repetitions),
            unit,
            paper,
            worse,
            native,
            goal: plan.goal.map(|limit| Goal {
                limit,
                is_least: counts::is_gain(&plan.count),
                held: plan.held,
            }),
            model: if modelled { self.section.model.clone() } else { COUNT.into() },
            name,
        })
    }

    /// The range of a ratio over everything that sources allow.
    fn range(&self, row: &Row, count: &str, ratio: f64) -> Range {
        let at = |cpu: &Cpu, world: &World<'_>| {
            Sources { cpu, world, ..*self }.values(row, count).map(|(value, _)| value.median)
        };
        let worlds =
            std::iter::once(self.world).chain(self.variants.iter().map(|(_, world)| world));
        let corners = worlds.flat_map(|world| {
            self.allowed.corners.iter().filter_map(move |corner| at(corner, world))
        });
        let doubts = self.allowed.ends.iter();
        let doubts = doubts.map(|(what, ends)| {
            (what.clone(), ends.iter().filter_map(|end| at(end, self.world)).collect())
        });
        let variants = self.variants.iter().map(|(variant, world)| {
            (variant.what.clone(), at(self.cpu, world).into_iter().collect())
        });
        Range::of(
            ratio,
            corners,
            at(&self.allowed.instructions, self.world),
            doubts.chain(variants).collect(),
        )
    }

    /// The median of a value over all layouts of code (the upper one of an even number); nothing if
    /// there is only one layout.
    fn over_layouts(&self, at: &dyn Fn(&Self) -> Option<f64>) -> Option<Layouts> {
        let others = self.layouts.iter().map(|world| Sources { world, ..*self });
        let mut values: Vec<f64> =
            std::iter::once(*self).chain(others).filter_map(|from| at(&from)).collect();
        values.sort_by(f64::total_cmp);
        let ([least, .., most], median) = (&values[..], values.get(values.len() / 2)?) else {
            return None;
        };
        Some(Layouts { least: *least, median: *median, most: *most })
    }

    /// Our value, and that of Linux alone if it ran there.
    fn values(&self, row: &Row, count: &str) -> Option<(Value, Option<Value>)> {
        self.values_of(self.world.of_row(row), row, count)
    }

    /// The same, from these counts.
    fn values_of(
        &self,
        counted: &Counted,
        row: &Row,
        count: &str,
    ) -> Option<(Value, Option<Value>)> {
        if let Some(of) = counts::ratio_of(count) {
            let (ours, native) = self.values_of(counted, row, of)?;
            return Some((
                Value { median: quotient(ours.median, native?.median)?, spread: None },
                None,
            ));
        }
        if let Some(of) = counts::of_two_runs(count) {
            let [ours, large] =
                [counted, self.world.large?].map(|counted| self.values_of(counted, row, of));
            return Some((
                Value { median: quotient(ours?.0.median, large?.0.median)?, spread: None },
                None,
            ));
        }
        if let Some(of) = counts::native(count) {
            return Some((self.values_of(counted, row, of)?.1?, None));
        }
        if let Some(part) = &row.part {
            let (ours, native) = counted.parts.get(&(row.interval?, part.clone()))?;
            let value = |median: f64| Value { median, spread: None };
            return counts::of_parts(count).then_some((value(*ours), native.map(value)));
        }
        let of = |report: &Report| counts::value(count, report, row, self.cpu);
        let native = counted.native.as_ref().and_then(of);
        Some((of(&counted.ours)?, native))
    }

    /// The papers' number with which a figure is compared.
    fn paper(&self, names: &[String]) -> Result<Option<(f64, String)>> {
        let number =
            |name: &String| self.papers.number(&self.qualified(name)).map(|(_, number)| number);
        Ok(match names {
            [] => None,
            [one] => number(one).map(|number| Some((number.value, number.at.clone())))?,
            [dividend, divisor] => {
                let (dividend, divisor) = (number(dividend)?, number(divisor)?);
                quotient(dividend.value, divisor.value).map(|value| (value, dividend.at.clone()))
            }
            _ => anyhow::bail!("a figure is compared with one number or with the quotient of two"),
        })
    }

    fn path(&self, path: &Breakdown, figures: &[Figure]) -> Result<Path> {
        let figure = figures.iter().find(|figure| figure.name == path.figure);
        let figure = figure.with_context(|| format!("no figure is called {}", path.figure))?;
        let rows = path.row.iter().map(|row| {
            let parts = path.part.iter().filter(|part| part.row == row.name);
            let (_, paper) = self.papers.number(&self.qualified(&row.paper))?;
            Ok((
                row.name.clone(),
                row.besides + parts.map(|part| part.instructions).sum::<u32>(),
                paper.value,
            ))
        });
        for part in &path.part {
            ensure!(
                path.row.iter().any(|row| row.name == part.row),
                "{}: no row is called `{}`",
                path.figure,
                part.row
            );
        }
        let rows = rows.collect::<Result<_>>()?;
        Ok(Path {
            title: figure.label.clone(),
            parts: path.part.clone(),
            rows,
            measured: figure.value,
        })
    }

    fn quote(&self, name: &str) -> Result<(String, String, String)> {
        let (paper, number) = self.papers.number(&self.qualified(name))?;
        let page = number.page.map_or_else(String::new, |page| format!(", page {page}"));
        Ok((
            number.of.clone(),
            format!("{} {}", crate::json::short(number.value), number.unit),
            format!("{} ({}), {}{page}", paper.title, paper.year, number.at),
        ))
    }

    fn qualified(&self, name: &str) -> String {
        if name.contains('/') { name.into() } else { format!("{}/{name}", self.chapter) }
    }

    fn chart(&self, sweep: &Sweep) -> Result<Chart> {
        let (mut ours, mut native, mut figures) = (Vec::new(), Vec::new(), Vec::new());
        for (x, row) in sweep.rows() {
            let [plan] = &row.figure[..] else { continue };
            let figure = self.figure(&row, plan)?;
            ours.push((f64::from(x), figure.value));
            native.extend(figure.native.map(|native| (f64::from(x), native)));
            figures.push(figure);
        }
        let mut lines =
            vec![Line { label: format!("Macadamia, {} spaces", sweep.suffix), points: ours }];
        if self.world.large.is_some() {
            let point = |(x, row): (u32, Row)| {
                let at = |from: &Self| {
                    Some(from.values_of(from.world.large?, &row, &sweep.count)?.0.median)
                };
                Some((
                    f64::from(x),
                    self.over_layouts(&at)
                        .map_or_else(|| at(self), |layouts| Some(layouts.median))?,
                ))
            };
            lines.push(Line {
                label: "Macadamia, large spaces".into(),
                points: sweep.rows().filter_map(point).collect(),
            });
        }
        if !native.is_empty() {
            lines[0].label = format!("Linux on Macadamia, {} spaces", sweep.suffix);
            lines.push(Line { label: "Linux alone".into(), points: native });
        }
        let kind = counts::kind(&sweep.count)
            .with_context(|| format!("nothing is counted as `{}`", sweep.count))?;
        Ok(Chart { title: sweep.label.clone(), x: sweep.x.clone(), y: kind.what, lines, figures })
    }
}

/// Instructions that were modelled, on both systems: from each machine's first marker to its last.
#[must_use]
pub fn instructions(counted: &Counted) -> f64 {
    std::iter::once(&counted.ours)
        .chain(&counted.native)
        .map(|report| report.instructions as f64)
        .sum()
}
