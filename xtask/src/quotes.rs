// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers that documents quote. A quote is a link whose title says which number it is.
//!
//! * If it is a figure of the benchmark book's tables, the title is the figure's name:
//!   `[577](figures.md "pager.fault.cycles")`. The name of another column than *ours* follows:
//!   `[1.06](figures.md "linux.fork.small.ratio ours/alone")`. The quote is right if it is the
//!   table's number, rounded to the digits of the quote.
//! * If it is a number of lines of a file or folder, the title is `lines`:
//!   `[2,300](../linux/arm "lines")`; or `lines` and the names of those that count in the folder:
//!   `[140](../linux/arm/os-L4 "lines start.S syscall.S")`. The quote is right if it is near the
//!   number: see [`TOLERANCE`].
//!
//! [`check`] finds wrong quotes. `./macadamia manual` corrects them, and so does `./macadamia bench
//! --table`, with its tables. Both also write the page of figures by release (`releases`).
//!
//! This module owns the form of quotes. It does not know how a figure was measured.

mod lines;
mod releases;

use crate::check::files::{files, has_extension, read};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables.
pub const TABLES: &str = "docs/figures.md";
/// Documents outside `docs`. The changelog says what was.
const OTHERS: [&str; 3] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];
/// The version whose column of the page of releases is made from the tables.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The column that a quote is of if it names none.
const OURS: &str = "ours";
/// A title that begins so is of lines of source.
const LINES: &str = "lines";
/// A page is not to change with each line: so far a number of lines may be off, as a part of what
/// there are, or in lines if that is more. It may also be off as far as its digits make it.
const TOLERANCE: (f64, f64) = (0.05, 2.0);

/// The values of the tables, as they are written, by the figure's name and the column's.
type Figures<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

/// A quote in a page.
#[derive(Debug, PartialEq, Eq)]
struct Quote<'a> {
    /// Where its number begins, in bytes.
    start: usize,
    /// The number as it is written, with commas between thousands.
    number: &'a str,
    of: Of<'a>,
}

/// What a quote's number is of.
#[derive(Debug, PartialEq, Eq)]
enum Of<'a> {
    Figure {
        name: &'a str,
        column: &'a str,
    },
    /// Lines of a file or folder, by its path from the page, or of what is named in that folder.
    Lines {
        path: &'a str,
        names: &'a str,
    },
}

/// What the quotes of a page are held against: the tables, and the folder that the page is in.
#[derive(Clone, Copy)]
struct Truth<'a> {
    figures: &'a Figures<'a>,
    folder: &'a Path,
}

/// Checks all quotes.
///
/// # Errors
/// If one is not what the tables or the source say, or of nothing, or if the page of releases is
/// not what the tables say.
pub fn check() -> Result<()> {
    let tables = read(Path::new(TABLES))?;
    let figures = figures(&tables);
    let (mut wrong, mut quotes) = (Vec::new(), 0);
    for page in pages()? {
        let text = read(&page)?;
        let truth = Truth { figures: &figures, folder: page.parent().unwrap_or(Path::new("")) };
        for quote in found(&text).with_context(|| page.display().to_string())? {
            quotes += 1;
            if let Err(reason) = quote.is_right(truth) {
                let line = text[..quote.start].lines().count();
                wrong.push(format!("{}:{line}: {reason:#}", page.display()));
            }
        }
    }
    ensure!(
        wrong.is_empty(),
        "quotes are not what {TABLES} or the source says; run `./macadamia manual`, which mends them:\n{}",
        wrong.join("\n")
    );
    ensure!(quotes > 0, "no page quotes a figure");
    let page = read(Path::new(releases::PAGE))?;
    ensure!(
        page == releases::page(&page, &tables, VERSION)?,
        "{} is not what {TABLES} says; run `./macadamia manual`, which mends it",
        releases::PAGE
    );
    Ok(())
}

