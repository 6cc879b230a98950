// SPDX-License-Identifier: MIT OR Apache-2.0
//! The book as one page: nothing is loaded from elsewhere, and no script runs.

use crate::figures::{Account, Book, Chapter, Chart, Figure, Model, Path, Provenance, Section};
use crate::json::short;
use crate::markdown::{basis, cells, limit};
use crate::svg::plot;
use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// The whole page.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn page(book: &Book) -> Result<String> {
    let chapters = book.chapters.iter().map(chapter).collect::<Result<Vec<_>>>()?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Macadamia: benchmark book" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Benchmark book" }
                (head(&book.provenance))
                (contents(book))
                (goals(book))
                @for chapter in chapters { (chapter) }
            }
        }
    };
    Ok(page.into_string())
}

fn head(provenance: &Provenance) -> Markup {
    html! {
        p {
            "What the papers measured, measured again on this project and on Linux of the same source on the bare machine. "
            "No processor was timed: an emulator executed every program, and a model of a processor counted what it did. "
            "Each value is a median; below it stand the least and the most of all repetitions. "
            "Linux alone and ours ran the same programs under the same model in the same invocation."
        }
        dl {
            dt { "Commit" } dd { code { (provenance.commit) } }
            dt { "Emulator" } dd { (provenance.emulator) }
        }
        @for model in &provenance.models { (costs(model)) }
    }
}

/// A CPU model's constants.
fn costs(model: &Model) -> Markup {
    html! {
        details {
            summary { "CPU model " (model.name) ", " (model.clock_mhz) " MHz: what each event takes" }
            table {
                thead { tr { th { "event" } th { "cycles" } th { "how it is known" } } }
                tbody {
                    @for (name, cycles, source) in &model.costs {
                        tr { th scope="row" { (name) } td class="number" { (cycles) } td { (source) } }
                    }
                }
            }
            @if !model.open.is_empty() {
                table {
                    thead { tr { th { "what sources leave open" } th { "so that it may be" } th { "why" } } }
                    tbody { @for (what, ends, source) in &model.open { tr { th scope="row" { (what) } td { (ends) } td { (source) } } } }
                }
            }
        }
    }
}

fn contents(book: &Book) -> Markup {
    html! {
        nav {
            ol {
                @for chapter in &book.chapters {
                    li {
                        (chapter.title)
                        ul { @for section in &chapter.sections { li { a href={ "#" (section.name) } { (section.title) } } } }
                    }
                }
            }
        }
    }
}

/// The project's goals, in one table.
fn goals(book: &Book) -> Markup {
    let aimed: Vec<&Figure> = book.figures().filter(|figure| figure.goal.is_some()).collect();
    html! {
        @if !aimed.is_empty() {
            h2 id="goals" { "Goals" }
            table {
                thead { tr { th { "figure" } th { "ours" } th { "at most" } th { "" } } }
                tbody {
                    @for figure in aimed {
                        @let reached = figure.reached() == Some(true);
                        tr class=(if reached { "reached" } else { "missed" }) {
                            td { code { (figure.name) } }
                            td class="number" { (cells(figure)[0]) }
                            td class="number" { (figure.goal.map_or_else(String::new, limit)) }
                            td { (if reached { "reached" } else { "missed" }) }
                        }
                    }
                }
            }
        }
    }
}

fn chapter(chapter: &Chapter) -> Result<Markup> {
    let sections = chapter.sections.iter().map(section).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        h2 { (chapter.title) }
        @if !chapter.source.is_empty() { p class="source" { (chapter.source) } }
        p { (chapter.text) }
        @for section in sections { (section) }
    })
}

fn section(section: &Section) -> Result<Markup> {
    let charts = section.charts.iter().map(chart).collect::<Result<Vec<_>>>()?;
    let (used, budget) = section.modelled;
    Ok(html! {
        section id=(section.name) {
            h3 { (section.title) }
            p { (section.text) }
            p class="method" {
                "Model " (section.model) "; " (format!("{used:.3}")) " of " (budget) " thousand million instructions modelled; again by "
                code { "./macadamia bench " (section.name) }
            }
            @if !section.figures.is_empty() { (table(section)) }
            @if section.is_behind() { p { strong { "Where ours is worse: " } (section.why) } }
            @for chart in charts { (chart) }
            @for one in &section.accounts { (account(one)) }
            @for one in &section.paths { (path(one)) }
            @if !section.quotes.is_empty() { (quotes(section)) }
        }
    })
}

