// SPDX-License-Identifier: MIT OR Apache-2.0
//! Descriptions of systems.

use super::{Chance, all};
use crate::description::parse;
use crate::machine::board::Board;
use std::fmt::Write;
use std::path::Path;

/// What is put into descriptions: structure, keys, values at limits.
const WORDS: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    "=",
    ",",
    ".",
    "\n",
    "\"",
    "\"\"\"",
    "'",
    "#",
    "\\",
    "\\u0000",
    "\\U0010ffff",
    "\u{0}",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "\r",
    "true",
    "false",
    "nan",
    "inf",
    "-0",
    "0x",
    "1e999",
    "1979-05-27T07:32:00Z",
    "0",
    "-1",
    "1",
    "255",
    "256",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "\"0\"",
    "\"1\"",
    "\"4095\"",
    "\"4K\"",
    "\"4G\"",
    "\"2T\"",
    "\"3T\"",
    "\"K\"",
    "\"é\"",
    "\"\"",
    "\"18014398509481984K\"",
    "\"17179869184G\"",
    "\"4294963200\"",
    "[devices]",
    "[[component]]",
    "[shared.a]",
    "[test]",
    "[memory]",
    "component",
    "devices",
    "shared",
    "name = \"a\"",
    "net = true",
    "net = {}",
    "disk = true",
    "disk = {}",
    "disk = { partition = 1 }",
    "disk = { first = \"1M\", size = \"1M\" }",
    "sockets = \"ip\"",
    "small = \"16M\"",
    "small = \"4093M\"",
    "group = \"a\"",
    "window = \"512M\"",
    "server = \"large\"",
    "heartbeat-ms = 20",
    "quota = \"4G\"",
    "threads = 4294967295",
    "relocation-slots = 4294967295",
    "slots = 4294967295",
    "package = \"linux\"",
    "package = \"../x\"",
    "memory = [{ as = \"ram\", size = \"4294963200\", behind-image = true }]",
    "ports = [{ as = \"p\", base = 65535, count = 4294967295 }]",
    "devices = [{ as = \"d\", base = 4294963200, size = \"4294963200\" }]",
    "shares = [{ region = \"a\" }]",
    "irqs = [{ as = \"i\", line = 4294967295 }]",
    "calls = [{ to = \"a\", badge = 4294967295 }]",
    "disk = { size = \"2T\" }",
    "console = {}",
];

/// Every description that there is, and boards.
fn corpus() -> Vec<String> {
    let mut paths = Vec::new();
    for folder in ["../systems", "../tests/systems"] {
        let entries = std::fs::read_dir(folder).expect("descriptions");
        paths.extend(
            entries
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.extension().is_some_and(|end| end == "toml")),
        );
    }
    // The same in each run.
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a description")).collect()
}

/// A place between two characters.
fn place(text: &str, chance: &mut Chance) -> usize {
    let at = chance.below(text.len() + 1);
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The place of a number, a quoted string or a word.
fn token(text: &str, chance: &mut Chance) -> std::ops::Range<usize> {
    let at = place(text, chance);
    let is_inside = |c: char| c.is_alphanumeric() || c == '-' || c == '"';
    let Some(begin) = text[at..].find(is_inside).map(|skipped| at + skipped) else { return at..at };
    let end = text[begin..].find(|c| !is_inside(c)).map_or(text.len(), |length| begin + length);
    begin..end
}

fn mutate(text: &mut String, all: &[String], chance: &mut Chance) {
    let (one, two) = (place(text, chance), place(text, chance));
    let near = (one.min(two), one.max(two));
    let other = chance.of(all);
    let word = *chance.of(WORDS);
    match chance.below(11) {
        0 => text.insert_str(one, word),
        1 | 2 => text.replace_range(token(text, chance), word),
        3 => {
            let with = other[token(other, chance)].to_string();
            text.replace_range(token(text, chance), &with);
        }
        4 => text.truncate(one),
        5 => text.replace_range(near.0..near.1, ""),
        6 => {
            let piece = text[near.0..near.1].to_string();
            text.insert_str(one, &piece);
        }
        7 | 8 => {
            // A line of another description.
            let lines: Vec<&str> = other.lines().collect();
            let at = text[..one].rfind('\n').map_or(0, |end| end + 1);
            let line = format!("{}\n", chance.of(&lines));
            text.insert_str(at, &line);
        }
        9 => {
            let at = text[..one].rfind('\n').map_or(0, |end| end + 1);
            text.insert_str(at, &format!("{word}\n"));
        }
        _ => text.insert_str(one, &word.repeat(chance.below(400))),
    }
}

/// A description with changes, or nothing but words.
fn description(all: &[String], chance: &mut Chance) -> String {
    if chance.below(16) == 0 {
        return (0..chance.below(40)).fold(String::new(), |mut text, _| {
            let _ = write!(text, "{} ", chance.of(WORDS));
            text
        });
    }
    let mut text = chance.of(all).clone();
    for _ in 0..1 + chance.below(4) {
        mutate(&mut text, all, chance);
    }
    text
}

/// An error begins with the file and a line that is in it, and says something.
fn is_good(error: &str, text: &str, board: &Board) -> bool {
    let place = [("x.toml:", text), (&*format!("{}:", board.file.display()), &board.text)];
    place.iter().any(|(file, text)| {
        let Some((line, what)) = error.strip_prefix(file).and_then(|rest| rest.split_once(": "))
        else {
            return false;
        };
        let lines = text.matches('\n').count() + 1;
        line.parse().is_ok_and(|line: usize| (1..=lines).contains(&line)) && what.trim().len() > 8
    })
}

/// Whatever a description has is refused with file, line and a sentence, or taken.
#[test]
fn fuzz_descriptions() {
    let corpus = corpus();
    let boards = ["pc", "versatilepb"].map(|name| {
        Board::read(&Path::new("../boards").join(name).with_extension("toml")).expect("a board")
    });
    let sound = corpus
        .iter()
        .filter(|text| parse(Path::new("x.toml"), (*text).clone(), &boards[0]).is_ok())
        .count();
    assert!(2 * sound > corpus.len(), "{sound} of {} are sound", corpus.len());
    all(
        |chance| (description(&corpus, chance), chance.below(boards.len())),
        |(text, board)| {
            let board = &boards[*board];
            let Ok(description) =
                parse(Path::new("x.toml"), text.clone(), board).map_err(|error| {
                    let said = format!("{error:#}");
                    assert!(is_good(&said, text, board), "no file, line and sentence: {said}");
                })
            else {
                return;
            };
            // What the build asks of what was accepted.
            for component in &description.component {
                assert!(description.bytes(&component.heap).is_ok(), "accepted, and then refused");
                let _ = description.window(component);
                description.relocation_slots(component);
            }
            assert!(description.homes().is_ok(), "accepted, and then refused");
        },
    );
}
