// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts lines of source without empty lines and comments.

use crate::check::files::{files, has_extension, read};
use anyhow::Result;
use std::path::Path;

/// What counts as source: Rust, assembly, C and its headers, scripts of the linker.
const SOURCE: [&str; 6] = ["rs", "S", "c", "h", "ld", "lds"];

/// Those of a file, or of all source files of a folder and of the folders in it.
///
/// # Errors
/// If nothing is there, or it cannot be read.
pub fn count(path: &Path) -> Result<usize> {
    let all = if path.is_dir() {
        files(path, &|path| has_extension(path, &SOURCE))?
    } else {
        vec![path.into()]
    };
    all.iter().map(|path| Ok(of(&read(path)?, has_extension(path, &["rs"])))).sum()
}

/// Those of a text. In Rust a comment that goes on over several lines begins its line: a `/*`
/// elsewhere may be in a string.
fn of(text: &str, is_rust: bool) -> usize {
    let (mut lines, mut in_comment) = (0, false);
    for line in text.lines() {
        let mut rest = line.trim();
        loop {
            if in_comment {
                let Some((_, after)) = rest.split_once("*/") else { break };
                (rest, in_comment) = (after.trim(), false);
            }
            if !rest.starts_with("/*") {
                break;
            }
            (rest, in_comment) = (&rest[2..], true);
        }
        if in_comment || rest.is_empty() || rest.starts_with("//") {
            continue;
        }
        lines += 1;
        in_comment =
            !is_rust && rest.rsplit_once("/*").is_some_and(|(_, comment)| !comment.contains("*/"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_and_comments_do_not_count() {
        let c = "/* one */\n#include <a.h>\n\n/*\n * two\n */ int a;\n\t// three\nint b; /* four\n * five */\n/* six */ /* seven */\n/* eight */ int c;\n";
        assert_eq!(of(c, false), 4);
        assert_eq!(
            of("//! Files.\n\n/// One.\nconst ALL: &str = \"a/*\";\nfn f() {} // two\n", true),
            2
        );
    }

    #[test]
    fn a_folder_has_the_lines_of_its_source_files() {
        let folder = std::env::temp_dir().join(format!("macadamia-lines-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).expect("a folder");
        for (name, text) in [("a.c", "int a;\n"), ("in/b.S", "nop\nnop\n"), ("Makefile", "all:\n")]
        {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let counts = ["", "in", "in/b.S", "none.c"].map(|name| count(&folder.join(name)).ok());
        std::fs::remove_dir_all(&folder).expect("it is there");
        assert_eq!(counts, [Some(3), Some(2), Some(2), None]);
    }
}
