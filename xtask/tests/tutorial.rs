// SPDX-License-Identifier: MIT OR Apache-2.0
//! docs/tutorial.md shows files of the tree: they are what it shows, and few lines.

use std::path::Path;

/// Most lines of code that the tutorial may need.
const MOST_LINES: usize = 60;

/// The files that the page shows, each after a line with its path: path, and contents as shown.
fn shown(page: &str) -> Vec<(&str, String)> {
    let mut lines = page.lines();
    let mut files = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(path) = line.strip_prefix('`').and_then(|rest| rest.strip_suffix("`:")) {
            let inside = lines.by_ref().skip(2).take_while(|line| *line != "```");
            files.push((path, inside.collect::<Vec<_>>().join("\n")));
        }
    }
    files
}

fn is_code(line: &&str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//") && !line.starts_with("# ")
}

#[test]
fn shows_what_is_built() {
    // Tests run in their package's folder.
    let root = Path::new("..");
    let page =
        std::fs::read_to_string(root.join("docs/tutorial.md")).expect("docs/tutorial.md is there");
    let files = shown(&page);
    assert_eq!(files.len(), 5, "two packages of two files, and the description");
    for (path, text) in &files {
        let real = std::fs::read_to_string(root.join(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(real.trim_end(), text, "{path} is not what docs/tutorial.md shows");
    }
    let lines: usize = files.iter().map(|(_, text)| text.lines().filter(is_code).count()).sum();
    assert!(lines < MOST_LINES, "the tutorial needs {lines} lines");
}
