// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures with a goal, from release to release: a page whose table has a column for each.
//!
//! The column of the version in `Cargo.toml` is made from the goals of the tables; the columns of
//! other versions stay. So when the version is raised after a release, the release's column is
//! kept.
//!
//! This module owns the table of that page. It does not know how a figure was measured.

use anyhow::{Context, Result};

/// The page. What is above its table is written by hand.
pub const PAGE: &str = "docs/figures-by-release.md";
/// How the head of its table begins.
const HEAD: &str = "| figure |";
/// The section of the tables that has the figures with a goal.
const GOALS: &str = "## Goals";

/// The page, with the column of `version` as the tables have it.
///
/// # Errors
/// If the page has no table.
pub fn page(old: &str, tables: &str, version: &str) -> Result<String> {
    let start = old.find(HEAD).with_context(|| format!("{PAGE} has no table"))?;
    let mut rows = old[start..].lines().filter_map(cells);
    let head = rows.next().with_context(|| format!("the table of {PAGE} has no head"))?;
    let others: Vec<usize> = (1..head.len()).filter(|at| head[*at] != version).collect();
    let rows: Vec<Vec<&str>> = rows.collect();
    let goals = goals(tables);
    let before = |name: &str| {
        let row = rows.iter().find(|row| row.first() == Some(&name));
        let cell = |at: &usize| row.and_then(|row| row.get(*at)).copied().unwrap_or_default();
        others.iter().map(cell).collect::<Vec<&str>>()
    };
    let gone = rows
        .iter()
        .filter_map(|row| row.first().copied())
        .filter(|name| goals.iter().all(|(goal, _)| goal != name))
        .map(|name| (name, ""));
    let columns: Vec<&str> = others.iter().map(|at| head[*at]).chain([version]).collect();
    let mut text = format!("{}{HEAD} {} |\n|---|", &old[..start], columns.join(" | "));
    text += &"---|".repeat(columns.len());
    text.push('\n');
    for (name, value) in goals.iter().copied().chain(gone) {
        let mut values = before(name);
        values.push(value);
        // A figure that was only in this version's column, and has no goal any more, is dropped.
        if values.iter().any(|value| !value.is_empty()) {
            text += &format!("| {name} | {} |\n", values.join(" | "));
        }
    }
    Ok(text)
}

/// The figures with a goal, as the tables write their names, and their values with units.
fn goals(tables: &str) -> Vec<(&str, &str)> {
    tables
        .lines()
        .skip_while(|line| *line != GOALS)
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(cells)
        .filter_map(|row| match *row {
            [name, ours, ..] if name.starts_with('`') => Some((name, ours)),
            _ => None,
        })
        .collect()
}

/// The cells of a line of a table; a line of dashes has none.
fn cells(line: &str) -> Option<Vec<&str>> {
    let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(row.split(" | ").map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::page;

    const TABLES: &str = "# Book\n\n## Goals\n\n| figure | ours | at most |\n|---|---|---|\n\
        | `a.b` | 52 instructions | 56 reached |\n| `c.d` | 0.71 | 0.9 reached |\n\n## Other\n\n\
        | figure | ours |\n|---|---|\n| `e.f` | 7 lines |\n";

    #[test]
    fn the_first_release_has_one_column() {
        let made = page("# Page\n\n| figure | 0.1.0 |\n", TABLES, "0.1.0").expect("a page");
        assert_eq!(
            made,
            "# Page\n\n| figure | 0.1.0 |\n|---|---|\n| `a.b` | 52 instructions |\n| `c.d` | 0.71 |\n"
        );
        assert_eq!(page(&made, TABLES, "0.1.0").expect("a page"), made);
    }

    #[test]
    fn columns_of_other_versions_stay() {
        let old = "| figure | 0.1.0 | 0.2.0 |\n|---|---|---|\n| `a.b` | 60 instructions | 58 instructions |\n\
            | `old` | 3 |  |\n| `short` |  | 9 |\n";
        let made = page(old, TABLES, "0.2.0").expect("a page");
        assert_eq!(
            made,
            "| figure | 0.1.0 | 0.2.0 |\n|---|---|---|\n| `a.b` | 60 instructions | 52 instructions |\n\
            | `c.d` |  | 0.71 |\n| `old` | 3 |  |\n"
        );
        let next = page(&made, TABLES, "0.3.0").expect("a page");
        assert!(next.contains("| `a.b` | 60 instructions | 52 instructions | 52 instructions |\n"));
        assert!(next.contains("| `old` | 3 |  |  |\n"));
    }

    #[test]
    fn a_page_without_a_table_is_refused() {
        assert!(page("# Page\n", TABLES, "0.1.0").is_err());
    }
}