/// Writes what the tables and the source say into the quotes of all pages, with as many digits as
/// each has. Says which pages have others now: what stands around a number is for people to mend.
///
/// # Errors
/// If a quote is of nothing, or a page cannot be written.
pub fn renew() -> Result<()> {
    let tables = read(Path::new(TABLES))?;
    let figures = figures(&tables);
    for page in pages()? {
        let text = read(&page)?;
        let truth = Truth { figures: &figures, folder: page.parent().unwrap_or(Path::new("")) };
        let new = renewed(&text, truth).with_context(|| page.display().to_string())?;
        if new != text {
            std::fs::write(&page, new)
                .with_context(|| format!("cannot write {}", page.display()))?;
            eprintln!("{} quotes other numbers now: read what it says of them", page.display());
        }
    }
    let page = read(Path::new(releases::PAGE))?;
    std::fs::write(releases::PAGE, releases::page(&page, &tables, VERSION)?)
        .with_context(|| format!("cannot write {}", releases::PAGE))
}

fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = files(Path::new("docs"), &|page| {
        has_extension(page, &["md"]) && page != Path::new(TABLES)
    })?;
    pages.extend(OTHERS.map(PathBuf::from));
    pages.sort();
    Ok(pages)
}

/// What the tables say. A figure that stands in several has the last one's values: the first is of
/// goals.
fn figures(tables: &str) -> Figures<'_> {
    let (mut figures, mut columns) = (Figures::new(), Vec::new());
    for line in tables.lines() {
        let Some(row) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) else {
            continue;
        };
        let cells: Vec<&str> = row.split(" | ").map(str::trim).collect();
        if cells.first() == Some(&"figure") {
            columns = cells;
            continue;
        }
        let Some(name) = cells.first().and_then(|name| name.strip_prefix('`')?.strip_suffix('`'))
        else {
            continue;
        };
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
    text.match_indices(" \"")
        .filter_map(|(at, space)| quote(text, at, at + space.len()).transpose())
        .collect()
}

/// The quote whose link's target ends at `at`, and whose title begins at `title`. None if that is
/// no link, one with another title, or code that shows how one is written.
fn quote(text: &str, at: usize, title: usize) -> Result<Option<Quote<'_>>> {
    let Some(close) = text[..at].rfind("](") else { return Ok(None) };
    let target = &text[close + 2..at];
    let in_code = text[..at].lines().last().is_some_and(|line| line.matches('`').count() % 2 == 1);
    let is_lines =
        text[title..].strip_prefix(LINES).is_some_and(|rest| rest.starts_with(['"', ' ']));
    let is_figure = matches!(target, "figures.md" | "docs/figures.md");
    if in_code
        || target.contains(|char: char| char.is_whitespace() || "()`".contains(char))
        || !(is_lines || is_figure)
    {
        return Ok(None);
    }
    let wrong =
        || format!("a quote that is none: {}", text[close..].lines().next().unwrap_or_default());
    let open = text[..close].rfind('[').with_context(wrong)? + 1;
    let (name, _) = text[title..].split_once("\")").with_context(wrong)?;
    let (first, second) = name.split_once(' ').unwrap_or((name, ""));
    let of = match (is_figure, second) {
        (true, "") => Of::Figure { name: first, column: OURS },
        (true, column) => Of::Figure { name: first, column },
        (false, names) => Of::Lines { path: target, names },
    };
    let is_part = |char: char| char.is_ascii_digit() || matches!(char, ',' | '.');
    let words = &text[open..close];
    let start = words.find(|char: char| char.is_ascii_digit()).with_context(wrong)?;
    let number = words[start..]
        .split(|char| !is_part(char))
        .next()
        .unwrap_or_default()
        .trim_end_matches([',', '.']);
    Ok(Some(Quote { start: open + start, number, of }))
}