fn table(section: &Section) -> Markup {
    html! {
        table {
            thead {
                tr { th { "" } th { "ours" } th { "Linux alone" } th { "ours / alone" } th { "paper" } th { "ours / paper" } th { "of instructions" } th { "rests on" } }
            }
            tbody { @for figure in &section.figures { (line(figure)) } }
        }
    }
}

fn line(figure: &Figure) -> Markup {
    let [ours, native, to_native, paper, to_paper, _] = cells(figure);
    let [instructions, rests_on] = basis(figure);
    html! {
        tr {
            th scope="row" { (figure.label) ": " (figure.what) br; code { (figure.name) } }
            td class="number" {
                (ours)
                @if let Some((least, most)) = figure.spread { br; small { (short(least)) " to " (short(most)) ", " (figure.repetitions) " times" } }
            }
            td class="number" { (native) }
            td class="number" { (to_native) }
            td class="number" { (paper) @if let Some((_, at)) = &figure.paper { br; small { (at) } } }
            td class="number" { (to_paper) }
            td class="number" { (instructions) }
            td { (rests_on) }
        }
    }
}

fn chart(chart: &Chart) -> Result<Markup> {
    let svg = plot(chart)?;
    Ok(html! {
        figure {
            figcaption { (chart.title) }
            (PreEscaped(svg))
            details {
                summary { "The points as a table" }
                table {
                    thead { tr { th { (chart.x) } @for line in &chart.lines { th { (line.label) } } } }
                    tbody {
                        @for (i, (x, _)) in chart.lines[0].points.iter().enumerate() {
                            tr {
                                th scope="row" { (short(*x)) }
                                @for line in &chart.lines { td class="number" { (line.points.get(i).map_or_else(String::new, |point| short(point.1))) } }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// The cycles of an interval, by owner and by event.
fn account(account: &Account) -> Markup {
    html! {
        table {
            caption { "Where the cycles go: " (account.title) }
            thead { tr { th { "" } @for owner in &account.columns { th { (owner) } } } }
            tbody {
                @for (name, cycles) in &account.lines {
                    tr { th scope="row" { (name) } @for cycles in cycles { td class="number" { (short(cycles.round())) } } }
                }
            }
        }
    }
}

/// Where the instructions of a path go.
fn path(path: &Path) -> Markup {
    html! {
        table {
            caption { "Where the instructions go: " (path.title) }
            thead { tr { th { "instructions" } th { "row" } th { "what they do" } th { "what they are good for" } } }
            tbody {
                @for part in &path.parts {
                    tr { td class="number" { (part.instructions) } td { (part.row) } td { (part.what) } td { (part.buys) } }
                }
            }
        }
        @if !path.adds_up() {
            p class="stale" { "This list is out of date: it has " (path.sum()) " instructions, " (path.measured) " were measured." }
        }
        table {
            caption { "In the paper's rows: " (path.title) }
            thead { tr { th { "" } th { "ours" } th { "paper" } th { "difference" } } }
            tbody {
                @for (name, ours, paper) in &path.rows {
                    tr {
                        th scope="row" { (name) }
                        td class="number" { (ours) }
                        td class="number" { (paper) }
                        td class="number" { (format!("{:+}", f64::from(*ours) - paper)) }
                    }
                }
            }
        }
    }
}

fn quotes(section: &Section) -> Markup {
    html! {
        table {
            caption { "Quoted for comparison, not measured here" }
            thead { tr { th { "" } th { "" } th { "source" } } }
            tbody { @for (of, value, source) in &section.quotes { tr { th scope="row" { (of) } td class="number" { (value) } td { (source) } } } }
        }
    }
}
