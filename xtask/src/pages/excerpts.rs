// SPDX-License-Identifier: MIT OR Apache-2.0
//! Excerpts of source in pages: a block of code after a line `From [file](path):`.

use super::links::links;

/// A block of code that says where it is from.
#[derive(Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The number of the line that names the file.
    pub line: usize,
    /// The file, as a link of the page.
    pub path: &'a str,
    /// Its lines.
    pub code: Vec<&'a str>,
}

impl Excerpt<'_> {
    /// Whether its lines stand in a text in this order, with nothing between them and whatever
    /// indentation.
    pub fn stands_in(&self, text: &str) -> bool {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let code: Vec<&str> = self.code.iter().map(|line| line.trim()).collect();
        !code.is_empty() && lines.windows(code.len()).any(|lines| lines == code)
    }
}

/// The excerpts of a page.
pub fn excerpts(text: &str) -> Vec<Excerpt<'_>> {
    let mut lines = (1..).zip(text.lines());
    let mut excerpts = Vec::new();
    while let Some((line, from)) = lines.next() {
        if !from.starts_with("From [") || !from.ends_with("):") {
            continue;
        }
        let Some(path) = links(from).first().map(|link| link.path) else { continue };
        let block = lines.by_ref().map(|(_, line)| line).skip_while(|line| line.is_empty());
        let code = block.skip(1).take_while(|line| *line != "```").collect();
        excerpts.push(Excerpt { line, path, code });
    }
    excerpts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_stands_in_its_file() {
        let page =
            "One.\nFrom [a](../a.rs \"f\"):\n\n```rust\nf(\n    1,\n)\n```\nFrom [b](b.rs).\n";
        let found = excerpts(page);
        let expected = Excerpt { line: 2, path: "../a.rs", code: vec!["f(", "    1,", ")"] };
        assert_eq!(found, [expected]);
        assert!(found[0].stands_in("{\n    f(\n        1,\n    )\n}\n"));
        for other in ["f(\n2,\n)\n", "f(\n\n1,\n)\n", ""] {
            assert!(!found[0].stands_in(other), "{other}");
        }
    }
}
