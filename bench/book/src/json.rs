// SPDX-License-Identifier: MIT OR Apache-2.0
//! The book as one flat JSON object: a figure's name to its value.

use crate::figures::{Book, Figure};
use serde::Serialize;
use std::collections::BTreeMap;

/// A figure, as the object has it.
#[derive(Serialize)]
struct Entry<'a> {
    value: f64,
    unit: &'a str,
    paper: Option<f64>,
    native: Option<f64>,
    model: &'a str,
    range: Option<[f64; 2]>,
    layouts: Option<[f64; 2]>,
}

/// All figures, by name, with a line end.
///
/// # Errors
/// None that a book can cause; `serde_json` reserves them.
pub fn object(book: &Book) -> serde_json::Result<String> {
    let entries: BTreeMap<&str, Entry<'_>> = book
        .figures()
        .map(|figure| {
            let Figure { name, value, unit, native, model, range, layouts, .. } = figure;
            let paper = figure.paper.as_ref().map(|(paper, _)| rounded(*paper));
            let range = range.as_ref().map(|range| [rounded(range.low), rounded(range.high)]);
            let layouts = layouts.map(|(least, most)| [rounded(least), rounded(most)]);
            (
                name.as_str(),
                Entry {
                    value: rounded(*value),
                    unit,
                    paper,
                    native: native.map(rounded),
                    model,
                    range,
                    layouts,
                },
            )
        })
        .collect();
    Ok(serde_json::to_string_pretty(&entries)? + "\n")
}

/// Rounds to three decimals, more than the precision of any figure.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A number as text: with separated thousands, and decimals only where they matter.
pub(crate) fn short(value: f64) -> String {
    let decimals = if value.fract() == 0.0 || value.abs() >= 1000.0 {
        0
    } else if value.abs() >= 100.0 {
        1
    } else {
        2
    };
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) =
        text.split_once('.').map_or((text.as_str(), ""), |(whole, fraction)| (whole, fraction));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if fraction.is_empty() {
        format!("{sign}{grouped}")
    } else {
        format!("{sign}{grouped}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (47.0, "47"),
            (2.0129, "2.01"),
            (121.44, "121.4"),
            (1540.2, "1,540"),
            (1_234_567.0, "1,234,567"),
            (-1234.0, "-1,234"),
            (999.0, "999"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