impl Of<'_> {
    /// What is true, as it is written in the tables.
    fn told(&self, truth: Truth) -> Result<String> {
        match self {
            Self::Figure { name, column } => {
                let told = truth
                    .figures
                    .get(&(*name, *column))
                    .with_context(|| format!("`{name}` has no value in a column `{column}`"))?;
                Ok((*told).into())
            }
            Self::Lines { path, names } => {
                let path = truth.folder.join(path);
                let count = match *names {
                    "" => lines::count(&path)?,
                    names => names
                        .split(' ')
                        .map(|name| lines::count(&path.join(name)))
                        .sum::<Result<_>>()?,
                };
                Ok(written(count as f64, 0))
            }
        }
    }
}

impl Quote<'_> {
    /// What is true, with as many digits as the quote has, or as there are.
    fn rounded(&self, truth: Truth) -> Result<String> {
        let told = self.of.told(truth)?;
        let value = number(&told).with_context(|| format!("{told} is no number"))?;
        Ok(written(value, digits(self.number).min(digits(&told).max(0))))
    }

    fn is_right(&self, truth: Truth) -> Result<()> {
        let told = self.of.told(truth)?;
        // A quote that ends with zeros may have been rounded, or not.
        let is_exact = told == self.number || self.rounded(truth)? == self.number;
        let is_near = || {
            let (told, quoted) = (number(&told)?, number(self.number)?);
            Some((told - quoted).abs() <= (told * TOLERANCE.0).max(TOLERANCE.1))
        };
        match self.of {
            Of::Figure { name, .. } => {
                ensure!(is_exact, "`{name}` is {told}, not {}", self.number);
            }
            Of::Lines { path, names } => {
                ensure!(
                    is_exact || is_near() == Some(true),
                    "`{}` has {told} lines of source, not {}",
                    format!("{path} {names}").trim(),
                    self.number
                );
            }
        }
        Ok(())
    }
}

fn renewed(text: &str, truth: Truth) -> Result<String> {
    let (mut new, mut done) = (String::new(), 0);
    for quote in found(text)? {
        new.push_str(&text[done..quote.start]);
        match quote.is_right(truth) {
            Ok(()) => new.push_str(quote.number),
            Err(_) => new.push_str(&quote.rounded(truth)?),
        }
        done = quote.start + quote.number.len();
    }
    Ok(new + &text[done..])
}

fn number(text: &str) -> Option<f64> {
    text.starts_with(|char: char| char.is_ascii_digit())
        .then(|| text.replace(',', "").parse().ok())?
}

