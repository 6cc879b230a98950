// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts of a file that are for readers: the text of a page; comments and messages of a source
//! file; in both without names in backticks.

use super::files::has_extension;
use std::path::Path;

/// A part of a line, and the line's number.
pub type Part = (usize, String);

/// How a kind of file is read; nothing of a file that has no prose that is known here.
pub fn reader(path: &Path) -> Option<fn(&str) -> Vec<Part>> {
    // The script that starts the tool has no end of its name.
    if has_extension(path, &["toml", "sh", "py"]) || path.ends_with("macadamia") {
        Some(of_settings)
    } else if has_extension(path, &["md"]) {
        Some(of_page)
    } else if has_extension(path, &["rs", "c", "h", "S", "ld"]) {
        Some(of_source)
    } else {
        None
    }
}

/// The lines of a page that are no code, and where each begins.
pub fn page(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut end, mut is_fenced, mut may_be_code) = (0, false, true);
    text.split_inclusive('\n').filter_map(move |line| {
        let start = end;
        end += line.len();
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            may_be_code = !is_fenced;
            return None;
        }
        let is_indented = line.starts_with("    ") && may_be_code;
        may_be_code = is_indented || line.trim().is_empty();
        (!is_fenced && !is_indented).then_some((start, line))
    })
}

/// A page: targets of its links are no prose.
fn of_page(text: &str) -> Vec<Part> {
    let (mut number, mut counted) = (1, 0);
    page(text)
        .map(|(start, line)| {
            number += text[counted..start].matches('\n').count();
            counted = start;
            let mut pieces = line.split("](");
            let first = pieces.next().unwrap_or_default().to_string();
            let rest = pieces.map(|piece| piece.split_once(')').map_or("", |(_, rest)| rest));
            (number, without_code(&rest.fold(first, |line, rest| line + "] " + rest)))
        })
        .collect()
}

/// Comments from `#` on, and texts in quotes.
fn of_settings(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let (before, comment) = match line.trim_start().strip_prefix('#') {
            Some(comment) => ("", comment),
            None => line.split_once(" #").unwrap_or((line, "")),
        };
        let quoted = before.split('"').skip(1).step_by(2).filter(|text| text.contains(' '));
        parts.extend(quoted.chain([comment]).map(|text| (number, without_code(text))));
    }
    parts
}

/// Comments as in Rust and C, and texts in quotes that have several words.
fn of_source(text: &str) -> Vec<Part> {
    let (mut parts, mut rest, mut number) = (Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let (length, inner) = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            (length, 2..length)
        } else if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            (length, 2..length)
        } else if first == '"' {
            let length = closing(rest);
            (length, 1..length)
        } else if let Some(hashes) = raw(rest) {
            let end = "\"".to_string() + &"#".repeat(hashes);
            let start = hashes + 2;
            let length = rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len());
            (length, start..length)
        } else if is_name(first) {
            // An `r` at the end of a name begins no text.
            let length = rest.find(|char| !is_name(char)).unwrap_or(rest.len());
            (length, 0..0)
        } else if let Some(length) = character(rest) {
            (length, 0..0)
        } else {
            (first.len_utf8(), 0..0)
        };
        let inner = &rest[inner];
        if rest.starts_with('/') || inner.contains(' ') {
            let lines = (number..).zip(inner.lines());
            parts.extend(lines.map(|(number, line)| (number, without_code(line))));
        }
        number += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    parts
}

/// Whether a character may stand in a name.
fn is_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// How long a text in quotes is, with both.
fn closing(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, char) in text.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => (),
        }
    }
    text.len()
}

/// How many `#` a raw text has that begins here.
fn raw(text: &str) -> Option<usize> {
    let text = text.strip_prefix('r')?;
    let rest = text.trim_start_matches('#');
    rest.starts_with('"').then_some(text.len() - rest.len())
}

/// How long a character in quotes is that begins here; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.strip_prefix('\'')?.chars();
    match chars.next()? {
        '\\' => Some(3 + text.get(3..)?.find('\'')? + 1),
        char => (chars.next() == Some('\'')).then_some(2 + char.len_utf8()),
    }
}

/// A line without what stands in backticks.
fn without_code(line: &str) -> String {
    let mut pieces = line.split('`').step_by(2);
    let first = pieces.next().unwrap_or_default().to_string();
    pieces.fold(first, |line, piece| line + "`" + piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What there is of a file, a line each.
    fn of(path: &str, text: &str) -> Vec<String> {
        let parts = reader(Path::new(path)).expect("a kind that is known")(text);
        let parts = parts.iter().map(|(number, text)| format!("{number} {}", text.trim()));
        parts.filter(|part| part.contains(char::is_alphabetic)).collect()
    }

    #[test]
    fn a_page_has_text_and_code() {
        let text = "# One\n\n    two\n\nThree `four` [five](six.md \"seven\") eight.\n\n```sh\nnine\n```\nTen.\n";
        assert_eq!(of("a.md", text), ["1 # One", "5 Three ` [five]  eight.", "10 Ten."]);
    }

    #[test]
    fn a_source_has_comments_and_messages() {
        let text = "//! One `x`.\nfn f<'a>(b: &'a str, c: char) { // Two.\n  /* Three\n     four */\n  g('\"', '\\'', \"five\", \"six \\\" seven\\n\");\n  r#\"eight \" \nnine\"#; for\"ten eleven\"\n}\n";
        assert_eq!(
            of("a.rs", text),
            [
                "1 ! One `.",
                "2 Two.",
                "3 Three",
                "4 four */",
                "5 six \\\" seven\\n\"",
                "6 eight \"",
                "7 nine\"#",
                "7 ten eleven\""
            ]
        );
    }

    #[test]
    fn settings_have_comments_and_texts() {
        let text = "# One\nname = \"two\" # three\nabout = \"four five\"\n";
        assert_eq!(of("a.toml", text), ["1 One", "2 three", "3 four five"]);
        assert!(reader(Path::new("a.png")).is_none());
    }
}
