// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures that documents quote from the benchmark book's tables. A quote is a link whose title names the figure:
//! `[577](figures.md "pager.fault.cycles")`. Another column than ours comes after the name:
//! `[1.06](figures.md "linux.fork.small.ratio ours/alone")`. It is right if it is what the table says, rounded to the digits that it has.
//!
//! [`check`] finds those that are wrong. `./macadamia bench --table` mends them.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables.
pub const TABLES: &str = "docs/figures.md";
/// Documents outside `docs`. The changelog says what was.
const OTHERS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
/// The column that a quote is of if it names none.
const OURS: &str = "ours";
/// What comes between a quote's text and its title, from the last part of the page's name on.
const LINK: &str = "figures.md \"";

/// The values of the tables, as they are written, by the figure's name and the column's.
type Figures<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

/// A quote in a page.
#[derive(Debug, PartialEq, Eq)]
struct Quote<'a> {
    /// Where its number begins, in bytes.
    start: usize,
    /// The number as it is written, with commas between thousands.
    number: &'a str,
    figure: &'a str,
    column: &'a str,
}

/// Checks all quotes.
///
/// # Errors
/// If one is not what the tables say, or of no figure.
pub fn check() -> Result<()> {
    let tables = read(Path::new(TABLES))?;
    let figures = figures(&tables);
    let (mut wrong, mut quotes) = (Vec::new(), 0);
    for page in pages()? {
        let text = read(&page)?;
        for quote in found(&text)? {
            quotes += 1;
            if let Err(reason) = quote.is_right(&figures) {
                let line = text[..quote.start].lines().count();
                wrong.push(format!("{}:{line}: {reason:#}", page.display()));
            }
        }
    }
    ensure!(wrong.is_empty(), "quoted figures are not those of {TABLES}:\n{}", wrong.join("\n"));
    ensure!(quotes > 0, "no page quotes a figure");
    Ok(())
}

/// Writes what the tables say into the quotes of all pages, with as many digits as each has. Says which pages have others now: what
/// stands around a number is for people to mend.
///
/// # Errors
/// If a quote is of no figure, or a page cannot be written.
pub fn renew() -> Result<()> {
    let tables = read(Path::new(TABLES))?;
    let figures = figures(&tables);
    for page in pages()? {
        let text = read(&page)?;
        let new = renewed(&text, &figures).with_context(|| page.display().to_string())?;
        if new != text {
            std::fs::write(&page, new).with_context(|| format!("cannot write {}", page.display()))?;
            eprintln!("{} quotes other figures now: read what it says of them", page.display());
        }
    }
    Ok(())
}

fn pages() -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir("docs").context("cannot list docs")?;
    let mut pages = listed.map(|page| Ok(page?.path())).collect::<Result<Vec<_>>>()?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md") && page != Path::new(TABLES));
    pages.extend(OTHERS.map(PathBuf::from));
    pages.sort();
    Ok(pages)
}

fn read(page: &Path) -> Result<String> {
    std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))
}

/// What the tables say. A figure that stands in several has the last one's values: the first is of goals.
fn figures(tables: &str) -> Figures<'_> {
    let (mut figures, mut columns) = (Figures::new(), Vec::new());
    for line in tables.lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else { continue };
        let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
        if cells.first() == Some(&"figure") {
            columns = cells;
            continue;
        }
        let Some(name) = cells.first().and_then(|name| name.strip_prefix('`')?.strip_suffix('`')) else { continue };
        for (column, cell) in columns.iter().zip(&cells).skip(1) {
            let value = cell.split([' ', '(']).next().unwrap_or_default();
            if number(value).is_some() {
                figures.insert((name, *column), value);
            }
        }
    }
    figures
}

/// The quotes of a page, in its order.
fn found(text: &str) -> Result<Vec<Quote<'_>>> {
    text.match_indices(LINK).filter(|(at, _)| is_link(&text[..*at])).map(|(at, link)| quote(text, at, at + link.len())).collect()
}

/// Whether what comes before a page's name is a link's text, and not code that shows how one is written.
fn is_link(before: &str) -> bool {
    let in_code = before.lines().last().is_some_and(|line| line.matches('`').count() % 2 == 1);
    !in_code && before.rfind("](").is_some_and(|open| matches!(&before[open + 2..], "" | "docs/"))
}

/// The quote whose page is named at `at`, and whose title begins at `title`.
fn quote(text: &str, at: usize, title: usize) -> Result<Quote<'_>> {
    let wrong = || format!("a quote that is none: {}", text[at..].lines().next().unwrap_or_default());
    let close = text[..at].rfind("](").with_context(wrong)?;
    let open = text[..close].rfind('[').with_context(wrong)? + 1;
    let (name, _) = text[title..].split_once("\")").with_context(wrong)?;
    let (figure, column) = name.split_once(' ').unwrap_or((name, OURS));
    let is_part = |char: char| char.is_ascii_digit() || matches!(char, ',' | '.');
    let words = &text[open..close];
    let start = words.find(|char: char| char.is_ascii_digit()).with_context(wrong)?;
    let number = words[start..].split(|char| !is_part(char)).next().unwrap_or_default().trim_end_matches([',', '.']);
    Ok(Quote { start: open + start, number, figure, column })
}

