// SPDX-License-Identifier: MIT OR Apache-2.0
//! A summary of the book, as Markdown.

use crate::figures::{Book, Figure, Goal, Section};
use crate::json::short;
use crate::plan::Plan;
use crate::range::Range;
use std::fmt::Write as _;

/// The whole book in tables.
#[must_use]
pub fn summary(book: &Book) -> String {
    document(&emulator(book), &chapters(book))
}

/// The tables of a book of which only some sections were measured now. The tables of these sections
/// are those of `book`; those of the others are taken from `tables`, as [`summary`] or this
/// function wrote it. Chapters and sections are in the plan's order; one that neither has is left
/// out.
#[must_use]
pub fn renewed(plan: &Plan, tables: &str, book: &Book) -> String {
    let (emulator_then, then) = read(tables);
    let now = chapters(book);
    let chapters: Vec<Part> = plan
        .chapters
        .iter()
        .filter_map(|chapter| {
            let of = |parts: &[Part]| {
                parts.iter().find(|part| part.title == chapter.title).cloned().unwrap_or_default()
            };
            let (now, then) = (of(&now), of(&then));
            let sections = chapter.section.iter().filter_map(|section| {
                let of = |part: &Part| {
                    part.sections.iter().find(|(name, _)| *name == section.name).cloned()
                };
                of(&now).or_else(|| of(&then))
            });
            let sections: Vec<(String, String)> = sections.collect();
            let source = if now.source.is_empty() { then.source } else { now.source };
            (!sections.is_empty()).then(|| Part { title: chapter.title.clone(), source, sections })
        })
        .collect();
    let emulator = if then.is_empty() { emulator(book) } else { emulator_then };
    document(&emulator, &chapters)
}

/// A chapter's text.
#[derive(Clone, Default)]
struct Part {
    title: String,
    /// The text below its title.
    source: String,
    /// The names of its sections, and the text of each from its heading on.
    sections: Vec<(String, String)>,
}

/// The line above all tables.
fn emulator(book: &Book) -> String {
    format!("{}. How to read it: docs/bench.md.", book.provenance.emulator)
}

fn chapters(book: &Book) -> Vec<Part> {
    book.chapters
        .iter()
        .map(|chapter| Part {
            title: chapter.title.clone(),
            source: chapter.source.clone(),
            sections: chapter
                .sections
                .iter()
                .map(|section| (section.name.clone(), table(section, &book.provenance.commit)))
                .collect(),
        })
        .collect()
}

fn document(emulator: &str, chapters: &[Part]) -> String {
    let mut text = format!("# Benchmark book\n\n{emulator}\n");
    let goals: String = chapters
        .iter()
        .flat_map(|chapter| &chapter.sections)
        .flat_map(|(_, section)| section.lines().filter_map(goal_of))
        .collect();
    text += &with_heading(&goals);
    for Part { title, source, sections } in chapters {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(text, "\n## {title}\n\n{source}");
        sections.iter().for_each(|(_, section)| text += &format!("\n{section}"));
    }
    text
}

/// The row of the table of goals for a row of a section's table; `None` if it has no goal.
fn goal_of(line: &str) -> Option<String> {
    let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
    let [name, ours, _, _, _, _, goal, ..] = cells[..] else { return None };
    (name.starts_with('`') && !goal.is_empty()).then(|| format!("| {name} | {ours} | {goal} |\n"))
}

