// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds examples in documentation, which no test compiles: to look for them in each crate would
//! take longer than many tests.

use super::files::{files, has_extension, read};
use anyhow::{Result, ensure};
use std::path::Path;

/// Checks that no crate has one.
///
/// # Errors
/// If one has, or a file cannot be read.
pub fn examples() -> Result<()> {
    let mut found = Vec::new();
    for path in files(Path::new("."), &|path| has_extension(path, &["rs"]))? {
        let lines = examples_of(&read(&path)?);
        found.extend(lines.iter().map(|line| format!("{}:{line}", path.display())));
    }
    ensure!(
        found.is_empty(),
        "examples in documentation are not tested: make them tests, or mark them as `text`:\n{}",
        found.join("\n")
    );
    Ok(())
}

/// The lines of a source file in which documentation has a block that is no plain text.
fn examples_of(text: &str) -> Vec<usize> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let Some(kind) = comment.and_then(|comment| comment.trim().strip_prefix("```")) else {
            continue;
        };
        if !is_inside && kind != "text" {
            found.push(number);
        }
        is_inside = !is_inside;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::examples_of;

    #[test]
    fn what_is_no_text_is_an_example() {
        let text = "//! ```text\n//! a b\n//! ```\n/// ```\n/// f(1);\n/// ```\nfn f() {}\n    /// ```rust\n    /// ```\n// ```\n";
        assert_eq!(examples_of(text), [4, 8]);
    }
}
