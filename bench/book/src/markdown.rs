// SPDX-License-Identifier: MIT OR Apache-2.0
//! The book in short, as Markdown.

use crate::figures::{Book, Figure, Section};
use crate::json::short;
use crate::range::Range;
use std::fmt::Write as _;

/// A table for each section; plots are left to the page.
#[must_use]
pub fn summary(book: &Book) -> String {
    let mut text = String::from("# Benchmark book\n\n");
    let Book { provenance, chapters } = book;
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        text,
        "Commit {}, {}. How to read it: docs/bench.md.",
        provenance.commit, provenance.emulator
    );
    text += &goals(book);
    for chapter in chapters {
        let _ = writeln!(text, "\n## {}\n\n{}", chapter.title, chapter.source);
        chapter.sections.iter().for_each(|section| table(&mut text, section));
    }
    text
}

/// What is aimed at, as a table; empty if nothing is.
#[must_use]
pub fn goals(book: &Book) -> String {
    let lines = book.figures().filter_map(|figure| {
        let [ours, _, _, _, _, goal] = cells(figure);
        figure.goal.map(|_| format!("| `{}` | {ours} | {goal} |\n", figure.name))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\n## Goals\n\n| figure | ours | at most |\n|---|---|---|\n{lines}")
    }
}

fn table(text: &mut String, section: &Section) {
    let _ =
        writeln!(text, "\n### {} (`{}`, model {})\n", section.title, section.name, section.model);
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
}

/// What stands in a figure's line: ours, on Linux alone, ours to it, the paper's, ours to it, the
/// goal.
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
        format!("{} {verdict}", short(goal.most))
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

/// What stands beside a ratio of cycles: that of instructions, and what it rests on.
pub(crate) fn basis(figure: &Figure) -> [String; 2] {
    let of = |text: fn(&Range) -> String| figure.range.as_ref().map_or_else(String::new, text);
    [of(|range| range.instructions.map_or_else(String::new, short)), of(Range::reasons)]
}