/// Reads what [`document`] wrote.
fn read(tables: &str) -> (String, Vec<Part>) {
    let (mut emulator, mut chapters) = (String::new(), Vec::<Part>::new());
    for line in tables.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            chapters.push(Part { title: title.into(), ..Part::default() });
            continue;
        }
        let Some(chapter) = chapters.last_mut() else {
            if !line.is_empty() && !line.starts_with('#') {
                emulator = line.into();
            }
            continue;
        };
        if let Some(heading) = line.strip_prefix("### ") {
            let name = heading.rsplit_once("(`").and_then(|(_, name)| name.split_once('`'));
            let name = name.map_or("", |(name, _)| name);
            chapter.sections.push((name.into(), format!("{line}\n")));
        } else if let Some((_, section)) = chapter.sections.last_mut() {
            *section += &format!("{line}\n");
        } else if !line.is_empty() {
            chapter.source += if chapter.source.is_empty() { "" } else { "\n" };
            chapter.source += line;
        }
    }
    for (_, section) in chapters.iter_mut().flat_map(|chapter| &mut chapter.sections) {
        section.truncate(section.trim_end_matches('\n').len());
        section.push('\n');
    }
    (emulator, chapters)
}

/// The goals, as a table; empty if there are none.
#[must_use]
pub fn goals(book: &Book) -> String {
    let lines = book.figures().filter_map(|figure| {
        let [ours, _, _, _, _, goal] = cells(figure);
        figure.goal.map(|_| format!("| `{}` | {ours} | {goal} |\n", figure.name))
    });
    with_heading(&lines.collect::<String>())
}

/// The table of goals of its rows; empty if there are none.
fn with_heading(rows: &str) -> String {
    if rows.is_empty() {
        String::new()
    } else {
        format!("\n## Goals\n\n| figure | ours | at most |\n|---|---|---|\n{rows}")
    }
}

/// A section's heading, the commit at which it was measured, and its figures.
fn table(section: &Section, commit: &str) -> String {
    let mut text = format!(
        "### {} (`{}`, model {})\n\nCommit {commit}.\n\n",
        section.title, section.name, section.model
    );
    text.push_str("| figure | ours | Linux alone | ours/alone | paper | ours/paper | goal | of instructions | rests on |\n|---|---|---|---|---|---|---|---|---|\n");
    for figure in section.tabled() {
        let [ours, native, to_native, paper, to_paper, goal] = cells(figure);
        let [instructions, rests_on] = basis(figure);
        let _ = writeln!(
            text,
            "| `{}` | {ours} | {native} | {to_native} | {paper} | {to_paper} | {goal} | {instructions} | {rests_on} |",
            figure.name
        );
    }
    if section.is_behind() {
        let _ = writeln!(text, "\nWhere ours is worse: {}", section.why);
    }
    text
}

/// A goal in words: a number without words is the most that a figure should be.
pub(crate) fn limit(goal: Goal) -> String {
    let number = short(goal.limit);
    if goal.is_least { format!("{} {number}", goal.side()) } else { number }
}

/// The cells of a figure's row: ours, Linux alone, ours divided by that, the paper's, ours divided
/// by that, the goal.
pub(crate) fn cells(figure: &Figure) -> [String; 6] {
    let optional = |value: Option<f64>| value.map_or_else(String::new, short);
    let range = figure
        .range
        .as_ref()
        .map(Range::text)
        .filter(|text| !text.is_empty())
        .map_or_else(String::new, |text| format!("({text})"));
    let ours = format!("{} {}{range}", short(figure.value), figure.unit);
    let layouts = figure.layouts.map_or_else(String::new, |(least, most)| {
        format!(", layouts {} to {}", short(least), short(most))
    });
    let goal = figure.goal.map_or_else(String::new, |goal| {
        let verdict = if figure.reached() == Some(true) { "reached" } else { "missed" };
        format!("{} {verdict}", limit(goal))
    });
    [
        format!("{}{layouts}", ours.trim_end()),
        optional(figure.native),
        optional(figure.to_native()),
        optional(figure.paper.as_ref().map(|(paper, _)| *paper)),
        optional(figure.to_paper()),
        goal,
    ]
}

/// The cells next to a ratio of cycles: the ratio of instructions, and what the range rests on.
pub(crate) fn basis(figure: &Figure) -> [String; 2] {
    let of = |text: fn(&Range) -> String| figure.range.as_ref().map_or_else(String::new, text);
    [of(|range| range.instructions.map_or_else(String::new, short)), of(Range::reasons)]
}