/// Up to which place a number is written: so many after the point, or, below 0, so many zeros
/// before it.
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
    let text =
        format!("{:.*}", usize::try_from(digits).unwrap_or(0), (value / unit).round() * unit);
    let (whole, fraction) =
        text.split_once('.').map_or((&*text, None), |(whole, fraction)| (whole, Some(fraction)));
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
        let truth =
            Truth { figures: &figures(BOOK), folder: Path::new(env!("CARGO_MANIFEST_DIR")) };
        found(text)
            .expect("quotes")
            .iter()
            .filter_map(|quote| quote.is_right(truth).err())
            .map(|error| error.to_string())
            .collect()
    }

    #[test]
    fn a_quote_is_right_with_the_digits_that_it_has() {
        for right in ["577", "577.4", "580", "600"] {
            assert!(
                wrong(&format!("It takes [{right} cycles](figures.md \"a.b\").")).is_empty(),
                "{right}"
            );
        }
        for other in ["578", "577.5", "577.40", "570", "5"] {
            assert_eq!(wrong(&format!("[{other}](docs/figures.md \"a.b\")")).len(), 1, "{other}");
        }
        assert!(
            wrong("[17,700](figures.md \"c.d\"), [0.71](figures.md \"c.d ours/alone\"), [25,050](figures.md \"c.d Linux alone\")")
                .is_empty()
        );
        assert!(
            wrong("[no writes (0)](figures.md \"zero\"), and `[5](figures.md \"a.b\")` shows how")
                .is_empty()
        );
    }

    #[test]
    fn a_quote_of_nothing_is_wrong() {
        assert_eq!(wrong("[1](figures.md \"a.c\") [1](figures.md \"a.b ours/alone\") [1](figures.md \"a.b at most\")").len(), 3);
        assert!(found("[many](figures.md \"a.b\")").is_err());
        assert!(found("[1](figures.md \"a.b").is_err());
        assert!(
            found("[figures](figures.md), [others](other-figures.md \"a.b\")")
                .is_ok_and(|quotes| quotes.is_empty())
        );
    }

    #[test]
    fn renewed_quotes_keep_their_digits_and_all_else() {
        let truth = Truth { figures: &figures(BOOK), folder: Path::new("") };
        let text = "It is [480](figures.md \"a.b\") (*not* 480), [about 18,100 cycles](figures.md \"c.d\") and [0.705](figures.md \"c.d ours/alone\").\n";
        let new = renewed(text, truth).expect("figures");
        assert_eq!(
            new,
            "It is [580](figures.md \"a.b\") (*not* 480), [about 17,700 cycles](figures.md \"c.d\") and [0.71](figures.md \"c.d ours/alone\").\n"
        );
        assert!(wrong(&new).is_empty());
        assert!(renewed("[1](figures.md \"none\")", truth).is_err());
    }

    #[test]
    fn a_number_of_lines_is_right_if_it_is_near() {
        let main = lines::count(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs"))
            .expect("this tool");
        let near = [main, main + main / 25, main - main / 25];
        for (number, is_right) in near
            .map(|number| (number, true))
            .into_iter()
            .chain([(main + main / 15, false), (main - main / 15, false)])
        {
            assert_eq!(
                wrong(&format!("[{number} lines](src/main.rs \"lines\")")).is_empty(),
                is_right,
                "{number} for {main}"
            );
        }
        let both = main
            + lines::count(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/quotes"))
                .expect("this module");
        assert!(
            wrong(&format!("[{both}](src \"lines main.rs quotes\"), `[5](src \"lines\")` shows how, [5](src \"linesmen\")")).is_empty()
        );
        assert_eq!(wrong("[5](src/none.rs \"lines\"), [5](src \"lines none.rs\")").len(), 2);
        assert!(found("[many](src \"lines\")").is_err());
    }

    #[test]
    fn lines_are_rounded_to_the_digits_that_the_quote_has() {
        let folder = std::env::temp_dir().join(format!("macadamia-quotes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("a.c"), "int a;\n".repeat(1234)).expect("a file");
        let truth = Truth { figures: &Figures::new(), folder: &folder };
        std::fs::write(folder.join("b.c"), "int b;\n".repeat(5)).expect("a file");
        assert!(
            renewed("[7](b.c \"lines\") [3](b.c \"lines\")", truth)
                .is_ok_and(|text| text.starts_with("[7]") && text.contains("[3]"))
        );
        assert!(renewed("[8](b.c \"lines\")", truth).is_ok_and(|text| text.starts_with("[5]")));
        let new = renewed(
            "[some 2,000](a.c \"lines\"), [1,300](a.c \"lines\"), [1,250](a.c \"lines\")",
            truth,
        );
        std::fs::remove_dir_all(&folder).expect("it is there");
        assert_eq!(
            new.expect("lines"),
            "[some 1,000](a.c \"lines\"), [1,200](a.c \"lines\"), [1,250](a.c \"lines\")"
        );
    }

    #[test]
    fn numbers_are_written_as_in_the_book() {
        for (value, digits, text) in [
            (1_234_567.0, 0, "1,234,567"),
            (1_234_567.0, -3, "1,235,000"),
            (0.5, 2, "0.50"),
            (12.0, 0, "12"),
            (0.0, 0, "0"),
        ] {
            assert_eq!(written(value, digits), text);
        }
        assert_eq!(["577", "580", "1.90", "25,100", "0"].map(digits), [0, -1, 2, -2, 0]);
    }
}
