// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words that make readers stumble: `docs/words.toml` has each, with the word that is used instead.
//! Documents, comments and messages must not contain them. A line that needs one has `sic:` and the
//! word in a comment.

use super::files::{files, read};
use super::prose::{Part, reader};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The list.
const LIST: &str = "docs/words.toml";
/// What comes before a word that a line needs.
const MARK: &str = "sic: ";

/// What is in the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Files and folders that are not read.
    unread: Vec<String>,
    word: Vec<Word>,
}

/// What is not said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    /// Words, or several in a row.
    not: Vec<String>,
    /// What is said instead.
    say: String,
    /// What has such words and may be said.
    #[serde(default)]
    but: Vec<String>,
}

/// Holds all that the project says against the list.
///
/// # Errors
/// If a word of the list is used, or a line needs none of those that it is marked for: all such
/// places.
pub fn words() -> Result<()> {
    let list: List = toml::from_str(&read(Path::new(LIST))?).context(LIST)?;
    let mut wrong = Vec::new();
    for unread in list.unread.iter().filter(|unread| !Path::new(unread).exists()) {
        wrong.push(format!("{LIST}: there is no {unread}"));
    }
    let phrases = phrases(&list.word);
    for path in files(Path::new("."), &|path| reader(path).is_some())? {
        let path = path.strip_prefix(".")?;
        let is_unread = list.unread.iter().any(|unread| path.starts_with(unread));
        let Some(reader) = reader(path).filter(|_| !is_unread) else {
            continue;
        };
        let text = read(path)?;
        let found = found(&phrases, &reader(&text), &text);
        wrong.extend(found.iter().map(|found| format!("{}:{found}", path.display())));
    }
    ensure!(
        wrong.is_empty(),
        "words that make readers stumble ({LIST}; a line that needs one says `{MARK}` and the word in a comment):\n{}",
        wrong.join("\n")
    );
    Ok(())
}

/// A word of a text, or another character, and its line.
type Token = (usize, String);
/// What is not said, by its first word: all its words, and the rule.
type Phrases<'a> = BTreeMap<String, Vec<(Vec<String>, &'a Word)>>;

/// The phrases of a list.
fn phrases(list: &[Word]) -> Phrases<'_> {
    let mut phrases = Phrases::new();
    for word in list {
        for phrase in word.not.iter().map(|not| split(not)) {
            let first = phrase.first().cloned().unwrap_or_default();
            phrases.entry(first).or_default().push((phrase, word));
        }
    }
    phrases
}

/// What is wrong with a text: the line, and what is to be said there.
fn found(phrases: &Phrases, parts: &[Part], text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let tokens = tokens(parts);
    let (mut wrong, mut needed) = (Vec::new(), Vec::new());
    for (at, (number, first)) in tokens.iter().enumerate() {
        for (phrase, word) in phrases.get(first).into_iter().flatten() {
            if !stands(&tokens, at, phrase) || may_be_said(&tokens, at, phrase, word) {
                continue;
            }
            let said = phrase.join(" ");
            if lines[number - 1].contains(&format!("{MARK}{said}")) {
                needed.push((*number, said));
            } else {
                wrong.push(format!("{number}: `{said}`: say {}", word.say));
            }
        }
    }
    for (number, line) in (1..).zip(lines) {
        for (at, mark) in line.match_indices(MARK) {
            let rest = &line[at + mark.len()..];
            let is_it = |(needing, said): &(usize, String)| {
                *needing == number && rest.starts_with(said.as_str())
            };
            if !needed.iter().any(is_it) {
                wrong.push(format!("{number}: `{MARK}` is not needed"));
            }
        }
    }
    wrong
}

/// Whether a phrase stands within one that may be said.
fn may_be_said(tokens: &[Token], at: usize, said: &[String], word: &Word) -> bool {
    word.but.iter().map(|but| split(but)).any(|but| {
        let first = (at + said.len()).saturating_sub(but.len());
        (first..=at).any(|from| stands(tokens, from, &but))
    })
}

/// The words of a text in small letters, and all that stands between them but spaces.
fn split(text: &str) -> Vec<String> {
    let is_of_word = |char: char| char.is_alphanumeric() || "-'_".contains(char);
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_of_word(first) {
            rest.find(|char| !is_of_word(char)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        words.push(rest[..length].to_lowercase());
        rest = rest[length..].trim_start();
    }
    words
}

/// Whether a phrase begins here.
fn stands(tokens: &[Token], at: usize, phrase: &[String]) -> bool {
    let words = tokens.get(at..at + phrase.len());
    words.is_some_and(|words| words.iter().map(|(_, word)| word).eq(phrase))
}

/// All words of a text: a phrase may go over the end of a line, but not over a line without prose.
fn tokens(parts: &[Part]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut last = 0;
    for (number, part) in parts {
        if *number != last + 1 {
            tokens.push((*number, "\n".into()));
        }
        last = *number;
        // How lines of comments begin.
        let text = part.trim_start().trim_start_matches(['/', '!', '*']);
        // What a mark names is not said.
        let text = text.split(MARK).next().unwrap_or(text);
        tokens.extend(split(text).into_iter().map(|word| (*number, word)));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        let word = |not: &str, say: &str, but: &[&str]| Word {
            not: vec![not.into()],
            say: say.into(),
            but: but.iter().map(|but| but.to_string()).collect(),
        };
        let list = [word("behind", "after", &["behind the card"]), word("give way", "yield", &[])];
        found(&phrases(&list), &reader(Path::new(path)).expect("a kind")(text), text)
    }

    #[test]
    fn a_word_is_found_in_text_and_not_in_code() {
        let text = "It comes behind.\n\n    behind\n\nA key `behind` and behind-image.\n";
        assert_eq!(of("a.md", text), ["1: `behind`: say after"]);
        let text = "let behind = \"behind\"; // Behind it.\n";
        assert_eq!(of("a.rs", text), ["1: `behind`: say after"]);
        assert_eq!(of("a.c", "die(\"it is behind\");\n"), ["1: `behind`: say after"]);
    }

    #[test]
    fn a_phrase_goes_over_the_end_of_a_line() {
        assert_eq!(of("a.rs", "/// Threads give\n/// way.\n"), ["1: `give way`: say yield"]);
        assert!(of("a.rs", "/// Threads give.\nfn f() {}\n/// Way.\n").is_empty());
        assert!(of("a.rs", "/// Threads give,\n/// way.\n").is_empty());
    }

    #[test]
    fn what_may_be_said_is_not_found() {
        assert!(of("a.md", "A host behind the card.\n").is_empty());
        assert_eq!(of("a.md", "A host behind the cards.\n").len(), 1);
    }

    #[test]
    fn a_line_that_needs_a_word_says_so() {
        assert!(of("a.md", "Behind the sun. <!-- sic: behind -->\n").is_empty());
        assert!(of("a.rs", "// Behind the sun. sic: behind\n").is_empty());
        assert_eq!(of("a.md", "After it. <!-- sic: behind -->\n"), ["1: `sic: ` is not needed"]);
    }
}
