// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a page of Markdown contains: links, headings to which links lead, and commands. A block of
//! code contains no links. This file reads text only, and does not know which files exist.

use crate::check::prose::page;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// A link, or a picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Where its target stands in the page, in bytes.
    pub place: Range<usize>,
    /// The file; empty for the page itself.
    pub path: &'a str,
    /// The heading there, if it names one.
    pub anchor: Option<&'a str>,
    /// What stands in quotes after that.
    pub title: &'a str,
}

impl Link<'_> {
    /// Whether it leads out of the tree.
    pub fn is_outside(&self) -> bool {
        self.path.contains("://") || self.path.starts_with("mailto:")
    }
}

/// The links of a page, in its order.
pub fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for (start, line) in page(text) {
        for (at, open) in line.match_indices("](") {
            if line[..at].matches('`').count() % 2 == 1 {
                continue;
            }
            let rest = &line[at + open.len()..];
            let length = rest.find([' ', ')', '\n']).unwrap_or(rest.len());
            let (target, rest) = rest.split_at(length);
            let title = rest.strip_prefix(" \"").and_then(|rest| rest.split_once("\")"));
            let (path, anchor) = target
                .split_once('#')
                .map_or((target, None), |(path, anchor)| (path, Some(anchor)));
            let place = start + at + open.len();
            links.push(Link {
                place: place..place + length,
                path,
                anchor,
                title: title.map_or("", |(title, _)| title),
            });
        }
    }
    links
}

/// Whether a heading of a page has this anchor, as mdbook and code hosts make it from its words.
pub fn has_anchor(text: &str, anchor: &str) -> bool {
    let of = |heading: &str| -> String {
        let kept = heading
            .trim()
            .chars()
            .filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'));
        kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
    };
    page(text)
        .filter_map(|(_, line)| line.strip_prefix('#'))
        .any(|line| of(line.trim_start_matches('#')) == anchor)
}

/// The commands of this tool that a page shows, without `./macadamia`: in lines of code, and in
/// text.
pub fn commands(text: &str) -> impl Iterator<Item = &str> {
    let typed = text
        .lines()
        .filter_map(|line| line.strip_prefix("    ./macadamia "))
        .map(|line| line.split('#').next().unwrap_or(line));
    let inline =
        text.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("./macadamia "));
    typed.chain(inline)
}

/// The file that a page in `folder` means, from the project's folder; nothing if that is not in it.
pub fn target(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut found = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::Normal(name) => found.push(name),
            Component::ParentDir => {
                if !found.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stand_in_text_and_not_in_code() {
        let text = "See [a](a.md#one), ![b](b.svg) and [`c(x)`](../c.rs \"fn c(\").\n`[d](d.md)`\n\n    [e](e.md)\n\n```text\n[f](f.md)\n```\n[g](#two)\n";
        let found = links(text);
        let seen: Vec<_> = found.iter().map(|link| (link.path, link.anchor, link.title)).collect();
        assert_eq!(
            seen,
            [
                ("a.md", Some("one"), ""),
                ("b.svg", None, ""),
                ("../c.rs", None, "fn c("),
                ("", Some("two"), "")
            ]
        );
        assert_eq!(&text[found[0].place.clone()], "a.md#one");
    }

    #[test]
    fn a_heading_has_the_anchor_of_its_words() {
        let text = "# The `Map` call, twice\n\n```sh\n# no heading\n```\n";
        assert!(has_anchor(text, "the-map-call-twice"));
        assert!(!has_anchor(text, "no-heading") && !has_anchor(text, "the-map-call"));
    }

    #[test]
    fn a_path_stays_in_the_tree() {
        let of = |path: &str| target(Path::new("docs"), path);
        assert_eq!(of("../abi/src/kip.rs"), Some("abi/src/kip.rs".into()));
        assert_eq!(of("ip.md"), Some("docs/ip.md".into()));
        assert!(of("../../x").is_none() && of("/etc/passwd").is_none());
    }
}
