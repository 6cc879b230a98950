// SPDX-License-Identifier: MIT OR Apache-2.0
//! Turns a comment of Rust into text of a page.

/// A line of a comment without its first space, and without the targets of links into the source.
pub fn plain(line: &str) -> String {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        text += &format!("{before}`{name}`");
        let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    text + rest
}
