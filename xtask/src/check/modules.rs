// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which file of a crate uses which: finds a circle of files. A file uses another one by a path
//! from `crate`, `super`, `self` or one of its own modules; a name that a module only passes on
//! (`pub use`) counts as that of its origin.

use super::circle;
use std::collections::{BTreeMap, BTreeSet};

/// A module's name within its crate; the crate's root has none.
type Module = Vec<String>;

/// The files of a crate: what their modules are called, and their text.
pub struct Files(BTreeMap<Module, String>);

impl Files {
    /// Of files with their names below `src`.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let module = |name: &str| {
            let mut module: Module =
                name.trim_end_matches(".rs").split('/').map(String::from).collect();
            if module.last().is_some_and(|last| ["mod", "main", "lib"].contains(&last.as_str())) {
                module.pop();
            }
            module
        };
        Self(files.into_iter().map(|(name, text)| (module(name), code(text))).collect())
    }

    /// Without the crate's root: who names what that has, or passes on, names no other file.
    pub fn without_root(mut self) -> Self {
        self.0.remove(&Module::new());
        self
    }

    /// The modules of a circle, if there is one; the first is the last, too.
    pub fn circle(&self) -> Option<Vec<String>> {
        let circle = circle::find(&self.arrows())?;
        Some(circle.iter().map(name).collect())
    }

    /// Two modules of which the first names the second against this order of what is below the
    /// crate's root: a folder, or a file, sees those before it. The root itself sees all.
    pub fn against(&self, order: &[String]) -> Option<[String; 2]> {
        let place = |module: &Module| order.iter().position(|name| module.first() == Some(name));
        let arrows = self.arrows();
        let mut all = arrows.iter().flat_map(|(from, to)| to.iter().map(move |to| (from, to)));
        let found = all.find(|(from, to)| !from.is_empty() && place(from) < place(to));
        found.map(|(from, to)| [name(from), name(to)])
    }

    /// What is below the crate's root and has no place in an order.
    pub fn without_place(&self, order: &[String]) -> Option<&str> {
        let mut all = self.0.keys().filter_map(|module| module.first());
        all.find(|name| !order.contains(name)).map(String::as_str)
    }

    /// Which module names which.
    fn arrows(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let mut passed_on = BTreeMap::new();
        let mut named = BTreeMap::new();
        for (module, text) in &self.0 {
            let paths = self.paths(module, text);
            passed_on.extend(paths.iter().filter(|path| path.is_public).filter_map(|path| {
                let name = path.to.last()?.clone();
                Some(([module.clone(), vec![name]].concat(), path.to.clone()))
            }));
            named.insert(module, paths);
        }
        let origin = |path: &Module| {
            let passed = |length: &usize| {
                passed_on.get(&path[..*length]).map(|origin| [origin, &path[*length..]].concat())
            };
            (1..=path.len())
                .rev()
                .find_map(|length| passed(&length))
                .unwrap_or_else(|| path.clone())
        };
        let arrows = named.into_iter().map(|(module, paths)| {
            let to = paths.iter().map(|path| self.owner(&origin(&path.to)));
            let to = to.filter(|to| to != module && self.0.contains_key(to));
            (module.clone(), to.collect::<BTreeSet<_>>())
        });
        arrows.collect()
    }

    /// The module that has what a path names.
    fn owner(&self, path: &Module) -> Module {
        let lengths = (0..=path.len()).rev();
        lengths
            .map(|length| path[..length].to_vec())
            .find(|module| self.0.contains_key(module))
            .unwrap_or_default()
    }

    /// The paths that a module's text names.
    fn paths(&self, module: &Module, text: &str) -> Vec<Path> {
        let words = words(text);
        let mut found = Vec::new();
        for (at, pair) in words.windows(2).enumerate().filter(|(_, pair)| pair[1] == "::") {
            let before = |back: usize| at.checked_sub(back).map_or("", |at| words[at]);
            let from = match pair[0] {
                "crate" => Some(Vec::new()),
                "self" => Some(module.clone()),
                "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
                child => Some([module.clone(), vec![child.into()]].concat())
                    .filter(|child| self.0.contains_key(child)),
            };
            let Some(from) = from.filter(|_| before(1) != "::") else { continue };
            let is_public = before(1) == "use" && ["pub", ")"].contains(&before(2));
            let mut rest = words[at + 2..].iter().copied().peekable();
            let mut paths = Vec::new();
            tree(&mut rest, from, &mut paths);
            found.extend(paths.into_iter().map(|to| Path { to, is_public }));
        }
        found
    }
}

