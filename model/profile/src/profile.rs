// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sums of call paths, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A step of a call path.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frame {
    /// `kernel`, or the component's or program's name.
    pub owner: String,
    /// The function's name; at a path's beginning the owner's.
    pub name: String,
}

/// A line of the flat table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Whose it is, and which.
    pub frame: Frame,
    /// Samples in it.
    pub own: u64,
    /// Samples in it and in what it calls.
    pub total: u64,
}

/// Call paths and how often each was sampled.
#[derive(Default)]
pub struct Profile {
    paths: BTreeMap<Vec<Frame>, u64>,
}

impl Profile {
    /// A path, the outermost first, was sampled so often.
    pub fn add(&mut self, path: Vec<Frame>, times: u64) {
        *self.paths.entry(path).or_insert(0) += times;
    }

    /// All samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.paths.values().sum()
    }

    /// Each path and how often it was sampled.
    pub fn paths(&self) -> impl Iterator<Item = (&[Frame], u64)> {
        self.paths.iter().map(|(path, &times)| (path.as_slice(), times))
    }

    /// All functions, those with most samples of their own first.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let mut sums: BTreeMap<&Frame, (u64, u64)> = BTreeMap::new();
        for (path, times) in &self.paths {
            let Some((_, functions)) = path.split_first() else { continue };
            if let Some(last) = functions.last() {
                sums.entry(last).or_default().0 += times;
            }
            // A function that calls itself is in its path more than once.
            for frame in functions.iter().collect::<BTreeSet<_>>() {
                sums.entry(frame).or_default().1 += times;
            }
        }
        let mut all: Vec<_> = sums
            .into_iter()
            .map(|(frame, (own, total))| Function { frame: frame.clone(), own, total })
            .collect();
        all.sort_by(|a, b| {
            (b.own, b.total).cmp(&(a.own, a.total)).then_with(|| a.frame.cmp(&b.frame))
        });
        all
    }

    /// The flat table, at most `lines` functions of it.
    #[must_use]
    pub fn table(&self, lines: usize) -> String {
        let samples = self.samples();
        let mut text = format!(
            "{samples} samples\n   self       %   total       %  owner            function\n"
        );
        let functions = self.functions();
        for Function { frame, own, total } in functions.iter().take(lines) {
            let percent = |part: u64| 100.0 * part as f64 / samples as f64;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{own:>7} {:>7.2} {total:>7} {:>7.2}  {:16} {}",
                percent(*own),
                percent(*total),
                frame.owner,
                frame.name
            );
        }
        if functions.len() > lines {
            let _ = writeln!(text, "and {} more", functions.len() - lines);
        }
        text
    }

    /// The paths with most samples, at most `most` of them, the innermost function first.
    #[must_use]
    pub fn hottest(&self, most: usize) -> String {
        let mut paths: Vec<_> = self.paths().collect();
        paths.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let mut text = String::new();
        for (path, times) in paths.into_iter().take(most) {
            let _ = writeln!(
                text,
                "\n{times} samples, {:.2} %",
                100.0 * times as f64 / self.samples() as f64
            );
            path.iter().rev().for_each(|frame| text += &format!("    {}\n", frame.label()));
        }
        text
    }

    /// A line for each path: its steps with `;` between them, and its samples. What other tools
    /// read.
    #[must_use]
    pub fn folded(&self) -> String {
        let line = |(path, times): (&[Frame], u64)| {
            let steps: Vec<String> =
                path.iter().map(|frame| frame.label().replace(';', ":")).collect();
            format!("{} {times}\n", steps.join(";"))
        };
        self.paths().map(line).collect()
    }
}

impl Frame {
    /// The name, with the mark that folded paths have for functions of the kernel.
    #[must_use]
    pub fn label(&self) -> String {
        if self.owner == "kernel" { format!("{}_[k]", self.name) } else { self.name.clone() }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn frame(owner: &str, name: &str) -> Frame {
        Frame { owner: owner.into(), name: name.into() }
    }

    pub fn profile() -> Profile {
        let ping = |rest: &[&str]| {
            std::iter::once("ping")
                .chain(rest.iter().copied())
                .map(|name| frame("ping", name))
                .collect()
        };
        let mut profile = Profile::default();
        profile.add(ping(&["main", "again", "again"]), 30);
        profile.add(ping(&["main"]), 10);
        profile.add(ping(&["main"]), 10);
        profile.add(vec![frame("ping", "ping"), frame("kernel", "send<a; b>")], 50);
        profile
    }

    #[test]
    fn sums_are_right() {
        let profile = profile();
        let found: Vec<_> =
            profile.functions().into_iter().map(|f| (f.frame.name, f.own, f.total)).collect();
        assert_eq!(
            found,
            [("send<a; b>".into(), 50, 50), ("again".into(), 30, 30), ("main".into(), 20, 50)]
        );
        assert_eq!(profile.samples(), 100);
    }

    #[test]
    fn text_is_what_others_read() {
        let profile = profile();
        assert_eq!(
            profile.folded(),
            "ping;send<a: b>_[k] 50\nping;main 20\nping;main;again;again 30\n"
        );
        let table = profile.table(1);
        assert!(
            table.contains(
                "     50   50.00      50   50.00  kernel           send<a; b>\nand 2 more\n"
            ),
            "{table}"
        );
        assert!(
            profile
                .hottest(2)
                .ends_with("\n30 samples, 30.00 %\n    again\n    again\n    main\n    ping\n"),
            "{}",
            profile.hottest(2)
        );
    }
}
