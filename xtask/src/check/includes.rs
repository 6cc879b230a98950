// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which file of Linux's host layer includes which: finds a circle of headers.

use super::circle;
use std::collections::{BTreeMap, BTreeSet};

/// Folders of Linux's source whose headers our files name from elsewhere: `linux/tests` those of
/// the host layer, all those of the processor.
const SEARCHED: [&str; 4] = ["arch/um/os-L4", "arch/x86/um", "arch/arm/um", "arch/arm/um/shared"];

/// A circle among files, which have the names that they have in Linux's source; the first is the
/// last, too.
pub fn circle<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<Vec<String>> {
    let files: BTreeMap<&str, &str> = files.into_iter().collect();
    let arrows = files.iter().map(|(name, text)| {
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let to = included(text).filter_map(|(header, quoted)| {
            let beside = quoted.then_some(folder);
            beside
                .into_iter()
                .chain(SEARCHED)
                .map(|folder| join(folder, header))
                .find(|path| files.contains_key(path.as_str()))
        });
        (name.to_string(), to.collect::<BTreeSet<_>>())
    });
    circle::find(&arrows.collect())
}

/// What a text includes, and whether it says so in quotes.
fn included(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().filter_map(|line| {
        let what =
            line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let in_quotes = || Some((what.strip_prefix('"')?.split_once('"')?.0, true));
        in_quotes().or_else(|| Some((what.strip_prefix('<')?.split_once('>')?.0, false)))
    })
}

/// The path to a header from a folder, without `..`.
fn join(folder: &str, header: &str) -> String {
    let mut path: Vec<&str> = folder.split('/').collect();
    for part in header.split('/') {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::circle;

    fn found(files: &[(&str, &str)]) -> Option<String> {
        circle(files.iter().copied()).map(|circle| circle.join(" "))
    }

    #[test]
    fn arrows_of_one_direction() {
        let user = (
            "arch/um/os-L4/user.c",
            "#include <linux/mm.h>\n#include \"mm.h\"\n#include <os-L4/run.h>\n",
        );
        let run =
            ("arch/x86/um/os-L4/run.h", "#include \"../../../um/os-L4/mm.h\"\n/* \"user.c\" */\n");
        assert_eq!(found(&[user, run, ("arch/um/os-L4/mm.h", "#include <linux/types.h>\n")]), None);
        // Headers of Linux's own with a name of ours are no arrows.
        assert_eq!(found(&[("arch/um/os-L4/mm.h", "#include <linux/mm.h>\n")]), None);
    }

    #[test]
    fn circles() {
        let two = [
            ("arch/um/os-L4/a.h", "#include \"b.h\"\n"),
            ("arch/um/os-L4/b.h", "# include \"a.h\"\n"),
        ];
        assert_eq!(
            found(&two).as_deref(),
            Some("arch/um/os-L4/a.h arch/um/os-L4/b.h arch/um/os-L4/a.h")
        );
        let across = [
            ("arch/um/os-L4/user_space.h", "#include <os-L4/space.h>\n"),
            ("arch/arm/um/os-L4/space.h", "#include \"../../../um/os-L4/user_space.h\"\n"),
        ];
        assert!(found(&across).is_some());
        assert!(found(&[("arch/um/os-L4/a.h", "#include \"a.h\"\n")]).is_some());
    }
}