/// A module's name, for people.
fn name(module: &Module) -> String {
    if module.is_empty() { "crate".into() } else { module.join("::") }
}

/// A path that a file names.
struct Path {
    to: Module,
    /// Whether it is passed on.
    is_public: bool,
}

/// The text without comments and tests: those may name everything.
fn code(text: &str) -> String {
    let tests = ["#[cfg(test)]\nmod tests", "#[cfg(test)]\npub(crate) mod tests"];
    let end = tests.iter().filter_map(|tests| text.find(tests)).min().unwrap_or(text.len());
    let text = &text[..end];
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default().to_string() + "\n")
        .collect()
}

/// Names, `::`, and every other character for itself.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

/// Reads what follows a `::`: a name and what follows that, or several in braces.
fn tree<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    mut path: Module,
    found: &mut Vec<Module>,
) {
    match words.next() {
        Some("{") => {
            while words.peek().is_some_and(|word| *word != "}") {
                tree(words, path.clone(), found);
                words.next_if_eq(&",");
            }
            words.next();
        }
        Some("super") => {
            path.pop();
            if words.next_if_eq(&"::").is_some() {
                tree(words, path, found)
            } else {
                found.push(path)
            }
        }
        Some(word) if word.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
            if word != "self" {
                path.push(word.into());
            }
            if words.next_if_eq(&"::").is_some() {
                return tree(words, path, found);
            }
            if words.next_if_eq(&"as").is_some() {
                words.next();
            }
            found.push(path);
        }
        _ => found.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::Files;

    fn circle(files: &[(&str, &str)]) -> Option<String> {
        Files::new(files.iter().copied()).circle().map(|circle| circle.join(" "))
    }

    #[test]
    fn arrows_of_one_direction() {
        assert_eq!(
            circle(&[
                ("main.rs", "mod a;\nmod b;\nuse a::x;"),
                ("a.rs", "use crate::b::{self, Y as Z};"),
                ("b.rs", "")
            ]),
            None
        );
        assert_eq!(
            circle(&[
                ("lib.rs", "mod a; // crate::a::x"),
                ("a.rs", "use crate::X;\n#[cfg(test)]\npub(crate) mod tests { use crate::a; }")
            ]),
            None
        );
    }

    #[test]
    fn circles() {
        let two = [
            ("main.rs", "mod a;\nmod b;"),
            ("a.rs", "use crate::b::Y;"),
            ("b.rs", "fn f() { crate::a::x() }"),
        ];
        assert_eq!(circle(&two).as_deref(), Some("a b a"));
        let below = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b;\nuse b::Y;"),
            ("a/b.rs", "use super::{X, c::{d, e}};"),
        ];
        assert_eq!(circle(&below).as_deref(), Some("a a::b a"));
        assert_eq!(
            circle(&[("lib.rs", "mod a;\nfn f() { a::x() }"), ("a.rs", "use super::f;")])
                .as_deref(),
            Some("crate a crate")
        );
    }

    #[test]
    fn a_name_that_is_passed_on_is_its_origins() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::X;"),
            ("a.rs", "struct X;"),
            ("b.rs", "use crate::X;"),
        ];
        assert_eq!(circle(&files), None);
    }

    #[test]
    fn an_order_is_kept() {
        let files = Files::new([
            ("main.rs", "mod a;\nmod b;\nuse b::X;"),
            ("a.rs", "use crate::b::c::X;"),
            ("b/mod.rs", "mod c;"),
            ("b/c.rs", ""),
        ]);
        let order = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(files.against(&order(&["b", "a"])), None);
        assert_eq!(files.against(&order(&["a", "b"])), Some(["a".into(), "b::c".into()]));
        assert_eq!(files.without_place(&order(&["b", "a"])), None);
        assert_eq!(files.without_place(&order(&["b"])), Some("a"));
    }

    #[test]
    fn without_root() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::X;\npub use b::Y;"),
            ("a.rs", "use crate::Y;"),
            ("b.rs", "use crate::X;"),
        ];
        assert_eq!(circle(&files).as_deref(), Some("a b a"));
        assert_eq!(Files::new(files).without_root().circle(), None);
        let files = [
            ("lib.rs", "mod a;\nmod b;"),
            ("a.rs", "use crate::b::y;"),
            ("b.rs", "use crate::a::x;"),
        ];
        assert!(Files::new(files).without_root().circle().is_some());
    }
}