impl Quote<'_> {
    fn told<'a>(&self, figures: &Figures<'a>) -> Result<&'a str> {
        let Self { figure, column, .. } = self;
        figures.get(&(*figure, *column)).copied().with_context(|| format!("`{figure}` has no value in a column `{column}`"))
    }

    /// What the table says, with as many digits as the quote has, or as there are.
    fn rounded(&self, figures: &Figures) -> Result<String> {
        let told = self.told(figures)?;
        let value = number(told).with_context(|| format!("{told} is no number"))?;
        Ok(written(value, digits(self.number).min(digits(told).max(0))))
    }

    fn is_right(&self, figures: &Figures) -> Result<()> {
        let rounded = self.rounded(figures)?;
        // A quote that ends with zeros may have been rounded, or not.
        ensure!(
            rounded == self.number || self.told(figures)? == self.number,
            "`{}` is {}, not {}: `./macadamia bench --table` mends quotes",
            self.figure,
            self.told(figures)?,
            self.number
        );
        Ok(())
    }
}

fn renewed(text: &str, figures: &Figures) -> Result<String> {
    let (mut new, mut done) = (String::new(), 0);
    for quote in found(text)? {
        new.push_str(&text[done..quote.start]);
        match quote.is_right(figures) {
            Ok(()) => new.push_str(quote.number),
            Err(_) => new.push_str(&quote.rounded(figures)?),
        }
        done = quote.start + quote.number.len();
    }
    Ok(new + &text[done..])
}

fn number(text: &str) -> Option<f64> {
    text.starts_with(|char: char| char.is_ascii_digit()).then(|| text.replace(',', "").parse().ok())?
}

/// Up to which place a number is written: so many after the point, or, below 0, so many zeros before it.
fn digits(number: &str) -> i32 {
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    match number.split_once('.') {
        Some((_, fraction)) => length(fraction),
        None => {
            let plain = number.replace(',', "");
            let nonzero = plain.trim_end_matches('0');
            // 0 itself is written up to the point.
            if nonzero.is_empty() { 0 } else { length(nonzero) - length(&plain) }
        }
    }
}

/// A number up to a place, with commas between thousands.
fn written(value: f64, digits: i32) -> String {
    let unit = 10f64.powi(-digits);
    let text = format!("{:.*}", usize::try_from(digits).unwrap_or(0), (value / unit).round() * unit);
    let (whole, fraction) = text.split_once('.').map_or((&*text, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut out = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    fraction.map_or_else(|| out.clone(), |fraction| format!("{out}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOK: &str = "## Goals\n\n| figure | ours | at most |\n|---|---|---|\n| `a.b` | 577.4 cycles | 592 reached |\n\n\
        | figure | ours | Linux alone | ours/alone | goal |\n|---|---|---|---|---|\n| `a.b` | 577.4 cycles |  |  | 592 reached |\n\
        | `c.d` | 17,696 cycles, layouts 17,000 to 18,000 | 25,050 | 0.71 |  |\n| `zero` | 0 writes |  |  |  |\n";

    fn wrong(text: &str) -> Vec<String> {
        let figures = figures(BOOK);
        found(text).expect("quotes").iter().filter_map(|quote| quote.is_right(&figures).err()).map(|error| error.to_string()).collect()
    }

    #[test]
    fn a_quote_is_right_with_the_digits_that_it_has() {
        for right in ["577", "577.4", "580", "600"] {
            assert!(wrong(&format!("It takes [{right} cycles](figures.md \"a.b\").")).is_empty(), "{right}");
        }
        for other in ["578", "577.5", "577.40", "570", "5"] {
            assert_eq!(wrong(&format!("[{other}](docs/figures.md \"a.b\")")).len(), 1, "{other}");
        }
        assert!(
            wrong("[17,700](figures.md \"c.d\"), [0.71](figures.md \"c.d ours/alone\"), [25,050](figures.md \"c.d Linux alone\")")
                .is_empty()
        );
        assert!(wrong("[no writes (0)](figures.md \"zero\"), and `[5](figures.md \"a.b\")` shows how").is_empty());
    }

    #[test]
    fn a_quote_of_nothing_is_wrong() {
        assert_eq!(wrong("[1](figures.md \"a.c\") [1](figures.md \"a.b ours/alone\") [1](figures.md \"a.b at most\")").len(), 3);
        assert!(found("[many](figures.md \"a.b\")").is_err());
        assert!(found("[1](figures.md \"a.b").is_err());
        assert!(found("[figures](figures.md), [others](other-figures.md \"a.b\")").is_ok_and(|quotes| quotes.is_empty()));
    }

    #[test]
    fn renewed_quotes_keep_their_digits_and_all_else() {
        let figures = figures(BOOK);
        let text = "It is [480](figures.md \"a.b\") (*not* 480), [about 18,100 cycles](figures.md \"c.d\") and [0.705](figures.md \"c.d ours/alone\").\n";
        let new = renewed(text, &figures).expect("figures");
        assert_eq!(
            new,
            "It is [580](figures.md \"a.b\") (*not* 480), [about 17,700 cycles](figures.md \"c.d\") and [0.71](figures.md \"c.d ours/alone\").\n"
        );
        assert!(wrong(&new).is_empty());
        assert!(renewed("[1](figures.md \"none\")", &figures).is_err());
    }

    #[test]
    fn numbers_are_written_as_in_the_book() {
        for (value, digits, text) in
            [(1_234_567.0, 0, "1,234,567"), (1_234_567.0, -3, "1,235,000"), (0.5, 2, "0.50"), (12.0, 0, "12"), (0.0, 0, "0")]
        {
            assert_eq!(written(value, digits), text);
        }
        assert_eq!(["577", "580", "1.90", "25,100", "0"].map(digits), [0, -1, 2, -2, 0]);
    }
}
